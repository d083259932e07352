package sleep

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// futexWaitPrivate and futexWakePrivate are FUTEX_WAIT and FUTEX_WAKE with
// FUTEX_PRIVATE_FLAG, from linux/futex.h.
const (
	futexWaitPrivate = 0 | 128
	futexWakePrivate = 1 | 128
)

// Precise is a Sleeper that waits in the kernel on a futex, so that both a
// timeout of nanosecond resolution and a wake-up end it.
type Precise struct {
	clock Clock
	// woken is the futex word: 1 while a wake-up is pending.
	woken atomic.Uint32
}

// New returns the most precise Sleeper of this platform. Call Tighten on the
// thread that will sleep.
func New(clock Clock) Sleeper { return &Precise{clock: clock} }

// Tighten sets the timer slack of the calling OS thread to the least, 1 ns
// (the default of 50 µs is added to every sleep). The goroutine must be locked
// to its thread.
func Tighten() {
	// A refusal leaves the default slack: less precise, still right.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// Until implements Sleeper.
func (p *Precise) Until(due int64) {
	for p.woken.Swap(0) == 0 {
		left := due - p.clock.Now()
		if left <= 0 {
			return
		}
		timeout := unix.NsecToTimespec(left)
		// Every return is looked at again above: timeout, wake-up, a signal.
		_, _, _ = syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&p.woken)),
			futexWaitPrivate, 0, uintptr(unsafe.Pointer(&timeout)), 0, 0)
	}
}

// Wake implements Sleeper.
func (p *Precise) Wake() {
	if p.woken.Swap(1) == 0 {
		_, _, _ = syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&p.woken)),
			futexWakePrivate, 1, 0, 0, 0)
	}
}
