package simserver_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"llmsim-bench/experiments/simulate"
	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
)

// withReplicas is the article's model on several engines, with a cache that a few
// requests fill.
func withReplicas(n int, route string) string {
	return strings.NewReplacer(
		"engine: scheduler", fmt.Sprintf("engine: scheduler\n    replicas: %d\n    route: %s", n, route),
		"scheduler: {", "scheduler: {profile: vllm-0.23, ",
		"watermark: 0.01", "num_gpu_blocks_override: 60",
		"context_length: 32768", "context_length: 900",
		"parameters_billions: 6.74", "parameters_billions: 2",
	).Replace(article)
}

// The log of each replica is a timeline of its own, and is repeated to the
// nanosecond.
func TestEveryReplicaIsReplayed(t *testing.T) {
	const replicas, requests, tokens = 3, 45, 20
	for _, route := range []string{"round_robin", "least_loaded", "prefix_affinity"} {
		t.Run(route, func(t *testing.T) {
			l := startLive(t, withReplicas(replicas, route), simserver.Options{})
			var streams []*stream
			for i := range requests {
				// Three groups that share a beginning of several blocks.
				prompt := strings.Repeat(fmt.Sprintf("word%d ", i%3), 100) + fmt.Sprintf("end%d", i)
				streams = append(streams, startStream(t, l.Simulator, "m", prompt, tokens))
			}
			for _, s := range streams {
				s.end(t, tokens)
			}
			m := summary(t, l.Simulator, "").Models["m"]
			if len(m.Replicas) != replicas || m.Requests.Completed != requests || m.Steps == nil {
				t.Fatalf("%+v", m)
			}
			var given, steps int64
			for _, r := range m.Replicas {
				given += r.Requests
				steps += r.Steps.Count
				if route == "round_robin" && r.Requests != requests/replicas {
					t.Errorf("a replica was given %d requests in turn, want %d", r.Requests, requests/replicas)
				}
				if r.Running != 0 {
					t.Errorf("a replica has %d requests running after the last", r.Running)
				}
			}
			if given != requests || steps != m.Steps.Count {
				t.Errorf("%d requests and %d steps in all replicas, %d and %d in the model", given, steps, requests, m.Steps.Count)
			}

			all := l.replay(t)
			if len(all) != replicas {
				t.Fatalf("%d logs, want one for each of %d replicas", len(all), replicas)
			}
			for i, r := range all {
				if r.Model != "m" || r.Replica != i || int64(r.Requests) != m.Replicas[i].Requests || int64(r.Steps) < m.Replicas[i].Steps.Count {
					t.Errorf("replay %d is %+v, the live replica %+v", i, r, m.Replicas[i])
				}
			}
		})
	}
}

// A log of more replicas than the configuration has is another configuration's.
func TestAReplicaTooManyIsNotReplayed(t *testing.T) {
	l := startLive(t, withReplicas(2, "round_robin"), simserver.Options{})
	l.stop(t)
	one, err := config.Parse("models.yml", []byte(withReplicas(1, "round_robin")))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Open(l.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := simulate.Replay(log, one); err == nil || !strings.Contains(err.Error(), `model "m", replica 1, of which the configuration has 1`) {
		t.Errorf("error %v", err)
	}
}

// Replicas of an engine without steps share the requests, too.
func TestReplicasWithoutSteps(t *testing.T) {
	l := startLive(t, strings.Replace(testModels, "engine: fixed_rate", "engine: fixed_rate\n    replicas: 2", 1), simserver.Options{})
	for range 3 {
		startStream(t, l.Simulator, "fast", "hi", 5).end(t, 5)
	}
	m := summary(t, l.Simulator, "").Models["fast"]
	if len(m.Replicas) != 2 || m.Replicas[0].Requests != 2 || m.Replicas[1].Requests != 1 || m.Steps != nil {
		t.Errorf("%+v", m)
	}
}
