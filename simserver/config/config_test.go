package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDefault(t *testing.T) {
	wantConfig(t, Default(), &Config{TimeScale: 1, Models: []Model{
		{
			Where: "built-in models.yml:12: models[0]",
			Name:  "qwen-mock-batched", ContextLength: 32768, Tokenizer: TokenizerRegex, Replicas: 1, Route: RouteRoundRobin, Engine: EngineScheduler,
			Scheduler: articleScheduler("built-in models.yml:4: hardware.h100-80gb"),
		},
		{
			Where: "built-in models.yml:36: models[1]",
			Name:  "sim-fixed", ContextLength: 32768, Tokenizer: TokenizerRegex, Replicas: 1, Route: RouteRoundRobin, Engine: EngineFixedRate,
			FixedRate: FixedRate{Overhead: 2 * time.Millisecond, PrefillTokensPerSecond: 100_000, ITL: 4 * time.Millisecond},
		},
		{
			Where: "built-in models.yml:46: models[2]",
			Name:  "sim-instant", ContextLength: 32768, Tokenizer: TokenizerRegex, Replicas: 1, Route: RouteRoundRobin, Engine: EngineInstant,
		},
	}})
}

// wantConfig compares all values, those behind pointers too.
func wantConfig(t *testing.T, got, want *Config) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", dump(got), dump(want))
	}
}

// dump shows the values behind pointers.
func dump(c *Config) string {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestParseEveryKey(t *testing.T) {
	got, err := Parse("models.yml", []byte(`
models:
  - &anchor   # an anchor that nothing refers to does no harm
    name: org/model-1
    context_length: 4_096
    tokenizer: "regex"
    engine: fixed_rate
    template_overhead: {tokens_per_message: 4, tokens_per_request: 3}
    latency: {overhead_ms: 0.0000014, prefill_tokens_per_second: 1e3, itl_ms: 16.67}
  - {name: half, context_length: 1, tokenizer: regex, engine: instant, template_overhead: {tokens_per_request: 3}}
`))
	if err != nil {
		t.Fatal(err)
	}
	wantConfig(t, got, &Config{TimeScale: 1, Models: []Model{
		{
			Where: "models.yml:3: models[0]",
			Name:  "org/model-1", ContextLength: 4096, Tokenizer: TokenizerRegex, Replicas: 1, Route: RouteRoundRobin, Engine: EngineFixedRate,
			TemplateOverhead: TemplateOverhead{TokensPerMessage: new(4), TokensPerRequest: new(3)},
			FixedRate:        FixedRate{Overhead: 1, PrefillTokensPerSecond: 1000, ITL: 16_670_000},
		},
		{
			Where: "models.yml:10: models[1]",
			Name:  "half", ContextLength: 1, Tokenizer: TokenizerRegex, Replicas: 1, Route: RouteRoundRobin, Engine: EngineInstant,
			TemplateOverhead: TemplateOverhead{TokensPerRequest: new(3)},
		},
	}})
}

func TestEveryTokenizer(t *testing.T) {
	for _, name := range []string{TokenizerRegex, TokenizerCL100K, TokenizerO200K} {
		got, err := Parse("m.yml", []byte("models: [{name: m, context_length: 1, tokenizer: "+name+", engine: instant}]"))
		if err != nil || got.Models[0].Tokenizer != name {
			t.Errorf("%s: got %s, %v", name, dump(got), err)
		}
	}
}

func TestSplitCharacters(t *testing.T) {
	for value, want := range map[string]bool{"": false, "split_characters: false, ": false, "split_characters: true, ": true} {
		got, err := Parse("m.yml", []byte("models: [{name: m, context_length: 1, tokenizer: o200k, "+value+"engine: instant}]"))
		if err != nil || got.Models[0].SplitCharacters != want {
			t.Errorf("%q: got %s, %v", value, dump(got), err)
		}
	}
	_, err := Parse("m.yml", []byte("models: [{name: m, context_length: 1, tokenizer: o200k, split_characters: 1, engine: instant}]"))
	if want := "m.yml:1: models[0].split_characters: is the number 1, must be true or false"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestReplicasAndTimeScale(t *testing.T) {
	got, err := Parse("models.yml", []byte(`
time_scale: 0.5
models:
  - {name: a, context_length: 1, tokenizer: regex, engine: instant, replicas: 3}
  - {name: b, context_length: 1, tokenizer: regex, engine: instant, replicas: 256, route: prefix_affinity}
  - {name: c, context_length: 1, tokenizer: regex, engine: instant, replicas: 1, route: least_loaded}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got.TimeScale != 0.5 {
		t.Errorf("time scale %v, want 0.5", got.TimeScale)
	}
	for i, want := range []struct {
		replicas int
		route    string
	}{{3, RouteRoundRobin}, {256, RoutePrefixAffinity}, {1, RouteLeastLoaded}} {
		if m := got.Models[i]; m.Replicas != want.replicas || m.Route != want.route {
			t.Errorf("model %s: %d replicas, route %s; want %+v", m.Name, m.Replicas, m.Route, want)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.yml")
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Load of no file: %v, want an error that names %s", err, path)
	}
	if err := os.WriteFile(path, defaultModels, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Parse(path, defaultModels)
	if err != nil {
		t.Fatal(err)
	}
	wantConfig(t, got, want)
	if err := os.WriteFile(path, []byte("modles: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.HasPrefix(err.Error(), path+":1: modles: unknown key") {
		t.Errorf("Load of a bad file: %v, want an error that starts with its path and line", err)
	}
}
