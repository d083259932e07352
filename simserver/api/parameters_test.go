package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wantError holds an error against a parameter and words of its message.
func wantError(t *testing.T, body string, err error, param, says string) {
	t.Helper()
	var e *apiError
	if !errors.As(err, &e) {
		t.Errorf("%s: error %v is not in OpenAI's form", body, err)
		return
	}
	if e.status != 400 || e.kind != invalidRequest || e.param != param || !strings.Contains(e.message, says) {
		t.Errorf("%s: status %d, type %s, param %q, message %q; want %q, …%s…", body, e.status, e.kind, e.param, e.message, param, says)
	}
}

// okValues has, for each parameter that is checked only, values that are right.
var okValues = map[string][]string{
	"temperature": {"0", "2", "1e-3"}, "top_p": {"0", "1"}, "presence_penalty": {"-2", "2"}, "frequency_penalty": {"-2", "2"},
	"logit_bias": {`{}`, `{"50256":-100,"1":100}`}, "user": {`"u"`, `""`},
	"top_k": {"-1", "50"}, "min_p": {"0.1"}, "repetition_penalty": {"1.1"}, "length_penalty": {"1"},
	"stop_token_ids": {"[1]"}, "bad_words": {`["x"]`}, "allowed_token_ids": {"[1]"},
	"skip_special_tokens": {"true"}, "spaces_between_special_tokens": {"true"}, "add_special_tokens": {"false"},
	"request_id": {`"r"`}, "rid": {`"r"`}, "cache_salt": {`"s"`}, "kv_transfer_params": {"{}"}, "vllm_xargs": {"{}"},
	"use_beam_search": {"false"}, "return_token_ids": {"false"}, "return_tokens_as_token_ids": {"false"}, "echo": {"false"},
	"metadata": {`{}`, `{"a":"b"}`}, "store": {"true"}, "parallel_tool_calls": {"false"},
	"service_tier": {`"auto"`, `"flex"`}, "verbosity": {`"low"`}, "prediction": {`{"type":"content","content":"x"}`},
	"safety_identifier": {`"x"`}, "prompt_cache_key": {`"x"`}, "prompt_cache_retention": {`"24h"`}, "modalities": {`["text"]`},
	"add_generation_prompt": {"true"}, "continue_final_message": {"false"}, "chat_template": {`"x"`}, "chat_template_kwargs": {`{"enable_thinking":false}`},
	"documents": {"[]"}, "mm_processor_kwargs": {"{}"}, "include_reasoning": {"true"}, "separate_reasoning": {"true"}, "stream_reasoning": {"true"},
	"best_of": {"1"},
}

func TestEveryCheckedParameter(t *testing.T) {
	wrong := []string{`"text"`, `["x","y"]`, `{"x":{}}`, "true", "7e9", "-1e9"}
	for name, read := range map[string]struct {
		params parameters
		order  func([]byte) (*order, error)
		rest   string
	}{
		"chat":        {chatParameters, orderChat, okMessages},
		"completions": {completionParameters, orderCompletion, `"prompt":"x"`},
	} {
		for param := range read.params {
			body := func(value string) string { return `{"model":"m","` + param + `":` + value + `,` + read.rest + `}` }
			for _, value := range append(okValues[param], "null") {
				if _, err := read.order([]byte(body(value))); err != nil {
					t.Errorf("%s %s %s: %v", name, param, value, err)
				}
			}
			refusals := 0
			for _, value := range wrong {
				_, err := read.order([]byte(body(value)))
				if err != nil {
					refusals++
					wantError(t, body(value), err, param, param+": ")
				}
			}
			if refusals < 4 || len(okValues[param]) == 0 && refusals < len(wrong) {
				t.Errorf("%s: %s refuses only %d of %q", name, param, refusals, wrong)
			}
		}
	}
}

func TestChatParametersThatHold(t *testing.T) {
	const tool = `{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}}`
	for _, c := range []struct{ member, param, says string }{
		{`"max_token":5`, "max_token", "is not a known parameter"},
		{`"stream":true,"stream_options":{"usage":true}`, "stream_options.usage", "must be include_usage, continuous_usage_stats, include_obfuscation"},
		{`"response_format":{"type":"json_object","schema":{}}`, "response_format.schema", "must be type, json_schema"},
		{`"response_format":{"type":"json_schema","json_schema":{"name":"x","scheme":{}}}`, "response_format.json_schema.scheme", "not known"},
		{`"stop":["a","b","c","d","e"]`, "stop", "has 5 texts, must have 4 or fewer"},
		{`"stop":["a",""]`, "stop", "empty text"},
		{`"stop":[1]`, "stop", "must be a string or an array of strings"},
		{`"n":-1`, "n", "must be 1 or more"},
		{`"n":"two"`, "n", "must be an integer"},
		{`"seed":1.5`, "seed", "must be an integer"},
		{`"logprobs":1`, "logprobs", "must be a boolean"},
		{`"logprobs":true,"top_logprobs":21`, "top_logprobs", "must be 20 or less"},
		{`"logprobs":true,"top_logprobs":-1`, "top_logprobs", "must be 0 or more"},
		{`"top_logprobs":2`, "top_logprobs", "only for"},
		{`"reasoning_effort":"extreme"`, "reasoning_effort", `"extreme" is not known, must be none, minimal, low`},
		{`"temperature":2.1`, "temperature", "2.1 is out of range, must be 0 to 2"},
		{`"temperature":-0.1`, "temperature", "must be 0 to 2"},
		{`"top_p":1.01`, "top_p", "must be 0 to 1"},
		{`"presence_penalty":-2.5`, "presence_penalty", "must be -2 to 2"},
		{`"frequency_penalty":2.5`, "frequency_penalty", "must be -2 to 2"},
		{`"top_k":1.5`, "top_k", "must be an integer, got number 1.5"},
		{`"top_k":-2`, "top_k", "-2 is out of range"},
		{`"logit_bias":{"1":101}`, "logit_bias", "the bias 101 of 1 is out of range, must be -100 to 100"},
		{`"logit_bias":{"one":1}`, "logit_bias", `"one" is not a token id`},
		{`"metadata":{"a":1}`, "metadata", "whose values are strings"},
		{`"metadata":{"a":null}`, "metadata", "not possible"},
		{`"metadata":{"` + strings.Repeat("k", 65) + `":"v"}`, "metadata", "at most 64 characters"},
		{`"metadata":{"k":"` + strings.Repeat("v", 513) + `"}`, "metadata", "at most 512"},
		{`"metadata":{` + strings.Repeat(`"k":"v",`, 17) + `"a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":"","i":"","j":"","l":"","m":"","n":"","o":"","p":"","q":""}`, "metadata", "has 17 pairs, must have 16 or fewer"},
		{`"service_tier":"gold"`, "service_tier", `"gold" is not possible, must be one of auto, default, flex, scale, priority`},
		{`"modalities":["text","audio"]`, "modalities", `must be ["text"]`},
		{`"functions":[]`, "functions", "use tools"},
		{`"use_beam_search":true`, "use_beam_search", "true is not simulated, must be false"},
		{`"response_format":{"type":"xml"}`, "response_format", `"xml" is not simulated`},
		{`"response_format":{"type":"json_schema"}`, "response_format.json_schema", "missing"},
		{`"response_format":{"type":"json_schema","json_schema":{"name":"a b","schema":{}}}`, "response_format.json_schema.name", `"a b"`},
		{`"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"properties":{"x":{"type":"text"}}}}}`, "response_format.json_schema.schema", "schema at #/properties/x: type"},
		{`"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":7}}`, "response_format.json_schema.schema", "schema at #"},
		{`"tools":[{"type":"custom"}]`, "tools[0].type", `"custom" is not simulated`},
		{`"tools":[{"type":"function","function":{"name":"a b"}}]`, "tools[0].function.name", `"a b" is not possible`},
		{`"tools":[{"type":"function","function":{"name":"a","parameters":[]}}]`, "tools[0].function.parameters", "must be a JSON Schema"},
		{`"tools":[` + strings.Repeat(tool+",", 128) + tool + `]`, "tools", "has 129 tools"},
		{`"tool_choice":"any"`, "tool_choice", `"any" is not simulated`},
		{`"tool_choice":{"type":"allowed_tools"}`, "tool_choice", "is not simulated"},
		{`"tool_choice":5`, "tool_choice", "5 is not simulated"},
		{`"tool_choice":"required"`, "tool_choice", "needs tools"},
		{`"tools":[` + tool + `],"tool_choice":{"type":"function","function":{"name":"g"}}`, "tool_choice", `"g" is not among the tools`},
		{`"tools":[` + tool + `,{"type":"function","function":{"name":"g","parameters":{"type":"object","required":["x"],"maxProperties":0}}}],"tool_choice":"required"`, "tools[1].function.parameters", "schema at #"},
		{`"messages":[{"role":"tool","content":"x"}]`, "messages[0].tool_call_id", "missing"},
		{`"messages":[{"role":"user","content":"x","tool_calls":[{"type":"function","function":{"name":"f","arguments":""}}]}]`, "messages[0].tool_calls", "only for the role assistant"},
		{`"messages":[{"role":"assistant","tool_calls":[{"type":"custom"}]}]`, "messages[0].tool_calls[0].type", `"custom"`},
		{`"messages":[{"role":"function","content":"x"}]`, "messages[0].role", `"function" is unknown`},
		{`"messages":[{"role":"user","content":"x"}, {"role":"user","contnet":"x"}]`, "messages[1].contnet", "is not known, must be role, content"},
		{`"messages":[{"role":"assistant","function_call":{"name":"f"}}]`, "messages[0].function_call", "use tool_calls"},
		{`"tools":[` + tool + ` , {"type":"function","function":{"name":"g","paramaters":{}}}]`, "tools[1].function.paramaters", "must be name, description, parameters, strict"},
		{`"tools":[{"type":"function","name":"f","function":{"name":"f"}}]`, "tools[0].name", "must be type, function"},
		{`"tools":[{"type":"custom","custom":{}}]`, "tools[0].type", `"custom" is not simulated`},
		{`"tools":[` + tool + `],"tool_choice":{"type":"function","name":"f"}`, "tool_choice.name", "must be type, function"},
		{`"tools":[` + tool + `],"tool_choice":{"type":"function","function":{"name":"f","strict":true}}`, "tool_choice.function.strict", "must be name"},
		{`"tools":[` + tool + `],"tool_choice":{"type":"function"}`, "tool_choice", "is not simulated, must be"},
		{`"tools":[` + tool + `],"tool_choice":{"type":"function","function":7}`, "tool_choice", "is not simulated, must be"},
	} {
		body := `{"model":"m",` + okMessages + `,` + c.member + `}`
		_, err := orderChat([]byte(body))
		wantError(t, body, err, c.param, c.says)
	}
	for _, member := range []string{
		`"stop":null`, `"stop":"x"`, `"stop":[]`, `"n":128`, `"tools":null`, `"tool_choice":null`, `"tools":[],"tool_choice":"auto"`,
		`"tools":[` + tool + `],"tool_choice":"none"`, `"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required"`,
		`"response_format":null`, `"logprobs":true,"top_logprobs":0`, `"logprobs":null`, `"stream":true,"stream_options":{"include_obfuscation":false}`,
		`"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}],"annotations":[]},{"role":"tool","tool_call_id":"c","content":"3"}]`,
		`"messages":[{"role":"assistant","content":"x","refusal":null,"audio":null,"annotations":[],"function_call":null,"tool_calls":null,"reasoning_content":"y"}]`,
		`"messages":[ {"role":"user","name":"ann","content":[{"type":"refusal","refusal":"no"}]} , {"role":"assistant","reasoning":"y","provider_specific_fields":{}} ]`,
		`"tools":[ {"type":"function","function":{"name":"f","description":"d","parameters":{},"strict":true}} ],"tool_choice":{"type":"function","function":{"name":"f"}}`,
	} {
		body := `{"model":"m",` + okMessages + `,` + member + `}`
		if _, err := orderChat([]byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// What calls and their results said, and the tools' definitions, count as prompt.
func TestHistoryAndToolsArePartOfThePrompt(t *testing.T) {
	o, err := orderChat([]byte(`{"model":"m","tools":[ {"type":"function", "function":{"name":"f"}} ],"messages":[
		{"role":"assistant","content":"So:","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},
		{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"3"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if m := o.request.Messages; m[0].Text != `So:f{"x":1}` || m[1].Text != "3" || m[1].Role != "tool" {
		t.Errorf("%+v", m)
	}
	if want := `[{"type":"function","function":{"name":"f"}}]`; o.request.Preamble != want {
		t.Errorf("preamble %q, want %q", o.request.Preamble, want)
	}
}

func TestToolWithoutTypeIsStillAnObject(t *testing.T) {
	for raw, want := range map[string]string{
		``: `{"type":"object","maxProperties":0}`, `null`: `{"type":"object","maxProperties":0}`,
		`{}`: `{"type":"object"}`, `{"properties":{}}`: `{"type":"object","properties":{}}`, `{"type":"object"}`: `{"type":"object"}`,
	} {
		if got := string(argumentsSchema([]byte(raw))); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestCompletionAndEmbeddingErrors(t *testing.T) {
	for _, c := range []struct{ member, param, says string }{
		{`"x":1`, "prompt", "missing or empty"},
		{`"prompt":5`, "prompt", "must be a string, an array of strings, an array of token ids"},
		{`"prompt":[-1]`, "prompt", "must be a string"},
		{`"prompt":["a",1]`, "prompt", "must be a string"},
		{`"prompt":["a","b"]`, "prompt", "has 2 texts, must have 1 or fewer"},
		{`"prompt":[[]]`, "prompt", "empty list of token ids"},
		{`"prompt":[]`, "prompt", "missing or empty"},
		{`"prompt":"a","max_tokens":0`, "max_tokens", "1 or more"},
		{`"prompt":"a","min_tokens":9,"max_tokens":8`, "min_tokens", "above"},
		{`"prompt":"a","logprobs":true`, "logprobs", "must be an integer"},
		{`"prompt":"a","logprobs":21`, "logprobs", "20 or less"},
		{`"prompt":"a","suffix":"b"`, "suffix", "not simulated"},
		{`"prompt":"a","messages":[]`, "messages", "not a known parameter"},
	} {
		body := `{"model":"m",` + c.member + `}`
		if c.member == `"x":1` {
			body = `{"model":"m"}`
		}
		_, err := orderCompletion([]byte(body))
		wantError(t, body, err, c.param, c.says)
	}
	for _, c := range []struct{ body, param, says string }{
		{`{"input":"x"}`, "model", "missing"},
		{`{"model":"m"}`, "input", "missing or empty"},
		{`{"model":"m","input":{}}`, "input", "must be a string"},
		{`{"model":"m","input":[` + strings.Repeat(`"x",`, 2048) + `"x"]}`, "input", "has 2049 texts"},
		{`{"model":"m","input":"x","dimensions":0}`, "dimensions", "1 or more"},
		{`{"model":"m","input":"x","dimensions":5000}`, "dimensions", "4096 or less"},
		{`{"model":"m","input":"x","encoding_format":"hex"}`, "encoding_format", `"hex" is not known`},
		{`{"model":"m","input":"x","stream":true}`, "stream", "not a known parameter"},
		{`{"model":7,"input":"x"}`, "model", "must be a string"},
	} {
		_, err := orderEmbeddings([]byte(c.body))
		wantError(t, c.body, err, c.param, c.says)
	}
	for _, prompt := range []string{`"a"`, `["a"]`, `[1,2]`, `[[1,2]]`} {
		o, err := orderCompletion([]byte(`{"model":"m","prompt":` + prompt + `}`))
		if err != nil {
			t.Errorf("%s: %v", prompt, err)
		} else if !o.request.NoCalls || !o.request.NoReasoning {
			t.Errorf("%s: the form has no place for calls and reasoning", prompt)
		}
	}
}

// The page lists every parameter that is taken, and each in a row of its own.
func TestThePageListsEveryParameter(t *testing.T) {
	page, err := os.ReadFile("../../docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, line := range strings.Split(string(page), "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for i, word := range strings.Split(cells[1], "`") {
				if i%2 == 1 {
					named = append(named, word)
				}
			}
		}
	}
	for _, known := range [][]string{
		chatFields, keys(chatParameters), completionFields, keys(completionParameters), embeddingFields, keys(embeddingParameters),
	} {
		for _, name := range known {
			if !slices.Contains(named, name) && !slices.Contains(named, "stream_options."+name) {
				t.Errorf("docs/server.md does not list %s", name)
			}
		}
	}
}

func keys(p parameters) (names []string) {
	for name := range p {
		names = append(names, name)
	}
	return names
}

// A body's members are those that encoding/json finds, with the same values.
func TestMembersAreTheEncoders(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) any {
		return rapid.OneOf(
			rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
			rapid.Map(rapid.OneOf(rapid.String(), rapid.StringMatching(`["\\{}\[\],: ]*`)), func(s string) any { return s }),
			rapid.SampledFrom([]any{nil, true, false, map[string]any{`a"}`: []any{`]\`, 1.5}}, []any{}, map[string]any{}}),
		).Draw(t, "value")
	})
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOf(rapid.String(), value).Draw(t, "object")
		body, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "indented") {
			var b bytes.Buffer
			if err := json.Indent(&b, body, " ", "\t"); err != nil {
				t.Fatal(err)
			}
			body = b.Bytes()
		}
		found := map[string]any{}
		if err := members(body, func(key string, value []byte) error {
			var v any
			if err := json.Unmarshal(value, &v); err != nil {
				t.Fatalf("%q: %v", value, err)
			}
			found[key] = v
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(found)
		want, _ := json.Marshal(object)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("found %s, want %s", got, want)
		}
	})
}

func FuzzOrders(f *testing.F) {
	f.Add([]byte(`{"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required",` + okMessages + `}`))
	f.Add([]byte(`{"model":"m","prompt":[[1]],"logprobs":3,"stop":["\\\""]}`))
	f.Add([]byte(`{"model":"m","input":["a"],"dimensions":3}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, read := range []func([]byte) (*order, error){orderChat, orderCompletion, orderEmbeddings} {
			o, err := read(body)
			var e *apiError
			if err != nil && !errors.As(err, &e) {
				t.Errorf("error %v is not in OpenAI's form", err)
			}
			if err == nil && (o.model == "" || o.request.MaxTokens < 0) {
				t.Errorf("accepted %+v", o)
			}
		}
	})
}
