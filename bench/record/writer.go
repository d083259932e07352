package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"llmsim-bench/internal/wholefile"
)

// flushInterval is how long a record may wait before it is written.
const flushInterval = time.Second

// Writer writes records as JSON Lines. Until Close, the file is named with
// ".partial" at its end; what a crash leaves there lacks about the last second
// and may end in a cut line, which Reader tolerates. It is safe for concurrent use.
type Writer struct {
	mu      sync.Mutex
	file    *wholefile.File
	buffer  *bufio.Writer
	timer   *time.Timer
	pending bool  // the timer runs
	err     error // the first failure; it stays
	closed  bool
}

// Create begins a file that will be named path, replacing an older one only when
// it is complete. What a run that crashed left under the partial name is not
// overwritten: that is an error.
func Create(path string) (*Writer, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	f, err := wholefile.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create records file: %w", err)
	}
	w := &Writer{file: f, buffer: bufio.NewWriterSize(f, 64<<10)}
	w.timer = time.AfterFunc(flushInterval, w.flush)
	w.timer.Stop()
	return w, nil
}

// CheckPath returns an error if Create would overwrite what a run that crashed left.
func CheckPath(path string) error {
	left := path + wholefile.Suffix
	if info, err := os.Lstat(left); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		return fmt.Errorf("%s holds the records of a run that did not end; move it away or remove it, or name another file", left)
	}
	return nil
}

// Write adds one record. Its error may be that of an earlier write.
func (w *Writer) Write(r *Request) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode record %d: %w", r.ID, err)
	}
	line = append(line, '\n')
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("write record %d: %w", r.ID, os.ErrClosed)
	}
	if !w.pending {
		w.pending = true
		w.timer.Reset(flushInterval)
	}
	_, err = w.buffer.Write(line)
	w.note(err)
	return w.err
}

// flush is called by the timer.
func (w *Writer) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.pending = false
	w.note(w.buffer.Flush())
}

func (w *Writer) note(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("write records to %s: %w", w.file.Name(), err)
	}
}

// Discard removes what was written and leaves an older file of the final name
// alone. After Close it does nothing, so that it can be deferred.
func (w *Writer) Discard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	w.timer.Stop()
	w.note(os.ErrClosed) // for a Close that comes after all
	w.file.Discard()
}

// Close writes what is left and gives the file its name. If any record could not
// be written, the file keeps its ".partial" name and Close says why. Closing
// again returns the same.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.err
	}
	w.closed = true
	w.timer.Stop()
	w.note(w.buffer.Flush())
	if w.err == nil {
		w.note(w.file.Commit())
	} else {
		_ = w.file.Keep() // why it is not complete is known
	}
	return w.err
}
