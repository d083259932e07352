package recording

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const key = `sk-proj/4eC39"HqLyjW<Darj>tT1`

// encoded returns the file's text, in which there must be no secret.
func encoded(t *testing.T, e *Exchange, secrets ...string) string {
	t.Helper()
	data, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range secrets {
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(s)) || bytes.Contains(data, quoted[1:len(quoted)-1]) {
			t.Errorf("the file has %s:\n%s", s, data)
		}
	}
	return string(data)
}

func TestRedactHeaders(t *testing.T) {
	e := exchangeOf(401, "application/json", "{}")
	hidden := map[string]string{
		"Authorization": "Bearer " + key, "X-Api-Key": "xkey-1", "Api-Key": "akey-1", "Cookie": "session=cookie-1; theme=dark",
		"Proxy-Authorization": "Basic dXNlcjpwYXNzd29yZC0x", "Openai-Organization": "org-1", "Openai-Project": "project-1",
		"Ocp-Apim-Subscription-Key": "azure-1", "X-Amz-Security-Token": "aws-1", "X-Goog-Api-Key": "goog-1", "Cf-Access-Client-Secret": "cf-1",
	}
	kept := map[string]string{
		"User-Agent": "client/1", "Content-Type": "application/json", "X-Ratelimit-Remaining-Tokens": "17", "Accept": "*/*",
		"X-Request-Id": "req-1", "X-Llmsim-Phase": "run/measure",
	}
	secrets := []string{key, "password-1"}
	for _, headers := range []map[string]string{hidden, kept} {
		for name, value := range headers {
			e.Request.Headers[name] = []string{value}
		}
	}
	for _, value := range hidden {
		secrets = append(secrets, value)
	}
	e.Response.Headers["Set-Cookie"] = []string{"__cf_bm=cookie-2", "a=cookie-3"}
	e.Response.Headers["Openai-Organization"] = []string{"org-1"}
	e.Response.Headers["X-Echo"] = []string{"you sent " + key}
	encoded(t, e, append(secrets, "cookie-2", "cookie-3")...)
	for name, value := range kept {
		if got := e.Request.Headers[name][0]; got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if got := e.Response.Headers["X-Echo"][0]; got != "you sent "+Redacted {
		t.Errorf("the echo is %q", got)
	}
}

func TestRedactQueryAndBody(t *testing.T) {
	e := exchangeOf(200, "application/json", `{"model":"m"}`)
	e.Request.Path = "/v1/chat/completions?api-version=1&api-key=query+key%2F1&KEY=k2-secret&q=query%20key%2F1"
	e.Request.Body = json.RawMessage(`{"model":"m","max_tokens":12345678901234567890,"prompt_cache_key":"kept-1",
		"api_key":"` + "field-1" + `","apiKey":["field-2"],"extra":{"Authorization":"Bearer field-3x","client_secret":{"v":12345678}},
		"messages":[{"role":"user","content":"my key is query key/1, not field-3x and the number 12345678"}],
		"tools":[{"function":{"parameters":{"properties":{"api_key":{"type":"string","description":"kept-2"}}}}}]}`)
	text := encoded(t, e, "query key/1", "query+key%2F1", "query%20key%2F1", "k2-secret", "field-1", "field-2", "field-3x", "12345678}")
	for _, want := range []string{
		"api-version=1&api-key=[redacted]&KEY=[redacted]&q=[redacted]",
		`"kept-1"`, `"kept-2"`, "my key is [redacted], not [redacted] and the number [redacted]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the file has no %s:\n%s", want, text)
		}
	}
	e.Request.Body = json.RawMessage("api_key=form-1")
	if encoded(t, e, "form-1"); e.Request.Body != nil {
		t.Errorf("a body that is not JSON is kept: %s", e.Request.Body)
	}
}

// A value of few bytes, or an ordinary word, is redacted where its name says what
// it is, and nowhere else.
func TestRedactLeavesWordsAlone(t *testing.T) {
	e := exchangeOf(200, "application/json", `{"text":"EMPTY production redacted dark"}`)
	e.Request.Headers = map[string][]string{
		"Authorization": {"Bearer EMPTY"}, "Openai-Project": {"production"}, "X-Api-Key": {"redacted"}, "Cookie": {"theme=dark"},
	}
	if text := encoded(t, e); !strings.Contains(text, `EMPTY production redacted dark`) || strings.Contains(text, "Bearer") {
		t.Errorf("the file has\n%s", text)
	}
}

// However a body that repeats the key is cut into pieces, no piece has any of it,
// and the rest stays in its own.
func TestRedactAcrossSegments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quoted, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		whole, want := "", ""
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			filler := rapid.SampledFrom([]string{"", "a", "sk-", "日本", "sk-proj/"}).Draw(t, "filler")
			secret := rapid.SampledFrom([]string{key, string(quoted[1 : len(quoted)-1])}).Draw(t, "form")
			whole += filler + secret
			want += filler + Redacted
		}
		e := exchangeOf(401, "text/plain")
		e.Request.Headers["Authorization"] = []string{"Bearer " + key}
		rest := []byte(whole)
		var kept []int
		for at := int64(0); len(rest) > 0; at++ {
			n := rapid.IntRange(1, min(12, len(rest))).Draw(t, "size")
			e.Response.Segments = append(e.Response.Segments, Segment{at, rest[:n]})
			kept = append(kept, n)
			rest = rest[n:]
		}
		e.Redact()
		if got := string(e.Response.body()); got != want {
			t.Fatalf("%q became %q, want %q", whole, got, want)
		}
		if len(e.Response.Segments) != len(kept) {
			t.Fatalf("%d segments became %d", len(kept), len(e.Response.Segments))
		}
		for i, s := range e.Response.Segments {
			if s.AtNS != int64(i) {
				t.Fatalf("segment %d is at %d", i, s.AtNS)
			}
		}
	})
}
