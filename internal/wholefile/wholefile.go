// Package wholefile writes files that appear under their name only when they are
// complete, so that an older file is never replaced by a part of a new one.
package wholefile

import (
	"encoding/json"
	"errors"
	"os"
)

// Suffix is at the end of the name of a file that is still being written.
const Suffix = ".partial"

// File is a file that is being written: as NAME.partial until Commit. One of
// Commit and Discard ends it; what is called after that does nothing.
type File struct {
	*os.File
	path  string
	ended bool
}

// Create begins a file that will be named path. A .partial of that name which a
// crash has left is replaced.
func Create(path string) (*File, error) {
	f, err := os.Create(path + Suffix)
	if err != nil {
		return nil, err
	}
	return &File{File: f, path: path}, nil
}

// CreatePrivate is Create for a file that only its owner may read.
func CreatePrivate(path string) (*File, error) {
	// What a crash has left might be readable by others, who may have it open.
	if err := os.Remove(path + Suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path+Suffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &File{File: f, path: path}, nil
}

// Commit gives the file its name, once it is on the disk. If that fails the file
// keeps its .partial name, with what could be written.
func (f *File) Commit() error {
	if f.ended {
		return nil
	}
	f.ended = true
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), f.path)
}

// Keep ends the file under its .partial name, for what was written to be looked
// at although it is not complete.
func (f *File) Keep() error {
	if f.ended {
		return nil
	}
	f.ended = true
	return f.Close()
}

// Discard removes the file.
func (f *File) Discard() {
	if f.ended {
		return
	}
	f.ended = true
	_ = f.Close() // nobody wants its bytes
	_ = os.Remove(f.Name())
}

// WriteJSON replaces path by a value as indented JSON.
func WriteJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return Write(path, append(data, '\n'))
}

// Write replaces path by data.
func Write(path string, data []byte) error {
	f, err := Create(path)
	return write(f, err, data)
}

// WritePrivate is Write for a file that only its owner may read.
func WritePrivate(path string, data []byte) error {
	f, err := CreatePrivate(path)
	return write(f, err, data)
}

// write writes all of a file that was begun, unless that failed.
func write(f *File, err error, data []byte) error {
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}
