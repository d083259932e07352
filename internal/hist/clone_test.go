package hist

import "testing"

func TestCloneSharesNothing(t *testing.T) {
	d := NewDuration()
	d.Record(1_000_000, 3)
	exact := NewExact()
	exact.Record(1_000_000, 3)
	folded := NewExact()
	for ns := range int64(maxDistinct + 1) {
		folded.Record(ns, 1)
	}
	if folded.folded == nil {
		t.Fatal("the third recorder was meant to be folded")
	}

	type recorder interface {
		Record(ns, n int64)
		Stats() Stats
	}
	for name, pair := range map[string][2]recorder{
		"duration": {d, d.Clone()},
		"exact":    {exact, exact.Clone()},
		"folded":   {folded, folded.Clone()},
	} {
		before := pair[0].Stats()
		if got := pair[1].Stats(); got != before {
			t.Errorf("%s: the clone has %+v, want %+v", name, got, before)
		}
		pair[0].Record(9_000_000_000, 5)
		if got := pair[1].Stats(); got != before {
			t.Errorf("%s: recording changed the clone to %+v", name, got)
		}
		if got := pair[0].Stats(); got.Count != before.Count+5 {
			t.Errorf("%s: recording after the clone gave %+v", name, got)
		}
	}
}
