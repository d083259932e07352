package sched

import (
	"fmt"
	"strings"
)

// release is what one release decides: its defaults, and the rules without an
// option.
type release struct {
	name  string
	apply func(*Config)
}

// releases, oldest first. The limits are those of vLLM's API server on a GPU of
// 70 GiB or more.
var releases = []release{
	{"vllm-0.16", func(c *Config) {
		vllm(c)
		c.Rules.CountFailedLookups = true
		c.Rules.VictimSkipsNext = true
	}},
	{"vllm-0.23", func(c *Config) {
		vllm(c)
		c.ReserveFullISL = true
		c.Rules.CountFailedLookups = true
		c.Rules.VictimSkipsNext = true
	}},
	{"vllm-2026-08", func(c *Config) {
		vllm(c)
		c.ReserveFullISL = true
		c.Rules.PlainBlocksFirst = true
	}},
	// The order of vLLM with the admission rules of the article that the project
	// starts from.
	{"article", func(c *Config) {
		c.BlockSize = 16
		c.MaxNumSeqs = 64
		c.MaxNumBatchedTokens = 8192
		c.EnableChunkedPrefill = true
		c.ReserveFullISL = true
		c.Watermark = 0.01
	}},
}

// vllm sets what all vLLM releases from 0.16 on have in common.
func vllm(c *Config) {
	c.BlockSize = 16
	c.MaxNumSeqs = 1024
	c.MaxNumBatchedTokens = 8192
	c.EnablePrefixCaching = true
	c.EnableChunkedPrefill = true
	c.AsyncScheduling = true
	c.Rules.NullBlock = true
	c.Rules.FirstTiedLoses = true
}

// ConfigProfiles names the profiles of NewConfig.
func ConfigProfiles() []string {
	names := make([]string, len(releases))
	for i, p := range releases {
		names[i] = p.name
	}
	return names
}

// NewConfig returns the configuration that a named profile has by default. What belongs
// to the model and the hardware is left to be filled in: NumBlocks and
// MaxModelLen.
func NewConfig(profile string) (Config, error) {
	for _, p := range releases {
		if p.name == profile {
			var c Config
			p.apply(&c)
			return c, nil
		}
	}
	return Config{}, fmt.Errorf("scheduler: no profile %q, there are %s", profile, strings.Join(ConfigProfiles(), ", "))
}

// Usable is how many blocks sequences can use, of those the memory holds.
func (r Rules) Usable(blocks int) int {
	if r.NullBlock {
		return blocks - 1
	}
	return blocks
}
