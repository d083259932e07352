package experiments

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"llmsim-bench/experiments/simulate"
)

// inVirtualTime runs a case on an engine of its own, with a machine's delays.
func inVirtualTime(c *Case, seed uint64, delays simulate.Delays) (*outcome, error) {
	models, err := c.Model.Config(1)
	if err != nil {
		return nil, err
	}
	w, err := c.workload(seed)
	if err != nil {
		return nil, err
	}
	// Durations are the wall clock's.
	w.Duration, w.Warmup = stretched(w.Duration, c.scale()), stretched(w.Warmup, c.scale())
	result, err := simulate.Run(simulate.Config{
		Workload: w, Model: models.Models[0], Leave: leaving(c, seed), Delays: delays.Scaled(c.scale()),
	})
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", c.Name, err)
	}
	return &outcome{point: &result.Points[0], virtual: true}, nil
}

// eachOf calls do for 0 to n-1, on all processors, and returns the first error.
func eachOf(n int, do func(i int) error) error {
	var group sync.WaitGroup
	next := make(chan int)
	errs := make([]error, n)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// stretched is a duration of the wall clock on a timeline that runs so many times
// as fast.
func stretched(d time.Duration, timeScale float64) time.Duration {
	return time.Duration(float64(d) * timeScale)
}
