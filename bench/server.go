package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"llmsim-bench/bench/load"
	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/workload"
	"llmsim-bench/internal/wire"
)

// server is what is known of the server under test.
type server struct {
	kind        string // who made it, as far as it says: its owned_by, or its Server header
	simulator   bool   // it is this project's
	model       string
	run         string // names this run in the phases told to a simulator
	maxTokens   int    // of a prompt and its answer together; 0: not said
	calibration workload.Calibration
	notes       []string
}

// takesIgnoreEOS are the servers known to take ignore_eos, by their owned_by.
var takesIgnoreEOS = []string{wire.ServerName, "vllm", "sglang"}

// phaseProbe is the phase of requests that come before any load.
const phaseProbe = "probe"

// meet finds out what the server is and how it counts, with a few requests. An
// error is one sentence that says why the server can't be used.
func (r *runner) meet(ctx context.Context) error {
	if err := r.readModels(ctx); err != nil {
		return err
	}
	if prompt, output := r.config.longest(); r.server.maxTokens > 0 && prompt+output > r.server.maxTokens {
		return fmt.Errorf("%d prompt tokens and %d output tokens are %d; model %q of the server at %s takes %d together (max_model_len)",
			prompt, output, prompt+output, r.server.model, r.config.URL, r.server.maxTokens)
	}
	r.server.run = strconv.FormatInt(time.Now().UnixNano(), 36)
	r.sender = &load.Sender{
		Pool: r.pool, Clock: r.clock, API: r.config.API,
		Model: r.server.model, APIKey: r.config.APIKey, Timeouts: r.config.Timeouts,
		KeepText:  r.config.RecordText,
		Simulator: r.server.simulator, Run: r.server.run,
		Extensions: openai.Extensions{
			StreamUsage: true,
			IgnoreEOS:   r.config.IgnoreEOS || slices.Contains(takesIgnoreEOS, r.server.kind),
		},
	}
	if err := r.probe(ctx); err != nil {
		return err
	}
	if err := r.calibrate(ctx); err != nil {
		return err
	}
	// What comes before the load is asked by a patient client.
	r.sender.Leave, r.sender.Retries = r.config.Leave, r.config.Retries
	return nil
}

// readModels asks which models there are, and chooses one.
func (r *runner) readModels(ctx context.Context) error {
	url := r.config.URL
	got, err := r.get(ctx, r.pool.Target().BasePath+"/models")
	if err != nil {
		return fmt.Errorf("nothing usable answers at %s: %w", url, err)
	}
	status, serverHeader, body := got.header.StatusCode(), string(got.header.Server()), got.body
	var list struct {
		Data []struct {
			ID      string `json:"id"`
			OwnedBy string `json:"owned_by"`
			// MaxModelLen is a number where it is vLLM's; others may mean anything.
			MaxModelLen any `json:"max_model_len"`
		} `json:"data"`
	}
	switch {
	case status == 401 || status == 403:
		return fmt.Errorf("the server at %s refuses the API key (status %d): %s", url, status, openai.ErrorMessage(body))
	case status == 404 && r.config.Model != "":
		// Some servers list no models but serve them; the probe will tell.
		r.server.model, r.server.kind = r.config.Model, serverHeader
		return nil
	case status == 404:
		return fmt.Errorf("%s is not the base URL of an OpenAI-compatible server, or one that lists no models: GET %s/models answers with status 404 (most base URLs end in /v1; a server without a list needs the model's name)", url, strings.TrimRight(url, "/"))
	case status != 200:
		return fmt.Errorf("%s is not the base URL of an OpenAI-compatible server: GET %s/models answers with status %d (most base URLs end in /v1)", url, strings.TrimRight(url, "/"), status)
	case json.Unmarshal(body, &list) != nil || list.Data == nil:
		return fmt.Errorf("%s is not the base URL of an OpenAI-compatible server: what GET %s/models answers is no list of models", url, strings.TrimRight(url, "/"))
	}
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID)
		if m.ID == r.config.Model || r.config.Model == "" && len(list.Data) == 1 {
			r.server.model, r.server.kind = m.ID, m.OwnedBy
			if n, isNumber := m.MaxModelLen.(float64); isNumber {
				r.server.maxTokens = int(n)
			}
		}
	}
	r.server.simulator = serverHeader == wire.ServerName
	switch {
	case r.server.model != "":
		return nil
	case r.config.Model == "":
		return fmt.Errorf("the server at %s has %d models; name one of them: %s", url, len(names), strings.Join(names, ", "))
	}
	return fmt.Errorf("the server at %s has no model %q; it has: %s", url, r.config.Model, strings.Join(names, ", "))
}

// probe makes one short request, to see that the server answers such and whether
// it takes stream_options.
func (r *runner) probe(ctx context.Context) error {
	rec := r.ask(ctx, "Hello")
	asked := r.config.API.Takes(r.sender.Extensions).StreamUsage
	if asked && !usable(rec) && rec.Status >= 400 && rec.Status < 500 && rec.Status != 429 {
		refusal := rec.Error
		r.sender.Extensions.StreamUsage = false
		if rec = r.ask(ctx, "Hello"); usable(rec) {
			r.note("The server refuses stream_options (%s), so output tokens are counted from events.", refusal)
		}
	}
	switch {
	case usable(rec):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case rec.Status == 401 || rec.Status == 403:
		return fmt.Errorf("the server at %s refuses the API key (status %d): %s", r.config.URL, rec.Status, rec.Error)
	case rec.Status >= 400:
		return fmt.Errorf("the server at %s refuses a plain %s request (status %d): %s", r.config.URL, r.config.API, rec.Status, rec.Error)
	}
	return fmt.Errorf("the server at %s did not answer a plain %s request: %s: %s", r.config.URL, r.config.API, rec.Kind, rec.Error)
}

// usable reports whether a request outside of any load found out what it was
// for. The one token that it asks for may have no text, such as the first of
// some characters; under load such an answer is empty, and failed.
func usable(rec *record.Request) bool {
	return rec.Outcome == record.OK ||
		rec.Kind == record.KindEmpty && rec.OutputTokensFrom == record.FromUsage
}

// errNoUsage says that a server does not count prompt tokens.
var errNoUsage = errors.New("the server does not say how many tokens a prompt has")

// A calibration's probes are as long as the prompts themselves, which the
// server's context must hold anyway, within these bounds.
const (
	minProbeTokens = 64
	maxProbeTokens = 512
)

// calibrate finds the words of which prompts of an exact length can be made.
func (r *runner) calibrate(ctx context.Context) error {
	var broken error // the server's failure, not a tokenizer's oddity
	prompt, _ := r.config.longest()
	longest := min(max(prompt, minProbeTokens), maxProbeTokens)
	calibration, err := workload.Calibrate(workload.Vocabulary(), r.config.Seed, prompt, longest, func(text string) (int, error) {
		rec := r.ask(ctx, text)
		switch {
		case ctx.Err() != nil:
			broken = ctx.Err()
		case !usable(rec):
			broken = fmt.Errorf("%s %s", rec.Kind, rec.Error)
		case rec.PromptTokens == 0:
			return 0, errNoUsage
		}
		return rec.PromptTokens, broken
	})
	switch {
	case broken != nil:
		return fmt.Errorf("the server at %s failed while its token counts were asked for: %w", r.config.URL, broken)
	case err != nil:
		r.server.calibration = workload.Uncalibrated()
		r.note("Prompts may not have exactly as many tokens as were asked for: %v.", err)
	default:
		r.server.calibration = calibration
	}
	return nil
}

// ask performs one short request outside of any load.
func (r *runner) ask(ctx context.Context, prompt string) *record.Request {
	rec := record.New()
	r.sender.Send(ctx, &load.Job{Phase: phaseProbe, Prompt: []byte(prompt), OutputTokens: 1}, rec)
	return rec
}

func (r *runner) note(format string, args ...any) {
	r.server.notes = append(r.server.notes, fmt.Sprintf(format, args...))
}
