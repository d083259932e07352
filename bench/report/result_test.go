package report_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"llmsim-bench/bench/report"
	"llmsim-bench/internal/wholefile"
)

// onlyFile fails unless dir holds the one file and no left-over.
func onlyFile(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("the folder holds %v; want %s alone", entries, name)
	}
}

func TestWriteJSON(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	r := result(quiet(t), overloaded(t))
	r.Configuration = map[string]any{"prompt_tokens": 512.0}
	r.Machine = report.ThisMachine()
	if err := r.WriteJSON(path); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, dir, "r.json")

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var back report.Result
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(&back, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if string(again)+"\n" != string(data) {
		t.Errorf("read and written again it is\n%s\nnot\n%s", again, data)
	}
	if back.Schema != 1 || !back.Started.Equal(r.Started) || !reflect.DeepEqual(back.Configuration, r.Configuration) ||
		back.Machine != r.Machine || back.Points[1].LagP99MS != 6.1 || back.Points[1].Health.Verdict != "limited" {
		t.Errorf("read back %+v", back)
	}
	if !strings.Contains(string(data), `"started": "2026-01-02T03:04:05Z"`) {
		t.Errorf("the start is not in RFC 3339: %.300s", data)
	}
}

func TestARefusedResultLeavesTheOldFileAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	metric, rate, config := result(quiet(t), quiet(t)), result(quiet(t)), result()
	metric.Points[1].Metrics["ttft"].Client.P99 = math.NaN()
	rate.Points[0].AchievedRPS = math.Inf(1)
	config.Configuration = map[string]any{"f": func() {}}
	for want, r := range map[string]*report.Result{
		"point 2 (20/s), metric ttft:": metric,
		"point 1 (20/s):":              rate,
		"configuration:":               config,
	} {
		if err := r.WriteJSON(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one with %q", err, want)
		}
	}
	onlyFile(t, dir, "r.json")
	if data, err := os.ReadFile(path); err != nil || string(data) != "old" {
		t.Errorf("the file now holds %q, %v", data, err)
	}
}

// What was measured is not lost where its file can't have its name.
func TestAFileThatCannotBePutInPlaceIsKeptBesideIt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	if err := os.Mkdir(path, 0o755); err != nil { // a folder has the name
		t.Fatal(err)
	}
	if err := result().WriteJSON(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v; want one that names %s", err, path)
	}
	data, err := os.ReadFile(path + wholefile.Suffix)
	if err != nil || !json.Valid(data) {
		t.Errorf("beside it there is %q, %v; want the whole result", data, err)
	}

	if err := result().WriteJSON(filepath.Join(dir, "missing", "r.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v; want that the folder does not exist", err)
	}
}

func TestThisMachine(t *testing.T) {
	if m := report.ThisMachine(); m.Cores < 1 || m.GOMAXPROCS < 1 || m.OS == "" || m.Arch == "" || m.Go == "" {
		t.Errorf("%+v", m)
	}
}
