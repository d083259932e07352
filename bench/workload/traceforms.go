package workload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxTraceLine is how long a line of a trace may be, in bytes. It holds the block
// ids of a prompt of some ten million tokens.
const maxTraceLine = 1 << 20

var byteOrderMark = []byte("\ufeff")

// read reads all requests in the order of their lines.
func (r *Recording) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), maxTraceLine)
	var parse func(line []byte) (request, error)
	n := 0
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if parse == nil {
			if line[0] == '{' {
				parse = parseJSON
			} else {
				table, err := parseHeader(string(line))
				if err != nil {
					return fmt.Errorf("line %d: %w", n, err)
				}
				parse = table.parse
				continue
			}
		}
		q, err := parse(line)
		if err == nil {
			err = r.add(q)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d: it is longer than %d bytes", n+1, maxTraceLine)
	} else if err != nil {
		return fmt.Errorf("after line %d: %w", n, err)
	}
	return nil
}

// add checks what no form can check.
func (r *Recording) add(q request) error {
	for _, length := range []struct {
		what   string
		tokens int
	}{{"a prompt", q.prompt}, {"an output", q.output}} {
		if length.tokens < 0 || length.tokens > MaxTokens {
			return fmt.Errorf("%s of %d tokens is not possible, must be 0 to %d", length.what, length.tokens, MaxTokens)
		}
	}
	if most := r.blocksOf(q.prompt); len(q.blocks) > most {
		return fmt.Errorf("%d blocks (hash_ids) are too many for a prompt of %d tokens: with %d tokens a block it has %d at most",
			len(q.blocks), q.prompt, r.blockTokens, most)
	}
	if len(r.requests) == maxTraceRequests {
		return fmt.Errorf("there are more than %d requests", maxTraceRequests)
	}
	r.requests = append(r.requests, q)
	return nil
}

// since returns the time that is so many units after the start of a trace.
func since(n float64, unit time.Duration) (time.Duration, error) {
	ns := math.Round(n * float64(unit))
	if !(ns >= 0 && ns <= float64(maxTraceTime)) {
		return 0, fmt.Errorf("a time of %v × %v is not possible: it counts from the start of the trace, so it must be 0 to %v", n, unit, maxTraceTime)
	}
	return time.Duration(ns), nil
}

// parseJSON reads a line of either of the JSON Lines forms.
func parseJSON(line []byte) (request, error) {
	var text struct {
		Timestamp    *float64 `json:"timestamp"`
		InputLength  *int     `json:"input_length"`
		OutputLength *int     `json:"output_length"`

		AtS          *float64 `json:"at_s"`
		PromptTokens *int     `json:"prompt_tokens"`
		OutputTokens *int     `json:"output_tokens"`

		HashIDs []int64 `json:"hash_ids"`
	}
	if err := json.Unmarshal(line, &text); err != nil {
		return request{}, fmt.Errorf("it is no request: %w", err)
	}
	q := request{blocks: slices.Clip(text.HashIDs)}
	var err error
	switch {
	case text.AtS != nil && text.PromptTokens != nil && text.OutputTokens != nil:
		q.prompt, q.output = *text.PromptTokens, *text.OutputTokens
		q.at, err = since(*text.AtS, time.Second)
	case text.Timestamp != nil && text.InputLength != nil && text.OutputLength != nil:
		q.prompt, q.output = *text.InputLength, *text.OutputLength
		q.at, err = since(*text.Timestamp, time.Millisecond)
	default:
		err = errors.New("it has neither timestamp, input_length and output_length nor at_s, prompt_tokens and output_tokens")
	}
	return q, err
}

// csvTable reads the lines under a header. No form of trace has a value that
// would need quotes.
type csvTable struct {
	columns            int
	at, prompt, output int // which column
	date               bool
	start              time.Time // the first line's, where times are dates
}

func splitCSV(line string) []string {
	fields := strings.Split(line, ",")
	for i := range fields {
		fields[i] = strings.Trim(fields[i], " \t\"")
	}
	return fields
}

func parseHeader(line string) (*csvTable, error) {
	names := splitCSV(line)
	column := func(name string) int {
		return slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	for _, t := range []csvTable{
		{at: column("at_s"), prompt: column("prompt_tokens"), output: column("output_tokens")},
		{at: column("TIMESTAMP"), prompt: column("ContextTokens"), output: column("GeneratedTokens"), date: true},
	} {
		if t.at >= 0 && t.prompt >= 0 && t.output >= 0 {
			t.columns = len(names)
			return &t, nil
		}
	}
	return nil, errors.New("it is neither JSON nor a header with the columns TIMESTAMP,ContextTokens,GeneratedTokens or at_s,prompt_tokens,output_tokens")
}

func (t *csvTable) parse(line []byte) (request, error) {
	fields := splitCSV(string(line))
	if len(fields) != t.columns {
		return request{}, fmt.Errorf("it has %d columns, the header has %d", len(fields), t.columns)
	}
	var q request
	var err error
	if q.prompt, err = strconv.Atoi(fields[t.prompt]); err != nil {
		return request{}, fmt.Errorf("%q is no number of prompt tokens", fields[t.prompt])
	}
	if q.output, err = strconv.Atoi(fields[t.output]); err != nil {
		return request{}, fmt.Errorf("%q is no number of output tokens", fields[t.output])
	}
	if t.date {
		q.at, err = t.sinceFirst(fields[t.at])
		return q, err
	}
	seconds, err := strconv.ParseFloat(fields[t.at], 64)
	if err != nil {
		return request{}, fmt.Errorf("%q is no number of seconds", fields[t.at])
	}
	q.at, err = since(seconds, time.Second)
	return q, err
}

// dates are the ways that traces write a moment; all may have a fraction.
var dates = []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", time.RFC3339}

// sinceFirst returns how long after the first line's date, or before it, another
// one is.
func (t *csvTable) sinceFirst(text string) (time.Duration, error) {
	for _, layout := range dates {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if t.start.IsZero() {
			t.start = at
		}
		d := at.Sub(t.start)
		if d < -maxTraceTime || d > maxTraceTime {
			return 0, fmt.Errorf("%s is more than %v away from the first line's time", text, maxTraceTime)
		}
		return d, nil
	}
	return 0, fmt.Errorf("%q is no date and time, such as 2026-01-31 14:00:00.25", text)
}
