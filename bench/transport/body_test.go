package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"pgregory.net/rapid"
)

// pieces is a reader that returns one piece a read.
type pieces []string

func (p *pieces) Read(b []byte) (int, error) {
	for len(*p) > 0 && (*p)[0] == "" {
		*p = (*p)[1:]
	}
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	(*p)[0] = (*p)[0][n:]
	return n, nil
}

func readBody(b body, size int, in ...string) (string, error) {
	p := pieces(in)
	br := bufio.NewReaderSize(&p, 64)
	buf := make([]byte, size)
	var got strings.Builder
	for {
		n, err := b.read(br, buf)
		got.Write(buf[:n])
		if err != nil {
			return got.String(), err
		}
	}
}

var framings = []struct {
	name string
	body body
	in   string
	want string
	err  error
}{
	{"chunks", body{state: chunkSize}, "5\r\nhello\r\n7; ext=1\r\n, world\r\n0\r\n\r\n", "hello, world", io.EOF},
	{"trailer", body{state: chunkSize}, "1\r\na\r\n0\r\nX: y\r\nZ: w\r\n\r\n", "a", io.EOF},
	{"hexadecimal", body{state: chunkSize}, "A\r\n0123456789\r\n00b\r\n0123456789a\r\n0\r\n\r\n", "01234567890123456789a", io.EOF},
	{"no chunk", body{state: chunkSize}, "0\r\n\r\n", "", io.EOF},
	{"bare line feeds", body{state: chunkSize}, "1\na\n0\n\n", "a", io.EOF},
	{"cut in a chunk", body{state: chunkSize}, "5\r\nhel", "hel", io.ErrUnexpectedEOF},
	{"cut after a chunk", body{state: chunkSize}, "5\r\nhello", "hello", io.ErrUnexpectedEOF},
	{"cut before the last chunk", body{state: chunkSize}, "5\r\nhello\r\n", "hello", io.ErrUnexpectedEOF},
	{"cut in the last chunk", body{state: chunkSize}, "5\r\nhello\r\n0\r\n", "hello", io.ErrUnexpectedEOF},
	{"no size", body{state: chunkSize}, "\r\nhello", "", ErrProtocol},
	{"negative size", body{state: chunkSize}, "-1\r\nhello", "", ErrProtocol},
	{"bad size", body{state: chunkSize}, "5x\r\nhello", "", ErrProtocol},
	{"huge size", body{state: chunkSize}, "ffffffffffffffff\r\nhello", "", ErrProtocol},
	{"endless size line", body{state: chunkSize}, strings.Repeat("0", 100), "", ErrProtocol},
	{"chunk too long", body{state: chunkSize}, "1\r\nab\r\n", "a", ErrProtocol},
	{"endless trailer", body{state: chunkSize}, "0\r\n" + strings.Repeat("X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n", 1500), "", ErrProtocol},
	{"length", body{state: bodyLength, left: 5}, "hello", "hello", io.EOF},
	{"length, more behind", body{state: bodyLength, left: 5}, "hello, world", "hello", io.EOF},
	{"length, cut", body{state: bodyLength, left: 5}, "hel", "hel", io.ErrUnexpectedEOF},
	{"until close", body{state: bodyUntilClose}, "hello", "hello", io.EOF},
	{"no body", body{state: bodyDone}, "hello", "", io.EOF},
}

func TestBodyAtEverySplit(t *testing.T) {
	for _, tt := range framings {
		t.Run(tt.name, func(t *testing.T) {
			for cut := range min(len(tt.in), 100) + 1 {
				for _, size := range []int{3, 100} {
					got, err := readBody(tt.body, size, tt.in[:cut], tt.in[cut:])
					if got != tt.want || !errors.Is(err, tt.err) {
						t.Fatalf("cut at %d, buffer of %d: %q, %v; want %q, %v", cut, size, got, err, tt.want, tt.err)
					}
				}
			}
		})
	}
}

// Whatever fasthttp frames as chunks reads back, cut anywhere.
func TestReadsFasthttpsChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "text")
		var resp fasthttp.Response
		resp.SetBodyStream(bytes.NewReader(text), -1)
		var wire bytes.Buffer
		w := bufio.NewWriter(&wire)
		if err := resp.Write(w); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		_, chunked, _ := strings.Cut(wire.String(), "\r\n\r\n")
		cut := rapid.IntRange(0, len(chunked)).Draw(t, "cut")
		got, err := readBody(body{state: chunkSize}, 50, chunked[:cut], chunked[cut:])
		if got != string(text) || !errors.Is(err, io.EOF) {
			t.Fatalf("%q reads as %q, %v", chunked, got, err)
		}
	})
}

func FuzzBody(f *testing.F) {
	for _, tt := range framings {
		f.Add(tt.in, 5)
	}
	f.Fuzz(func(t *testing.T, in string, cut int) {
		cut = min(max(cut, 0), len(in))
		whole, wholeErr := readBody(body{state: chunkSize}, 50, in)
		got, err := readBody(body{state: chunkSize}, 50, in[:cut], in[cut:])
		if got != whole || errors.Is(err, io.EOF) != errors.Is(wholeErr, io.EOF) {
			t.Fatalf("whole %q, %v; cut at %d %q, %v", whole, wholeErr, cut, got, err)
		}
	})
}

// halting is a reader that has to wait before each byte.
type halting struct {
	in   string
	went bool
}

func (h *halting) Read(b []byte) (int, error) {
	if h.went = !h.went; h.went {
		return 0, errNotYet
	}
	if h.in == "" {
		return 0, io.EOF
	}
	b[0], h.in = h.in[0], h.in[1:]
	return 1, nil
}

func TestBodyGoesOnAfterAWait(t *testing.T) {
	for _, tt := range framings {
		b, br := tt.body, bufio.NewReaderSize(&halting{in: tt.in}, 64)
		var got strings.Builder
		var buf [10]byte
		err := errNotYet
		for errors.Is(err, errNotYet) {
			var n int
			n, err = b.read(br, buf[:])
			got.Write(buf[:n])
			if err == nil {
				err = errNotYet
			}
		}
		if got.String() != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, got.String(), err, tt.want, tt.err)
		}
	}
}
