package health

import (
	"os"
	"runtime/debug"
	"time"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/process"
)

// sensors read what the platform tells of process and host. A reading that it
// does not give is false.
type sensors interface {
	// processCPU is the CPU time that this process has used.
	processCPU() (time.Duration, bool)
	// hostCPU is the host's CPU time so far, in seconds: spent busy, and in all.
	hostCPU() (busy, total float64, ok bool)
	// openFiles is the number of open descriptors.
	openFiles() (int64, bool)
	// fileLimit is RLIMIT_NOFILE, soft and hard; 0: there is none.
	fileLimit() (soft, hard int64)
	// localPorts is the range that the system takes local ports from.
	localPorts() (first, last int64, ok bool)
	// connections is how many connections lead to a target, host:port.
	connections(target string) (int64, bool)
	// gc fills stats as debug.ReadGCStats does.
	gc(stats *debug.GCStats)
}

// platform reads them with gopsutil and from the Go runtime.
type platform struct {
	self *process.Process // nil: the platform shows no processes
}

func newPlatform() platform {
	self, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return platform{}
	}
	return platform{self}
}

func (platform) processCPU() (time.Duration, bool) { return ProcessCPU() }

func (p platform) hostCPU() (busy, total float64, ok bool) {
	times, err := cpu.Times(false)
	if err != nil || len(times) != 1 {
		return 0, 0, false
	}
	t := times[0]
	// Guest time is a part of user time already.
	busy = t.User + t.System + t.Nice + t.Irq + t.Softirq + t.Steal
	return busy, busy + t.Idle + t.Iowait, true
}

func (p platform) openFiles() (int64, bool) {
	if n, ok := openDescriptors(); ok {
		return n, true
	}
	if p.self == nil {
		return 0, false
	}
	n, err := p.self.NumFDs()
	return int64(n), err == nil
}

func (platform) fileLimit() (soft, hard int64) { return fileLimit() }

func (platform) localPorts() (first, last int64, ok bool) { return localPorts() }

func (platform) connections(target string) (int64, bool) { return connectionsTo(target) }

func (platform) gc(stats *debug.GCStats) { debug.ReadGCStats(stats) }
