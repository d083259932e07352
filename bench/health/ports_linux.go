package health

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// localPorts reads the range of ephemeral ports; it holds for IPv6 too.
func localPorts() (first, last int64, ok bool) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, 0, false
	}
	return parsePortRange(string(text))
}

func parsePortRange(text string) (first, last int64, ok bool) {
	n, err := fmt.Sscan(text, &first, &last)
	return first, last, err == nil && n == 2 && 0 < first && first <= last && last < 1<<16
}

// The numbers of linux/inet_diag.h and of the TCP states.
const (
	diagRequestSize = 56 // struct inet_diag_req_v2
	diagAnswerSize  = 72 // struct inet_diag_msg
	diagAddress     = 24 // of the peer, in an answer

	// tcpStates are all in which a connection holds its port: not CLOSE (7), not
	// LISTEN (10), not NEW_SYN_RECV (12).
	tcpStates = 1<<12 - 1 - 1<<0 - 1<<7 - 1<<10
)

// connectionsTo asks the kernel (sock_diag(7)) for the connections of this
// network namespace to a target's port and counts those to its address. Of a
// host name, which may stand for several, the address with the most counts.
func connectionsTo(target string) (int64, bool) {
	host, portText, err := net.SplitHostPort(target)
	if err != nil {
		return 0, false
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return 0, false
	}
	address, err := netip.ParseAddr(host)
	isAddress := err == nil
	counts := make(map[netip.Addr]int64)
	told := false
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		if err := dumpPeers(family, uint16(port), counts); err == nil {
			told = true
		}
	}
	if isAddress {
		return counts[address.Unmap().WithZone("")], told
	}
	var most int64
	for _, n := range counts {
		most = max(most, n)
	}
	return most, told
}

// dumpPeers counts the connections to a port by their peer's address.
func dumpPeers(family uint8, port uint16, counts map[netip.Addr]int64) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	// The kernel answers at once; should it not, the monitor must not hang.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return err
	}
	request := make([]byte, unix.SizeofNlMsghdr+diagRequestSize)
	binary.NativeEndian.PutUint32(request[0:], uint32(len(request)))
	binary.NativeEndian.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := request[unix.SizeofNlMsghdr:]
	body[0], body[1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(body[4:], tcpStates)
	binary.BigEndian.PutUint16(body[10:], port) // the kernel leaves out other ports
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	for buf := make([]byte, 64<<10); ; {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err != nil {
			return err
		}
		if over, err := countPeers(buf[:n], counts); over || err != nil {
			return err
		}
	}
}

// countPeers reads one datagram of netlink messages; over says that it holds the
// end of the dump.
func countPeers(data []byte, counts map[netip.Addr]int64) (over bool, err error) {
	for len(data) >= unix.SizeofNlMsghdr {
		size := binary.NativeEndian.Uint32(data)
		kind := binary.NativeEndian.Uint16(data[4:])
		if size < unix.SizeofNlMsghdr || int(size) > len(data) {
			return false, fmt.Errorf("a netlink message of %d bytes in %d", size, len(data))
		}
		body := data[unix.SizeofNlMsghdr:size]
		data = data[min((int(size)+3)&^3, len(data)):]
		switch {
		case kind == unix.NLMSG_DONE:
			return true, nil
		case kind == unix.NLMSG_ERROR && len(body) >= 4:
			return false, unix.Errno(-int32(binary.NativeEndian.Uint32(body)))
		case kind != unix.SOCK_DIAG_BY_FAMILY || len(body) < diagAnswerSize:
			return false, fmt.Errorf("a netlink message of kind %d and %d bytes", kind, size)
		}
		peer := netip.AddrFrom4([4]byte(body[diagAddress:]))
		if body[0] == unix.AF_INET6 {
			peer = netip.AddrFrom16([16]byte(body[diagAddress:])).Unmap()
		}
		counts[peer]++
	}
	return false, nil
}
