package openai

import (
	"bytes"
	"strings"

	"github.com/valyala/fastjson"
)

// maxMessageRunes bounds a server's error text as it is reported.
const maxMessageRunes = 200

// messageKeys are where servers put an error's text, or an object or string that
// holds it.
var messageKeys = []string{"error", "errors", "message", "Message", "msg", "detail", "error_message"}

// ErrorMessage returns the message of a server's error body in any of the forms
// servers use, or else the body's own text. It is one line of at most about 200
// characters.
func ErrorMessage(body []byte) string {
	body = bytes.TrimSpace(body)
	if v, err := fastjson.ParseBytes(body); err == nil {
		if msg := messageIn(v); len(msg) > 0 {
			return shorten(string(msg))
		}
		// Without a text, the error itself says more than what is around it.
		if msg, failed := errorIn(v); failed && msg != "" {
			return msg
		}
	}
	return shorten(string(body))
}

// messageIn returns the first text that v holds where errors have theirs.
func messageIn(v *fastjson.Value) []byte {
	switch v.Type() {
	case fastjson.TypeString:
		return v.GetStringBytes()
	case fastjson.TypeArray:
		for _, item := range v.GetArray() {
			if msg := messageIn(item); len(msg) > 0 {
				return msg
			}
		}
	case fastjson.TypeObject:
		for _, key := range messageKeys {
			field := v.Get(key)
			// A list of details is clearer as a whole: it names the fields at fault.
			if field == nil || key == "detail" && field.Type() == fastjson.TypeArray {
				continue
			}
			if msg := messageIn(field); len(msg) > 0 {
				return msg
			}
		}
	}
	return nil
}

// errorIn looks for an error in a JSON object of an answer with status 2xx:
// {"error": …}, or {"type": "error", …} or {"object": "error", …}.
func errorIn(v *fastjson.Value) (message string, failed bool) {
	e := v.Get("error")
	if (e == nil || e.Type() == fastjson.TypeNull) && (string(v.GetStringBytes("type")) == "error" || string(v.GetStringBytes("object")) == "error") {
		e = v
	}
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
	if msg := messageIn(e); len(msg) > 0 {
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
