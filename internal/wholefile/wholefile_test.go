package wholefile

import (
	"os"
	"path/filepath"
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
