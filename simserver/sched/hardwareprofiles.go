package sched

import (
	"fmt"
	"strings"
	"time"
)

// hardwareProfile is a GPU, what it reaches of its peaks, and what connects
// several of it. A version is never changed: a better figure is a new version.
type hardwareProfile struct {
	name     string
	hardware Hardware
	params   CostParams
	// links, by rising number of GPUs; one holds up to the next.
	links []link
}

// link is what one all-reduce costs among so many GPUs.
type link struct {
	gpus    int
	latency time.Duration
	gbps    float64
}

// Sources. Peak FLOP/s (dense) and bandwidth: NVIDIA's data sheets. Visible
// memory: the total capacity PyTorch reports for the part. Efficiencies, step
// overhead and front-end time: fits to public step-time data of vLLM under load
// (an idle server looks 10 to 20 % faster), with every other term off. Reserved
// memory: from block counts that vLLM printed. All-reduce latency: from the same
// fits, and so is the bandwidth over PCIe; over NVLink it is from public all-reduce
// measurements, at 67 MB and more.
var hardwareProfiles = []hardwareProfile{
	// 1.3 GiB reserved: vLLM 0.23.0 with Qwen3-14B. 185,399 real steps of it: 1.7 %
	// mean error for decode steps, 3.1 % with prefill.
	{
		name:     "h100-sxm@1",
		hardware: Hardware{MemoryGiB: 79.19, ReservedGiB: 1.3, BandwidthGBps: 3350, PeakTFLOPS: 989},
		params:   fitted(0.60, 0.79, time.Millisecond),
		links:    nvlink4,
	},
	// Reserved memory as on the H100, not measured.
	{
		name:     "h200@1",
		hardware: Hardware{MemoryGiB: 139.80, ReservedGiB: 1.3, BandwidthGBps: 4800, PeakTFLOPS: 989},
		params:   fitted(0.60, 0.79, time.Millisecond),
		links:    nvlink4,
	},
	// Reserved memory and all-reduce latency as on the H100, not measured.
	{
		name:     "a100-sxm-80gb@1",
		hardware: Hardware{MemoryGiB: 79.25, ReservedGiB: 1.3, BandwidthGBps: 2039, PeakTFLOPS: 312},
		params:   fitted(0.60, 0.64, time.Millisecond),
		links:    nvlink3,
	},
	// Reserved memory as on the H100, not measured.
	{
		name:     "l40s@1",
		hardware: Hardware{MemoryGiB: 44.39, ReservedGiB: 1.3, BandwidthGBps: 864, PeakTFLOPS: 362},
		params:   fitted(0.60, 0.72, time.Millisecond),
		links:    pcie,
	},
	// The Server Edition: the Workstation Edition's memory has 1,792 GB/s. Reserved
	// memory as on the H100, not measured.
	{
		name:     "rtx-pro-6000@1",
		hardware: Hardware{MemoryGiB: 94.97, ReservedGiB: 1.3, BandwidthGBps: 1597, PeakTFLOPS: 503.8},
		params:   fitted(0.59, 0.79, 1300*time.Microsecond),
		links:    pcie,
	},
	// The peak is the data sheet's for fp16 accumulation, which the efficiency was
	// fitted against; with fp32 accumulation, as engines use it, the sheet has 165.2,
	// and boosted cards exceed it. 1.15 GiB reserved: vLLM 0.19.0 with Llama-3.1-8B.
	{
		name:     "rtx-4090@1",
		hardware: Hardware{MemoryGiB: 23.52, ReservedGiB: 1.15, BandwidthGBps: 1008, PeakTFLOPS: 330.3},
		params:   fitted(0.57, 0.79, time.Millisecond),
		links:    pcie,
	},
	// A round H100 at full peak, for worked examples: nothing reserved, no overhead.
	{
		name:     "h100-80gb@1",
		hardware: Hardware{MemoryGiB: 80, BandwidthGBps: 3000, PeakTFLOPS: 989},
	},
}

var (
	nvlink4 = []link{{2, 4 * time.Microsecond, 300}, {4, 22 * time.Microsecond, 220}}
	nvlink3 = []link{{2, 4 * time.Microsecond, 180}, {4, 22 * time.Microsecond, 130}}
	pcie    = []link{{2, 30 * time.Microsecond, 19}}
)

// fitted is a fit of the four constants that all fits have. The front-end time
// came out between 10 and 20 ms; this is the middle.
func fitted(compute, memory float64, overhead time.Duration) CostParams {
	return CostParams{
		ComputeEfficiency: compute,
		MemoryEfficiency:  memory,
		StepOverhead:      overhead,
		FrontEnd:          15 * time.Millisecond,
	}
}

// HardwareProfiles names the built-in hardware.
func HardwareProfiles() []string {
	names := make([]string, len(hardwareProfiles))
	for i, p := range hardwareProfiles {
		names[i] = p.name
	}
	return names
}

// HardwareProfile returns built-in hardware by name, such as "h100-sxm@1", as so
// many GPUs that share a model, and what steps cost on it. Both are plain values
// to change at will. Past the largest number of GPUs that all-reduces were
// measured for, the costs of that number hold.
func HardwareProfile(name string, tensorParallel int) (Hardware, CostParams, error) {
	if tensorParallel < 1 || tensorParallel > maxTensorParallel {
		return Hardware{}, CostParams{}, fmt.Errorf("hardware: tensor parallelism is %d, must be 1 to %d", tensorParallel, maxTensorParallel)
	}
	for _, p := range hardwareProfiles {
		if p.name != name {
			continue
		}
		p.hardware.TensorParallel = tensorParallel
		for _, l := range p.links {
			if l.gpus <= tensorParallel {
				p.params.AllReduceLatency, p.params.AllReduceGBps = l.latency, l.gbps
			}
		}
		return p.hardware, p.params, nil
	}
	return Hardware{}, CostParams{}, fmt.Errorf("hardware: no profile %q, there are %s", name, strings.Join(HardwareProfiles(), ", "))
}
