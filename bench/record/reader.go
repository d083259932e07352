package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Reader reads records from JSON Lines.
type Reader struct {
	r    *bufio.Reader
	line int
	cut  bool
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 64<<10)} }

// LineError is the error of a line that holds no record.
type LineError struct {
	Line int // counted from 1
	Err  error
}

// Error implements error.
func (e *LineError) Error() string {
	return fmt.Sprintf("line %d is no record: %v", e.Line, e.Err)
}

// Unwrap implements errors.Unwrap.
func (e *LineError) Unwrap() error { return e.Err }

// Next returns the next record, and io.EOF after the last. A *LineError means
// one bad line: the next call goes on behind it. A last line that was cut, as a
// crash leaves it, is no error: it is left out, and Cut reports it. Blank lines
// are passed over.
func (r *Reader) Next() (*Request, error) {
	for {
		text, err := r.r.ReadBytes('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, fmt.Errorf("read records after line %d: %w", r.line, err)
		}
		r.line++
		if len(bytes.TrimSpace(text)) > 0 {
			rec := &Request{}
			err := json.Unmarshal(text, rec)
			switch {
			case err == nil:
				return rec, nil
			case !last:
				return nil, &LineError{Line: r.line, Err: err}
			}
			r.cut = true
		}
		if last {
			return nil, io.EOF
		}
	}
}

// Cut reports whether the last line was cut and left out.
func (r *Reader) Cut() bool { return r.cut }
