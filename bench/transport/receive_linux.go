package transport

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canTry says that an attempt at a read does not wait.
const canTry = true

// stampControl is the one control message that comes with a stamped read.
type stampControl struct {
	header unix.Cmsghdr
	stamps unix.ScmTimestamping
}

// receiver makes the system calls of one socket's reads. Its fields are what the
// kernel is pointed to, kept so that no read allocates.
type receiver struct {
	stamped bool // control messages are asked for
	message unix.Msghdr
	vector  unix.Iovec
	control stampControl
}

// receive makes one attempt at reading into p, which is not empty. stamp is when
// the newest of the bytes came, in nanoseconds of CLOCK_REALTIME; 0 if the kernel
// does not say.
func (r *receiver) receive(fd uintptr, p []byte) (n int, stamp int64, errno syscall.Errno) {
	r.vector.Base = &p[0]
	r.vector.SetLen(len(p))
	r.message = unix.Msghdr{Iov: &r.vector}
	r.message.SetIovlen(1)
	if r.stamped {
		r.message.Control = (*byte)(unsafe.Pointer(&r.control))
		r.message.SetControllen(int(unsafe.Sizeof(r.control)))
	}
	got, errno := uintptr(0), syscall.EINTR
	for errno == syscall.EINTR {
		got, _, errno = syscall.Syscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.message)), unix.MSG_DONTWAIT)
	}
	r.vector.Base = nil
	if errno != 0 {
		return 0, 0, errno
	}
	return int(got), r.stamp(), 0
}

// stamp returns the software stamp of the last read, 0 if there is none: then the
// kernel has set the message's length to less than a stamp of before.
func (r *receiver) stamp() int64 {
	h := &r.control.header
	if !r.stamped || r.message.Controllen < h.Len || h.Level != unix.SOL_SOCKET || h.Type != unix.SCM_TIMESTAMPING ||
		uintptr(h.Len) < unsafe.Sizeof(r.control) {
		return 0
	}
	return r.control.stamps.Ts[0].Nano()
}

// enableStamps makes the kernel stamp what a socket receives.
func enableStamps(rc syscall.RawConn) error {
	const flags = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
	var optErr error
	err := rc.Control(func(fd uintptr) {
		optErr = os.NewSyscallError("setsockopt SO_TIMESTAMPING",
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags))
	})
	if err != nil {
		return err
	}
	return optErr
}
