package recording

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const sec = int64(time.Second)

func delta(s string) string {
	return `data: {"choices":[{"index":0,"delta":` + s + `,"finish_reason":null}]}` + "\n\n"
}

const finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}` + "\n\n"

func mustAnswer(t *testing.T, e *Exchange) *Answer {
	t.Helper()
	a, err := e.Answer()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnswerOfAStream(t *testing.T) {
	e := exchangeOf(200, "text/event-stream; charset=utf-8",
		": hello\r\n\r\n"+delta(`{"role":"assistant","content":""}`),
		delta(`{"reasoning_content":"hm","reasoning":"hm"}`)+delta(`{"reasoning":"."}`),
		delta(`{"content":"Hé"}`)[:50],
		delta(`{"content":"Hé"}`)[50:]+delta(`{"content":" you"}`),
		delta(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`)+delta(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":":1}"}}]}`),
		delta(`{"tool_calls":[{"index":1,"id":"call_2","function":{"name":"g"}}]}`),
		"data: {\"choices\":\ndata: [{\"index\":1,\"delta\":{\"content\":\"two\"},\"finish_reason\":\"stop\"}]}\r\n\r\n",
		finish, `data: {"choices":[],"usage":{"total_tokens":9}}`+"\n\n", "data: [DONE]\n\n", "data: nonsense\n\n",
	)
	want := []Choice{
		{
			Reasoning: Text{Text: "hm.", Marks: []Mark{{2, 2 * sec}, {3, 2 * sec}}},
			Content:   Text{Text: "Hé you", Marks: []Mark{{3, 4 * sec}, {7, 4 * sec}}},
			ToolCalls: []ToolCall{
				{ID: "call_1", Name: "f", Arguments: Text{Text: `{"a":1}`, Marks: []Mark{{0, 5 * sec}, {4, 6 * sec}, {7, 6 * sec}}}},
				{ID: "call_2", Name: "g", Arguments: Text{Marks: []Mark{{0, 7 * sec}}}},
			},
			FinishReason: "tool_calls", EndNS: 9 * sec,
		},
		{Content: Text{Text: "two", Marks: []Mark{{3, 8 * sec}}}, FinishReason: "stop", EndNS: 8 * sec},
	}
	if a := mustAnswer(t, e); a.Error != nil || !reflect.DeepEqual(a.Choices, want) {
		t.Errorf("got\n%+v\nwant\n%+v", a.Choices, want)
	}
}

func TestAnswerSentWhole(t *testing.T) {
	e := exchangeOf(200, "application/json",
		`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":null,"function_call":null,"reasoning_content":"hm",`,
		`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"[]"}}]},"finish_reason":"tool_calls"}]}`)
	want := []Choice{{
		Reasoning: Text{Text: "hm", Marks: []Mark{{2, 2 * sec}}},
		ToolCalls: []ToolCall{
			{ID: "a", Name: "f", Arguments: Text{Text: "{}", Marks: []Mark{{0, 2 * sec}, {2, 2 * sec}}}},
			{ID: "b", Name: "g", Arguments: Text{Text: "[]", Marks: []Mark{{0, 2 * sec}, {2, 2 * sec}}}},
		},
		FinishReason: "tool_calls", EndNS: 2 * sec,
	}}
	if a := mustAnswer(t, e); !reflect.DeepEqual(a.Choices, want) {
		t.Errorf("got\n%+v\nwant\n%+v", a.Choices, want)
	}
}

func TestAnswerThatFails(t *testing.T) {
	for body, want := range map[string]Error{
		`{"error":{"message":"slow down","type":"tokens","code":"rate_limit_exceeded","param":null}}`: {Message: "slow down", Type: "tokens", Code: "rate_limit_exceeded"},
		`{"error":{"message":"no","code":429}}`:                                                       {Message: "no", Code: "429"},
		`{"error":"busy"}`:                                                                            {Message: "busy"},
		`{"object":"error","message":"old","type":"BadRequest","code":1}`:                             {Message: "old", Type: "BadRequest", Code: "1"},
		`{"detail":"Not Found"}`:                                                                      {Message: "Not Found"},
		`{"error":{}}`:                                                                                {Message: `{"error":{}}`},
		" upstream\n":                                                                                 {Message: "upstream"},
		"":                                                                                            {Message: "the recorded server answered with status 429 and nothing else"},
	} {
		e := exchangeOf(429, "application/json", body)
		e.Response.Headers["Retry-After"] = []string{"7"}
		want.Status, want.RetryAfter = 429, 7
		if a := mustAnswer(t, e); a.Error == nil || *a.Error != want {
			t.Errorf("%s: %+v, want %+v", body, a.Error, want)
		}
	}
	e := exchangeOf(500, "text/html", strings.Repeat("日", 1000))
	e.Response.Headers["Retry-After"] = []string{"Fri, 31 Dec 1999 23:59:59 GMT"}
	if a := mustAnswer(t, e); len(a.Error.Message) != 1998 || a.Error.RetryAfter != 0 {
		t.Errorf("%d bytes, %+v", len(a.Error.Message), a.Error)
	}
}

func TestAnswerRefuses(t *testing.T) {
	stream := func(pieces ...string) *Exchange { return exchangeOf(200, "text/event-stream", pieces...) }
	cut := stream(finish)
	cut.End = End{Reason: "the client left"}
	nothing := stream()
	nothing.Response = nil
	packed := stream(finish)
	packed.Response.Headers["Content-Encoding"] = []string{"br"}
	for want, e := range map[string]*Exchange{
		"the exchange is not complete: the client left":                                             cut,
		"the exchange has no response":                                                              nothing,
		`the response has the content encoding "br", which can't be taken off`:                      packed,
		"the response has status 302, must be 200 or an error from 400 to 599":                      exchangeOf(302, "text/html"),
		"the response has no choice":                                                                stream("data: [DONE]\n\n"),
		"the response is cut: choice 0 has no finish_reason":                                        stream(delta(`{"content":"a"}`)),
		"the response is cut: choice 1 has no finish_reason":                                        stream(finish, strings.Replace(delta(`{"content":"a"}`), "0", "1", 1)),
		"event 1 of the stream: is an error, behind a status of success: {\"message\":\"broken\"}":  stream(delta("{}"), "data: {\"error\":{\"message\":\"broken\"}}\n\n"),
		"event 0 of the stream: is not a chat completion: invalid character 'x'":                    stream("data: x\n\n"),
		"event 0 of the stream: has a refusal, which can't be replayed":                             stream(delta(`{"refusal":"no"}`)),
		"event 0 of the stream: has a function_call, the older form":                                stream(delta(`{"function_call":{"name":"f"}}`)),
		"event 0 of the stream: choice 128, must be from 0 to 127":                                  stream(`data: {"choices":[{"index":128}]}` + "\n\n"),
		"event 0 of the stream: tool call 1 begins before tool call 0":                              stream(delta(`{"tool_calls":[{"index":1}]}`)),
		"event 0 of the stream: tool call -1, must be from 0 to 127":                                stream(delta(`{"tool_calls":[{"index":-1}]}`)),
		"the response is broken: tool call 0 of choice 0 has no name":                               stream(delta(`{"tool_calls":[{"index":0}]}`), finish),
		"the response: is not a chat completion: unexpected end of JSON input":                      exchangeOf(200, "application/json", "{"),
		"the response: is not a chat completion: json: cannot unmarshal array into Go struct field": exchangeOf(200, "application/json", `{"choices":[{"message":{"content":[]}}]}`),
	} {
		if a, err := e.Answer(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %+v, %v, want %s", a, err, want)
		}
	}
}

// However a stream is cut into pieces, it says the same, and each text has come
// when the piece came that completes its event.
func TestAnswerAtAnyCut(t *testing.T) {
	texts := []string{"one", " two", "", " 日本", "\n"}
	whole, ends := "", []int{}
	for _, s := range texts {
		quoted := strings.ReplaceAll(s, "\n", `\n`)
		whole += delta(`{"content":"` + quoted + `"}`)
		ends = append(ends, len(whole))
	}
	whole += strings.TrimRight(finish, "\n") // an end without an end
	rapid.Check(t, func(t *rapid.T) {
		e := exchangeOf(200, "text/event-stream")
		var want []Mark
		said := 0
		next := 0
		for from := 0; from < len(whole); {
			n := rapid.IntRange(1, len(whole)-from).Draw(t, "size")
			at := int64(from)
			e.Response.Segments = append(e.Response.Segments, Segment{at, []byte(whole[from : from+n])})
			from += n
			for ; next < len(ends) && ends[next] <= from; next++ {
				if texts[next] != "" {
					said += len(texts[next])
					want = append(want, Mark{said, at})
				}
			}
		}
		a, err := e.Answer()
		if err != nil {
			t.Fatal(err)
		}
		if c := a.Choices[0].Content; c.Text != strings.Join(texts, "") || !reflect.DeepEqual(c.Marks, want) {
			t.Fatalf("got %+v, want marks %v", c, want)
		}
	})
}

// No file makes the reader panic, and an answer's marks are in order and end with
// its text.
func FuzzAnswer(f *testing.F) {
	for _, e := range []*Exchange{
		exchangeOf(200, "text/event-stream", delta(`{"content":"a"}`), finish),
		exchangeOf(200, "application/json", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`),
		exchangeOf(429, "text/plain", "no"),
	} {
		data, err := e.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Parse(data)
		if err != nil {
			return
		}
		if _, err := e.Encode(); err != nil {
			t.Fatal(err)
		}
		a, err := e.Answer()
		if err != nil {
			return
		}
		if (a.Error == nil) == (len(a.Choices) == 0) {
			t.Fatalf("%+v", a)
		}
		for _, c := range a.Choices {
			all := []Text{c.Reasoning, c.Content}
			for _, call := range c.ToolCalls {
				all = append(all, call.Arguments)
			}
			for _, text := range all {
				last := Mark{}
				for _, m := range text.Marks {
					if m.End < last.End || m.AtNS < last.AtNS {
						t.Fatalf("marks %v", text.Marks)
					}
					last = m
				}
				if last.End != len(text.Text) {
					t.Fatalf("%d bytes of text, marks %v", len(text.Text), text.Marks)
				}
			}
		}
	})
}
