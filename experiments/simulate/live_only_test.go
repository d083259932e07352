package simulate

import (
	"strings"
	"testing"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/workload"
	"llmsim-bench/simserver/config"
)

// What only a live server does must not be left out in silence.
func TestWhatOnlyALiveServerDoesIsRefused(t *testing.T) {
	for _, c := range []struct {
		says   string
		change func(*config.Model)
	}{
		{"models[0].replicas: a workload can be simulated on 1 only, not on 3", func(m *config.Model) { m.Replicas = 3 }},
		{"models[0].scheduler.max_waiting: a simulated workload is never refused, so it must be 0, not 7", func(m *config.Model) {
			m.Scheduler.Options.MaxWaiting = 7
		}},
	} {
		for _, m := range config.Default().Models {
			if m.Engine != config.EngineScheduler {
				continue
			}
			c.change(&m)
			_, err := Run(Config{Model: m, Workload: bench.Workload{
				Loads: []bench.Load{bench.AtRate(10)}, Duration: time.Second, Shape: workload.Exactly(16, 2), Seed: 1,
			}})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want …%s", err, c.says)
			}
		}
	}
}
