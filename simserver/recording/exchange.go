// Package recording is the file of one real exchange with an OpenAI-compatible
// server: what was asked, what came back, and when each piece of it came. It
// writes and reads such files, keeps keys out of them, and takes the answer out of
// one for a replay. It knows no network and no simulator.
package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"llmsim-bench/internal/wholefile"
)

// Schema is the number of the file format.
const Schema = 1

// kind tells the file from other JSON.
const kind = "llmsim-exchange"

// MaxFileBytes bounds a file that is read.
const MaxFileBytes = 256 << 20

// maxAge bounds every moment in a file that is read: more is no exchange's, and
// sums of several could overflow.
const maxAge = 7 * 24 * time.Hour

// Exchange is one request and what became of it.
type Exchange struct {
	Kind   string `json:"kind"`
	Schema int    `json:"schema"`
	// ID is part of the file's name; Started is for people.
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	// Upstream is the base URL of the server.
	Upstream string    `json:"upstream"`
	Request  Request   `json:"request"`
	Response *Response `json:"response"` // nil: none came
	End      End       `json:"end"`
}

// Request is what was asked.
type Request struct {
	Method  string              `json:"method"`
	Path    string              `json:"path"` // as upstream got it, with the query
	Headers map[string][]string `json:"headers"`
	// Body is the JSON body. One that is not JSON is not kept, since keys could not
	// be found in it: nil, and BodyBytes says how long it was.
	Body      json.RawMessage `json:"body"`
	BodyBytes int             `json:"body_bytes"`
}

// Response is what came back.
type Response struct {
	Status  int                 `json:"status"`
	Headers map[string][]string `json:"headers"`
	// HeadNS is when the head had come, in ns as a Segment's.
	HeadNS int64 `json:"head_ns"`
	// Decoded is the content encoding that was taken off the segments; empty: they
	// are as they came.
	Decoded string `json:"decoded,omitempty"`
	// Segments holds the body in the pieces in which it came.
	Segments []Segment `json:"segments"`
}

// Segment is a piece of a body. In the file it is text, or base64 where it is not
// UTF-8 by itself.
type Segment struct {
	// AtNS is when it came, in ns after the last byte of the request was handed to
	// upstream's connection.
	AtNS int64
	Data []byte
}

// segment is a Segment in the file.
type segment struct {
	AtNS   int64   `json:"at_ns"`
	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (s Segment) MarshalJSON() ([]byte, error) {
	if !utf8.Valid(s.Data) {
		return json.Marshal(segment{AtNS: s.AtNS, Base64: s.Data})
	}
	text := string(s.Data)
	return marshal(segment{AtNS: s.AtNS, Text: &text})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Segment) UnmarshalJSON(data []byte) error {
	var in segment
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*s = Segment{AtNS: in.AtNS, Data: in.Base64}
	if in.Text != nil {
		s.Data = []byte(*in.Text)
	}
	return nil
}

// End says how an exchange ended.
type End struct {
	// Complete says that the whole answer came.
	Complete bool `json:"complete"`
	// Reason is why not; empty: it is.
	Reason string `json:"reason,omitempty"`
	// AtNS is when, in ns as a Segment's.
	AtNS int64 `json:"at_ns"`
}

// Encode returns the bytes of the file, after Redact.
func (e *Exchange) Encode() ([]byte, error) {
	e.Redact()
	e.Kind, e.Schema = kind, Schema
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(e); err != nil {
		return nil, fmt.Errorf("encode exchange %s: %w", e.ID, err)
	}
	return b.Bytes(), nil
}

// Write writes the file, which only its owner may read, and which appears under its
// name when it is complete.
func (e *Exchange) Write(path string) error {
	return e.WriteAs(func(*Exchange) string { return path })
}

// WriteAs is Write where the path is made of the exchange: after Redact.
func (e *Exchange) WriteAs(path func(*Exchange) string) error {
	data, err := e.Encode()
	if err != nil {
		return err
	}
	return wholefile.WritePrivate(path(e), data)
}

// Read reads a file that Write has written.
func Read(path string) (*Exchange, error) {
	switch info, err := os.Stat(path); { // before it is opened: opening a pipe waits
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file, must be a recorded exchange", path)
	case info.Size() > MaxFileBytes:
		return nil, fmt.Errorf("%s has %d bytes, must have %d or fewer", path, info.Size(), MaxFileBytes)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes))
	if err != nil {
		return nil, err
	}
	e, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return e, nil
}

// Parse takes the bytes of a file.
func Parse(data []byte) (*Exchange, error) {
	var head struct {
		Kind   string `json:"kind"`
		Schema int    `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("is not a recorded exchange: %w", err)
	}
	if head.Kind != kind {
		return nil, fmt.Errorf("is not a recorded exchange: kind is %q, must be %q", head.Kind, kind)
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("schema %d is not known, must be %d: record it again with this version", head.Schema, Schema)
	}
	e := &Exchange{}
	if err := json.Unmarshal(data, e); err != nil {
		return nil, fmt.Errorf("is not a recorded exchange of schema %d: %w", Schema, err)
	}
	if err := e.checkTimes(); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Exchange) checkTimes() error {
	if err := checkTime("end.at_ns", e.End.AtNS, 0); err != nil || e.Response == nil {
		return err
	}
	if err := checkTime("response.head_ns", e.Response.HeadNS, 0); err != nil {
		return err
	}
	last := int64(0)
	for i, s := range e.Response.Segments {
		if s.AtNS < last || s.AtNS > int64(maxAge) { // before the name is put together
			return checkTime(fmt.Sprintf("response.segments[%d].at_ns", i), s.AtNS, last)
		}
		last = s.AtNS
	}
	return nil
}

// checkTime checks one moment in ns.
func checkTime(field string, ns, least int64) error {
	switch {
	case ns < least:
		return fmt.Errorf("%s: %d, must be %d or more", field, ns, least)
	case ns > int64(maxAge):
		return fmt.Errorf("%s: %d, must be %d (7 days) or less", field, ns, int64(maxAge))
	}
	return nil
}

// marshal is json.Marshal without the escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
