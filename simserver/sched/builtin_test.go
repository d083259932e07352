package sched

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A published version of a profile never changes, so that a name in a result
// means the same figures for ever. testdata/profiles.golden may grow; a line of
// it may not change.
func TestProfilesAreFrozen(t *testing.T) {
	var b strings.Builder
	for _, name := range HardwareProfiles() {
		for _, gpus := range []int{1, 2, 4} {
			h, p := mustHardware(t, name, gpus)
			fmt.Fprintf(&b, "%s%s%s\n", name, fieldsSet(h), fieldsSet(p))
		}
	}
	for _, name := range ModelProfiles() {
		m := mustModel(t, name)
		fmt.Fprintf(&b, "%s%s\n", name, fieldsSet(m.Shape))
		if m != (Model{Shape: m.Shape}) {
			t.Errorf("%s sets figures beside its shape: %+v", name, m)
		}
	}
	file := filepath.Join("testdata", "profiles.golden")
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("%s differs from the built-in profiles, which are\n%s", file, got)
	}
}

// fieldsSet writes the fields of a struct that are not zero.
func fieldsSet(value any) string {
	var b strings.Builder
	for field, v := range reflect.ValueOf(value).Fields() {
		if !v.IsZero() {
			fmt.Fprintf(&b, " %s=%v", field.Name, v)
		}
	}
	return b.String()
}

func TestProfilesHaveVersionsAndUniqueNames(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range append(HardwareProfiles(), ModelProfiles()...) {
		if base, version, ok := strings.Cut(name, "@"); !ok || base == "" || version == "" || seen[name] {
			t.Errorf("profile %q, want a name of its own with a version", name)
		}
		seen[name] = true
	}
}

// Every model fits some of every hardware, and a decode step of it takes between
// a millisecond and a tenth of a second.
func TestEveryModelRunsOnEveryHardware(t *testing.T) {
	for _, hardware := range HardwareProfiles() {
		for _, model := range ModelProfiles() {
			fits := false
			for gpus := 1; gpus <= 8 && !fits; gpus *= 2 {
				h, p := mustHardware(t, hardware, gpus)
				m := mustModel(t, model)
				if m.checkParallel(gpus) != nil {
					continue
				}
				if _, err := NewCapacity(h, m, 16, 0.9); err != nil {
					continue
				}
				fits = true
				cost := mustCost(t, h, m, p).Cost(step(batch(1, 100, 1)))
				if cost.Duration < 1e6 || cost.Duration > 1e8 {
					t.Errorf("%s on %d %s: a decode step takes %v", model, gpus, hardware, cost.Duration)
				}
			}
			if !fits {
				t.Errorf("%s fits no number of %s up to 8", model, hardware)
			}
		}
	}
}

func TestMoreGPUsThanMeasuredCostWhatTheMostDid(t *testing.T) {
	_, four := mustHardware(t, "h100-sxm@1", 4)
	_, eight := mustHardware(t, "h100-sxm@1", 8)
	_, three := mustHardware(t, "h100-sxm@1", 3)
	_, two := mustHardware(t, "h100-sxm@1", 2)
	if eight != four || three != two || two == four {
		t.Errorf("2: %+v, 3: %+v, 4: %+v, 8: %+v", two, three, four, eight)
	}
}

func TestUnknownProfilesNameTheKnownOnes(t *testing.T) {
	_, _, err := HardwareProfile("h100", 1)
	if err == nil || !strings.HasPrefix(err.Error(), `hardware: no profile "h100", there are h100-sxm@1, h200@1, `) {
		t.Errorf("error is %v", err)
	}
	_, err = ModelProfile("gpt-2")
	if err == nil || !strings.HasPrefix(err.Error(), `model: no profile "gpt-2", there are llama-2-7b@1, `) {
		t.Errorf("error is %v", err)
	}
	_, _, err = HardwareProfile("h100-sxm@1", 0)
	if err == nil || err.Error() != "hardware: tensor parallelism is 0, must be 1 to 1024" {
		t.Errorf("error is %v", err)
	}
}

func TestAChangedProfileChangesNoOther(t *testing.T) {
	h, p := mustHardware(t, "h100-sxm@1", 2)
	m := mustModel(t, "llama-3.1-8b@1")
	h.MemoryGiB, p.FrontEnd, m.Shape.Layers = 1, 1, 1
	again, params := mustHardware(t, "h100-sxm@1", 2)
	if again == h || params == p || mustModel(t, "llama-3.1-8b@1") == m {
		t.Error("a change to a returned profile is seen by the next caller")
	}
}
