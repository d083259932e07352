package bench_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/workload"
	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
)

// Measure a server from Go: here a simulator in the same process, elsewhere any
// OpenAI-compatible server.
func Example() {
	server, err := simserver.Listen("127.0.0.1:0", config.Default(), simserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer func() { _ = server.Shutdown(context.Background()) }()

	result, err := bench.Run(context.Background(), bench.Config{
		URL: server.URL(), Model: "sim-fixed",
		Workload: bench.Workload{
			Loads:    []bench.Load{bench.AtRate(50)},
			Duration: 500 * time.Millisecond, Shape: workload.Exactly(512, 16),
			Seed: 1,
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	point := result.Points[0]
	fmt.Printf("all ok: %v\n", point.Accounting.OK == point.Accounting.Scheduled)
	fmt.Printf("simulated TTFT p50: %.2f ms\n", point.Metrics["ttft"].Simulated.P50)
	fmt.Printf("the client saw no less: %v\n", point.Metrics["ttft"].Client.P50 >= 7.12)
	// Output:
	// all ok: true
	// simulated TTFT p50: 7.12 ms
	// the client saw no less: true
}
