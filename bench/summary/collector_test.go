package summary_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"

	"llmsim-bench/bench/record"
	"llmsim-bench/bench/summary"
	"llmsim-bench/internal/hist"
)

const ms = 1_000_000

// request returns an ok record of the measured phase due at sched, whose every
// metric differs from every other.
func request(sched record.Instant) *record.Request {
	r := record.New()
	r.Phase, r.Outcome = record.PhaseMeasure, record.OK
	r.Sched = sched
	r.Dispatch = sched + 1*ms
	r.Slot = sched + 3*ms
	r.Conn = sched + 6*ms
	r.Sent = sched + 10*ms
	r.Header = sched + 15*ms
	r.First = sched + 21*ms
	r.Out = sched + 41*ms
	r.Last = sched + 81*ms
	r.End = sched + 92*ms
	r.PromptTokens, r.PromptTokensAsked = 512, 512
	r.OutputTokens, r.OutputTokensFrom = 7, record.FromUsage
	r.Events = []record.Event{{At: r.First, Tokens: 2}, {At: r.Out, Tokens: 1}, {At: r.Last, Tokens: 4}}
	return r
}

// conditions are Conditions with the window [0, end) that they hold for.
type conditions struct {
	summary.Conditions
	end record.Instant
}

func point(t *testing.T, under conditions, records ...*record.Request) summary.Point {
	t.Helper()
	c := summary.NewCollector(summary.Window{End: under.end}, nil)
	for _, r := range records {
		c.Add(r)
	}
	p, err := c.Point(under.Conditions)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func second(n float64) record.Instant { return record.Instant(n * 1e9) }

func oneSecond(ok int64) conditions {
	return conditions{
		summary.Conditions{OfferedRPS: 1, Accounting: record.Accounting{Scheduled: ok, OK: ok}}, second(1),
	}
}

func TestEachMetricIsWhatItsDefinitionSays(t *testing.T) {
	p := point(t, oneSecond(1), request(0))
	want := map[string]float64{
		"ttft": 21, "ttft_sent": 11, "ttfo": 41, "e2e": 81, "e2e_sent": 71,
		"dispatch_delay": 1, "send_delay": 10,
		"tpot":         60.0 / (7 - 2),
		"chunk_gap":    (20 + 40) / 2.0,
		"itl":          (20.0*1 + 10.0*4) / 5,
		"norm_latency": 11.571429, // 81 ÷ 7, to the nanosecond
		"tail":         11,
	}
	got := make(map[string]float64)
	for name, c := range p.Metrics {
		if c.Server != nil || c.Simulated != nil {
			t.Errorf("%s has a column that nobody filled: %+v", name, c)
		}
		got[name] = c.Client.Mean
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("means in ms\n got %v\nwant %v", got, want)
	}
	if itl := p.Metrics["itl"].Client; itl.Count != 5 || itl.Max < 19.9 || itl.P50 > 10.1 {
		t.Errorf("itl %+v: want 5 values, four of 10 ms and one of 20 ms", itl)
	}
}

func TestUndefinedMetricsAreAbsent(t *testing.T) {
	absent := func(name, metric string, change func(*record.Request)) {
		t.Run(name, func(t *testing.T) {
			r := request(0)
			change(r)
			p := point(t, oneSecond(1), r)
			if c, there := p.Metrics[metric]; there {
				t.Errorf("%s is %+v; want none", metric, c.Client)
			}
			if h, there := p.Histograms[metric]; there {
				t.Errorf("histogram of %s is %q; want none", metric, h)
			}
		})
	}
	absent("one token", "tpot", func(r *record.Request) {
		r.OutputTokens, r.Last, r.Events = 2, r.First, r.Events[:1]
	})
	absent("no token after the first event", "tpot", func(r *record.Request) { r.OutputTokens = 2 })
	absent("all tokens at one instant", "tpot", func(r *record.Request) {
		r.Last = r.First
		r.Events[1].At, r.Events[2].At = r.First, r.First
	})
	absent("no events", "tpot", func(r *record.Request) { r.Events = nil })
	absent("no events", "chunk_gap", func(r *record.Request) { r.Events = nil })
	absent("only reasoning", "ttfo", func(r *record.Request) { r.Out = record.Unset })
	absent("no tokens counted", "norm_latency", func(r *record.Request) { r.OutputTokens = 0 })
	absent("later events without tokens", "itl", func(r *record.Request) {
		r.Events[1].Tokens, r.Events[2].Tokens = 0, 0
	})
	absent("a count that is no number", "itl", func(r *record.Request) {
		r.Events[1].Tokens, r.Events[2].Tokens = math.NaN(), math.Inf(-1)
	})
}

func TestWhoCountsForWhat(t *testing.T) {
	warmup := request(0)
	warmup.Phase = "warmup"
	warmup.Flags = []string{record.FlagClumped}

	failed := request(second(0.1))
	failed.Outcome, failed.Kind, failed.Error = record.Failed, record.KindTimeout, "no answer within 1s"
	again := request(second(0.1))
	again.Outcome, again.Kind, again.Error = record.Failed, record.KindTimeout, "no answer within 2s"

	dropped := record.New()
	dropped.Phase, dropped.Outcome = record.PhaseMeasure, record.Dropped
	dropped.Sched, dropped.Dispatch = 0, 1*ms

	odd := request(second(0.2))
	odd.Flags = []string{record.FlagShortOutput, record.FlagClumped}
	odd.PromptTokens = 500
	odd.OutputTokensFrom = record.FromEvents
	odd.TokensEstimated = true

	p := point(t, conditions{summary.Conditions{
		OfferedRPS: 5, Accounting: record.Accounting{Scheduled: 5, OK: 2, Failed: 2, Dropped: 1},
	}, second(1)}, warmup, failed, again, dropped, odd, request(second(0.3)))

	count := func(metric string) int64 { return p.Metrics[metric].Client.Count }
	if count("ttft") != 2 || count("dispatch_delay") != 4 || count("send_delay") != 4 {
		t.Errorf("ttft over %d (want 2 ok), dispatch_delay over %d and send_delay over %d (want 4 sent)",
			count("ttft"), count("dispatch_delay"), count("send_delay"))
	}
	if want := map[string]int64{"short_output": 1, "clumped": 1}; !reflect.DeepEqual(p.Flags, want) {
		t.Errorf("flags %v; want %v", p.Flags, want)
	}
	if p.PromptTokenMismatches != 1 || p.TokensFromEvents != 1 || p.TokensEstimated != 1 {
		t.Errorf("mismatches %d, from events %d, estimated %d; want 1 each",
			p.PromptTokenMismatches, p.TokensFromEvents, p.TokensEstimated)
	}
	if want := map[string]string{"timeout": "no answer within 1s"}; !reflect.DeepEqual(p.FailureExamples, want) {
		t.Errorf("examples %v; want %v", p.FailureExamples, want)
	}
	if len(p.Notes) != 0 {
		t.Errorf("notes %q; want none", p.Notes)
	}
}

func TestRecordsThatContradictTheAccountingAreNoted(t *testing.T) {
	p := point(t, oneSecond(2), request(0))
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "the records hold 1 ok") {
		t.Errorf("notes %q", p.Notes)
	}
}

// stream returns requests due every gap seconds from warm-up until the end of
// the window [0, length), where the server's answer to each ends at done.
func stream(warmup, length, gap float64, done func(i int, due float64) float64) []*record.Request {
	var records []*record.Request
	for i := 0; ; i++ {
		due := -warmup + float64(i)*gap
		if due >= length {
			return records
		}
		r := request(second(due))
		if due < 0 {
			r.Phase = "warmup"
		}
		r.End = second(done(i, due))
		records = append(records, r)
	}
}

func TestAchievedRate(t *testing.T) {
	for _, test := range []struct {
		name string
		done func(i int, due float64) float64
		want float64
	}{
		{"a server that keeps up achieves what was offered, at any latency", func(_ int, due float64) float64 { return due + 1.05 }, 20},
		{"a server of 8 requests a second achieves 8", func(i int, due float64) float64 { return -2 + float64(i+1)/8 }, 8},
	} {
		t.Run(test.name, func(t *testing.T) {
			records := stream(2, 10, 0.05, test.done)
			p := point(t, conditions{summary.Conditions{OfferedRPS: 20}, second(10)}, records...)
			if math.Abs(p.AchievedRPS-test.want) > 0.11 { // one request at each edge
				t.Errorf("achieved %g/s of 20/s; want %g", p.AchievedRPS, test.want)
			}
			if want := 7 * p.AchievedRPS; math.Abs(p.OutputTokensPerS-want) > 1e-9 {
				t.Errorf("%g tokens/s at 7 a request; want %g", p.OutputTokensPerS, want)
			}
		})
	}
}

func TestAWindowWithoutLengthIsNoPoint(t *testing.T) {
	c := summary.NewCollector(summary.Window{Start: 5, End: 10}, nil)
	_, err := c.Point(summary.Conditions{CutAt: 5})
	if err == nil || !strings.Contains(err.Error(), "must end after its start") {
		t.Errorf("error %v", err)
	}
}

func TestQuantilesWithoutTheClientsOwnDelay(t *testing.T) {
	late := request(0)
	late.Dispatch += 5 * ms                                 // 6 late + 4 writing
	late.FirstCame = record.Came{Width: 2 * ms, Away: true} // and unread
	late.LastCame = record.Came{Width: 50 * ms, Unread: ms} // by no more than all was late
	again := request(0)                                     // 1 late, and the writing is another attempt's
	again.First, again.Last = again.First+9*ms, again.Last+9*ms
	again.Retried = []string{record.KindRateLimited}
	c := summary.NewCollector(summary.Window{End: second(1)}, func(from, to record.Instant) time.Duration {
		if from != late.Last-50*ms || to != late.Last+ms {
			t.Errorf("asked for %d to %d ns", from, to)
		}
		return 3 * time.Millisecond
	})
	c.Add(late)
	c.Add(again)
	failed := request(0)
	failed.First, failed.Outcome = 200*ms, record.Failed
	c.Add(failed)

	for _, want := range []struct {
		metric              string
		q                   float64
		observed, undelayed int64
	}{
		{"ttft", 0.5, 21 * ms, (21 - 6 - 4 - 2) * ms},
		{"ttft", 1, 30 * ms, 29 * ms},
		{"e2e", 0.5, 81 * ms, (81 - 6 - 4 - 3) * ms},
		{"e2e", 1, 90 * ms, 89 * ms},
		{"tpot", 0.5, 0, 0},
	} {
		if observed, undelayed := c.Quantiles(want.metric, want.q); observed != want.observed || undelayed != want.undelayed {
			t.Errorf("%s at %g: %d, %d; want %+v", want.metric, want.q, observed, undelayed, want)
		}
	}
}

func TestReceiveDelayAndAmbiguousEvents(t *testing.T) {
	r := request(0)
	r.Events[0].Unread, r.Events[1].Unread = 2*ms, 4*ms
	r.Events[1].Width, r.Events[1].Away = ms, true
	r.Events[2].Width = 5 * ms // but nothing was late
	p := point(t, oneSecond(1), r)
	got := p.Metrics["receive_delay"].Client
	if got == nil || got.Count != 2 || got.Mean != 3 || p.AmbiguousEvents != 1 {
		t.Errorf("receive delay %+v, %d ambiguous events; want two values of mean 3 ms, 1 event", got, p.AmbiguousEvents)
	}
}

func drawRequest(t *rapid.T) *record.Request {
	r := record.New()
	r.Phase = rapid.SampledFrom([]string{"warmup", record.PhaseMeasure}).Draw(t, "phase")
	r.Outcome = rapid.SampledFrom([]string{record.OK, record.Failed, record.Cancelled, record.Dropped}).Draw(t, "outcome")
	r.OutputTokens = rapid.IntRange(0, 50).Draw(t, "tokens")
	at := record.Instant(rapid.Int64Range(0, 9e9).Draw(t, "sched"))
	for _, instant := range []*record.Instant{&r.Sched, &r.Dispatch, &r.Slot, &r.Conn, &r.Sent, &r.Header} {
		*instant = at
		if rapid.IntRange(0, 9).Draw(t, "came") == 0 {
			*instant = record.Unset
		}
		at += record.Instant(rapid.Int64Range(0, 1e8).Draw(t, "took"))
	}
	for range rapid.IntRange(0, 6).Draw(t, "events") {
		at += record.Instant(rapid.Int64Range(0, 1e8).Draw(t, "gap"))
		r.Events = append(r.Events, record.Event{At: at, Tokens: rapid.Float64Range(0, 4).Draw(t, "tokens")})
		if r.First == record.Unset {
			r.First, r.Out = at, at
		}
		r.Last = at
	}
	if r.Last != record.Unset {
		r.End = r.Last + record.Instant(rapid.Int64Range(0, 1e8).Draw(t, "tail"))
	}
	return r
}

func TestPropertiesOfAnyRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(rapid.Custom(drawRequest), 0, 12).Draw(t, "records")
		c := summary.NewCollector(summary.Window{End: second(10)}, nil)
		for _, r := range records {
			c.Add(r)
		}
		p, err := c.Point(summary.Conditions{})
		if err != nil {
			t.Fatal(err)
		}

		var weights int64
		var latest, earliest int64 = 0, math.MaxInt64
		for _, r := range records {
			if r.Phase != record.PhaseMeasure || r.Outcome != record.OK {
				continue
			}
			var tokens float64
			for i, e := range r.Events {
				if i > 0 {
					tokens += e.Tokens
				}
			}
			weights += int64(math.Round(tokens))
			if r.Sched != record.Unset && r.First != record.Unset {
				earliest, latest = min(earliest, int64(r.First-r.Sched)), max(latest, int64(r.First-r.Sched))
			}
		}
		var got hist.Stats
		if itl := p.Metrics["itl"].Client; itl != nil {
			got = *itl
		}
		if got.Count != weights {
			t.Fatalf("itl has weight %d; the later events hold %d tokens", got.Count, weights)
		}
		if ttft := p.Metrics["ttft"].Client; ttft != nil {
			lo, hi := float64(earliest)/1e6, float64(latest)/1e6
			if ttft.P50 < lo || ttft.P50 > ttft.P90 || ttft.P90 > ttft.P95 || ttft.P95 > ttft.P99 || ttft.P99 > ttft.Max || ttft.Max != hi {
				t.Fatalf("ttft %+v of values in [%g, %g]", *ttft, lo, hi)
			}
		}
		for name, c := range p.Metrics {
			if c.Client.Count == 0 {
				t.Fatalf("%s is present without a value", name)
			}
			h, err := hdrhistogram.Decode([]byte(p.Histograms[name]))
			if err != nil || h.TotalCount() != c.Client.Count {
				t.Fatalf("histogram of %s: %v; want %d values", name, err, c.Client.Count)
			}
		}
	})
}
