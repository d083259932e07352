package wholefile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// begin starts a file over an older one and writes to it.
func begin(t *testing.T) (f *File, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("new"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "old" {
		t.Fatalf("the older file holds %q while the new one is written", got)
	}
	return f, path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func gone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", path, err)
	}
}

func TestCommitReplaces(t *testing.T) {
	f, path := begin(t)
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Discard() // too late
	if got := read(t, path); got != "new" {
		t.Errorf("the file holds %q", got)
	}
	gone(t, path+Suffix)
}

func TestDiscardLeavesTheOlderFile(t *testing.T) {
	f, path := begin(t)
	f.Discard()
	if err := f.Commit(); err != nil { // too late
		t.Fatal(err)
	}
	if got := read(t, path); got != "old" {
		t.Errorf("the file holds %q", got)
	}
	gone(t, path+Suffix)
}

func TestKeepLeavesBoth(t *testing.T) {
	f, path := begin(t)
	if err := f.Keep(); err != nil {
		t.Fatal(err)
	}
	f.Discard() // too late
	if got := read(t, path); got != "old" {
		t.Errorf("the file holds %q", got)
	}
	if got := read(t, path+Suffix); got != "new" {
		t.Errorf("the partial file holds %q", got)
	}
}

func TestCommitOfAFileThatFailed(t *testing.T) {
	f, path := begin(t)
	f.File.Close()
	if err := f.Commit(); err == nil {
		t.Error("a file that could not be written was committed")
	}
	if got := read(t, path); got != "old" {
		t.Errorf("the file holds %q", got)
	}
}

// A private file is one from its beginning, whatever stood under its names.
func TestWritePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, left := range []string{path, path + Suffix} {
		if err := os.WriteFile(left, []byte("left by a crash"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := CreatePrivate(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v while it is written, want 0600", info.Mode())
	}
	f.Discard()
	if err := WritePrivate(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(path); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "new" || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file holds %q with mode %v, want 0600", got, info.Mode())
	}
	gone(t, path+Suffix)
}
