package config

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"
)

// Limits of what a model may say. With those of the fixed rate they keep the
// last token of the longest answer (prompt and answer of maxContextLength tokens
// each) within int64 nanoseconds, so that the engine need not think of overflow.
const (
	maxContextLength  = 1 << 24
	maxTemplateTokens = 10_000
	maxReplicas       = 256 // each is a thread
	minTimeScale      = 0.001
	maxTimeScale      = 1000
	maxOverheadMS     = 3_600_000 // an hour
	maxITLMS          = 60_000    // a minute
	minPrefillRate    = 0.01      // tokens/s
	maxPrefillRate    = 1e12      // tokens/s
)

// Parse reads the bytes of a models.yml; name is what errors call the file.
func Parse(name string, data []byte) (*Config, error) {
	r := &reader{file: name}
	c := &Config{TimeScale: 1}
	if root := r.document(data, "a list called models"); root != nil {
		c.read(r, root)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Config) read(r *reader, root *yaml.Node) {
	keys := []string{"hardware", "models", "time_scale"}
	file := r.section(root, "", keys)
	if file == nil {
		return
	}
	file.allow("", keys)
	if scale := file.optionalNumber("time_scale", minTimeScale, maxTimeScale); scale != nil {
		c.TimeScale = *scale
	}
	c.Models = readModels(r, file)
}

func readModels(r *reader, file *section) (models []Model) {
	hardware := readHardware(file)
	firstLine := make(map[string]int) // of each name
	for i, node := range file.list("models", "a list of models") {
		m := readModel(r, node, fmt.Sprintf("models[%d]", i), hardware)
		models = append(models, m)
		if m.Name == "" {
			continue // reported already
		}
		if line, used := firstLine[m.Name]; used {
			r.report(node.Line, fmt.Sprintf("models[%d].name", i),
				"%s is the name of the model on line %d already, must be unique", m.Name, line)
			continue
		}
		firstLine[m.Name] = node.Line
	}
	return models
}

// modelKeys are the keys of every model, whatever its engine.
var modelKeys = []string{"name", "context_length", "tokenizer", "split_characters", "engine", "template_overhead", "replicas", "route"}

// modelReader reads the section of one model.
type modelReader struct {
	*section
	hardware map[string]Hardware // of the file, by name; nil: not readable, and reported
	model    Model
}

func readModel(r *reader, node *yaml.Node, path string, hardware map[string]Hardware) Model {
	s := r.section(node, path, modelKeys)
	if s == nil {
		return Model{}
	}
	m := &modelReader{section: s, hardware: hardware}
	m.model = Model{
		Where:         r.where(node.Line, path),
		Name:          readName(s),
		ContextLength: s.integer("context_length", 1, maxContextLength),
		Tokenizer:     s.oneOf("tokenizer", []string{TokenizerRegex, TokenizerCL100K, TokenizerO200K}),
		Engine:        s.oneOf("engine", engineNames()),
	}
	if s.has("template_overhead") {
		m.model.TemplateOverhead = readTemplateOverhead(s)
	}
	if split := s.optionalBool("split_characters"); split != nil {
		m.model.SplitCharacters = *split
	}
	m.replicas()
	m.engineKeys()
	return m.model
}

func (m *modelReader) replicas() {
	m.model.Replicas, m.model.Route = 1, RouteRoundRobin
	if n := m.optionalInteger("replicas", 1, maxReplicas); n != nil {
		m.model.Replicas = *n
	}
	if !m.has("route") {
		return
	}
	m.model.Route = m.oneOf("route", []string{RouteRoundRobin, RouteLeastLoaded, RoutePrefixAffinity})
	if !m.has("replicas") {
		m.refuse("route", "has no effect on one replica, must be left out or replicas given beside it")
	}
}

// readName reads a name that can stand in a URL's path and on a line of text.
func readName(s *section) string {
	name := s.text("name", "the model's name")
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		s.refuse("name", "%q is not possible, must be without spaces and control characters", name)
		return ""
	}
	return name
}

func readTemplateOverhead(s *section) (o TemplateOverhead) {
	keys := []string{"tokens_per_message", "tokens_per_request"}
	t := s.subsection("template_overhead", keys)
	if t == nil {
		return o
	}
	t.allow("", keys)
	o.TokensPerMessage = t.optionalInteger("tokens_per_message", 0, maxTemplateTokens)
	o.TokensPerRequest = t.optionalInteger("tokens_per_request", 0, maxTemplateTokens)
	return o
}

func (m *modelReader) fixedRateLatency() {
	keys := []string{"overhead_ms", "prefill_tokens_per_second", "itl_ms"}
	l := m.subsection("latency", keys)
	if l == nil {
		return
	}
	l.allow("", keys)
	m.model.FixedRate = FixedRate{
		Overhead:               duration(l.number("overhead_ms", 0, maxOverheadMS), time.Millisecond),
		PrefillTokensPerSecond: l.number("prefill_tokens_per_second", minPrefillRate, maxPrefillRate),
		ITL:                    duration(l.number("itl_ms", 0, maxITLMS), time.Millisecond),
	}
}
