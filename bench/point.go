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
	var recordErr error
	dispatcher, err := load.New(load.Options{
		Source: source, Prepare: r.sender.Prepare, Do: r.sender.Send,
		OnRecord: func(rec *record.Request) {
			rec.PromptTokensAsked = r.config.PromptTokens
			collector.Add(rec)
			r.nextID = max(r.nextID, rec.ID+1)
			if r.records != nil && recordErr == nil {
				recordErr = r.records.Write(rec)
			}
		},
		MaxInFlight: r.config.MaxInFlight, DrainTimeout: drain,
		Clock: r.clock, Sleeper: sleep.New(r.clock),
	})
	if err != nil {
		return summary.Point{}, false, err
	}

	monitor := health.NewMonitor(r.clock)
	monitor.Start()
	stopProgress := r.showProgress(dispatcher, l, window)
	result, err := dispatcher.Run(ctx)
	ended := r.clock.Now()
	stopProgress()
	watched := monitor.Stop()
	if err != nil {
		return summary.Point{}, false, err
	}
	if recordErr != nil {
		return summary.Point{}, false, recordErr
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
func (r *runner) showProgress(d *load.Dispatcher, l Load, window load.Window) (stop func()) {
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
			elapsed := time.Duration(r.clock.Now() - began)
			phase := record.PhaseMeasure
			switch {
			case elapsed < window.Warmup:
				phase = record.PhaseWarmup
			case elapsed > window.End():
				phase = "drain"
			}
			a := d.Progress()
			r.config.Progress(report.Status{
				Load: l.String(), Phase: phase, OK: a.OK, Failed: a.Failed, Running: a.Running, Left: window.End() - elapsed,
			})
		}
	}()
	return func() { close(quit); <-done }
}

// Bounds of waiting for the server's own account.
const (
	readBackTries = 100
	readBackPause = 20 * time.Millisecond
)

// readBack fills in what the simulator itself says of the point's requests. The
// last of them may have ended here a moment before the server counts it.
func (r *runner) readBack(ctx context.Context, point *summary.Point) error {
	ctx = context.WithoutCancel(ctx) // after Ctrl-C the account is still wanted
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
		time.Sleep(readBackPause)
	}
}
