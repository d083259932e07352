package simserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"

	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/simtest"
)

// withFile serves a responses file that can be changed.
func withFile(t *testing.T, text string) (sim *simtest.Simulator, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "responses.yml")
	write(t, file, text)
	r, err := config.LoadResponses(file)
	if err != nil {
		t.Fatal(err)
	}
	return simtest.Start(t, simtest.WithModels(chatModels), simtest.WithServer(simserver.Options{Responses: r, ResponsesFile: file})), file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reload asks for it and returns the answer.
func reload(t *testing.T, sim *simtest.Simulator) (int, string) {
	t.Helper()
	resp, err := http.Post("http://"+sim.Address+"/admin/reload", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func version(n int) string {
	return fmt.Sprintf("version: 1\nresponses: [{id: a, match: {exact: a}, variants: [%[1]d %[1]d, %[1]d %[1]d]}]\ndefault: {content: \"version %[1]d of %[1]d\"}\n", n)
}

func TestReload(t *testing.T) {
	sim, file := withFile(t, version(1))
	c := client(sim)
	says := func(want string) {
		t.Helper()
		if got := complete(t, c, chatParams("x")).Choices[0].Message.Content; got != want {
			t.Errorf("the answer is %q, want %q", got, want)
		}
	}
	says("version 1 of 1")
	write(t, file, version(2)+"")
	says("version 1 of 1")
	if status, body := reload(t, sim); status != 200 || body != `{"status":"reloaded","responses":1,"variants":3,"warnings":[]}` {
		t.Errorf("%d %s", status, body)
	}
	says("version 2 of 2")

	write(t, file, "version: 3\nresponses: [{id: a, match: {exakt: a}, content: x}]\ndefault: {content: x}\n")
	status, body := reload(t, sim)
	var p problem
	if err := json.Unmarshal([]byte(body), &p); err != nil || p.Error == nil {
		t.Fatalf("no error in OpenAI's form: %s (%v)", body, err)
	}
	if status != 400 || p.Error.Type != "invalid_request_error" || deref(p.Error.Code) != "reload_failed" ||
		!strings.Contains(p.Error.Message, file+":1: version") || !strings.Contains(p.Error.Message, file+":2: ") {
		t.Errorf("%d %s: not all mistakes with their places", status, body)
	}
	says("version 2 of 2")

	write(t, file, "version: 1\nresponses: [{id: a, match: {contains: a}, content: x}, {id: b, match: {contains: ab}, content: x}]\ndefault: {content: warned}\n")
	if status, body := reload(t, sim); status != 200 || !strings.Contains(body, `"warnings":["`+file) {
		t.Errorf("%d %s: no warning of an entry that can't be reached", status, body)
	}
	says("warned")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if status, body := reload(t, sim); status != 400 || !strings.Contains(body, file) {
		t.Errorf("%d %s", status, body)
	}
	says("warned")
	if status, body := reload(t, simtest.Start(t)); status != 400 || !strings.Contains(body, "without a responses file") {
		t.Errorf("without a file: %d %s", status, body)
	}
}

// Whatever is reloaded meanwhile, an answer is one version's as a whole.
func TestReloadUnderTraffic(t *testing.T) {
	sim, file := withFile(t, version(0))
	stop := make(chan struct{})
	var clients sync.WaitGroup
	answers := make([]int, 4)
	for i := range answers {
		clients.Go(func() {
			c := client(sim)
			for {
				select {
				case <-stop:
					return
				default:
				}
				p := chatParams("x")
				p.N = openai.Int(2)
				got, err := c.Chat.Completions.New(t.Context(), p)
				if err != nil {
					t.Error(err)
					return
				}
				for _, choice := range got.Choices {
					var a, b int
					if n, err := fmt.Sscanf(choice.Message.Content, "version %d of %d", &a, &b); n != 2 || err != nil || a != b {
						t.Errorf("half an answer: %q", choice.Message.Content)
					}
				}
				if got.Choices[0].Message.Content != got.Choices[1].Message.Content {
					t.Errorf("choices of two versions: %s", got.RawJSON())
				}
				answers[i]++
			}
		})
	}
	for n := 1; n <= 60; n++ {
		write(t, file, version(n))
		if status, body := reload(t, sim); status != 200 {
			t.Errorf("reload %d: %d %s", n, status, body)
		}
		if got := complete(t, client(sim), chatParams("x")).Choices[0].Message.Content; got != fmt.Sprintf("version %d of %d", n, n) {
			t.Errorf("after reload %d: %q", n, got)
		}
	}
	close(stop)
	clients.Wait()
	if answers[0]+answers[1]+answers[2]+answers[3] == 0 {
		t.Error("there was no traffic")
	}
}

// A vocabulary's model has a template unless the file says that it has none.
func TestTemplateOverheadOfTheTokenizer(t *testing.T) {
	const model = "  - {name: %s, context_length: 4096, tokenizer: %s, engine: instant%s}\n"
	sim := simtest.Start(t, simtest.WithModels("models:\n"+
		fmt.Sprintf(model, "default", "o200k", "")+fmt.Sprintf(model, "none", "o200k", ", template_overhead: {tokens_per_message: 0, tokens_per_request: 0}")+
		fmt.Sprintf(model, "half", "cl100k", ", template_overhead: {tokens_per_message: 10}")+fmt.Sprintf(model, "regex", "regex", "")))
	c := client(sim)
	for name, want := range map[string]int64{"default": 3 + 4 + 3, "none": 3, "half": 3 + 10 + 3, "regex": 3} {
		p := chatParams("one two three")
		p.Model = name
		if got := complete(t, c, p).Usage.PromptTokens; got != want {
			t.Errorf("%s: %d prompt tokens, want %d", name, got, want)
		}
	}
}

// Several choices are several sequences, and each is repeated to the nanosecond.
func TestChoicesAreReplayed(t *testing.T) {
	l := startLive(t, strings.Replace(article, "scheduler: {", "scheduler: {profile: vllm-0.23, ", 1), simserver.Options{})
	p := chatParams(strings.Repeat("one two three ", 40))
	p.Model, p.N, p.MaxTokens = "m", openai.Int(3), openai.Int(10)
	for range 3 {
		complete(t, client(l.Simulator), p)
	}
	all := l.replay(t)
	if len(all) != 1 || all[0].Requests != 9 || all[0].Tokens != 90 {
		t.Errorf("%+v, want 9 sequences of 10 tokens", all)
	}
}
