package recording

import (
	"bytes"
	"encoding/json"
	"reflect"
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
		"X-Authtoken": "sesamopen-1", "X-Apitoken": "apitoken-1", "Authentication": "Bearer glued-01", "X-Orgid": "orgid-001",
		"Idempotency-Key": "once-0001", "X-Secretvalue": "value-001", "X-Tokens": "tokens-01", "X-Auth-Tokens-Max": "auth-0001",
		"Ocp-Apim-Subscription-Key": "azure-1", "X-Amz-Security-Token": "aws-1", "X-Goog-Api-Key": "goog-1", "Cf-Access-Client-Secret": "cf-1",
	}
	kept := map[string]string{
		"User-Agent": "client/1", "Content-Type": "application/json", "X-Ratelimit-Remaining-Tokens": "17", "X-Ratelimit-Limit-Tokens": "18",
		"Anthropic-Ratelimit-Input-Tokens-Reset": "6m0s", "X-Prompt-Tokens": "19", "Access-Control-Allow-Credentials": "true", "Accept": "*/*",
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

// Names that are one word, as net/http and hurried people write them.
func TestRedactGluedNames(t *testing.T) {
	const value = "hidden-0001"
	for _, name := range []string{
		"authtoken", "authToken", "secretkey", "secretKey", "token", "Token", "accesstoken", "apitoken", "clientsecret", "userpassword", "openAIKey",
		"openaikey", "APIkey", "APIKey", "AIKey", "access_tokens", "github_token", "mytoken", "auth", "X-Authtoken", "aws_secretaccesskey", "id_token", "hfToken",
	} {
		for _, body := range []string{`{"a":[{%q:"` + value + `"}]}`, `{%q:["` + value + `"]}`, `{"properties":{%q:"` + value + `"}}`} {
			e := exchangeOf(200, "application/json", "{}")
			e.Request.Body = json.RawMessage(strings.Replace(body, "%q", `"`+name+`"`, 1))
			encoded(t, e, value)
		}
	}
	for _, name := range []string{"accesstoken", "accessToken", "authtoken", "xkey", "sig", "signature", "usersession", "passwd", "credit%20credential", "jwt", "Cookie"} {
		e := exchangeOf(200, "application/json", "{}")
		e.Request.Path = "/v1/chat/completions?max_tokens=1234567&" + name + "=" + value + "&api-version=2"
		encoded(t, e, value)
		if want := "?max_tokens=1234567&" + name + "=" + Redacted + "&api-version=2"; !strings.HasSuffix(e.Request.Path, want) {
			t.Errorf("the path is %s, want %s", e.Request.Path, want)
		}
	}
}

// What counts tokens or names some is kept, and so is a schema.
func TestRedactKeepsTheRequest(t *testing.T) {
	for _, body := range []string{
		`{"max_tokens":12345678,"max_completion_tokens":5,"min_tokens":1,"truncate_prompt_tokens":7,"total_tokens":8,"auth_tokens":9,"api_tokens":[1]}`,
		`{"token_ids":[1,2],"stop_token_ids":[12345678],"prompt_token_ids":[3],"bad_token_id":4,"token":50256,"sessionTokenIds":[5],"return_tokens_as_token_ids":true}`,
		`{"logprobs":{"content":[{"token":" international","logprob":-0.1,"bytes":[1],"top_logprobs":[{"token":" internal","logprob":-2}]}]}}`,
		`{"prompt_cache_key":"cache-0001","sort_key":"key-00001","key":"key-00002","safety_identifier":"safe-0001","tokens":["international"]}`,
		`{"eos_token":"<|im_end|>","bosToken":"<|begin|>","eostoken":"<|im_end|>","service_tokenizer":"llama-3-8b","token_type":"type-0001"}`,
		`{"author":"somebody-1","monkey":"somebody-2","secretary":"somebody-3","signature":"thought-01","session_id":"session-1"}`,
		`{"properties":{"api_key":{"description":"kept-0001","type":"string"},"password":true,"properties":{"type":"object"},"token":{"type":"string"}},"$defs":{"Token":{"type":"object","title":"kept-0002"}}}`,
	} {
		e := exchangeOf(200, "application/json", "{}")
		e.Request.Body = json.RawMessage(body)
		e.Redact()
		want, ok := decode([]byte(body))
		got, _ := decode(e.Request.Body)
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s became\n%s", body, e.Request.Body)
		}
	}
}

// What is called properties is a schema's only where it holds schemas, and a schema
// can have a value, too.
func TestRedactProperties(t *testing.T) {
	e := exchangeOf(200, "application/json", "{}")
	e.Request.Body = json.RawMessage(`{"properties":{"api_key":"sk-000001","token":["sk-000002"],"secret":12345678,
		"password":{"type":"string","default":"sk-000003","examples":["sk-000004"]},"name":{"default":"kept-0001"}}}`)
	text := encoded(t, e, "sk-000001", "sk-000002", "12345678", "sk-000003", "sk-000004")
	if !strings.Contains(text, "kept-0001") || !strings.Contains(text, `"string"`) {
		t.Errorf("the file has\n%s", text)
	}
}

// A body that can't be searched is not kept.
func TestRedactCompressed(t *testing.T) {
	packed := strings.Join(gzipped(t, strings.Repeat("data: long\n\n", 1000)), "")
	broken := packed[:len(packed)-8] + "12345678"
	for _, c := range []struct{ encoding, body, want string }{
		{"br", "packed-01", `encoding "br", which can't be taken off: its body is not kept`},
		{"zstd", "packed-01", `encoding "zstd", which can't`},
		{"Deflate", "packed-01", `encoding "deflate", which can't`},
		{"gzip, br", packed, `encoding "gzip, br", which can't`},
		{"gzip", "packed-01", `encoding "gzip", which can't be taken off: `},
		{"gzip", packed[:5], `encoding "gzip", which can't be taken off: unexpected EOF: its body`},
		{"gzip", broken, `encoding "gzip", which can't be taken off: gzip: invalid checksum: its body`},
	} {
		for _, before := range []string{"", "the client left"} {
			e := exchangeOf(200, "text/event-stream", c.body)
			e.Response.Headers["Content-Encoding"] = []string{c.encoding}
			e.End = End{Complete: before == "", Reason: before}
			encoded(t, e)
			if len(e.Response.Segments) > 0 || e.End.Complete || !strings.HasPrefix(e.End.Reason, before) || !strings.Contains(e.End.Reason, c.want) {
				t.Errorf("%s: %d segments are kept, it ended %+v, want %q", c.encoding, len(e.Response.Segments), e.End, c.want)
			}
		}
	}
	for _, encoding := range []string{"", "Identity", "gzip", "identity, x-gzip"} {
		body := "plain"
		if strings.Contains(encoding, "gzip") {
			body = packed
		}
		e := exchangeOf(200, "text/event-stream", body)
		e.Response.Headers["Content-Encoding"] = []string{encoding}
		e.Redact()
		e.Redact() // a second time changes nothing
		if len(e.Response.Segments) == 0 || !e.End.Complete {
			t.Errorf("%q: %d segments are kept, it ended %+v", encoding, len(e.Response.Segments), e.End)
		}
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
