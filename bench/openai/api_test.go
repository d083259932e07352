package openai

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseAPI(t *testing.T) {
	for _, api := range apis {
		if got, err := ParseAPI(api.String()); err != nil || got != api {
			t.Errorf("%v: %v, %v", api, got, err)
		}
		if want := strings.TrimPrefix(api.Path(), "/"); api != Chat && want != api.String() {
			t.Errorf("%v: path %s", api, api.Path())
		}
		if api.Streams() != (api != Embeddings) {
			t.Errorf("%v streams: %v", api, api.Streams())
		}
	}
	if len(dialects) != len(apis) {
		t.Errorf("%d dialects, %d tested", len(dialects), len(apis))
	}
	if _, err := ParseAPI("Chat"); err == nil || !strings.Contains(err.Error(), "chat, completions, responses, messages, embeddings") {
		t.Errorf("no such API: %v", err)
	}
}

func TestHeaders(t *testing.T) {
	for _, api := range apis {
		version := []Header{{"anthropic-version", "2023-06-01"}}
		without, with := []Header(nil), []Header{{"Authorization", "Bearer k"}}
		if api == Messages {
			without, with = version, append(version, Header{"x-api-key", "k"})
		}
		if got := api.Headers(""); !reflect.DeepEqual(got, without) {
			t.Errorf("%v without a key: %v", api, got)
		}
		if got := api.Headers("k"); !reflect.DeepEqual(got, with) {
			t.Errorf("%v with a key: %v", api, got)
		}
	}
}

func TestTakes(t *testing.T) {
	all := Extensions{StreamUsage: true, IgnoreEOS: true, MinTokens: 5}
	for api, want := range map[API]Extensions{
		Chat: all, Completions: all, Responses: {IgnoreEOS: true}, Messages: {}, Embeddings: {},
	} {
		if got := api.Takes(all); got != want {
			t.Errorf("%v: %+v", api, got)
		}
		if got := api.Takes(Extensions{}); got != (Extensions{}) {
			t.Errorf("%v adds %+v", api, got)
		}
	}
}
