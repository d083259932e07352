package openai

import (
	"strings"
	"testing"
)

func TestErrorMessage(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"max_tokens is too large","type":"invalid_request_error"}}`: "max_tokens is too large",
		`{"error":"m"}`:               "m",
		`{"message":"m"}`:             "m",
		`"m"`:                         "m",
		`[{"error":{"message":"m"}}]`: "m",
		`{"errors":[{"code":1},{"message":"m"}]}`:                            "m",
		`{"errors":["m","n"]}`:                                               "m",
		`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`: "m",
		`{"type":"error","message":"m"}`:                                     "m",
		`{"error":{"error":{"message":"m"}}}`:                                "m",
		`{"error":{"message":{"msg":"m"}}}`:                                  "m",
		`{"error":"m","error_description":"d"}`:                              "m",
		`{"Message":"m"}`:                                                    "m",
		`{"msg":"m"}`:                                                        "m",
		`{"error_message":"m"}`:                                              "m",
		`{"detail":{"error":{"message":"m"}}}`:                               "m",
		`{"detail":[{"loc":["body"],"msg":"m"}]}`:                            `{"detail":[{"loc":["body"],"msg":"m"}]}`,
		`{"error":null,"message":"m"}`:                                       "m",
		`{"error":{"code":7},"id":"x"}`:                                      `{"code":7}`,
		`{"error":7}`:                                                        "7",
		`{"status":502}`:                                                     `{"status":502}`,
		`{"detail":"Not Found"}`:                                             "Not Found",
		`{"detail":[{"loc":["body"]}]}`:                                      `{"detail":[{"loc":["body"]}]}`,
		"upstream  connect\nerror ":                                          "upstream connect error",
		"":                                                                   "",
		"\xff":                                                               "\uFFFD",
		strings.Repeat("é", 201):                                             strings.Repeat("é", 200) + "…",
		`{"error":"` + strings.Repeat("x", 300) + `"}`:                       strings.Repeat("x", 200) + "…",
		`{"error":{"message":"","code":"overloaded"} }`:                      `{"message":"","code":"overloaded"}`,
	} {
		if got := ErrorMessage([]byte(body)); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}
