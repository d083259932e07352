package transport

import (
	"net"
	"testing"

	"llmsim-bench/internal/sleep"
)

// BenchmarkRead is what one read costs that finds its 256 bytes there: with the
// kernel's stamps, without them, and of Go's own connection, which tells no
// moment at all. Part of it is the peer's work, which is the same for all.
func BenchmarkRead(b *testing.B) {
	for _, mode := range []string{"kernel", "user", "bare"} {
		b.Run(mode, func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				for block := make([]byte, 32<<10); err == nil; {
					_, err = c.Write(block)
				}
			}()
			p := New(Config{Target: Target{Address: l.Addr().String()}, Now: sleep.NewClock().Now})
			defer p.Close()
			if mode == "user" {
				p.cfg.Timestamps = TimestampsUser
			}
			c, err := p.Get(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			var in net.Conn = c.socket
			if mode == "bare" {
				in = c.socket.Conn
			}
			buf := make([]byte, 256)
			for mode == "kernel" && p.Stats().KernelStamps == 0 { // they begin a moment late
				if _, err := in.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
			before := p.Stats()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := in.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
			after := p.Stats()
			b.ReportMetric(float64(after.KernelStamps-before.KernelStamps)/float64(b.N), "stamps/op")
		})
	}
}
