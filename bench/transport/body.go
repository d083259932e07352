package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/valyala/fasthttp"
)

// body reads one body by its framing. It hands out a chunk's bytes as they come
// and looks at what ends the chunk only when asked for more, so that nothing
// waits for bytes that say nothing.
type body struct {
	state bodyState
	left  int64 // bytes left of the chunk, or of the announced length
	// trailer counts the bytes of the trailer so far.
	trailer int
}

type bodyState int

const (
	bodyUnread     bodyState = iota // its header has not been read
	bodyDone                        // read to its end
	bodyLength                      // of a length announced
	bodyUntilClose                  // as long as the connection
	chunkSize                       // chunked: before a chunk's size line
	chunkData                       // chunked: inside a chunk
	chunkEnd                        // chunked: before the line end after a chunk
	chunkTrailer                    // chunked: after the last chunk
)

// newBody returns the body that a response header announces.
func newBody(h *fasthttp.ResponseHeader) body {
	status := h.StatusCode()
	switch n := h.ContentLength(); {
	case status == fasthttp.StatusNoContent || status == fasthttp.StatusNotModified || n == 0:
		return body{state: bodyDone}
	case n > 0:
		return body{state: bodyLength, left: int64(n)}
	case n == -1:
		return body{state: chunkSize}
	}
	return body{state: bodyUntilClose}
}

func (b *body) read(br *bufio.Reader, buf []byte) (int, error) {
	for {
		switch b.state {
		case bodyUnread:
			return 0, errors.New("transport: ReadBody before ReadHeader")
		case bodyDone:
			return 0, io.EOF
		case bodyUntilClose:
			n, err := br.Read(buf)
			if errors.Is(err, io.EOF) {
				b.state = bodyDone
			}
			return n, err
		case bodyLength, chunkData:
			return b.readData(br, buf)
		case chunkEnd:
			line, err := readLine(br)
			if err != nil {
				return 0, err
			}
			if len(line) > 0 {
				return 0, fmt.Errorf("%w: %.40q where a chunk should end", ErrProtocol, line)
			}
			b.state = chunkSize
		case chunkSize:
			if err := b.readSize(br); err != nil {
				return 0, err
			}
		case chunkTrailer:
			line, err := readLine(br)
			if err != nil {
				return 0, err
			}
			if b.trailer += len(line); b.trailer > maxHeader {
				return 0, fmt.Errorf("%w: the trailer is longer than %d bytes", ErrProtocol, maxHeader)
			}
			if len(line) == 0 {
				b.state = bodyDone
			}
		}
	}
}

func (b *body) readData(br *bufio.Reader, buf []byte) (int, error) {
	n, err := br.Read(buf[:min(int64(len(buf)), b.left)])
	b.left -= int64(n)
	if b.left == 0 {
		if b.state == chunkData {
			b.state = chunkEnd
		} else {
			b.state = bodyDone
		}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// readSize reads a chunk's size line: hexadecimal digits, then perhaps an
// extension, which says nothing here.
func (b *body) readSize(br *bufio.Reader) error {
	line, err := readLine(br)
	if err != nil {
		return err
	}
	digits, _, _ := bytes.Cut(line, []byte(";"))
	size, err := strconv.ParseUint(string(bytes.TrimRight(digits, " \t")), 16, 63)
	if err != nil {
		return fmt.Errorf("%w: %.40q where a chunk's size should be", ErrProtocol, line)
	}
	b.left = int64(size)
	b.state = chunkData
	if size == 0 {
		b.state = chunkTrailer
	}
	return nil
}

// readLine returns a line without its end, valid until the next read. If it
// fails it has taken nothing, so that it can be tried again.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := peekLine(br)
	if err != nil {
		return nil, err
	}
	if _, err := br.Discard(len(line)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

// peekLine waits for a whole line and returns it with its end, without taking it.
func peekLine(br *bufio.Reader) ([]byte, error) {
	for seen := 0; ; {
		_, err := br.Peek(seen + 1)
		buffered, _ := br.Peek(br.Buffered())
		if i := bytes.IndexByte(buffered[min(seen, len(buffered)):], '\n'); i >= 0 {
			return buffered[:seen+i+1], nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("%w: no line end in %d bytes", ErrProtocol, seen)
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		seen = len(buffered)
	}
}
