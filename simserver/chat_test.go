package simserver_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"llmsim-bench/simserver/simtest"
)

// chatModels answer at once, without and with a batch.
const chatModels = `
models:
  - {name: sim, context_length: 8192, tokenizer: o200k, engine: instant}
  - {name: batched, context_length: 8192, tokenizer: o200k, engine: scheduler, hardware: h100-sxm@1, profile: llama-3.1-8b@1, scheduler: {profile: vllm-0.23}}
`

func client(sim *simtest.Simulator) *openai.Client {
	c := openai.NewClient(option.WithBaseURL(sim.URL), option.WithAPIKey("unused"), option.WithMaxRetries(0))
	return &c
}

func chatParams(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "sim", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
	}
}

func complete(t *testing.T, c *openai.Client, p openai.ChatCompletionNewParams, opts ...option.RequestOption) *openai.ChatCompletion {
	t.Helper()
	got, err := c.Chat.Completions.New(t.Context(), p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// collect returns what a stream came to, and its events.
func collect(t *testing.T, c *openai.Client, p openai.ChatCompletionNewParams, opts ...option.RequestOption) (*openai.ChatCompletion, []openai.ChatCompletionChunk) {
	t.Helper()
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.Chat.Completions.NewStreaming(t.Context(), p, opts...)
	var all openai.ChatCompletionAccumulator
	var chunks []openai.ChatCompletionChunk
	for stream.Next() {
		chunk := stream.Current()
		if !all.AddChunk(chunk) {
			t.Fatalf("chunk does not fit the ones before: %s", chunk.RawJSON())
		}
		chunks = append(chunks, chunk)
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return &all.ChatCompletion, chunks
}

// tokenEvents counts the events that have a token.
func tokenEvents(chunks []openai.ChatCompletionChunk) (n int64) {
	for _, chunk := range chunks {
		for _, c := range chunk.Choices {
			if strings.Contains(c.Delta.RawJSON(), "_c") || c.Delta.Content != "" { // reasoning_content, tool_calls
				n++
			}
		}
	}
	return n
}

// validates reports whether a text is JSON that a schema accepts, as another
// implementation judges it.
func validates(t *testing.T, schema map[string]any, text string) error {
	t.Helper()
	c := jsonschema.NewCompiler()
	// The compiler wants what a JSON decoder makes.
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

var weatherSchema = map[string]any{
	"type": "object", "additionalProperties": false, "required": []string{"city", "unit", "days"},
	"properties": map[string]any{
		"city": map[string]any{"type": "string", "pattern": "^[A-Z][a-z]{3,8}$"},
		"unit": map[string]any{"enum": []string{"c", "f"}},
		"days": map[string]any{"type": "array", "items": map[string]any{"type": "integer", "minimum": 1, "maximum": 7}, "minItems": 2, "maxItems": 4},
	},
}

func weatherTool() openai.ChatCompletionToolUnionParam {
	return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather", Parameters: weatherSchema})
}

func TestTools(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(chatModels))
	c := client(sim)
	p := chatParams("What's the weather?")
	bare := complete(t, c, p)
	p.Tools = []openai.ChatCompletionToolUnionParam{weatherTool()}
	for _, mode := range []string{"", "auto", "none"} {
		if mode != "" {
			p.ToolChoice.OfAuto = openai.String(mode)
		}
		got := complete(t, c, p)
		if len(got.Choices[0].Message.ToolCalls) != 0 || got.Choices[0].Message.Content == "" {
			t.Errorf("tool_choice %q: %s", mode, got.RawJSON())
		}
		if got.Usage.PromptTokens <= bare.Usage.PromptTokens+20 {
			t.Errorf("the definitions don't count: %d prompt tokens, %d without", got.Usage.PromptTokens, bare.Usage.PromptTokens)
		}
	}
	required := openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}
	named := openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "get_weather"})
	for name, choice := range map[string]openai.ChatCompletionToolChoiceOptionUnionParam{"required": required, "named": named} {
		p.ToolChoice = choice
		whole := complete(t, c, p)
		calls := whole.Choices[0].Message.ToolCalls
		if len(calls) != 1 || calls[0].Function.Name != "get_weather" || calls[0].ID == "" || calls[0].Type != "function" || whole.Choices[0].FinishReason != "tool_calls" {
			t.Fatalf("%s: %s", name, whole.RawJSON())
		}
		if err := validates(t, weatherSchema, calls[0].Function.Arguments); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all, chunks := collect(t, c, p)
		got := all.Choices[0].Message.ToolCalls
		if len(got) != 1 || got[0].ID != calls[0].ID || got[0].Function.Name != calls[0].Function.Name || got[0].Function.Arguments != calls[0].Function.Arguments {
			t.Errorf("%s: streamed %+v, whole %+v", name, got, calls)
		}
		if n := tokenEvents(chunks); n != all.Usage.CompletionTokens || n != whole.Usage.CompletionTokens {
			t.Errorf("%s: %d token events, usage %d streamed and %d whole", name, n, all.Usage.CompletionTokens, whole.Usage.CompletionTokens)
		}
	}
	// The conversation goes on with the call and its result.
	p.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{}
	first := complete(t, c, func() openai.ChatCompletionNewParams { q := p; q.ToolChoice = required; return q }())
	p.Messages = append(p.Messages, first.Choices[0].Message.ToParam(), openai.ToolMessage("sunny", first.Choices[0].Message.ToolCalls[0].ID))
	if got := complete(t, c, p); got.Usage.PromptTokens <= first.Usage.PromptTokens+first.Usage.CompletionTokens {
		t.Errorf("the call and its result don't count: %d prompt tokens after %d and %d", got.Usage.PromptTokens, first.Usage.PromptTokens, first.Usage.CompletionTokens)
	}
}

func TestResponseFormats(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(chatModels))
	c := client(sim)
	p := chatParams("Where?")
	p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	if got := complete(t, c, p).Choices[0]; json.Unmarshal([]byte(got.Message.Content), &map[string]any{}) != nil || got.FinishReason != "stop" {
		t.Errorf("json_object: %s", got.RawJSON())
	}
	p.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "weather", Schema: weatherSchema, Strict: openai.Bool(true)},
	}}
	values := map[string]bool{}
	for seed := range int64(10) {
		p.Seed = openai.Int(seed)
		got := complete(t, c, p).Choices[0]
		if err := validates(t, weatherSchema, got.Message.Content); err != nil || got.FinishReason != "stop" {
			t.Errorf("%s: %v", got.RawJSON(), err)
		}
		if again, _ := collect(t, c, p); again.Choices[0].Message.Content != got.Message.Content {
			t.Errorf("streamed %q, whole %q", again.Choices[0].Message.Content, got.Message.Content)
		}
		values[got.Message.Content] = true
	}
	if len(values) < 5 {
		t.Errorf("10 seeds gave %d values", len(values))
	}
	p.MaxTokens = openai.Int(5)
	if got := complete(t, c, p); got.Choices[0].FinishReason != "length" || got.Usage.CompletionTokens != 5 || json.Valid([]byte(got.Choices[0].Message.Content)) {
		t.Errorf("cut: %s", got.RawJSON())
	}
}

func TestStopAcrossTokens(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(chatModels), simtest.WithResponses(`
version: 1
default: {content: "The quick brown fox jumps."}
`))
	c := client(sim)
	p := chatParams("x")
	p.Stop.OfStringArray = []string{"nothing", "k brown f"}
	for range 2 {
		all, chunks := collect(t, c, p)
		if got := all.Choices[0]; got.Message.Content != "The quic" || got.FinishReason != "stop" || all.Usage.CompletionTokens != 2 || tokenEvents(chunks) != 2 {
			t.Errorf("%s, usage %d", got.Message.Content, all.Usage.CompletionTokens)
		}
		p.Stop = openai.ChatCompletionNewParamsStopUnion{OfString: openai.String("k brown f")}
	}
	if got := complete(t, c, p, option.WithJSONSet("include_stop_str_in_output", true)); got.Choices[0].Message.Content != "The quick brown f" {
		t.Errorf("%s", got.RawJSON())
	}
}

func TestChoicesAndSeeds(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(chatModels))
	c := client(sim)
	for _, model := range []string{"sim", "batched"} {
		p := chatParams("one two three")
		p.Model, p.Seed, p.MaxTokens = model, openai.Int(7), openai.Int(12)
		one := complete(t, c, p)
		p.N = openai.Int(3)
		three := complete(t, c, p)
		all, _ := collect(t, c, p)
		texts := map[string]bool{}
		for i, choice := range three.Choices {
			texts[choice.Message.Content] = true
			if choice.Index != int64(i) || all.Choices[i].Message.Content != choice.Message.Content || all.Choices[i].FinishReason != "length" {
				t.Errorf("%s: choice %d: whole %q, streamed %q", model, i, choice.Message.Content, all.Choices[i].Message.Content)
			}
		}
		if len(texts) != 3 || three.Choices[0].Message.Content != one.Choices[0].Message.Content {
			t.Errorf("%s: %v, alone %q", model, texts, one.Choices[0].Message.Content)
		}
		for _, u := range []openai.CompletionUsage{three.Usage, all.Usage} {
			if u.PromptTokens != one.Usage.PromptTokens || u.CompletionTokens != 36 || u.TotalTokens != u.PromptTokens+36 {
				t.Errorf("%s: usage %s", model, u.RawJSON())
			}
		}
		p.N, p.Seed = openai.Int(1), openai.Int(8)
		if other := complete(t, c, p); other.Choices[0].Message.Content == one.Choices[0].Message.Content {
			t.Errorf("%s: another seed got the same answer", model)
		}
	}
}

func TestLogprobs(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(chatModels))
	c := client(sim)
	p := chatParams("one two three")
	p.Logprobs, p.TopLogprobs, p.MaxTokens, p.N = openai.Bool(true), openai.Int(3), openai.Int(8), openai.Int(2)
	whole := complete(t, c, p)
	all, chunks := collect(t, c, p)
	for i, choice := range whole.Choices {
		if len(choice.Logprobs.Content) != 8 {
			t.Fatalf("%s", choice.RawJSON())
		}
		text := ""
		for k, token := range choice.Logprobs.Content {
			text += token.Token
			raw := ""
			for _, b := range token.Bytes {
				raw += string(rune(b))
			}
			chosen := false
			for n, top := range token.TopLogprobs {
				chosen = chosen || top.Token == token.Token && top.Logprob == token.Logprob
				if top.Logprob > 0 || n > 0 && top.Logprob > token.TopLogprobs[n-1].Logprob || math.IsNaN(top.Logprob) {
					t.Errorf("%s", token.RawJSON())
				}
			}
			if !chosen || len(token.TopLogprobs) != 3 || raw != token.Token {
				t.Errorf("%s", token.RawJSON())
			}
			if got := all.Choices[i].Logprobs.Content[k]; got.Token != token.Token || got.Logprob != token.Logprob {
				t.Errorf("streamed %s, whole %s", got.RawJSON(), token.RawJSON())
			}
		}
		if text != choice.Message.Content {
			t.Errorf("the tokens are %q, the text %q", text, choice.Message.Content)
		}
	}
	if n := tokenEvents(chunks); n != 16 {
		t.Errorf("%d token events, want 16", n)
	}
}

func TestReasoning(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(chatModels))
	c := client(sim)
	p := chatParams("one two three")
	p.MaxCompletionTokens = openai.Int(100)
	for effort, want := range map[shared.ReasoningEffort]int64{"none": 0, "minimal": 16, "low": 64, "high": 100} {
		p.ReasoningEffort = effort
		whole := complete(t, c, p)
		all, chunks := collect(t, c, p)
		var reasoning, content int64
		for _, chunk := range chunks {
			for _, choice := range chunk.Choices {
				if f := choice.Delta.JSON.ExtraFields["reasoning_content"]; f.Raw() != "" {
					if reasoning++; content > 0 {
						t.Error("reasoning after content")
					}
				}
				if choice.Delta.Content != "" {
					content++
				}
			}
		}
		for _, u := range []openai.CompletionUsage{whole.Usage, all.Usage} {
			if u.CompletionTokensDetails.ReasoningTokens != want || u.CompletionTokens != 100 {
				t.Errorf("%s: usage %s", effort, u.RawJSON())
			}
		}
		if reasoning != want || content != 100-want || whole.Choices[0].FinishReason != "length" {
			t.Errorf("%s: %d events of reasoning, %d of content", effort, reasoning, content)
		}
		if f := whole.Choices[0].Message.JSON.ExtraFields["reasoning_content"]; (f.Raw() != "") != (want > 0) {
			t.Errorf("%s: %s", effort, whole.RawJSON())
		}
	}
}

// Every event of a token says how many there have been, and the last event the same
// as an answer that is not streamed.
func TestUsageInEveryEvent(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(chatModels))
	c := client(sim)
	p := chatParams("one two three")
	p.MaxTokens, p.N = openai.Int(5), openai.Int(2)
	all, chunks := collect(t, c, p, option.WithJSONSet("stream_options.continuous_usage_stats", true))
	tokens := int64(0)
	for _, chunk := range chunks {
		tokens += tokenEvents([]openai.ChatCompletionChunk{chunk})
		if u := chunk.Usage; !chunk.JSON.Usage.Valid() || u.CompletionTokens != tokens || u.TotalTokens != tokens+u.PromptTokens {
			t.Errorf("after %d tokens: %s", tokens, chunk.RawJSON())
		}
	}
	whole := complete(t, c, p)
	if last := chunks[len(chunks)-1].Usage; last.RawJSON() != whole.Usage.RawJSON() || tokens != 10 || len(chunks) != 15 {
		t.Errorf("streamed %s, whole %s, %d events", last.RawJSON(), whole.Usage.RawJSON(), len(chunks))
	}
	_ = all
	_, plain := collect(t, c, p)
	for _, chunk := range plain[:len(plain)-1] {
		if strings.Contains(chunk.RawJSON(), `"usage"`) {
			t.Errorf("usage that was not asked for: %s", chunk.RawJSON())
		}
	}
}

// What the prefix cache held is in the usage, of the first choice alone.
func TestCachedTokens(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(chatModels))
	c := client(sim)
	p := chatParams(strings.Repeat("one two three four ", 32))
	p.Model, p.MaxTokens, p.N = "batched", openai.Int(4), openai.Int(4)
	first := complete(t, c, p)
	if got := first.Usage.PromptTokensDetails.CachedTokens; got != 0 {
		t.Errorf("%d cached tokens in an empty cache", got)
	}
	whole := complete(t, c, p)
	all, _ := collect(t, c, p)
	for _, u := range []openai.CompletionUsage{whole.Usage, all.Usage} {
		if cached := u.PromptTokensDetails.CachedTokens; cached < 100 || cached > u.PromptTokens || cached%16 != 0 {
			t.Errorf("usage %s", u.RawJSON())
		}
	}
}

func TestAskedErrorsReachTheSDK(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(chatModels), simtest.WithResponses(`
version: 1
responses:
  - {id: busy, match: {exact: busy}, error: {status: 429, message: "{model} is busy", code: too_many, retry_after: 7}}
  - {id: odd, match: {exact: odd}, error: {status: 418, message: teapot, type: kettle}}
  - id: call
    match: {exact: call}
    content: "Let me see."
    tool_calls: [{name: a, arguments: {x: 1}}, {name: b}]
default: {error: {status: 503, message: down}}
`))
	c := client(sim)
	for _, want := range []struct {
		text, kind, code, message, retry string
		status                           int
	}{
		{"busy", "rate_limit_error", "too_many", "sim is busy", "7", 429},
		{"odd", "kettle", "", "teapot", "", 418},
		{"else", "service_unavailable", "", "down", "", 503},
	} {
		_, err := c.Chat.Completions.New(t.Context(), chatParams(want.text))
		var e *openai.Error
		if !errors.As(err, &e) || e.StatusCode != want.status || e.Type != want.kind || e.Code != want.code || e.Message != want.message || e.Response.Header.Get("Retry-After") != want.retry {
			t.Errorf("%s: %v", want.text, err)
		}
	}
	p := chatParams("call")
	all, _ := collect(t, c, p)
	m := all.Choices[0].Message
	if m.Content != "Let me see." || len(m.ToolCalls) != 2 || m.ToolCalls[0].Function.Arguments != `{"x": 1}` || m.ToolCalls[1].Function.Name != "b" || m.ToolCalls[1].Function.Arguments != "{}" || all.Choices[0].FinishReason != "tool_calls" {
		t.Errorf("%+v", m)
	}
	p.Model = "batched" // its scheduler ends what ends for another reason than length
	if got := complete(t, c, p).Choices[0]; len(got.Message.ToolCalls) != 2 {
		t.Errorf("%s", got.RawJSON())
	}
	p.ToolChoice.OfAuto = openai.String("none")
	if got := complete(t, c, p).Choices[0]; len(got.Message.ToolCalls) != 0 || got.FinishReason != "stop" {
		t.Errorf("%s", got.RawJSON())
	}
}
