package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// A JSON value is nil, a bool, a json.Number, a string, a []any or an *object.

// object is a JSON object that knows the order of its keys.
type object struct {
	keys   []string
	values map[string]any
}

// maxValueNesting is how deep a value may be: at most maxValueBytes, more or less.
const maxValueNesting = 10_000

// decode reads exactly one JSON value, its brackets nested at most so deep. Of
// equal keys the last counts.
func decode(raw []byte, nesting int) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	value, err := decodeNext(d, nesting)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("it ends too early")
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("it goes on after the value, at byte %d", d.InputOffset())
	}
	return value, nil
}

func decodeNext(d *json.Decoder, nesting int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		return token, nil
	}
	if nesting == 0 {
		return nil, errors.New("it is nested too deep")
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			item, err := decodeNext(d, nesting-1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := d.Token()
		return list, err
	}
	o := &object{values: make(map[string]any)}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := decodeNext(d, nesting-1)
		if err != nil {
			return nil, err
		}
		name := key.(string)
		if _, twice := o.values[name]; !twice {
			o.keys = append(o.keys, name)
		}
		o.values[name] = value
	}
	_, err = d.Token()
	return o, err
}

// appendValue appends a decoded value as JSON.
func appendValue(dst []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, v...)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, item)
		}
		return append(dst, ']')
	case *object:
		dst = append(dst, '{')
		for i, key := range v.keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, key), ':')
			dst = appendValue(dst, v.values[key])
		}
		return append(dst, '}')
	}
	panic(fmt.Sprintf("not a JSON value: %T", value))
}

func appendString(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // of a string it can't fail
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// canonical is a text that is the same for values that JSON Schema calls equal:
// numbers go by value, objects without regard to order.
func canonical(value any) string { return string(appendCanonical(nil, value)) }

func appendCanonical(dst []byte, value any) []byte {
	switch v := value.(type) {
	case json.Number:
		if exact, ok := number(v); ok {
			return append(dst, exact.RatString()...)
		}
	case []any:
		dst = append(dst, '[')
		for _, item := range v {
			dst = append(appendCanonical(dst, item), ',')
		}
		return append(dst, ']')
	case *object:
		dst = append(dst, '{')
		for _, key := range slices.Sorted(slices.Values(v.keys)) {
			dst = append(appendString(dst, key), ':')
			dst = append(appendCanonical(dst, v.values[key]), ',')
		}
		return append(dst, '}')
	}
	return appendValue(dst, value)
}

// number returns a JSON number exactly. It refuses those whose exact value would
// be unreasonably long.
func number(n json.Number) (*big.Rat, bool) {
	const maxDigits, maxExponent = 1000, 400
	if len(n) > maxDigits {
		return nil, false
	}
	if i := strings.IndexAny(string(n), "eE"); i >= 0 {
		exponent, err := strconv.Atoi(string(n[i+1:]))
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(n))
}
