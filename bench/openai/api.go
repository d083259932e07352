package openai

import (
	"fmt"
	"strings"

	"github.com/valyala/fastjson"
)

// API is an endpoint with its dialect.
type API int

// The APIs.
const (
	Chat        API = iota // OpenAI's /chat/completions
	Completions            // OpenAI's /completions
	Responses              // OpenAI's /responses
	Messages               // Anthropic's /messages
	Embeddings             // OpenAI's /embeddings
)

// dialect is what tells one API from another.
type dialect struct {
	name, path string
	// appendBody appends the JSON of a request, whose extensions the API has.
	appendBody func(dst []byte, r *Request) []byte
	// decode says what a JSON object of the answer means, but for errors in forms
	// that every API shares. It appends to the decoder's deltas.
	decode func(d *Decoder, v *fastjson.Value) Chunk
	// takes names the extensions that servers of the API know.
	takes extensionSet
	// streams says that the API can stream its answer.
	streams bool
}

// extensionSet is a set of the fields of Extensions.
type extensionSet struct{ streamUsage, ignoreEOS, minTokens bool }

var dialects = [...]dialect{
	Chat: {
		name: "chat", path: "/chat/completions", streams: true,
		appendBody: appendChat, decode: (*Decoder).chat,
		takes: extensionSet{streamUsage: true, ignoreEOS: true, minTokens: true},
	},
	Completions: {
		name: "completions", path: "/completions", streams: true,
		appendBody: appendCompletions, decode: (*Decoder).completions,
		takes: extensionSet{streamUsage: true, ignoreEOS: true, minTokens: true},
	},
	Responses: {
		name: "responses", path: "/responses", streams: true,
		appendBody: appendResponses, decode: (*Decoder).responses,
		takes: extensionSet{ignoreEOS: true}, // vLLM, from 2026 on
	},
	Messages: {
		name: "messages", path: "/messages", streams: true,
		appendBody: appendMessages, decode: (*Decoder).messages,
	},
	Embeddings: {
		name: "embeddings", path: "/embeddings",
		appendBody: appendEmbeddings, decode: (*Decoder).embeddings,
	},
}

// APIs returns all APIs.
func APIs() []API {
	all := make([]API, len(dialects))
	for i := range all {
		all[i] = API(i)
	}
	return all
}

// ParseAPI returns the API of a name, which is that of its String.
func ParseAPI(name string) (API, error) {
	var names []string
	for a, d := range dialects {
		if d.name == name {
			return API(a), nil
		}
		names = append(names, d.name)
	}
	return 0, fmt.Errorf("there is no API %q, must be one of: %s", name, strings.Join(names, ", "))
}

func (a API) String() string { return dialects[a].name }

// Path is the endpoint's path under the base URL, which mostly ends in /v1.
func (a API) Path() string { return dialects[a].path }

// Streams reports whether the API can stream its answer. Where it can't, a
// request's Stream means nothing.
func (a API) Streams() bool { return dialects[a].streams }

// Takes returns what of e servers of the API know; AppendBody sends no more.
func (a API) Takes(e Extensions) Extensions {
	takes := dialects[a].takes
	e.StreamUsage = e.StreamUsage && takes.streamUsage
	e.IgnoreEOS = e.IgnoreEOS && takes.ignoreEOS
	if !takes.minTokens {
		e.MinTokens = 0
	}
	return e
}

// AppendBody appends the JSON of a request to dst.
func (a API) AppendBody(dst []byte, r *Request) []byte {
	sent := *r
	sent.Extensions = a.Takes(r.Extensions)
	return dialects[a].appendBody(dst, &sent)
}

// Header is a field of a request's header.
type Header struct{ Name, Value string }

// Headers returns the header fields that the API needs besides those of every
// JSON request. An empty apiKey is not sent.
func (a API) Headers(apiKey string) []Header {
	var headers []Header
	if a == Messages {
		headers = append(headers, Header{"anthropic-version", anthropicVersion})
	}
	switch {
	case apiKey == "":
	case a == Messages:
		headers = append(headers, Header{"x-api-key", apiKey})
	default:
		headers = append(headers, Header{"Authorization", "Bearer " + apiKey})
	}
	return headers
}
