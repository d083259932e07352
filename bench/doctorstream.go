package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/sse"
)

// stream looks at how a chat is streamed: as it comes without being asked, and
// with the usage asked for.
func (d *doctor) stream(ctx context.Context) {
	if d.noChat {
		return
	}
	got, plain, err := d.streamed(ctx, openai.Extensions{})
	if err != nil {
		d.find("stream", true, "%v", err)
		return
	}
	d.find("role event", false, "%s", plain.role())
	d.find("reasoning", false, "%s", plain.reasoningField())
	d.find("terminal", !plain.done, "%s", plain.terminal())
	d.find("header", false, "comes %.1f ms after sending, the first byte of the body after %.1f ms",
		milliseconds(got.sent, got.headerAt), milliseconds(got.sent, got.bodyAt))
	if plain.comments {
		d.find("comments", false, "the stream has comment lines, as keep-alives are; they are no tokens")
	}
	d.find("usage unasked", false, "%s", plain.usageSeen())
	_, asked, err := d.streamed(ctx, openai.Extensions{StreamUsage: true})
	if err != nil {
		return // what became of stream_options is told apart
	}
	d.find("usage asked for", asked.usageEvents == 0, "%s", asked.usageSeen())
	if asked.completionTokens > 0 && asked.tokenEvents > 0 {
		d.find("tokens per event", false, "%.2f (%d tokens in %d events)",
			float64(asked.completionTokens)/float64(asked.tokenEvents), asked.completionTokens, asked.tokenEvents)
	}
}

// streamed asks for a short chat and reads its stream.
func (d *doctor) streamed(ctx context.Context, e openai.Extensions) (*exchanged, *streamFacts, error) {
	body := openai.Chat.AppendBody(nil, &openai.Request{
		Model: d.server.model, Prompt: "Hello", MaxTokens: doctorTokens, Stream: true, Extensions: e,
	})
	got, err := d.exchange(ctx, fasthttp.MethodPost, d.pool.Target().BasePath+openai.Chat.Path(), nil, body)
	if err != nil {
		return nil, nil, err
	}
	if status := got.header.StatusCode(); status != fasthttp.StatusOK {
		return nil, nil, fmt.Errorf("status %d: %s", status, openai.ErrorMessage(got.body))
	}
	facts, err := readStream(got.body)
	return got, facts, err
}

// streamFacts is what a chat's stream shows of its server's habits.
type streamFacts struct {
	events, tokenEvents int
	roleOnly            bool // the first event has a role and no token
	roleWithToken       bool
	reasoning           string // the field's name
	comments            bool
	done                bool
	finished            bool

	usageEvents      int
	usageAlone       bool // in an event without choices
	usageWithFinish  bool
	completionTokens int
}

// readStream reads a whole stream. Events that are no chat chunks are passed
// over: whether an answer is right is told elsewhere.
func readStream(body []byte) (*streamFacts, error) {
	f := &streamFacts{comments: strings.HasPrefix(string(body), ":") || strings.Contains(string(body), "\n:")}
	var decoder sse.Decoder
	take := func(ev sse.Event) error {
		f.take(ev)
		return nil
	}
	if err := decoder.Feed(body, take); err != nil {
		return nil, err
	}
	return f, decoder.End(take)
}

func (f *streamFacts) take(ev sse.Event) {
	if strings.TrimSpace(string(ev.Data)) == "[DONE]" {
		f.done = true
		return
	}
	var chunk struct {
		Choices []struct {
			Delta        map[string]json.RawMessage `json:"delta"`
			FinishReason *string                    `json:"finish_reason"`
		} `json:"choices"`
		Usage *struct {
			CompletionTokens int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(ev.Data, &chunk) != nil {
		return
	}
	f.events++
	finish, token := false, false
	for _, c := range chunk.Choices {
		finish = finish || c.FinishReason != nil && *c.FinishReason != ""
		for field, value := range c.Delta {
			filled := string(value) != "null" && string(value) != `""` && string(value) != "[]"
			if !filled || field == "role" {
				continue
			}
			token = true
			if strings.HasPrefix(field, "reasoning") {
				f.reasoning = field
			}
		}
		if _, has := c.Delta["role"]; has && f.events == 1 {
			f.roleOnly, f.roleWithToken = !token, token
		}
	}
	f.finished = f.finished || finish
	if token {
		f.tokenEvents++
	}
	if u := chunk.Usage; u != nil {
		f.usageEvents++
		f.usageAlone = f.usageAlone || len(chunk.Choices) == 0
		f.usageWithFinish = f.usageWithFinish || finish
		f.completionTokens = u.CompletionTokens
	}
}

func (f *streamFacts) role() string {
	switch {
	case f.roleOnly:
		return "the first event has a role and no token; time to first token must not count it"
	case f.roleWithToken:
		return "the role comes with the first token"
	}
	return "there is none"
}

func (f *streamFacts) reasoningField() string {
	if f.reasoning == "" {
		return "none in a short answer"
	}
	return "streamed as " + f.reasoning
}

func (f *streamFacts) terminal() string {
	switch {
	case f.done:
		return "[DONE]"
	case f.finished:
		return "no [DONE]: the last finish_reason ends an answer"
	}
	return "neither [DONE] nor a finish_reason: an answer that was cut off looks whole"
}

func (f *streamFacts) usageSeen() string {
	switch {
	case f.usageEvents == 0:
		return "none"
	case f.usageEvents > 1 && f.usageEvents >= f.tokenEvents:
		return "in every event"
	case f.usageAlone:
		return "in an event of its own at the end"
	case f.usageWithFinish:
		return "with the finish_reason"
	}
	return fmt.Sprintf("in %d of %d events", f.usageEvents, f.events)
}
