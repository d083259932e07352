package health

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPlanNamesWhatIsMissing(t *testing.T) {
	narrow := Limits{Open: 10, Descriptors: 1023, HardDescriptors: 1024, FirstPort: 40001, LastPort: 40900}
	for _, c := range []struct {
		name         string
		limits       Limits
		connections  int64
		files, ports bool
		say          []string
	}{
		{"both suffice", narrow, 900, true, true, []string{
			"900 connections need about 974 file descriptors, and the limit is 1023.",
			"900 connections to one target need 900 local ports, and there are 900 (40001 to 40900).",
		}},
		{"ports do not", narrow, 901, true, false, []string{"and the limit is 1023.", "but there are 900 (40001 to 40900); widen"}},
		{"neither does, at the hard limit", narrow, 950, false, false, []string{"but the limit is 1023; it is at the hard limit, 1024, which", "but there are 900"}},
		{"below the hard limit", Limits{Descriptors: 256, HardDescriptors: 4096}, 300, false, true, []string{"but the limit is 256; raise it with ulimit -n.", "does not tell"}},
		{"no hard limit", Limits{Descriptors: 256}, 300, false, true, []string{"but the limit is 256; raise it with ulimit -n.", "does not tell"}},
		{"nothing known", Limits{}, 1e6, true, true, []string{"no limit is known", "does not tell"}},
	} {
		checks := c.limits.Plan(c.connections)
		if len(checks) != 2 || checks[0].Name != "descriptors" || checks[1].Name != "ports" {
			t.Fatalf("%s: %+v", c.name, checks)
		}
		if checks[0].Sufficient != c.files || checks[1].Sufficient != c.ports {
			t.Errorf("%s: %+v, want %v and %v", c.name, checks, c.files, c.ports)
		}
		for i, want := range c.say {
			if !strings.Contains(checks[i].Sentence, want) {
				t.Errorf("%s: %q, want %q", c.name, checks[i].Sentence, want)
			}
		}
	}
}

// TestMaxConnectionsIsTheEdgeOfPlan: so many suffice, and one more does not,
// unless the bound is the reason.
func TestMaxConnectionsIsTheEdgeOfPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{Open: rapid.Int64Range(0, 500).Draw(t, "open"), Descriptors: rapid.Int64Range(0, 3000).Draw(t, "descriptors")}
		if rapid.Bool().Draw(t, "ports known") {
			l.FirstPort = 1024
			l.LastPort = rapid.Int64Range(1024, 4000).Draw(t, "last port")
		}
		bound := rapid.Int64Range(0, 5000).Draw(t, "bound")
		suffice := func(n int64) bool {
			checks := l.Plan(n)
			return checks[0].Sufficient && checks[1].Sufficient
		}
		n := l.MaxConnections(bound)
		if n > bound || n > 0 && !suffice(n) {
			t.Fatalf("%d connections do not suffice: %+v", n, l.Plan(n))
		}
		if n < bound && suffice(n+1) {
			t.Fatalf("%d connections are possible too: %+v", n+1, l.Plan(n+1))
		}
	})
}

// TestTheRuntimeRaisedTheDescriptors: nothing here raises the soft limit, since
// the runtime has.
func TestTheRuntimeRaisedTheDescriptors(t *testing.T) {
	l := ReadLimits()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is sure to tell")
	}
	if l.Descriptors <= 0 || l.HardDescriptors > 0 && l.Descriptors < l.HardDescriptors-1 {
		t.Errorf("%+v, want a soft limit that is as high as the hard one, or one less", l)
	}
	if l.Open <= 0 || l.FirstPort < 1 || l.LastPort < l.FirstPort {
		t.Errorf("%+v", l)
	}
	if s := fmt.Sprint(l.Plan(1)); strings.Contains(s, "but") {
		t.Errorf("one connection is too many: %s", s)
	}
}
