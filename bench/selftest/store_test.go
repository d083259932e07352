package selftest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// ownCache gives the test a cache directory of its own.
func ownCache(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, variable := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(variable, dir)
	}
}

var thisKey = Key{CPU: "Some CPU", Cores: 4, Go: "go1.26", Version: "v1"}

func someResult() Result {
	return Result{
		Schema: Schema, Key: thisKey, Measured: time.Unix(1_700_000_000, 0).UTC(),
		Requests:        Part{Sustained: 1000, Steps: []Step{{Level: 1000, Sustained: true}, {Level: 2000, Reasons: []string{"Too much."}}}},
		Events:          Part{Sustained: 20_000, Steps: []Step{{Level: 20_000, Sustained: true}}},
		Streams:         Part{Sustained: 500, Bounded: true, Steps: []Step{{Level: 500, Sustained: true}}},
		CPUPerRequestUS: 100, CPUPerEventUS: 10, EventsPerSPerCore: 9000, PromptTokens: promptTokens,
		Dispatch: &Dispatch{RequestsPerS: 1000, Delay: Lateness{10, 0.2, 3}, Sleeper: Lateness{10, 0.1, 1}},
	}
}

func save(t *testing.T, r Result) (path string) {
	t.Helper()
	path, err := r.Save()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestASavedResultIsLoaded(t *testing.T) {
	ownCache(t)
	if r, ok := Load(thisKey); ok {
		t.Fatalf("before there is one: %+v", r)
	}
	want := someResult()
	save(t, want)
	if got, ok := Load(thisKey); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v, want\n%+v", ok, got, want)
	}
	want.Requests.Sustained = 1
	save(t, want)
	if got, ok := Load(thisKey); !ok || got.Requests.Sustained != 1 {
		t.Errorf("the newer one is not loaded: %+v", got)
	}
}

// A result holds for one machine and program; each has its own.
func TestAnotherMachinesResultIsNotUsed(t *testing.T) {
	ownCache(t)
	save(t, someResult())
	others := []Key{
		{"Another CPU", 4, "go1.26", "v1"},
		{"Some CPU", 8, "go1.26", "v1"},
		{"Some CPU", 4, "go1.27", "v1"},
		{"Some CPU", 4, "go1.26", "v2"},
	}
	for i, key := range others {
		if _, ok := Load(key); ok {
			t.Errorf("%+v has the result of %+v", key, thisKey)
		}
		r := someResult()
		r.Key, r.Requests.Sustained = key, float64(i)
		save(t, r)
	}
	for i, key := range others {
		if r, ok := Load(key); !ok || r.Requests.Sustained != float64(i) {
			t.Errorf("%+v has %+v", key, r)
		}
	}
	if _, ok := Load(thisKey); !ok {
		t.Error("the first was lost")
	}
}

func TestTheStoreDoesNotGrow(t *testing.T) {
	ownCache(t)
	var path string
	for i := range maxStored + 3 {
		r := someResult()
		r.Key.Version = fmt.Sprint(i)
		path = save(t, r)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s stored
	if err := json.Unmarshal(data, &s); err != nil || len(s.Results) != maxStored || s.Results[0].Key.Version != fmt.Sprint(maxStored+2) {
		t.Errorf("%v, %d results", err, len(s.Results))
	}
}

func TestAFileThatIsNoneIsReplaced(t *testing.T) {
	ownCache(t)
	path := save(t, someResult())
	for _, text := range []string{"", "{", `{"results":[{"schema":"x"}]}`, `{"results":[{"schema":99,"machine":{"cpu":"Some CPU","cores":4,"go":"go1.26","version":"v1"}}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, ok := Load(thisKey); ok {
			t.Errorf("%q: %+v", text, r)
		}
		save(t, someResult())
		if _, ok := Load(thisKey); !ok {
			t.Errorf("%q was not replaced", text)
		}
	}
}

func TestWhereNothingCanBeKept(t *testing.T) {
	ownCache(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, variable := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(variable, file)
	}
	if path, err := someResult().Save(); err == nil {
		t.Errorf("saved as %s", path)
	}
	if _, ok := Load(thisKey); ok {
		t.Error("loaded something")
	}
}
