package selftest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Bounds of what a null server takes.
const (
	maxNullBody   = 64 << 20
	maxNullEvents = 1 << 30
	maxNullPace   = time.Hour
)

// errBadRequest is in the error of a request that a null server can't read.
var errBadRequest = errors.New("bad request")

// request is what a null server needs to know of one.
type request struct {
	models, chat bool
	pace         time.Duration // 0: all at once
	events       int
}

// readRequest reads a request with its body, for which it uses *body. What it
// does not need, it does not look at.
func readRequest(br *bufio.Reader, body *[]byte) (request, error) {
	var r request
	line, err := br.ReadSlice('\n')
	if err != nil {
		return r, tooLong(err)
	}
	method, rest, _ := bytes.Cut(line, []byte(" "))
	path, _, isHTTP := bytes.Cut(rest, []byte(" "))
	if !isHTTP {
		return r, fmt.Errorf("%w: the first line is %.60q, must be METHOD PATH HTTP/1.1", errBadRequest, line)
	}
	r.models = string(method) == "GET" && bytes.HasSuffix(path, []byte("/models"))
	r.chat = string(method) == "POST" && bytes.HasSuffix(path, []byte("/chat/completions"))
	if r.pace, err = parsePace(path); err != nil {
		return r, err
	}
	size, err := readHeaders(br)
	if err != nil {
		return r, err
	}
	if cap(*body) < size {
		*body = make([]byte, size)
	}
	*body = (*body)[:size]
	if _, err := io.ReadFull(br, *body); err != nil {
		return r, err
	}
	r.events = maxTokens(*body)
	return r, nil
}

// readHeaders reads up to the empty line and returns the body's length.
func readHeaders(br *bufio.Reader) (size int, err error) {
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return 0, tooLong(err)
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			return size, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			size, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			if err != nil || size < 0 || size > maxNullBody {
				return 0, fmt.Errorf("%w: Content-Length is %.40q, must be 0 to %d", errBadRequest, bytes.TrimSpace(value), maxNullBody)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return 0, fmt.Errorf("%w: the body must come with a Content-Length", errBadRequest)
		}
	}
}

// tooLong turns the error for a line longer than the buffer into the client's.
func tooLong(err error) error {
	if errors.Is(err, bufio.ErrBufferFull) {
		return fmt.Errorf("%w: a line of the header is too long", errBadRequest)
	}
	return err
}

// pacePrefix begins a path that says how far apart events come.
const pacePrefix = "/pace/"

// pacedURL is the base URL at which a null server has events come so far apart.
func pacedURL(server string, pace time.Duration) string {
	if pace == 0 {
		return server + "/v1"
	}
	// Not pace.String, which may have a µ.
	return server + pacePrefix + strconv.FormatInt(int64(pace), 10) + "ns/v1"
}

func parsePace(path []byte) (time.Duration, error) {
	rest, paced := bytes.CutPrefix(path, []byte(pacePrefix))
	if !paced {
		return 0, nil
	}
	text, _, _ := bytes.Cut(rest, []byte("/"))
	pace, err := time.ParseDuration(string(text))
	if err != nil || pace <= 0 || pace > maxNullPace {
		return 0, fmt.Errorf("%w: the pace is %.40q, must be a duration above 0 and at most %v", errBadRequest, text, maxNullPace)
	}
	return pace, nil
}

// maxTokensKey can't be in a JSON string: its quotes would be escaped.
var maxTokensKey = []byte(`"max_tokens":`)

// maxTokens finds max_tokens in a body without reading all of its JSON; it is 1
// where there is none that makes sense.
func maxTokens(body []byte) int {
	at := bytes.LastIndex(body, maxTokensKey)
	if at < 0 {
		return 1
	}
	n := 0
	for _, b := range bytes.TrimLeft(body[at+len(maxTokensKey):], " ") {
		if b < '0' || b > '9' {
			break
		}
		n = min(10*n+int(b-'0'), maxNullEvents)
	}
	return max(n, 1)
}
