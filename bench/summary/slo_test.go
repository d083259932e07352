package summary_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"llmsim-bench/bench/summary"
)

func TestParseSLO(t *testing.T) {
	got, err := summary.ParseSLO("ttft_p99=200ms, e2e_sent_p50<=2s,tpot_mean <= 1.5ms")
	want := summary.SLO{
		{Metric: "ttft", Stat: "p99", Limit: 200 * time.Millisecond},
		{Metric: "e2e_sent", Stat: "p50", Limit: 2 * time.Second},
		{Metric: "tpot", Stat: "mean", Limit: 1500 * time.Microsecond},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestParseSLOSaysWhatIsWrong(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "there is no limit",
		"ttft_p99":                  "there is no limit",
		"ttft_p99=200ms,":           `objective ""`,
		"ttft=1s":                   `"ttft" names no statistic`,
		"tfft_p99=1s":               `there is no metric "tfft"; the metrics are ttft, ttft_sent,`,
		"ttft_p75=1s":               `there is no statistic "p75"; the statistics are p50, p90`,
		"ttft_sent=1s":              `there is no statistic "sent"`,
		"ttft_p99=200":              `the limit "200" is no positive duration`,
		"ttft_p99=-1s":              `the limit "-1s" is no positive duration`,
		"ttft_p99=0s":               `the limit "0s" is no positive duration`,
		"ttft_p99=1s,e2e_p50==2s":   `objective "e2e_p50==2s"`,
		"ttft_p99=1s;e2e_p50<=2s":   `the limit "1s;e2e_p50<=2s"`,
		"ttft_p99=1s,e2e_p50>=2s":   `no statistic "p50>"`,
		"ttft_p99=999999999999999h": "no positive duration",
	} {
		slo, err := summary.ParseSLO(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v; want one with %q", in, slo, err, want)
		}
	}
}

func FuzzParseSLO(f *testing.F) {
	f.Add("ttft_p99=200ms,e2e_sent_p50<=2s")
	f.Add("_=,")
	f.Fuzz(func(t *testing.T, in string) {
		slo, err := summary.ParseSLO(in)
		if err != nil {
			return
		}
		var parts []string
		for _, o := range slo {
			parts = append(parts, o.String())
		}
		again, err := summary.ParseSLO(strings.Join(parts, ","))
		if err != nil || !reflect.DeepEqual(again, slo) {
			t.Errorf("%q reads as %v, which reads as %v, %v", in, slo, again, err)
		}
	})
}

func TestEvaluate(t *testing.T) {
	p := point(t, oneSecond(1), request(0))
	slo, err := summary.ParseSLO("ttft_p99=21ms,ttft_max=20.999ms,tail_p50=11ms")
	if err != nil {
		t.Fatal(err)
	}
	delete(p.Metrics, "tail")
	results := slo.Evaluate(&p, summary.Client)
	if len(results) != 3 {
		t.Fatalf("%d results for 3 objectives", len(results))
	}
	if r := results[0]; !r.Met || *r.MeasuredMS != 21 || r.LimitMS != 21 || r.Objective != "ttft_p99<=21ms" {
		t.Errorf("a value at the limit: %+v", r)
	}
	if r := results[1]; r.Met || *r.MeasuredMS != 21 {
		t.Errorf("a value past the limit: %+v", r)
	}
	if r := results[2]; r.Met || r.MeasuredMS != nil {
		t.Errorf("a metric that does not exist: %+v", r)
	}
}

func TestEveryStatisticIsItsOwn(t *testing.T) {
	c := summary.NewCollector(summary.Window{End: second(1)}, nil)
	for i := range 200 {
		r := request(0)
		r.First = second(float64(i*i+1) / 1000)
		c.Add(r)
	}
	p, err := c.Point(oneSecond(200).Conditions)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Metrics["ttft"].Client
	want := map[string]float64{"p50": s.P50, "p90": s.P90, "p95": s.P95, "p99": s.P99, "mean": s.Mean, "max": s.Max}
	for stat, value := range want {
		slo := summary.SLO{{Metric: "ttft", Stat: stat, Limit: time.Second}}
		if got := slo.Evaluate(&p, summary.Client)[0].MeasuredMS; got == nil || *got != value {
			t.Errorf("ttft_%s measured %v; want %g", stat, got, value)
		}
	}
}
