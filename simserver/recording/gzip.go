package recording

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxDecoded bounds what a compressed body may become, in bytes.
const maxDecoded = 64 << 20

// Decode takes gzip off the segments, for a server that compresses unasked. What a
// piece brings to an end is that piece's: a stream that is flushed after each event
// keeps its times. An error says why the segments stay as they are: another
// encoding, or a body that is not what its header says.
func (r *Response) Decode() error { return r.decode(maxDecoded) }

// decode is Decode for at most so many bytes.
func (r *Response) decode(most int) error {
	encoding := r.encoding()
	switch {
	case encoding == "" || r.Decoded != "" || len(r.Segments) == 0:
		return nil
	case encoding != "gzip" && encoding != "x-gzip":
		return fmt.Errorf("the response has the content encoding %q, which can't be taken off", encoding)
	}
	broken := func(err error) error {
		return fmt.Errorf("the response has the content encoding %q, which can't be taken off: %w", encoding, err)
	}
	source := &segmentReader{segments: r.Segments}
	unzipped, err := gzip.NewReader(source)
	if err != nil {
		return broken(err)
	}
	var decoded []Segment
	buffer := make([]byte, 32<<10)
	for size := 0; ; {
		n, err := unzipped.Read(buffer)
		if size += n; size > most {
			return broken(fmt.Errorf("it has more than %d bytes", most))
		}
		if n > 0 {
			if last := len(decoded) - 1; last >= 0 && decoded[last].AtNS == source.at {
				decoded[last].Data = append(decoded[last].Data, buffer[:n]...)
			} else {
				decoded = append(decoded, Segment{AtNS: source.at, Data: append([]byte(nil), buffer[:n]...)})
			}
		}
		switch {
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF): // a body that was cut is that far right
			r.Decoded, r.Segments = "gzip", decoded
			return nil
		case err != nil:
			return broken(err)
		}
	}
}

// encoding is the content encoding that a body came in; empty: none.
func (r *Response) encoding() string {
	var all []string
	for _, value := range r.Headers["Content-Encoding"] {
		for one := range strings.SplitSeq(value, ",") {
			if one = strings.ToLower(strings.TrimSpace(one)); one != "" && one != "identity" {
				all = append(all, one)
			}
		}
	}
	return strings.Join(all, ", ")
}

// segmentReader reads segments byte by byte, so that what decodes them reads no
// further than it must.
type segmentReader struct {
	segments []Segment // the rest
	used     int       // of the first
	at       int64     // when the last byte read had come
}

// ReadByte implements io.ByteReader, which gzip prefers.
func (s *segmentReader) ReadByte() (byte, error) {
	for len(s.segments) > 0 && s.used == len(s.segments[0].Data) {
		s.segments, s.used = s.segments[1:], 0
	}
	if len(s.segments) == 0 {
		return 0, io.EOF
	}
	s.at = s.segments[0].AtNS
	s.used++
	return s.segments[0].Data[s.used-1], nil
}

// Read implements io.Reader.
func (s *segmentReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c, err := s.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = c
	return 1, nil
}
