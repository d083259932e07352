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
	// headStart is between setting a load up and its first due time.
	headStart = 2 * time.Millisecond
	// progressEvery is how often Progress is called.
	progressEvery = 200 * time.Millisecond
	// longDrain is how long the end of a point waits where requests have no
	// timeout of their own.
	longDrain = time.Hour
	// drainGrace is how much longer than their own timeout requests may take, since
	// they and their timers may have begun late.
	drainGrace = 5 * time.Second
)

// measure puts one load on the server. It returns false where ctx ended before
// anything was measured.
func (r *runner) measure(ctx context.Context, index int) (summary.Point, bool, error) {
	l, window := r.config.Loads[index], r.config.Window()
	requests, err := r.config.Requests(index, r.server.calibration, r.nextID)
	if err != nil {
		return summary.Point{}, false, err
	}
	source, err := r.config.Source(index, requests, r.nextID)
	if err != nil {
		return summary.Point{}, false, err
	}
	r.sender.Run = fmt.Sprintf("%s-%d", r.server.run, index+1)
	drain := longDrain
	if limit := r.config.Timeouts.Total; limit > 0 {
		drain = limit + drainGrace // requests end themselves
	}
	begin := r.clock.Now() + int64(headStart)
	start, end := record.Instant(begin)+record.Instant(window.Warmup), record.Instant(begin)+record.Instant(window.End())
	collector := summary.NewCollector(summary.Window{Start: start, End: end})
	dispatcher, err := load.New(load.Options{
		Source: source, Prepare: r.sender.Prepare, Do: r.sender.Send, Point: index + 1,
		OnRecord: func(rec *record.Request) {
			collector.Add(rec)
			r.nextID = max(r.nextID, rec.ID+1)
			if r.records == nil {
				return
			}
			if err := r.records.Write(rec); err != nil {
				r.stop() // Close tells the error
			}
		},
		MaxInFlight: r.config.MaxInFlight, DrainTimeout: drain,
		Clock: r.clock, Sleeper: sleep.New(r.clock), Start: begin,
	})
	if err != nil {
		return summary.Point{}, false, err
	}

	clockSteps := r.pool.Stats().ClockSteps
	stopWatching := watchWindow(ctx, r.clock, window, r.firstHop())
	stopProgress := r.showProgress(dispatcher, index, window)
	result, err := dispatcher.Run(ctx)
	ended := r.clock.Now()
	stopProgress()
	watched := stopWatching()
	if err != nil {
		return summary.Point{}, false, err
	}

	var cutAt record.Instant
	if ctx.Err() != nil {
		if cutAt = record.Instant(ended); cutAt <= start {
			return summary.Point{}, false, nil
		}
	}
	counted := result.Phases[record.PhaseMeasure]
	point, err := collector.Point(summary.Conditions{
		OfferedRPS: r.config.OfferedRPS(l), Concurrency: l.Concurrency, Arrivals: l.Description(), CutAt: cutAt, Accounting: counted,
	})
	if err != nil {
		return summary.Point{}, false, err
	}
	if r.server.simulator {
		if err := r.readBack(ctx, &point); err != nil {
			point.Notes = append(point.Notes, err.Error())
		}
	}
	verdict := health.Evidence{
		Report: watched, Counts: health.Counts{Due: counted.Scheduled, Dispatched: counted.Dispatched},
		Bounds: bounds(collector), ClockSteps: r.pool.Stats().ClockSteps - clockSteps,
	}.Judge()
	if point.Health, err = summary.NewHealth(verdict); err != nil {
		return summary.Point{}, false, err
	}
	point.SLO = r.config.SLO.Evaluate(&point, summary.Client)
	return point, true, nil
}

// firstHop is the address that connections lead to.
func (r *runner) firstHop() string {
	if r.config.Proxy != nil {
		return r.config.Proxy.Host
	}
	return r.pool.Target().Address
}

// watchWindow watches this process during the measured window of a load that
// starts now, or until ctx ends: warm-up and drain say nothing about the
// measurement. The function it returns ends the watch, if it still lasts, and
// returns what was seen.
func watchWindow(ctx context.Context, clock health.Clock, window load.Window, target string) (stop func() health.Report) {
	ctx, cancel := context.WithCancel(ctx)
	wait := func(d time.Duration) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	seen := make(chan health.Report, 1)
	go func() {
		wait(window.Warmup)
		monitor := health.NewMonitor(clock)
		monitor.WatchTarget(target)
		monitor.Start()
		wait(window.Measure)
		seen <- monitor.Stop()
	}()
	return func() health.Report {
		cancel()
		return <-seen
	}
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
