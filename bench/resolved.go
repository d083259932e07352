package bench

import (
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/summary"
	"llmsim-bench/bench/workload"
)

// resolved is the configuration as it was carried out, without secrets.
type resolved struct {
	API             string         `json:"api"`
	Loads           []Load         `json:"loads"`
	DurationS       float64        `json:"duration_s"`
	WarmupS         float64        `json:"warmup_s"`
	Requests        workload.Shape `json:"requests"`
	MaxInFlight     int            `json:"max_in_flight"`
	ConnectTimeoutS float64        `json:"connect_timeout_s"`
	HeaderTimeoutS  float64        `json:"header_timeout_s,omitzero"`
	FirstTimeoutS   float64        `json:"first_token_timeout_s,omitzero"`
	ProgressS       float64        `json:"progress_timeout_s,omitzero"`
	TimeoutS        float64        `json:"timeout_s"`
	Leave           *leaving       `json:"leave,omitempty"`
	Retries         int            `json:"retries"`
	SLO             summary.SLO    `json:"slo,omitempty"`
	Server          string         `json:"server"`
	Simulator       bool           `json:"simulator"`
	StreamUsage     bool           `json:"stream_usage"`
	IgnoreEOS       bool           `json:"ignore_eos"`
	TemplateTokens  int            `json:"template_tokens"`
	VocabularyWords int            `json:"vocabulary_words"`
	Proxy           string         `json:"proxy,omitempty"` // its host
	Run             string         `json:"run"`
	Connections     connections    `json:"connections"`
}

// leaving is load.Leave in a result.
type leaving struct {
	Fraction    float64 `json:"fraction"`
	AfterTokens int     `json:"after_tokens,omitzero"`
	AfterS      float64 `json:"after_s,omitzero"`
}

// connections is what became of connections, and who said when bytes came.
type connections struct {
	Opened       int64  `json:"opened"`
	Failed       int64  `json:"failed"` // attempts to open one
	Reused       int64  `json:"reused"`
	Dropped      int64  `json:"dropped"`
	Timestamps   string `json:"timestamps"`
	KernelStamps int64  `json:"reads_with_kernel_stamps"`
	UserStamps   int64  `json:"reads_without"`
}

func (r *runner) resolved() resolved {
	c, stats := &r.config, r.pool.Stats()
	sent := c.API.Takes(r.sender.Extensions)
	out := resolved{
		API: c.API.String(), Loads: c.Loads, DurationS: c.Duration.Seconds(), WarmupS: c.Warmup.Seconds(),
		Requests: c.Shape, MaxInFlight: c.MaxInFlight,
		ConnectTimeoutS: c.ConnectTimeout.Seconds(), HeaderTimeoutS: c.Timeouts.Header.Seconds(),
		FirstTimeoutS: c.Timeouts.FirstToken.Seconds(), ProgressS: c.Timeouts.Progress.Seconds(),
		TimeoutS: c.Timeouts.Total.Seconds(), Retries: c.Retries, SLO: c.SLO,
		Server: r.server.kind, Simulator: r.server.simulator,
		StreamUsage: sent.StreamUsage, IgnoreEOS: sent.IgnoreEOS,
		TemplateTokens: r.server.calibration.Overhead, VocabularyWords: len(r.server.calibration.Vocabulary),
		Run: r.server.run,
		Connections: connections{
			Opened: stats.Dials, Failed: stats.FailedDials, Reused: stats.Reuses, Dropped: stats.Stale, Timestamps: c.Timestamps.String(),
			KernelStamps: stats.KernelStamps, UserStamps: stats.UserStamps,
		},
	}
	if c.Proxy != nil {
		out.Proxy = c.Proxy.Host
	}
	if c.Leave != (load.Leave{}) {
		out.Leave = &leaving{c.Leave.Fraction, c.Leave.AfterTokens, c.Leave.After.Seconds()}
	}
	return out
}
