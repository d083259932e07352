package openai

import (
	"bytes"
	"strings"

	"github.com/valyala/fastjson"
)

// maxMessageRunes bounds a server's error text as it is reported.
const maxMessageRunes = 200

// ErrorMessage returns the message of a server's error body in any of the forms
// servers use, or else the body's own text. It is one line of at most about 200
// characters.
func ErrorMessage(body []byte) string {
	body = bytes.TrimSpace(body)
	if v, err := fastjson.ParseBytes(body); err == nil {
		if msg, failed := errorIn(v); failed && msg != "" {
			return msg
		}
		for _, key := range []string{"message", "detail"} {
			if msg := v.GetStringBytes(key); len(msg) > 0 {
				return shorten(string(msg))
			}
		}
	}
	return shorten(string(body))
}

// errorIn looks for an error in a JSON object: {"error": {"message": …}},
// {"error": "…"} or {"object": "error", "message": …}.
func errorIn(v *fastjson.Value) (message string, failed bool) {
	if string(v.GetStringBytes("object")) == "error" {
		return shorten(string(v.GetStringBytes("message"))), true
	}
	e := v.Get("error")
	if e == nil {
		return "", false
	}
	switch e.Type() {
	case fastjson.TypeNull, fastjson.TypeFalse:
		return "", false
	case fastjson.TypeString:
		msg := shorten(string(e.GetStringBytes()))
		return msg, msg != ""
	}
	if msg := e.GetStringBytes("message"); len(msg) > 0 {
		return shorten(string(msg)), true
	}
	return shorten(e.String()), true
}

// shorten makes s one line of at most maxMessageRunes characters.
func shorten(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	n := 0
	for i := range s {
		if n == maxMessageRunes {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
