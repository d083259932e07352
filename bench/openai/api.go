package openai

import "fmt"

// API is an endpoint with its dialect.
type API int

// The APIs.
const (
	Chat API = iota // /chat/completions
)

// ParseAPI returns the API of a name, which is that of its String.
func ParseAPI(name string) (API, error) {
	if name == "chat" {
		return Chat, nil
	}
	return 0, fmt.Errorf("there is no API %q, must be one of: chat", name)
}

func (a API) String() string { return "chat" }

// Path is the endpoint's path under the base URL.
func (a API) Path() string { return "/chat/completions" }

// AppendBody appends the JSON of a request to dst.
func (a API) AppendBody(dst []byte, r *Request) []byte { return appendChat(dst, r) }
