package health

import "fmt"

// spareDescriptors are for what a run opens beside its connections: files,
// standard streams, the poller.
const spareDescriptors = 64

// Limits are what this process and host allow.
type Limits struct {
	// Open is the number of descriptors open now.
	Open int64 `json:"open_descriptors"`
	// Descriptors is the soft RLIMIT_NOFILE and HardDescriptors the hard one; 0:
	// there is none, or the platform does not tell. The Go runtime raises the soft
	// limit as far as the hard one allows when a program begins.
	Descriptors     int64 `json:"descriptors,omitzero"`
	HardDescriptors int64 `json:"hard_descriptors,omitzero"`
	// FirstPort to LastPort is the range that the system takes local ports from;
	// 0: the platform does not tell.
	FirstPort int64 `json:"first_port,omitzero"`
	LastPort  int64 `json:"last_port,omitzero"`
}

// ReadLimits asks the platform.
func ReadLimits() Limits {
	p := newPlatform()
	var l Limits
	l.Open, _ = p.openFiles()
	l.Descriptors, l.HardDescriptors = p.fileLimit()
	l.FirstPort, l.LastPort, _ = p.localPorts()
	return l
}

// Check says whether one limit suffices for a plan.
type Check struct {
	Name string `json:"name"` // "descriptors" or "ports"
	// Sufficient is also true where the limit is not known.
	Sufficient bool `json:"sufficient"`
	// Sentence is a full sentence with figures, and with what would help.
	Sentence string `json:"sentence"`
}

// Plan checks the limits for so many connections to one target at once. Ports
// that a run before this one has not given back yet are not looked for.
func (l Limits) Plan(connections int64) []Check {
	return []Check{l.planDescriptors(connections), l.planPorts(connections)}
}

// MaxConnections is the most connections to one target that Plan finds
// sufficient, at most bound.
func (l Limits) MaxConnections(bound int64) int64 {
	if l.Descriptors > 0 {
		bound = min(bound, l.Descriptors-l.Open-spareDescriptors)
	}
	if l.LastPort > 0 {
		bound = min(bound, l.ports())
	}
	return max(bound, 0)
}

func (l Limits) ports() int64 { return l.LastPort - l.FirstPort + 1 }

func (l Limits) planDescriptors(connections int64) Check {
	needed := connections + l.Open + spareDescriptors
	c := Check{Name: "descriptors", Sufficient: l.Descriptors == 0 || needed <= l.Descriptors}
	switch {
	case l.Descriptors == 0:
		c.Sentence = fmt.Sprintf("%d connections need about %d file descriptors; no limit is known here.", connections, needed)
	case c.Sufficient:
		c.Sentence = fmt.Sprintf("%d connections need about %d file descriptors, and the limit is %d.", connections, needed, l.Descriptors)
	default:
		c.Sentence = fmt.Sprintf("%d connections need about %d file descriptors, but the limit is %d%s.", connections, needed, l.Descriptors, l.descriptorHelp())
	}
	return c
}

// descriptorHelp says how to get more descriptors.
func (l Limits) descriptorHelp() string {
	// The runtime stops one short of the hard limit.
	if l.HardDescriptors > 0 && l.Descriptors >= l.HardDescriptors-1 {
		return fmt.Sprintf("; it is at the hard limit, %d, which root raises (limits.conf, LimitNOFILE=, docker --ulimit nofile=)", l.HardDescriptors)
	}
	return "; raise it with ulimit -n"
}

func (l Limits) planPorts(connections int64) Check {
	c := Check{Name: "ports", Sufficient: l.LastPort == 0 || connections <= l.ports()}
	switch {
	case l.LastPort == 0:
		c.Sentence = fmt.Sprintf("%d connections to one target need %d local ports; the platform does not tell how many there are.", connections, connections)
	case c.Sufficient:
		c.Sentence = fmt.Sprintf("%d connections to one target need %d local ports, and there are %d (%d to %d).", connections, connections, l.ports(), l.FirstPort, l.LastPort)
	default:
		c.Sentence = fmt.Sprintf("%d connections to one target need %d local ports, but there are %d (%d to %d); widen net.ipv4.ip_local_port_range, or use several addresses.", connections, connections, l.ports(), l.FirstPort, l.LastPort)
	}
	return c
}
