package experiments

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
)

// A definition must be able to run: what it names exists, and its load is possible.
func TestDefinitions(t *testing.T) {
	for n, e := range All() {
		if want := fmt.Sprintf("E%d", n+1); e.ID != want {
			t.Errorf("%s is where %s should be", e.ID, want)
		}
		if e.Title == "" || e.Question == "" || e.Meaning == "" {
			t.Errorf("%s: title, question and meaning must be there", e.ID)
		}
		for i := range e.Cases {
			c := &e.Cases[i]
			if e.find(c.Name) != c {
				t.Errorf("%s: two cases are called %q", e.ID, c.Name)
			}
			w, err := c.workload(1)
			if err != nil {
				t.Fatalf("%s: %v", e.ID, err)
			}
			if err := w.Check(); err != nil {
				t.Errorf("%s, %s: %v", e.ID, c.Name, err)
			}
			if !slices.ContainsFunc(e.Expect, func(x Expectation) bool { return x.Case == c.Name }) {
				t.Errorf("%s: nothing is expected of %s", e.ID, c.Name)
			}
		}
		keys := make(map[string]bool)
		for i := range e.Expect {
			x := &e.Expect[i]
			if keys[x.Key()] {
				t.Errorf("%s: %s is expected twice", e.ID, x.Key())
			}
			keys[x.Key()] = true
			if e.find(x.Case) == nil || x.Over != "" && e.find(x.Over) == nil {
				t.Errorf("%s: %s is of a case that does not exist", e.ID, x.Key())
			}
			if _, err := quantityOf(x.Quantity); err != nil {
				t.Errorf("%s: %v", e.ID, err)
			}
			if x.Interval.Kind == KindBetween && !(x.Interval.Low <= x.Interval.High) {
				t.Errorf("%s: %s: %v", e.ID, x.Key(), x.Interval)
			}
		}
		for _, name := range e.Quick.Cases {
			if e.find(name) == nil {
				t.Errorf("%s: its short variant has no case %q", e.ID, name)
			}
		}
		for _, quantity := range append([]string{e.Plot.Quantity}, e.Plot.Beside...) {
			if !slices.ContainsFunc(e.Expect, func(x Expectation) bool { return x.Quantity == quantity && x.Over == "" }) {
				t.Errorf("%s: the plot shows %q, which is expected nowhere", e.ID, quantity)
			}
		}
	}
}

// Each test model differs from the base in exactly one field.
func TestModelsDifferInOneField(t *testing.T) {
	base := modelConfig(t, base)
	for _, e := range All() {
		for _, c := range e.Cases {
			differ := differences("", reflect.ValueOf(modelConfig(t, c.Model)), reflect.ValueOf(base))
			want := 1
			if c.Model.Field == "" {
				want = 0
			}
			if len(differ) != want {
				t.Errorf("%s, %s: %s differs in %v, want %d fields", e.ID, c.Name, c.Model, differ, want)
			}
		}
	}
	if differ := differences("", reflect.ValueOf(modelConfig(t, smallCache)), reflect.ValueOf(base)); len(differ) != 1 || differ[0] != ".Scheduler.KVCache.NumGPUBlocksOverride" {
		t.Errorf("the comparison of models finds %v", differ)
	}
}

func modelConfig(t *testing.T, m Model) config.Model {
	t.Helper()
	c, err := m.Config(1)
	if err != nil {
		t.Fatal(err)
	}
	out := c.Models[0]
	out.Where, out.Scheduler.Hardware.Where = "", ""
	return out
}

// differences names the leaves in which two values of one type differ.
func differences(path string, a, b reflect.Value) []string {
	switch {
	case a.Kind() == reflect.Struct:
		var all []string
		for i := range a.NumField() {
			all = append(all, differences(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))...)
		}
		return all
	case reflect.DeepEqual(a.Interface(), b.Interface()):
		return nil
	}
	return []string{path}
}

// The base is the built-in scheduler model.
func TestTheBaseIsBuiltIn(t *testing.T) {
	ours, err := simserver.NewTimeline(modelConfig(t, base))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range config.Default().Models {
		if m.Engine != config.EngineScheduler {
			continue
		}
		theirs, err := simserver.NewTimeline(m)
		if err != nil {
			t.Fatal(err)
		}
		if ours.Description != theirs.Description {
			t.Errorf("the base is\n%s\nand %s is\n%s", ours.Description, m.Name, theirs.Description)
		}
		if ours.Config.NumBlocks != kvBlocks || ours.Config.BlockSize != blockTokens || ours.Config.MaxNumBatchedTokens != batchTokens {
			t.Errorf("formulas count on %d blocks of %d and %d tokens a step, the base has %d, %d and %d", kvBlocks, blockTokens, batchTokens,
				ours.Config.NumBlocks, ours.Config.BlockSize, ours.Config.MaxNumBatchedTokens)
		}
	}
}

func TestATimeScaleIsNoChangeOfTheModel(t *testing.T) {
	c, err := smallCache.Config(8)
	if err != nil {
		t.Fatal(err)
	}
	if c.TimeScale != 8 {
		t.Errorf("time scale %v, want 8", c.TimeScale)
	}
	if _, err := changed("scheduler.max_batch_token", "1").Config(1); err == nil || !strings.Contains(err.Error(), "max_batch_tokens") {
		t.Errorf("an unknown field: %v", err)
	}
}

// Figures that are known of the base model, in milliseconds.
func TestFormulas(t *testing.T) {
	for _, c := range []struct {
		what string
		got  float64
		want float64
	}{
		{"one short decode", decodeMS(1, 1), 4.49},
		{"29 sequences of 4,096 tokens", decodeMS(29, 4096), 25.25},
		{"a chunk of 8,192 tokens", stepMS(8192, 8192), 111.7},
		{"a chunk of 2,048 tokens", stepMS(2048, 2048), 27.9},
		{"compute of a 512-token prompt beside 64 decodes", computeMS(512 + 64), 7.85},
		{"the step of both", stepMS(512+64, 512+64*544), 10.7},
		{"three such prompts", stepMS(3*512+64, 3*512+64*544), 21.8},
	} {
		if math.Abs(c.got/c.want-1) > 0.005 {
			t.Errorf("%s: %.4g ms, want %g", c.what, c.got, c.want)
		}
	}
}

func TestSelect(t *testing.T) {
	some, err := Select([]string{"e10", "E3"})
	if err != nil || len(some) != 2 || some[0].ID != "E3" || some[1].ID != "E10" {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := Select([]string{"E99"}); err == nil || !strings.Contains(err.Error(), `no experiment "E99"; there are E1, E2`) {
		t.Errorf("an unknown experiment: %v", err)
	}
}
