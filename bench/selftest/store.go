package selftest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"llmsim-bench/internal/wholefile"
)

// maxStored bounds how many machines and versions are remembered.
const maxStored = 16

// stored is the file's content, newest first.
type stored struct {
	Results []Result `json:"results"`
}

// storePath is where results are kept: in the user's cache, so that nothing is
// lost with it but the time to measure again.
func storePath() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "llmsim-bench", "selftest.json"), nil
}

// Load returns the result last saved for a machine and program. It is false where
// there is none that can be read.
func Load(key Key) (Result, bool) {
	path, err := storePath()
	if err != nil {
		return Result{}, false
	}
	for _, r := range readStored(path).Results {
		if r.Key == key && r.Schema == Schema {
			return r, true
		}
	}
	return Result{}, false
}

// readStored returns what a file holds: nothing, where it can't be read.
func readStored(path string) stored {
	var s stored
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &s) != nil {
		return stored{}
	}
	return s
}

// Save keeps a result for Load, in place of the one of its key before, and
// returns the file's name.
func (r Result) Save() (path string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("keep the result of the self-test: %w", err)
		}
	}()
	if path, err = storePath(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	others := slices.DeleteFunc(readStored(path).Results, func(old Result) bool {
		return old.Key == r.Key || old.Schema != Schema
	})
	all := append([]Result{r}, others...)
	return path, wholefile.WriteJSON(path, stored{all[:min(len(all), maxStored)]})
}

// WriteJSON writes the result to a file, which appears under its name only when
// it is complete.
func (r Result) WriteJSON(path string) error {
	if err := wholefile.WriteJSON(path, r); err != nil {
		return fmt.Errorf("write the result of the self-test: %w", err)
	}
	return nil
}
