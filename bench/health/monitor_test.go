package health

import (
	"encoding/json"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/internal/sleep"
)

// steady is a host that spends a fixed share of its time, told by a clock.
type steady struct {
	clock      Clock
	process    float64 // CPU seconds a second
	busy, host float64 // host CPU seconds a second, busy and in all
	files      func() int64
}

func (s steady) seconds() float64 { return float64(s.clock.Now()) / 1e9 }

func (s steady) processCPU() (time.Duration, bool) {
	return time.Duration(s.process * s.seconds() * 1e9), true
}

func (s steady) hostCPU() (float64, float64, bool) {
	return s.busy * s.seconds(), s.host * s.seconds(), true
}
func (s steady) openFiles() (int64, bool)  { return s.files(), true }
func (s steady) fileLimit() (int64, int64) { return 1024, 4096 }

func (s steady) localPorts() (int64, int64, bool) { return 1001, 2000, true }

// connections: 150 to the one target there is until 1.5 s, then 300 for a while
// and 20 in the end.
func (s steady) connections(target string) (n int64, ok bool) {
	switch at := s.seconds(); {
	case at < 1.5:
		n = 150
	case at < 7:
		n = 300
	default:
		n = 20
	}
	return n, target == "127.0.0.1:8000"
}

// gc: one collection every 100 ms with a pause of 2 ms, but 7 ms for the 15th.
func (s steady) gc(stats *debug.GCStats) {
	stats.NumGC = int64(s.seconds() * 10)
	stats.PauseTotal, stats.Pause = 0, nil
	for i := int64(1); i <= stats.NumGC; i++ {
		pause := 2 * time.Millisecond
		if i == 15 {
			pause = 7 * time.Millisecond
		}
		stats.PauseTotal += pause
		stats.Pause = append([]time.Duration{pause}, stats.Pause...)
	}
}

// silent is a platform that tells nothing.
type silent struct{}

func (silent) processCPU() (time.Duration, bool) { return 0, false }
func (silent) hostCPU() (float64, float64, bool) { return 0, 0, false }
func (silent) openFiles() (int64, bool)          { return -1, false }
func (silent) fileLimit() (int64, int64)         { return 0, 0 }
func (silent) localPorts() (int64, int64, bool)  { return -1, -1, false }
func (silent) connections(string) (int64, bool)  { return -1, false }
func (silent) gc(*debug.GCStats)                 {}

// jumping is a clock that can be made to have stood still for its users.
type jumping struct {
	sleep.Clock
	ahead atomic.Int64
}

func (j *jumping) Now() int64 { return j.Clock.Now() + j.ahead.Load() }

func TestMonitorReportsTheRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		time.Sleep(1250 * time.Millisecond) // not watched: 12 collections
		files := func() int64 {
			if s := float64(clock.Now()) / 1e9; s > 3 && s < 4.5 {
				return 90
			}
			return 12
		}
		m := newMonitor(clock, steady{clock: clock, process: 0.5, busy: 3, host: 4, files: files})
		m.WatchTarget("127.0.0.1:8000")
		m.Start()
		time.Sleep(6005 * time.Millisecond) // 60 collections, the 15th in all among them
		r := m.Stop()

		near := func(got, want float64) bool { return math.Abs(got-want) < 1e-6 }
		if r.Lateness.Count != 600 || r.Lateness.Max != 0 {
			t.Errorf("%+v, want 600 wake-ups, all on time", r.Lateness)
		}
		if want := 0.5 / float64(runtime.GOMAXPROCS(0)); r.ProcessCPU == nil || !near(*r.ProcessCPU, want) {
			t.Errorf("process CPU %v, want %v", r.ProcessCPU, want)
		}
		if r.HostCPU == nil || !near(*r.HostCPU, 0.75) {
			t.Errorf("host CPU %v, want 0.75", r.HostCPU)
		}
		if r.GC.Cycles != 60 || !near(r.GC.PauseMS, 125) || r.GC.MaxMS != 7 {
			t.Errorf("%+v, want 60 cycles of 125 ms in all and 7 ms at most", r.GC)
		}
		if r.Descriptors == nil || *r.Descriptors != (Descriptors{Open: 90, Limit: 1024}) {
			t.Errorf("%+v, want 90 of 1024 descriptors", r.Descriptors)
		}
		if r.Ports == nil || *r.Ports != (Ports{Connections: 300, Available: 1000}) {
			t.Errorf("%+v, want 300 connections with 1000 ports", r.Ports)
		}
	})
}

// TestMonitorCountsEveryMissedWakeUp: a stall of 100 ms makes ten wake-ups late,
// by 100, 90, … 10 ms.
func TestMonitorCountsEveryMissedWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &jumping{Clock: sleep.NewClock()}
		m := newMonitor(clock, silent{})
		m.Start()
		time.Sleep(55 * time.Millisecond)
		clock.ahead.Add(int64(100 * time.Millisecond))
		time.Sleep(50 * time.Millisecond) // the clock shows 205 ms
		got := m.Stop().Lateness
		if got.Count != 20 || math.Abs(got.Mean-550.0/20) > 1e-9 || math.Abs(got.Max-100) > 0.1 {
			t.Errorf("%+v, want 20 wake-ups of which ten were late by 550 ms together and 100 ms at most", got)
		}
	})
}

// slow is a platform whose readings take a while.
type slow struct{ silent }

func (slow) openFiles() (int64, bool) {
	time.Sleep(500 * time.Millisecond)
	return 1, true
}

// TestReadingsDoNotMakeWakeUpsLate: with thousands of descriptors to count, the
// monitor would find itself late otherwise.
func TestReadingsDoNotMakeWakeUpsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(sleep.NewClock(), slow{})
		m.Start()
		time.Sleep(2005 * time.Millisecond)
		close(m.stop)
		m.stopped.Wait()
		if got := m.lateness.Stats(); got.Count < 200 || got.Max != 0 {
			t.Errorf("%+v, want 200 wake-ups on time", got)
		}
	})
}

func TestWhatIsNotToldIsAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(sleep.NewClock(), silent{})
		m.Start()
		time.Sleep(time.Second)
		data, err := json.Marshal(m.Stop())
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"process_cpu", "host_cpu", "descriptors", "ports"} {
			if strings.Contains(string(data), key) {
				t.Errorf("%s has %q", data, key)
			}
		}
	})
}

func TestPlatformOfThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is sure to tell everything")
	}
	clock := sleep.NewClock()
	m := NewMonitor(clock)
	m.Start()
	for range 3 {
		runtime.GC()
	}
	var open []*os.File
	for range 20 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		open = append(open, f)
	}
	// Until the process has used a tick of CPU time, and time has passed for sure.
	before, _ := m.sensors.processCPU()
	for now := before; now-before < 30*time.Millisecond; now, _ = m.sensors.processCPU() {
	}
	r := m.Stop()
	if r.ProcessCPU == nil || *r.ProcessCPU <= 0 || *r.ProcessCPU > 1.5 {
		t.Errorf("process CPU %v, want a share", r.ProcessCPU)
	}
	if r.HostCPU == nil || *r.HostCPU <= 0 || *r.HostCPU > 1 {
		t.Errorf("host CPU %v, want a share", r.HostCPU)
	}
	if r.GC.Cycles < 3 || r.GC.PauseMS <= 0 || r.GC.MaxMS <= 0 || r.GC.MaxMS > r.GC.PauseMS {
		t.Errorf("%+v, want three or more cycles with pauses", r.GC)
	}
	if d := r.Descriptors; d == nil || d.Open <= int64(len(open)) || d.Limit < d.Open {
		t.Errorf("%+v, want more than %d open and a limit above", d, len(open))
	}
}
