// Package health watches the load generator itself and judges whether its
// numbers can be trusted. The monitor's readings, the delays that the client
// added and the requests it failed to dispatch go in; a verdict with its reasons
// comes out. It knows no request and measures no server.
package health

import (
	"time"

	"llmsim-bench/internal/hist"
)

// Report is what a Monitor saw of its own process and host. What the platform
// does not tell is absent.
type Report struct {
	// Lateness of the monitor's wake-ups, which is what any goroutine that waits
	// for a timer or the network had to expect.
	Lateness hist.Stats `json:"wakeup_lateness_ms"`
	// ProcessCPU is the CPU time of this process as a share of what its Cores had
	// to give, 0 to 1.
	ProcessCPU *float64 `json:"process_cpu,omitempty"`
	// HostCPU is the busy share of the whole host, 0 to 1.
	HostCPU *float64 `json:"host_cpu,omitempty"`
	// Cores is GOMAXPROCS.
	Cores       int          `json:"cores"`
	GC          GC           `json:"gc"`
	Descriptors *Descriptors `json:"descriptors,omitempty"`
	Ports       *Ports       `json:"ports,omitempty"`
}

// GC sums the garbage collector's stop-the-world pauses.
type GC struct {
	Cycles  int64   `json:"cycles"`
	PauseMS float64 `json:"pause_ms"`
	MaxMS   float64 `json:"max_pause_ms"`
}

// Descriptors are the file descriptors of this process.
type Descriptors struct {
	// Open is the highest number seen open.
	Open int64 `json:"open"`
	// Limit is RLIMIT_NOFILE; 0: there is none, or the platform does not tell.
	Limit int64 `json:"limit,omitzero"`
}

// Ports are the local TCP ports that connections to one target take.
type Ports struct {
	// Connections is the highest number seen to the target, those that wait for
	// the end of their lives (TIME_WAIT) among them; 0: none were seen, none were
	// to be counted, or the platform does not tell.
	Connections int64 `json:"connections,omitzero"`
	// Available is the size of the range that the system takes local ports from:
	// how many connections there can be from one address to another's port.
	Available int64 `json:"available"`
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
