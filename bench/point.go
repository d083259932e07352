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
	"llmsim-bench/bench/workload"
	"llmsim-bench/internal/sleep"
	"llmsim-bench/internal/wire"
)

const (
	// progressEvery is how often Progress is called.
	progressEvery = 200 * time.Millisecond
	// longDrain is how long the end of a point waits where requests have no
	// timeout of their own.
	longDrain = time.Hour
)

// measure puts one load on the server. It returns false where ctx ended before
// anything was measured.
func (r *runner) measure(ctx context.Context, index int) (summary.Point, bool, error) {
	l, window := r.config.Loads[index], r.config.Window()
	requests, err := workload.NewSynthetic(r.config.Seed, r.server.calibration, r.config.PromptTokens, r.config.OutputTokens)
	if err != nil {
		return summary.Point{}, false, err
	}
	source, err := r.config.Source(index, requests, r.nextID)
	if err != nil {
		return summary.Point{}, false, err
	}
	r.sender.Run = fmt.Sprintf("%s-%d", r.server.run, index+1)
	drain := r.config.Timeout
	if drain == 0 {
		drain = longDrain
	}
	collector := summary.NewCollector()
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
		Clock: r.clock, Sleeper: sleep.New(r.clock),
	})
	if err != nil {
		return summary.Point{}, false, err
	}

	stopWatching := watchWindow(ctx, r.clock, window)
	stopProgress := r.showProgress(dispatcher, index, window)
	result, err := dispatcher.Run(ctx)
	ended := r.clock.Now()
	stopProgress()
	watched := stopWatching()
	if err != nil {
		return summary.Point{}, false, err
	}

	start := result.Start + record.Instant(window.Warmup)
	end := result.Start + record.Instant(window.End())
	if ctx.Err() != nil { // the window was cut short
		end = min(end, record.Instant(ended))
	}
	if end <= start {
		return summary.Point{}, false, nil
	}
	counted := result.Phases[record.PhaseMeasure]
	point, err := collector.Point(summary.Conditions{
		OfferedRPS: l.Rate, Concurrency: l.Concurrency, Start: start, End: end,
		Accounting: counted,
	})
	if err != nil {
		return summary.Point{}, false, err
	}
	if r.server.simulator {
		if err := r.readBack(ctx, &point); err != nil {
			point.Notes = append(point.Notes, err.Error())
		}
	}
	verdict := health.Judge(watched, health.Counts{Due: counted.Scheduled, Dispatched: counted.Dispatched}, bounds(collector))
	if point.Health, err = summary.NewHealth(verdict); err != nil {
		return summary.Point{}, false, err
	}
	point.SLO = r.config.SLO.Evaluate(&point, summary.Client)
	return point, true, nil
}

// watchWindow watches this process during the measured window of a load that
// starts now, or until ctx ends: warm-up and drain say nothing about the
// measurement. The function it returns ends the watch, if it still lasts, and
// returns what was seen.
func watchWindow(ctx context.Context, clock health.Clock, window load.Window) (stop func() health.Report) {
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
		observed, added := c.Observed(metric)
		if len(observed) == 0 {
			continue
		}
		all[metric+"_p50"] = health.BoundOf(observed, added, 0.50)
		all[metric+"_p99"] = health.BoundOf(observed, added, 0.99)
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
		status, _, body, err := r.get(ctx, path)
		if err != nil {
			return fmt.Errorf("the server's own account could not be read: %w", err)
		}
		var s wire.Summary
		if err := json.Unmarshal(body, &s); status != 200 || err != nil {
			return fmt.Errorf("the server's own account could not be read: status %d, %d bytes that are no summary", status, len(body))
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
