package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"llmsim-bench/bench/health"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/report"
	"llmsim-bench/bench/summary"
	"llmsim-bench/internal/sleep"
	"llmsim-bench/internal/wire"
)

const (
	// progressEvery is how often Progress is called.
	progressEvery = 200 * time.Millisecond
	// longDrain is how long the end of a point waits where requests have no
	// timeout of their own.
	longDrain = time.Hour
	// drainGrace is how much longer than their own timeout requests may take, since
	// they and their timers may have begun late.
	drainGrace = 5 * time.Second
)

// measurement is one load put on the server.
type measurement struct {
	*runner
	index  int
	load   Load
	window load.Window

	dispatcher *load.Dispatcher
	monitor    *health.Monitor
	clockSteps int64 // the pool's before

	// Since the start.
	measured     summary.Window
	collector    *summary.Collector
	stopWatching func() health.Report
	stopProgress func()
}

// measure puts one load on the server. It returns false where ctx ended before
// anything was measured.
func (r *runner) measure(ctx context.Context, index int) (summary.Point, bool, error) {
	m := &measurement{
		runner: r, index: index, load: r.config.Loads[index], window: r.config.Window(),
		monitor: health.NewMonitor(r.clock), clockSteps: r.pool.Stats().ClockSteps,
	}
	m.monitor.WatchTarget(r.firstHop())
	r.sender.Run = fmt.Sprintf("%s-%d", r.server.run, index+1)
	if err := m.prepare(ctx); err != nil {
		return summary.Point{}, false, err
	}
	result, err := m.dispatcher.Run(ctx)
	ended := record.Instant(r.clock.Now())
	m.stopProgress()
	watched := m.stopWatching()
	if err != nil {
		return summary.Point{}, false, err
	}
	var cutAt record.Instant
	if ctx.Err() != nil {
		if cutAt = ended; cutAt <= m.measured.Start {
			return summary.Point{}, false, nil
		}
	}
	point, err := m.point(ctx, result.Phases[record.PhaseMeasure], cutAt, watched)
	return point, err == nil, err
}

// prepare makes the dispatcher, which tells when it starts and what ended.
func (m *measurement) prepare(ctx context.Context) error {
	requests, err := m.config.Requests(m.index, m.server.calibration, m.nextID)
	if err != nil {
		return err
	}
	source, err := m.config.Source(m.index, requests, m.nextID)
	if err != nil {
		return err
	}
	drain := longDrain
	if limit := m.config.Timeouts.Total; limit > 0 {
		drain = limit + drainGrace // requests end themselves
	}
	m.dispatcher, err = load.New(load.Options{
		Source: source, Prepare: m.sender.Prepare, Do: m.sender.Send, Point: m.index + 1,
		OnStart:     func(start record.Instant) { m.start(ctx, start) },
		OnRecord:    m.record,
		MaxInFlight: m.config.MaxInFlight, DrainTimeout: drain,
		Clock: m.clock, Sleeper: sleep.New(m.clock),
	})
	return err
}

func (m *measurement) start(ctx context.Context, at record.Instant) {
	m.measured = summary.Window{Start: at + record.Instant(m.window.Warmup), End: at + record.Instant(m.window.End())}
	m.collector = summary.NewCollector(m.measured, func(from, to record.Instant) time.Duration {
		return m.monitor.Worst(int64(from), int64(to))
	})
	m.stopWatching = m.monitor.WatchWindow(ctx, m.window.Warmup, m.window.Measure, nil)
	m.stopProgress = m.showProgress(m.dispatcher, m.index, m.window)
}

func (m *measurement) record(rec *record.Request) {
	m.collector.Add(rec)
	m.nextID = max(m.nextID, rec.ID+1)
	if m.records == nil {
		return
	}
	if err := m.records.Write(rec); err != nil {
		m.stop() // Close tells the error
	}
}

// point summarises what was measured.
func (m *measurement) point(ctx context.Context, counted record.Accounting, cutAt record.Instant, watched health.Report) (summary.Point, error) {
	point, err := m.collector.Point(summary.Conditions{
		OfferedRPS: m.config.OfferedRPS(m.load), Concurrency: m.load.Concurrency, Arrivals: m.load.Description(),
		CutAt: cutAt, Accounting: counted,
	})
	if err != nil {
		return summary.Point{}, err
	}
	if m.server.simulator {
		if err := m.readBack(ctx, &point); err != nil {
			point.Notes = append(point.Notes, err.Error())
		}
	}
	verdict := health.Evidence{
		Report: watched, Counts: health.Counts{Due: counted.Scheduled, Dispatched: counted.Dispatched},
		Bounds: bounds(m.collector), ClockSteps: m.pool.Stats().ClockSteps - m.clockSteps,
	}.Judge()
	if point.Health, err = summary.NewHealth(verdict); err != nil {
		return summary.Point{}, err
	}
	point.SLO = m.config.SLO.Evaluate(&point, summary.Client)
	return point, nil
}

// firstHop is the address that connections lead to.
func (r *runner) firstHop() string {
	if r.config.Proxy != nil {
		return r.config.Proxy.Host
	}
	return r.pool.Target().Address
}

// bounds says for each headline percentile how much of it the client may have
// added itself.
func bounds(c *summary.Collector) map[string]health.Bound {
	all := make(map[string]health.Bound)
	for _, metric := range []string{summary.TTFT, summary.E2E} {
		for name, q := range map[string]float64{"_p50": 0.50, "_p99": 0.99} {
			if observed, undelayed := c.Quantiles(metric, q); observed > 0 {
				all[metric+name] = health.BoundOf(time.Duration(observed), time.Duration(undelayed))
			}
		}
	}
	return all
}

// showProgress reports on a dispatcher until the function that it returns is
// called.
func (r *runner) showProgress(d *load.Dispatcher, index int, window load.Window) (stop func()) {
	if r.config.Progress == nil {
		return func() {}
	}
	began := r.clock.Now()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			phase, left := stage(time.Duration(r.clock.Now()-began), window, len(r.config.Loads)-index-1)
			a := d.Progress()
			r.config.Progress(report.Status{
				Load: r.config.Loads[index].String(), Phase: phase,
				OK: a.OK, Failed: a.Failed, Running: a.Running, Left: left,
			})
		}
	}()
	return func() { close(quit); <-done }
}

// stage says in which phase a load point is that began so long ago, and how long
// the run will last with as many more points to come. How long a drain takes
// nobody knows: it counts as over.
func stage(elapsed time.Duration, window load.Window, more int) (phase string, left time.Duration) {
	phase = record.PhaseMeasure
	switch {
	case elapsed < window.Warmup:
		phase = record.PhaseWarmup
	case elapsed >= window.End():
		phase = "drain"
	}
	return phase, max(window.End()-elapsed, 0) + time.Duration(more)*window.End()
}

// Bounds of waiting for the server's own account.
const (
	readBackTries = 100
	readBackPause = 20 * time.Millisecond
	readBackTime  = 10 * time.Second // over all tries
	readBackGrace = 3 * time.Second  // of this, once the run was told to end
)

// outlast returns a context that ends after a time, or, once ctx has ended, after
// a grace.
func outlast(ctx context.Context, limit, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { stop(); cancel() }
}

// readBack fills in what the simulator itself says of the point's requests. The
// last of them may have ended here a moment before the server counts it.
func (r *runner) readBack(ctx context.Context, point *summary.Point) error {
	ctx, cancel := outlast(ctx, readBackTime, readBackGrace) // after Ctrl-C the account is still wanted
	defer cancel()
	path := "/metrics/summary?phase=" + url.QueryEscape(r.sender.Run+"/"+record.PhaseMeasure)
	for try := 1; ; try++ {
		got, err := r.get(ctx, path)
		if err != nil {
			return fmt.Errorf("the server's own account could not be read: %w", err)
		}
		var s wire.Summary
		if status := got.header.StatusCode(); status != 200 || json.Unmarshal(got.body, &s) != nil {
			return fmt.Errorf("the server's own account could not be read: status %d, %d bytes that are no summary", status, len(got.body))
		}
		model := s.Models[r.server.model]
		if model.Requests.Running == 0 || try == readBackTries {
			point.MergeServer(model, summary.LagEnvelope)
			return nil
		}
		select {
		case <-time.After(readBackPause):
		case <-ctx.Done(): // the next try fails
		}
	}
}
