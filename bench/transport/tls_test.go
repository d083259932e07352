package transport

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// testTLS returns what a server of 127.0.0.1, ::1 and example.com is set up with,
// and a client that believes it.
func testTLS(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return &tls.Config{Certificates: srv.TLS.Certificates, DynamicRecordSizingDisabled: true}, &tls.Config{RootCAs: roots}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTLSConfig(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshakes that must fail
	srv.StartTLS()
	t.Cleanup(srv.Close)
	ca := writeFile(t, "Of the test server.\n"+string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})))
	target, err := ParseTarget(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	try := func(serverName, ca string, insecure bool) error {
		cfg, err := TLSConfig(ca, insecure)
		if err != nil {
			t.Fatal(err)
		}
		cfg.ServerName = serverName
		p := newPool(t, Config{Target: target, TLS: cfg})
		c, err := p.Get(testContext(t))
		if err != nil {
			return err
		}
		t.Cleanup(c.Close)
		send(t, p, c)
		_, _, err = readAll(c)
		return err
	}
	var unknown x509.UnknownAuthorityError
	if err := try("", "", false); !errors.As(err, &unknown) {
		t.Errorf("an unknown CA: %v", err)
	}
	if err := try("", ca, false); err != nil {
		t.Errorf("the CA of the file: %v", err)
	}
	var wrong x509.HostnameError
	if err := try("elsewhere.example", ca, false); !errors.As(err, &wrong) {
		t.Errorf("another host's name: %v", err)
	}
	if err := try("elsewhere.example", "", true); err != nil {
		t.Errorf("insecure: %v", err)
	}
}

func TestClientTLS(t *testing.T) {
	for base, want := range map[*tls.Config]string{nil: "x", {ServerName: "y"}: "y"} {
		if c := clientTLS(base, "x"); c.ServerName != want || !slices.Equal(c.NextProtos, []string{"http/1.1"}) || c == base {
			t.Errorf("%q, %v", c.ServerName, c.NextProtos)
		}
	}
}

func TestBadCAFiles(t *testing.T) {
	block := func(kind string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte("nonsense")}))
	}
	for name, want := range map[string]string{
		writeFile(t, ""):                        "no certificate in it",
		writeFile(t, "nonsense"):                "no certificate in it",
		writeFile(t, block("EC PRIVATE KEY")):   "a EC PRIVATE KEY in it but no certificate",
		writeFile(t, block("CERTIFICATE")):      "certificate 1 in it",
		filepath.Join(t.TempDir(), "no-such-f"): "no such file",
	} {
		if _, err := TLSConfig(name, false); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v; want %q and the file's name", err, want)
		}
	}
	if _, err := TLSConfig("some.pem", true); err == nil {
		t.Error("a CA file beside insecure")
	}
}

// batch is a connection that writes when told to.
type batch struct {
	net.Conn
	hold bool
	held []byte
}

func (b *batch) Write(p []byte) (int, error) {
	if !b.hold {
		return b.Conn.Write(p)
	}
	b.held = append(b.held, p...)
	return len(p), nil
}

func (b *batch) flush() {
	b.hold = false
	b.Conn.Write(b.held)
}

// serveTLS is serve over TLS.
func serveTLS(t *testing.T, script func(wire *batch, c net.Conn, br *bufio.Reader)) *Pool {
	server, client := testTLS(t)
	p := serve(t, func(raw net.Conn, _ *bufio.Reader) {
		wire := &batch{Conn: raw}
		c := tls.Server(wire, server)
		script(wire, c, bufio.NewReader(c))
	})
	target := p.Target()
	target.TLS = true
	return newPool(t, Config{Target: target, TLS: client})
}

// What one socket read brings of a body's end beyond what was asked for lies
// inside TLS: it is found there, and so is a farewell.
func TestTailInsideTLS(t *testing.T) {
	for name, farewell := range map[string]bool{"end": false, "farewell": true} {
		t.Run(name, func(t *testing.T) {
			p := serveTLS(t, func(wire *batch, c net.Conn, br *bufio.Reader) {
				if !awaitRequest(br) {
					return
				}
				wire.hold = true
				io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
				io.WriteString(c, "0\r\n\r\n")
				if farewell {
					c.(*tls.Conn).CloseWrite()
					wire.SetWriteDeadline(time.Time{}) // which that has set
				}
				wire.flush()
				awaitRequest(br)
			})
			c := get(t, p)
			send(t, p, c)
			if _, _, err := c.ReadHeader(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := c.ReadBody(make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
			want := ready
			if farewell {
				want = unusable
			}
			if got := c.readiness(); got != want {
				t.Errorf("readiness %d, want %d", got, want)
			}
		})
	}
}

// A record comes in many reads and is handed out in some: all its bytes came when
// it was complete.
func TestRecordCameWhenComplete(t *testing.T) {
	const size = 16000
	p := serveTLS(t, func(wire *batch, c net.Conn, br *bufio.Reader) {
		awaitRequest(br)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 16000\r\n\r\n")
		awaitRequest(br)
		wire.hold = true
		io.WriteString(c, strings.Repeat("x", size))
		for len(wire.held) > 1 {
			n := min(1000, len(wire.held)-1)
			wire.Conn.Write(wire.held[:n])
			wire.held = wire.held[n:]
		}
		awaitRequest(br)
		wire.flush()
		awaitRequest(br)
	})
	c := get(t, p)
	send(t, p, c)
	if _, _, err := c.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	request := p.AppendRequest(nil, "GET", "/", nil, nil)
	c.stream.Write(request)
	asked := p.cfg.Now()
	c.stream.Write(request)
	var first Received
	for read := 0; read < size; {
		n, came, err := c.ReadBody(make([]byte, 3000))
		if err != nil {
			t.Fatal(err)
		}
		if read == 0 {
			first = came
		}
		if read += n; came != first || came.At < asked {
			t.Fatalf("%+v and %+v, the last byte asked for at %d", first, came, asked)
		}
	}
}
