package health

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

func TestConnectionsToAreCounted(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			t.Logf("%s: %v", listen, err) // a host without IPv6
			continue
		}
		defer l.Close()
		target := l.Addr().String()
		if err := dumpPeers(unix.AF_INET, 1, map[netip.Addr]int64{}); err != nil {
			if _, ok := connectionsTo(target); ok {
				t.Errorf("a kernel that does not tell, %v, told", err)
			}
			t.Skipf("this kernel does not tell: %v", err)
		}
		for want := range int64(40) {
			if n, ok := connectionsTo(target); !ok || n != want {
				t.Fatalf("%s: %d connections, told %v; want %d", target, n, ok, want)
			}
			c, err := net.Dial("tcp", target)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		_, port, _ := net.SplitHostPort(target)
		if n, ok := connectionsTo("localhost:" + port); !ok || n != 40 {
			t.Errorf("by its name: %d connections, told %v", n, ok)
		}
		if n, ok := connectionsTo("192.0.2.1:" + port); !ok || n != 0 {
			t.Errorf("to another address: %d connections, told %v", n, ok)
		}
	}
	for _, bad := range []string{"", "localhost", "localhost:http", "localhost:65536"} {
		if n, ok := connectionsTo(bad); ok {
			t.Errorf("%q: %d connections", bad, n)
		}
	}
}

func TestPortRange(t *testing.T) {
	if first, last, ok := parsePortRange("32768\t60999\n"); first != 32768 || last != 60999 || !ok {
		t.Errorf("%d to %d, %v", first, last, ok)
	}
	for _, bad := range []string{"", "32768", "a b", "0 9", "9 8", "1 65536"} {
		if first, last, ok := parsePortRange(bad); ok {
			t.Errorf("%q: %d to %d", bad, first, last)
		}
	}
}

// netlink is one message.
func netlink(kind uint16, body []byte) []byte {
	m := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(body))
	binary.NativeEndian.PutUint32(m, uint32(unix.SizeofNlMsghdr+len(body)))
	binary.NativeEndian.PutUint16(m[4:], kind)
	return append(m, body...)
}

func TestCountPeers(t *testing.T) {
	peer := func(family uint8, address string) []byte {
		body := make([]byte, diagAnswerSize)
		body[0] = family
		copy(body[diagAddress:], netip.MustParseAddr(address).AsSlice())
		return netlink(unix.SOCK_DIAG_BY_FAMILY, body)
	}
	counts := make(map[netip.Addr]int64)
	data := append(peer(unix.AF_INET, "10.0.0.1"), peer(unix.AF_INET6, "::ffff:10.0.0.1")...)
	data = append(data, peer(unix.AF_INET6, "2001:db8::1")...)
	if over, err := countPeers(data, counts); over || err != nil {
		t.Errorf("over %v, %v", over, err)
	}
	if counts[netip.MustParseAddr("10.0.0.1")] != 2 || counts[netip.MustParseAddr("2001:db8::1")] != 1 || len(counts) != 2 {
		t.Errorf("%v, want two to 10.0.0.1, one of them by IPv6", counts)
	}
	if over, err := countPeers(netlink(unix.NLMSG_DONE, make([]byte, 4)), counts); !over || err != nil {
		t.Errorf("the end: over %v, %v", over, err)
	}
	refused := netlink(unix.NLMSG_ERROR, binary.NativeEndian.AppendUint32(nil, ^uint32(unix.ENOENT)+1))
	if over, err := countPeers(refused, counts); over || !errors.Is(err, unix.ENOENT) {
		t.Errorf("refused: over %v, %v", over, err)
	}
	for _, bad := range [][]byte{netlink(99, nil), netlink(unix.SOCK_DIAG_BY_FAMILY, make([]byte, 10)), data[:40]} {
		if over, err := countPeers(bad, counts); over || err == nil {
			t.Errorf("%x: over %v, %v", bad, over, err)
		}
	}
}

// FuzzCountPeers: the kernel is trusted, and still nothing it says may panic.
func FuzzCountPeers(f *testing.F) {
	done := make([]byte, 20)
	binary.NativeEndian.PutUint32(done, 20)
	binary.NativeEndian.PutUint16(done[4:], unix.NLMSG_DONE)
	f.Add(done)
	f.Add(append(make([]byte, 88), done...))
	f.Fuzz(func(t *testing.T, data []byte) {
		counts := make(map[netip.Addr]int64)
		_, _ = countPeers(data, counts)
	})
}
