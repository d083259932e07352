package api

import (
	"bytes"
	"encoding/json"
)

// members calls f with each member of a JSON object in turn, up to an error. data
// must be valid JSON; what is no object has no members.
func members(data []byte, f func(key string, value []byte) error) error {
	i := afterSpace(data, 0)
	if i == len(data) || data[i] != '{' {
		return nil
	}
	for i = afterSpace(data, i+1); data[i] != '}'; {
		if data[i] == ',' {
			i = afterSpace(data, i+1)
		}
		end := valueEnd(data, i)
		var key string
		if err := json.Unmarshal(data[i:end], &key); err != nil {
			return badRequest("the body is not valid JSON: %v", err)
		}
		i = afterSpace(data, afterSpace(data, end)+1) // past the colon
		end = valueEnd(data, i)
		if err := f(key, data[i:end]); err != nil {
			return err
		}
		i = afterSpace(data, end)
	}
	return nil
}

// elements calls f with each element of a JSON array in turn, as members does with
// an object's members.
func elements(data []byte, f func(i int, value []byte) error) error {
	at := afterSpace(data, 0)
	if at == len(data) || data[at] != '[' {
		return nil
	}
	at = afterSpace(data, at+1)
	for i := 0; data[at] != ']'; i++ {
		if data[at] == ',' {
			at = afterSpace(data, at+1)
		}
		end := valueEnd(data, at)
		if err := f(i, data[at:end]); err != nil {
			return err
		}
		at = afterSpace(data, end)
	}
	return nil
}

func afterSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// valueEnd is where the value that starts at i ends.
func valueEnd(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = textEnd(data, i+1)
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // of what a number or a word stands in
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// textEnd is where the quote is that ends a text whose first character is at i.
func textEnd(data []byte, i int) int {
	for ; ; i++ {
		i += bytes.IndexByte(data[i:], '"')
		escapes := i
		for data[escapes-1] == '\\' {
			escapes--
		}
		if (i-escapes)%2 == 0 {
			return i
		}
	}
}

// kindOf is the JSON name of a value's type.
func kindOf(value []byte) string {
	switch value[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
