package hist

import "testing"

func TestMergedIsAsIfRecordedInOne(t *testing.T) {
	for _, c := range []struct {
		name        string
		left, right int // distinct values on either side
	}{
		{"both exact", 100, 200},
		{"the sum is folded", maxDistinct - 10, 100},
		{"the other is folded", 100, maxDistinct + 100},
		{"both are folded", maxDistinct + 1, maxDistinct + 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			one, left, right := NewExact(), NewExact(), NewExact()
			for i := range c.left + c.right {
				ns, part := int64(i)*1000, left
				if i >= c.left {
					part = right
				}
				one.Record(ns, 2)
				part.Record(ns, 2)
			}
			before := right.Stats()
			left.Merge(right)
			if got, want := left.Stats(), one.Stats(); got != want {
				t.Errorf("merged %+v, want %+v", got, want)
			}
			if right.Stats() != before {
				t.Error("the other was changed")
			}
		})
	}
}
