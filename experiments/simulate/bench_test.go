package simulate

import (
	"testing"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/workload"
	"llmsim-bench/simserver/config"
)

// BenchmarkOneHour simulates an hour of Poisson traffic at 10 requests a second,
// 512 tokens in and 64 out, results included.
func BenchmarkOneHour(b *testing.B) {
	c := Config{
		Model: config.Default().Models[0],
		Workload: bench.Workload{
			Loads: []bench.Load{bench.AtRate(10)}, Duration: time.Hour, Shape: workload.Exactly(512, 64), Seed: 1,
		},
	}
	for b.Loop() {
		r, err := Run(c)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Points[0].Accounting.OK), "requests")
		b.ReportMetric(float64(r.Points[0].Steps.Count), "steps")
	}
}
