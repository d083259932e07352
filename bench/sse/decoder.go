// Package sse reads server-sent events from the bytes of a stream, as the
// WHATWG HTML standard (section 9.2.6, "Interpreting an event stream") says.
// Bytes go in as they arrive, cut anywhere; events come out as soon as the byte
// that completes them is there. It knows no HTTP, no JSON and no clock.
package sse

import (
	"bytes"
	"errors"
	"fmt"
)

// DefaultMaxEvent is the limit on one event where Decoder.MaxEvent is 0.
const DefaultMaxEvent = 16 << 20

// ErrTooLong is the error of an event past Decoder.MaxEvent.
var ErrTooLong = errors.New("sse: event too long")

// Event is one event. Its slices are valid until the callback returns.
type Event struct {
	// Name is the last event field's value; empty means "message".
	Name []byte
	// Data is the data fields' values, joined by line feeds.
	Data []byte
	// Unterminated says that the stream ended before the blank line that ends
	// an event. The standard drops such an event; the caller may know better.
	Unterminated bool
}

// Decoder turns bytes into events. The zero value is ready to use. It keeps its
// buffers, so that it allocates nothing for an event once they have grown.
type Decoder struct {
	// MaxEvent bounds what is held of one event, its name, its data and the
	// line at hand, in bytes; 0 means DefaultMaxEvent.
	MaxEvent int

	line     []byte // the line so far, where a cut fell inside it
	name     []byte
	data     []byte // each data field's value, a line feed after each
	begun    bool   // past the first line, before which a byte order mark may stand
	afterCR  bool   // a line feed coming next belongs to the line end before it
	trailing bool   // see Trailing
}

// Trailing reports whether bytes came after the last event, or before the
// first. The line feed that ends the event's own last line is none of them.
func (d *Decoder) Trailing() bool { return d.trailing }

// Reset makes the decoder ready for another stream.
func (d *Decoder) Reset() {
	*d = Decoder{MaxEvent: d.MaxEvent, line: d.line[:0], name: d.name[:0], data: d.data[:0]}
}

// Feed takes the stream's next bytes and calls emit for each event they
// complete. It stops at the first error, emit's or ErrTooLong; the decoder then
// needs a Reset.
func (d *Decoder) Feed(p []byte, emit func(Event) error) error {
	for len(p) > 0 {
		if d.afterCR {
			d.afterCR = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		d.trailing = true
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			if err := d.checkSize(len(p)); err != nil {
				return err
			}
			d.line = append(d.line, p...)
			return nil
		}
		if err := d.checkSize(end); err != nil {
			return err
		}
		line := p[:end]
		if len(d.line) > 0 {
			d.line = append(d.line, line...)
			line = d.line
		}
		d.afterCR = p[end] == '\r'
		p = p[end+1:]
		if err := d.takeLine(line, emit); err != nil {
			return err
		}
		d.line = d.line[:0]
	}
	return nil
}

// End says that the stream is over. What came of an event that no blank line
// ended is emitted as Unterminated, if it has data. The decoder is then reset.
func (d *Decoder) End(emit func(Event) error) error {
	defer d.Reset()
	if len(d.line) > 0 {
		d.takeField(d.line)
	}
	return d.dispatch(true, emit)
}

func (d *Decoder) checkSize(more int) error {
	limit := d.MaxEvent
	if limit == 0 {
		limit = DefaultMaxEvent
	}
	if len(d.line)+len(d.name)+len(d.data)+more > limit {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLong, limit)
	}
	return nil
}

func (d *Decoder) takeLine(line []byte, emit func(Event) error) error {
	if len(d.stripMark(line)) == 0 {
		d.begun = true
		return d.dispatch(false, emit)
	}
	d.takeField(line)
	return nil
}

// stripMark removes the byte order mark that may start the stream.
func (d *Decoder) stripMark(line []byte) []byte {
	if d.begun {
		return line
	}
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}

// takeField takes a line that is not blank. Comments (an empty field name) and
// fields other than data and event change nothing.
func (d *Decoder) takeField(line []byte) {
	line = d.stripMark(line)
	d.begun = true
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		d.data = append(append(d.data, value...), '\n')
	case "event":
		d.name = append(d.name[:0], value...)
	}
}

// dispatch emits the event that the fields so far make, unless they hold no data.
func (d *Decoder) dispatch(unterminated bool, emit func(Event) error) error {
	ev := Event{Name: d.name, Unterminated: unterminated}
	n := len(d.data)
	if n > 0 {
		ev.Data = d.data[:n-1]
	}
	d.name, d.data = d.name[:0], d.data[:0]
	if n == 0 {
		return nil
	}
	d.trailing = false
	return emit(ev)
}
