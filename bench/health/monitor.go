package health

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"llmsim-bench/internal/hist"
)

// How often the monitor wakes, and how often it reads what costs more: the
// collector and the descriptors, and the connections, which the kernel walks all
// of its sockets for.
const (
	wakeEvery   = 10 * time.Millisecond
	sampleEvery = time.Second
	countEvery  = 5 * time.Second
)

// Clock is a monotonic clock in nanoseconds.
type Clock interface{ Now() int64 }

// Monitor watches this process from Start to Stop.
type Monitor struct {
	clock   Clock
	sensors sensors

	target string // host:port; empty: connections are not counted

	stop    chan struct{}
	stopped sync.WaitGroup

	start          reading
	lateness       *hist.Duration
	stalls         stalls
	gc             gcWatch
	maxOpen        int64
	maxConnections int64
}

// reading is what the monitor compares between its start and its end.
type reading struct {
	at         int64 // ns of the clock
	processCPU time.Duration
	processOK  bool
	hostBusy   float64
	hostTotal  float64
	hostOK     bool
}

// NewMonitor returns a Monitor that goes by clock.
func NewMonitor(clock Clock) *Monitor { return newMonitor(clock, newPlatform()) }

func newMonitor(clock Clock, s sensors) *Monitor {
	return &Monitor{clock: clock, sensors: s, stop: make(chan struct{}), lateness: hist.NewDuration()}
}

// WatchTarget makes the monitor count the connections to a target too, which is
// host:port as net.Dial takes it. It is called before Start.
func (m *Monitor) WatchTarget(address string) { m.target = address }

// Start begins to watch. A Monitor is started once.
func (m *Monitor) Start() {
	m.start = m.read()
	m.gc.begin(m.sensors)
	m.stopped.Go(m.watch)
	m.stopped.Go(m.sampleNowAndThen)
}

// Worst returns by how much this process was late, at most, between two readings
// of the clock, as far as stalls of 2 ms or more show it, since Start. It may be
// called while the monitor watches, and after.
func (m *Monitor) Worst(from, to int64) time.Duration { return m.stalls.worst(from, to, m.clock.Now()) }

// Stop ends the watch and returns what was seen since Start.
func (m *Monitor) Stop() Report {
	close(m.stop)
	m.stopped.Wait()
	end := m.read()
	m.sample()
	m.countConnections()

	cores := runtime.GOMAXPROCS(0)
	r := Report{Lateness: m.lateness.Stats(), Cores: cores, GC: m.gc.sum}
	if wall := time.Duration(end.at - m.start.at); m.start.processOK && end.processOK && wall > 0 {
		r.ProcessCPU = new(float64(end.processCPU-m.start.processCPU) / (float64(wall) * float64(cores)))
	}
	if total := end.hostTotal - m.start.hostTotal; m.start.hostOK && end.hostOK && total > 0 {
		// Rounding and a count of iowait that goes back can lead past either end.
		r.HostCPU = new(min(max((end.hostBusy-m.start.hostBusy)/total, 0), 1))
	}
	if m.maxOpen > 0 {
		soft, _ := m.sensors.fileLimit()
		r.Descriptors = &Descriptors{Open: m.maxOpen, Limit: soft}
	}
	if first, last, ok := m.sensors.localPorts(); ok {
		r.Ports = &Ports{Connections: m.maxConnections, Available: last - first + 1}
	}
	return r
}

// watch wakes at absolute times. After a stall it books every wake-up that was
// missed with its own lateness: one stall of 100 ms makes ten wake-ups late.
func (m *Monitor) watch() {
	due := m.start.at
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now, first := m.clock.Now(), due
		for ; due <= now; due += int64(wakeEvery) {
			if due > m.start.at { // the start itself is no wake-up
				m.lateness.Record(now-due, 1)
			}
		}
		m.stalls.woke(first, now, due)
		timer.Reset(time.Duration(due - m.clock.Now()))
		select {
		case <-timer.C:
		case <-m.stop:
			return
		}
	}
}

// sampleNowAndThen reads what can't wait for the end. It is apart from watch,
// whose wake-ups must not be late because of what a reading takes.
func (m *Monitor) sampleNowAndThen() {
	every := time.NewTicker(sampleEvery)
	defer every.Stop()
	count := time.NewTicker(countEvery)
	defer count.Stop()
	m.sample()
	m.countConnections()
	for {
		select {
		case <-every.C:
			m.sample()
		case <-count.C:
			m.countConnections()
		case <-m.stop:
			return
		}
	}
}

func (m *Monitor) sample() {
	m.gc.update(m.sensors)
	if n, ok := m.sensors.openFiles(); ok {
		m.maxOpen = max(m.maxOpen, n)
	}
}

func (m *Monitor) countConnections() {
	if m.target == "" {
		return
	}
	if n, ok := m.sensors.connections(m.target); ok {
		m.maxConnections = max(m.maxConnections, n)
	}
}

func (m *Monitor) read() reading {
	r := reading{at: m.clock.Now()}
	r.processCPU, r.processOK = m.sensors.processCPU()
	r.hostBusy, r.hostTotal, r.hostOK = m.sensors.hostCPU()
	return r
}

// gcWatch follows the collector's pauses. The runtime keeps the last 256, so it
// has to look more often than that many collections.
type gcWatch struct {
	stats debug.GCStats // reused
	seen  int64         // collections
	total time.Duration // paused, at the last look
	sum   GC
}

func (g *gcWatch) begin(s sensors) {
	s.gc(&g.stats)
	g.seen, g.total = g.stats.NumGC, g.stats.PauseTotal
}

func (g *gcWatch) update(s sensors) {
	s.gc(&g.stats)
	fresh := g.stats.NumGC - g.seen
	g.sum.Cycles += fresh
	g.sum.PauseMS += milliseconds(g.stats.PauseTotal - g.total)
	for _, pause := range g.stats.Pause[:min(int(fresh), len(g.stats.Pause))] { // newest first
		g.sum.MaxMS = max(g.sum.MaxMS, milliseconds(pause))
	}
	g.seen, g.total = g.stats.NumGC, g.stats.PauseTotal
}
