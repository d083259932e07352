package report

import (
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/host"
)

// Machine is where the load generator ran. What the system does not tell is
// absent.
type Machine struct {
	CPU        string `json:"cpu,omitempty"`
	Cores      int    `json:"cores"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Kernel     string `json:"kernel,omitempty"`
	Platform   string `json:"platform,omitempty"` // distribution and version
	Go         string `json:"go"`
}

// ThisMachine describes the machine it is called on.
func ThisMachine() Machine {
	m := Machine{
		Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(),
	}
	if cpus, err := cpu.Info(); err == nil && len(cpus) > 0 {
		m.CPU = strings.TrimSpace(cpus[0].ModelName)
	}
	if info, err := host.Info(); err == nil {
		m.Kernel = info.KernelVersion
		m.Platform = strings.TrimSpace(info.Platform + " " + info.PlatformVersion)
	}
	return m
}
