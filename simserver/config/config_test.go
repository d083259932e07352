package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDefault(t *testing.T) {
	want := &Config{Models: []Model{
		{
			Name: "sim-fixed", ContextLength: 32768, Tokenizer: TokenizerRegex, Engine: EngineFixedRate,
			FixedRate: FixedRate{Overhead: 2 * time.Millisecond, PrefillTokensPerSecond: 100_000, ITL: 4 * time.Millisecond},
		},
		{Name: "sim-instant", ContextLength: 32768, Tokenizer: TokenizerRegex, Engine: EngineInstant},
	}}
	if got := Default(); !reflect.DeepEqual(got, want) {
		t.Errorf("Default() = %+v, want %+v", got, want)
	}
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
	want := &Config{Models: []Model{
		{
			Name: "org/model-1", ContextLength: 4096, Tokenizer: TokenizerRegex, Engine: EngineFixedRate,
			TemplateOverhead: TemplateOverhead{TokensPerMessage: 4, TokensPerRequest: 3},
			FixedRate:        FixedRate{Overhead: 1, PrefillTokensPerSecond: 1000, ITL: 16_670_000},
		},
		{
			Name: "half", ContextLength: 1, Tokenizer: TokenizerRegex, Engine: EngineInstant,
			TemplateOverhead: TemplateOverhead{TokensPerRequest: 3},
		},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %+v, want %+v", got, want)
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
	if c, err := Load(path); err != nil || !reflect.DeepEqual(c, Default()) {
		t.Errorf("Load = %+v, %v, want the default", c, err)
	}
	if err := os.WriteFile(path, []byte("modles: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.HasPrefix(err.Error(), path+":1: modles: unknown key") {
		t.Errorf("Load of a bad file: %v, want an error that starts with its path and line", err)
	}
}
