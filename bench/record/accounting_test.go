package record_test

import (
	"reflect"
	"strings"
	"testing"

	"llmsim-bench/bench/record"
)

func TestAccountingIdentity(t *testing.T) {
	whole := record.Accounting{
		Scheduled: 15, OK: 1, Failed: 2, Cancelled: 3, Dropped: 4, Running: 5,
		FailedByKind: map[string]int64{"reset": 1, "timeout": 1},
	}
	if err := whole.Check(); err != nil {
		t.Errorf("%+v: %v", whole, err)
	}
	lost := whole
	lost.Running--
	if err := lost.Check(); err == nil || !strings.Contains(err.Error(), "15 scheduled, but 1 ok + 2 failed") {
		t.Errorf("%+v: %v", lost, err)
	}
	unnamed := whole
	unnamed.FailedByKind = map[string]int64{"reset": 1}
	if err := unnamed.Check(); err == nil || !strings.Contains(err.Error(), "add up to 1") {
		t.Errorf("%+v: %v", unnamed, err)
	}
}

func TestCountByKind(t *testing.T) {
	var a, b record.Accounting
	ended := func(outcome, kind string, retried ...string) *record.Request {
		r := record.New()
		r.Outcome, r.Kind, r.Retried = outcome, kind, retried
		return r
	}
	a.Count(ended(record.OK, "", record.KindRateLimited, record.KindRateLimited))
	a.Count(ended(record.Failed, record.KindRateLimited, record.KindConnect))
	b.Count(ended(record.Cancelled, record.LeftAfterTokens))
	b.Count(ended(record.Cancelled, ""))
	b.Count(ended(record.Cancelled, record.LeftAfterTokens))
	before := a.Clone()
	a.Add(b)
	a.Add(b)
	want := record.Accounting{
		OK: 1, Failed: 1, Cancelled: 6,
		FailedByKind:    map[string]int64{record.KindRateLimited: 1},
		CancelledByKind: map[string]int64{record.LeftAfterTokens: 4},
		RetriedByKind:   map[string]int64{record.KindRateLimited: 2, record.KindConnect: 1},
	}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("got %+v, want %+v", a, want)
	}
	if a.CutOff() != 2 {
		t.Errorf("%d cut off, want the two that no client had cancelled", a.CutOff())
	}
	if before.Cancelled != 0 || len(before.CancelledByKind) != 0 {
		t.Errorf("the clone changed to %+v", before)
	}
}
