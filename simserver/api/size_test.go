package api

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/plan"
)

// What is rendered is no more than was estimated, and for chat not much less.
func TestTheEstimateCoversWhatIsRendered(t *testing.T) {
	g := llm.NewGenerator(llm.Options{ContextLength: 10_000})
	for name, form := range map[string]form{"chat": chatForm{}, "text": textForm{}} {
		for _, alternatives := range []int{noLogprobs, 0, 1, 5, 20} {
			o := &order{form: form, alternatives: alternatives}
			size := answerSize{order: o}
			p, err := g.Generate(llm.Request{Messages: []llm.Message{{Role: "user", Text: "x"}}, MaxTokens: 1000, N: 2, Take: size.take})
			if err != nil {
				t.Fatal(err)
			}
			a := &answer{order: o, request: engine.Request{Plan: p}}
			a.renderText()
			if len(a.text) > size.bytes || name == "chat" && alternatives >= 0 && 2*len(a.text) < size.bytes {
				t.Errorf("%s with %d alternatives: %d bytes, estimated %d", name, alternatives, len(a.text), size.bytes)
			}
		}
	}
	// One long token, which its logprobs spell twice.
	o := &order{form: chatForm{}, alternatives: 3}
	size, c := answerSize{order: o}, plan.Choice{Tokens: []plan.Token{{Text: strings.Repeat("x", 100_000)}}}
	if err := size.take(&c); err != nil {
		t.Fatal(err)
	}
	a := &answer{order: o, request: engine.Request{Plan: &plan.Plan{Choices: []plan.Choice{c}}}}
	if a.renderText(); len(a.text) > size.bytes+500 { // with its head
		t.Errorf("a long token: %d bytes, estimated %d", len(a.text), size.bytes)
	}
}

func TestAnswersThatAreTooLarge(t *testing.T) {
	choice := func(tokens int) *plan.Choice { return &plan.Choice{Tokens: make([]plan.Token, tokens)} }
	for _, c := range []struct {
		o             *order
		choices, each int
		param, says   string
	}{
		{&order{form: chatForm{}, alternatives: noLogprobs}, 1, maxAnswerBytes / tokenBytes, "", ""},
		{&order{form: chatForm{}, alternatives: noLogprobs}, 1, maxAnswerBytes/tokenBytes + 1, "max_tokens", "1747626 tokens of all choices fit; lower max_tokens"},
		{&order{form: chatForm{}, alternatives: noLogprobs, request: llm.Request{N: 128}}, 128, 30_000, "n", "lower n, max_tokens"},
		{&order{form: chatForm{}, alternatives: 20, request: llm.Request{N: 4}}, 4, 30_000, "top_logprobs", "27306 tokens of all choices fit; lower top_logprobs, n, max_tokens"},
		{&order{form: chatForm{}, alternatives: 20, streamed: true}, 1, 30_000, "top_logprobs", "40 MiB"},
		{&order{form: textForm{}, alternatives: 20}, 1, 30_000, "logprobs", "lower logprobs, max_tokens"},
		{&order{form: chatForm{}, alternatives: 0}, 1, 1_000_000, "logprobs", "0 alternatives"},
		{&order{form: chatForm{}, alternatives: 20, request: llm.Request{N: 4}}, 4, 6_000, "", ""},
	} {
		size := answerSize{order: c.o}
		var err error
		for i := 0; i < c.choices && err == nil; i++ {
			err = size.take(choice(c.each))
		}
		if name := fmt.Sprintf("%d × %d, %+v", c.choices, c.each, c.o); c.param == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.param != "" {
			wantError(t, name, err, c.param, c.says)
		}
	}
}

func TestEmbeddingsThatAreTooLarge(t *testing.T) {
	body := func(inputs, dimensions int, format string) string {
		return fmt.Sprintf(`{"model":"m","input":[%s"x"],"dimensions":%d,"encoding_format":%q}`, strings.Repeat(`"x",`, inputs-1), dimensions, format)
	}
	for _, fits := range []string{body(2048, 1536, "float"), body(787, 4096, "float"), body(1706, 4096, "base64")} {
		if o, err := orderEmbeddings([]byte(fits)); err != nil {
			t.Errorf("%.40s…%s: %v", fits, fits[len(fits)-50:], err)
		} else if !o.request.Unscripted {
			t.Error("responses are asked what to say")
		}
	}
	for _, c := range []struct{ body, says string }{
		{body(2048, 4096, "float"), "2048 texts of 4096 dimensions as float would take more than 40 MiB: 787 of them fit, or 1575 dimensions"},
		{body(2048, 4096, "base64"), "1706 of them fit, or 3413 dimensions"},
	} {
		_, err := orderEmbeddings([]byte(c.body))
		wantError(t, c.says, err, "input", c.says)
	}
	for _, base64 := range []bool{false, true} {
		e := &embeddings{inputs: inputs{texts: []string{"a", "b", "c"}}, dimensions: 1536, base64: base64}
		number := numberBytes
		if base64 {
			number = base64Bytes
		}
		got, estimated := len(marshal(e.list("m"))), 3*1536*number
		if math.Abs(float64(got-estimated)) > float64(estimated)/5 {
			t.Errorf("base64 %v: %d bytes, estimated %d", base64, got, estimated)
		}
	}
}

// The bound holds for requests as they are accepted.
func TestAcceptedRequestsAreBounded(t *testing.T) {
	s, address := startServer(t, 200_000)
	body := `{"model":"m","messages":[{"role":"user","content":"x"}],"n":4,"max_tokens":30000,"logprobs":true,"top_logprobs":20}`
	resp, err := http.Post("http://"+address+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text := make([]byte, 1000)
	if n, _ := io.ReadFull(resp.Body, text); resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text[:n]), `"param":"top_logprobs"`) {
		t.Errorf("%s: %s", resp.Status, text)
	}
	if n := s.config.Metrics.Summary("").Models["m"].Requests; n.Received != 0 || n.Running != 0 {
		t.Errorf("%+v, want none received", n)
	}
}
