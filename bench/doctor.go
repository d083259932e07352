package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"llmsim-bench/bench/health"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/transport"
	"llmsim-bench/bench/workload"
	"llmsim-bench/internal/sleep"
)

// Finding is one fact about a server, or about this host.
type Finding struct {
	Topic string `json:"topic"`
	Says  string `json:"says"`
	// Warning says that a measurement would suffer from it.
	Warning bool `json:"warning,omitzero"`
}

// Diagnosis is what a few requests find out about a server, and what this host
// allows.
type Diagnosis struct {
	URL      string        `json:"url"`
	Model    string        `json:"model"`
	Findings []Finding     `json:"findings"`
	Limits   health.Limits `json:"limits"`
}

// Tokens that the doctor's requests ask for: as a rule, and where it matters
// whether an exact number comes.
const (
	doctorTokens = 8
	exactTokens  = 96
)

// Diagnose finds out what the server of c offers, with some two dozen requests
// one after the other, and whether this host can hold so many connections to it
// at once. The configuration's API and its loads don't matter. The error says why
// the server can't be used at all.
func Diagnose(ctx context.Context, c Config, connections int64) (*Diagnosis, error) {
	if err := c.checkServer(); err != nil {
		return nil, err
	}
	c.API = openai.Chat
	clock := sleep.NewClock()
	pool, err := newPool(&c, clock)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	d := &doctor{runner: &runner{config: c, clock: clock, pool: pool}}
	if err := d.readModels(ctx); err != nil {
		return nil, err
	}
	d.out = &Diagnosis{URL: c.URL, Model: d.server.model, Limits: health.ReadLimits()}
	d.sender = &load.Sender{Pool: pool, Clock: clock, Model: d.server.model, APIKey: c.APIKey, Timeouts: c.Timeouts}
	for _, examine := range []func(context.Context){
		d.identity, d.apis, d.stream, d.extensions, d.prompts, d.connection, d.compression,
	} {
		if examine(ctx); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	for _, check := range d.out.Limits.Plan(connections) {
		d.find(check.Name, !check.Sufficient, "%s", check.Sentence)
	}
	return d.out, nil
}

// doctor is one call of Diagnose.
type doctor struct {
	*runner
	out    *Diagnosis
	noChat bool
}

func (d *doctor) find(topic string, warning bool, format string, args ...any) {
	d.out.Findings = append(d.out.Findings, Finding{topic, fmt.Sprintf(format, args...), warning})
}

func (d *doctor) identity(context.Context) {
	kind := d.server.kind
	if kind == "" {
		kind = "does not say what it is"
	}
	d.find("server", false, "%s", kind)
	if d.server.maxTokens > 0 {
		d.find("context", false, "%d tokens for a prompt and its answer (max_model_len)", d.server.maxTokens)
	}
}

// try makes one request on an API.
func (d *doctor) try(ctx context.Context, api openai.API, e openai.Extensions, prompt string, tokens int) *record.Request {
	sender := load.Sender{
		Pool: d.pool, Clock: d.clock, API: api, Model: d.server.model, APIKey: d.config.APIKey,
		Timeouts: load.Timeouts{Total: d.patience()}, Extensions: e,
	}
	rec := record.New()
	sender.Send(ctx, &load.Job{Phase: phaseProbe, Prompt: []byte(prompt), OutputTokens: tokens}, rec)
	return rec
}

// apis asks each API once.
func (d *doctor) apis(ctx context.Context) {
	for _, api := range openai.APIs() {
		rec := d.try(ctx, api, openai.Extensions{}, "Hello", doctorTokens)
		topic := "api " + api.String()
		switch {
		case usable(rec) && len(rec.Flags) > 0:
			d.find(topic, api == openai.Chat, "answers at %s%s, but %s", d.pool.Target().BasePath, api.Path(), strings.Join(rec.Flags, ", "))
		case usable(rec):
			d.find(topic, false, "answers at %s%s", d.pool.Target().BasePath, api.Path())
		case rec.Status == 404 || rec.Status == 405 || rec.Status == 501:
			d.find(topic, api == openai.Chat, "is not offered (status %d)", rec.Status)
		case rec.Status >= 400:
			d.find(topic, api == openai.Chat, "refuses a plain request (status %d): %s", rec.Status, rec.Error)
		default:
			d.find(topic, api == openai.Chat, "%s: %s", rec.Kind, rec.Error)
		}
		if api == openai.Chat {
			d.noChat = !usable(rec)
		}
	}
}

// extensions asks for what not every server takes, and looks whether it does it.
func (d *doctor) extensions(ctx context.Context) {
	if d.noChat {
		return
	}
	// Nobody answers a greeting with so many tokens who may end before.
	plain := d.try(ctx, openai.Chat, openai.Extensions{}, "Hello", exactTokens)
	for _, e := range []struct {
		name string
		openai.Extensions
	}{
		{"stream_options", openai.Extensions{StreamUsage: true}},
		{"ignore_eos", openai.Extensions{IgnoreEOS: true}},
		{"min_tokens", openai.Extensions{MinTokens: exactTokens}},
	} {
		rec := d.try(ctx, openai.Chat, e.Extensions, "Hello", exactTokens)
		exact := e.ExactTokens(exactTokens) > 0
		switch {
		case rec.Status >= 400 && rec.Status < 500:
			d.find(e.name, false, "is refused (status %d): %s", rec.Status, rec.Error)
		case !usable(rec):
			d.find(e.name, true, "%s: %s", rec.Kind, rec.Error)
		case exact && rec.OutputTokens != exactTokens:
			d.find(e.name, true, "is accepted, but %d tokens came where %d were asked for", rec.OutputTokens, exactTokens)
		case exact && plain.OutputTokens == exactTokens:
			d.find(e.name, false, "is accepted; no effect can be seen: %d of %d tokens come with it and without", exactTokens, exactTokens)
		case exact:
			d.find(e.name, false, "is accepted and does something: %d tokens come with it, %d without", exactTokens, plain.OutputTokens)
		case plain.OutputTokensFrom == record.FromUsage:
			d.find(e.name, false, "is accepted; usage comes without it too")
		case rec.OutputTokensFrom == record.FromUsage:
			d.find(e.name, false, "is accepted; usage came")
		default:
			d.find(e.name, true, "is accepted, but no usage came")
		}
	}
}

// prompts looks whether prompts of a number of tokens can be made.
func (d *doctor) prompts(ctx context.Context) {
	if d.noChat {
		return
	}
	d.sender.Extensions.StreamUsage = true
	if d.config.Shape.Prompt.Max == 0 {
		d.config.Shape.Prompt = workload.Fixed(maxProbeTokens)
	}
	if err := d.calibrate(ctx); err != nil {
		d.find("prompt length", true, "%v", err)
		return
	}
	if len(d.server.notes) > 0 {
		d.find("prompt length", true, "%s", strings.Join(d.server.notes, " "))
		return
	}
	want := d.config.Shape.Prompt.Max
	prompts, err := workload.NewSynthetic(1, d.server.calibration, workload.Exactly(want, 1))
	if err != nil {
		d.find("prompt length", true, "%v", err)
		return
	}
	rec := d.ask(ctx, string(prompts.AppendPrompt(nil, 0)))
	d.find("prompt length", rec.PromptTokens != want,
		"a prompt made of %d tokens has %d by the server's count, %d of them its template's", want, rec.PromptTokens, d.server.calibration.Overhead)
}

// connection looks whether the server keeps connections.
func (d *doctor) connection(ctx context.Context) {
	before := d.pool.Stats()
	got, err := d.get(ctx, d.pool.Target().BasePath+"/models")
	if err != nil {
		d.find("keep-alive", true, "%v", err)
		return
	}
	stats := d.pool.Stats()
	switch {
	case got.header.ConnectionClose():
		d.find("keep-alive", true, "the server closes every connection: each request pays for a new one")
	case got.reused:
		d.find("keep-alive", false, "connections are used again (%d opened for %d requests so far)", stats.Dials, stats.Dials+stats.Reuses)
	default:
		d.find("keep-alive", true, "the connection before was not usable again (%d of them so far)", stats.Stale-before.Stale)
	}
	stamps := "the kernel's stamps say when bytes came"
	if stats.KernelStamps == 0 {
		stamps = "no kernel stamps: when bytes came is when they were read"
	}
	d.find("timestamps", false, "%s", stamps)
}

// compression asks for what a load never asks for.
func (d *doctor) compression(ctx context.Context) {
	body := openai.Chat.AppendBody(nil, &openai.Request{Model: d.server.model, Prompt: "Hello", MaxTokens: doctorTokens, Stream: true})
	got, err := d.exchange(ctx, fasthttp.MethodPost, d.pool.Target().BasePath+openai.Chat.Path(),
		[]transport.Header{{Name: fasthttp.HeaderAcceptEncoding, Value: "gzip"}}, body)
	switch {
	case err != nil:
		d.find("compression", true, "%v", err)
	case len(got.header.ContentEncoding()) > 0:
		d.find("compression", false, "a client that takes it gets %s; loads ask for identity", got.header.ContentEncoding())
	default:
		d.find("compression", false, "streams are not compressed")
	}
}

// milliseconds of a time between two readings of the clock.
func milliseconds(from, to int64) float64 {
	return float64(time.Duration(to-from)) / float64(time.Millisecond)
}
