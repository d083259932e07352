package record_test

import (
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
