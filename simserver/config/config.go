// Package config reads models.yml: the file's bytes go in, plain values come
// out, checked so far that whoever builds a model from them need not check
// again. It must not know what is built from them: no generator, no engine, and
// no built-in profile. A profile is only a name here, and what the file says
// beside it are overrides; whoever resolves it puts Where before an error.
//
// Every error names the file, the line and the field, and says what would be
// right; all errors of a file are reported at once.
package config

import (
	_ "embed"
	"fmt"
	"os"
	"time"
)

// Names of engines and tokenizers, as models.yml spells them.
const (
	EngineInstant   = "instant"
	EngineFixedRate = "fixed_rate"
	EngineScheduler = "scheduler"
	TokenizerRegex  = "regex"
	TokenizerCL100K = "cl100k"
	TokenizerO200K  = "o200k"
)

// Config is a whole models.yml.
type Config struct {
	// Models has at least one model; no two share a name.
	Models []Model
	// TimeScale is how fast the simulated timeline runs beside the wall clock: 2 is
	// twice as fast. It is above 0.
	TimeScale float64
}

// Names of routes, as models.yml spells them.
const (
	RouteRoundRobin     = "round_robin"
	RouteLeastLoaded    = "least_loaded"
	RoutePrefixAffinity = "prefix_affinity"
)

// Model is one model and how it is timed.
type Model struct {
	// Where says where the model stands, as "models.yml:12: models[0]": what an
	// error about it starts with.
	Where string
	Name  string
	// ContextLength bounds prompt and answer together, in tokens.
	ContextLength int
	Tokenizer     string
	// SplitCharacters lets the text of an answer's token end inside a character.
	SplitCharacters  bool
	Engine           string
	TemplateOverhead TemplateOverhead
	// Replicas is how many engines share the model's requests, 1 or more; Route is
	// how one is chosen for each.
	Replicas int
	Route    string
	// FixedRate is set where Engine is EngineFixedRate.
	FixedRate FixedRate
	// Scheduler is set where Engine is EngineScheduler.
	Scheduler Scheduler
}

// TemplateOverhead is how many tokens a chat template adds to a prompt; nil: the
// file does not say, and it is what is usual for the tokenizer.
type TemplateOverhead struct{ TokensPerMessage, TokensPerRequest *int }

// FixedRate times a request as if it were alone: its first token is due
// Overhead + prompt tokens ÷ PrefillTokensPerSecond after its arrival, each
// further one ITL later.
type FixedRate struct {
	Overhead               time.Duration
	PrefillTokensPerSecond float64
	ITL                    time.Duration
}

// Load reads a models.yml.
func Load(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the models file: %w", err)
	}
	return Parse(path, data)
}

//go:embed models.yml
var defaultModels []byte

// Default returns the configuration that is built in: the models
// qwen-mock-batched, sim-fixed and sim-instant.
func Default() *Config {
	c, err := Parse("built-in models.yml", defaultModels)
	if err != nil {
		// The file is part of the program, and a test parses it.
		panic(err)
	}
	return c
}
