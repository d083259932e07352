package recording

import (
	"errors"
	"fmt"
	"mime"
)

// Answer is what a recorded exchange answered: an error, or one or more choices.
type Answer struct {
	Error   *Error
	Choices []Choice
}

// Error is an answer with a status of 400 or more.
type Error struct {
	Status     int
	Message    string
	Type, Code string // of OpenAI's error object; empty: not given
	RetryAfter int    // seconds; 0: not given
}

// Choice is one choice of an answer.
type Choice struct {
	Reasoning, Content Text
	ToolCalls          []ToolCall
	FinishReason       string
	// EndNS is when its finish reason came, in ns as a Segment's.
	EndNS int64
}

// ToolCall is one call. Its Arguments have a mark of length 0 for the moment at
// which the call began.
type ToolCall struct {
	ID, Name  string
	Arguments Text
}

// Text is a text and when it came: in order, a mark for each piece.
type Text struct {
	Text  string
	Marks []Mark

	pieces []byte // becomes Text
}

// Mark says that the text up to byte End was there AtNS after the request.
type Mark struct {
	End  int
	AtNS int64
}

func (t *Text) add(text string, at int64) {
	if text == "" {
		return
	}
	t.pieces = append(t.pieces, text...)
	t.Marks = append(t.Marks, Mark{len(t.pieces), at})
}

func (t *Text) done() { t.Text, t.pieces = string(t.pieces), nil }

// Answer takes the answer out of an exchange. An error says why it can't be
// replayed: it is not complete, or says something that has no place in an Answer.
func (e *Exchange) Answer() (*Answer, error) {
	switch {
	case !e.End.Complete:
		return nil, fmt.Errorf("the exchange is not complete: %s", e.End.Reason)
	case e.Response == nil:
		return nil, errors.New("the exchange has no response")
	}
	r := e.Response
	if encoding := r.encoding(); r.Decoded == "" && encoding != "" {
		return nil, fmt.Errorf("the response has the content encoding %q, which can't be taken off", encoding)
	}
	switch {
	case r.Status >= 400 && r.Status <= 599:
		return &Answer{Error: r.failure()}, nil
	case r.Status != 200:
		return nil, fmt.Errorf("the response has status %d, must be 200 or an error from 400 to 599", r.Status)
	}
	b := builder{}
	if isStream(r.Headers) {
		for i, event := range events(r.Segments) {
			if string(event.data) == "[DONE]" {
				break
			}
			if err := b.addChunk(event.data, event.atNS); err != nil {
				return nil, fmt.Errorf("event %d of the stream: %w", i, err)
			}
		}
	} else if err := b.addChunk(r.body(), r.lastNS()); err != nil {
		return nil, fmt.Errorf("the response: %w", err)
	}
	return b.answer()
}

func isStream(headers map[string][]string) bool {
	kind, _, err := mime.ParseMediaType(first(headers, "Content-Type"))
	return err == nil && kind == "text/event-stream"
}

func first(headers map[string][]string, name string) string {
	if values := headers[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// body is the whole body.
func (r *Response) body() (body []byte) {
	for _, s := range r.Segments {
		body = append(body, s.Data...)
	}
	return body
}

// lastNS is when the last of it came.
func (r *Response) lastNS() int64 {
	if n := len(r.Segments); n > 0 {
		return r.Segments[n-1].AtNS
	}
	return r.HeadNS
}
