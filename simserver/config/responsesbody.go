package config

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// The keys of what may hold an answer.
var (
	answerKeys  = []string{"content", "synthetic", "reasoning", "tool_calls", "finish_reason", "error", "replay"}
	defaultKeys = append([]string{"variants"}, answerKeys...)
	entryKeys   = append([]string{"id", "match"}, defaultKeys...)
)

// bodies reads the answers of an entry, or of the default.
func (s *section) bodies(known scope) (bodies []Body) {
	if !s.has("variants") {
		return []Body{s.body(known)}
	}
	for _, key := range []string{"content", "synthetic", "error", "replay"} {
		if s.has(key) {
			s.refuse(key, "stands beside variants on line %d, must be one of them", s.values["variants"].Line)
		}
	}
	shared := s.answer(known)
	for i, node := range s.list("variants", "a list of texts or answers") {
		bodies = append(bodies, s.variant(node, i, shared, known))
	}
	return bodies
}

// variant reads one of several answers: a text, or a section. What a section does
// not say of shared is taken from there.
func (s *section) variant(node *yaml.Node, i int, shared Body, known scope) Body {
	path := fmt.Sprintf("%s[%d]", s.pathOf("variants"), i)
	if node.Kind != yaml.MappingNode {
		text, ok := s.reader.plainText(node, path, "a text or a section with the keys "+strings.Join(answerKeys, ", "))
		if ok {
			shared.Content = Text{Template: s.reader.template(node, path, text, known)}
		}
		return shared
	}
	v := s.reader.section(node, path, answerKeys)
	v.allow("", answerKeys)
	if !v.has("tool_calls") && s.has("tool_calls") && !v.has("content") && !v.has("synthetic") && !v.has("error") && !v.has("replay") {
		// The shared calls are an answer.
		b := v.answer(known)
		b.ToolCalls = shared.ToolCalls
		return b.filledFrom(shared, v)
	}
	b := v.body(known)
	if b.Error != nil || b.Replay != nil {
		return b
	}
	return b.filledFrom(shared, v)
}

// filledFrom takes from shared what the section v does not give.
func (b Body) filledFrom(shared Body, v *section) Body {
	if !v.has("reasoning") {
		b.Reasoning = shared.Reasoning
	}
	if !v.has("tool_calls") {
		b.ToolCalls = shared.ToolCalls
	}
	if !v.has("finish_reason") {
		b.FinishReason = shared.FinishReason
	}
	return b
}

// body reads one answer, which must say something.
func (s *section) body(known scope) Body {
	for _, alone := range []string{"error", "replay"} {
		if !s.has(alone) {
			continue
		}
		for _, key := range answerKeys {
			if key != alone && s.has(key) {
				s.refuse(key, "has no effect beside %s, must be left out", alone)
			}
		}
		if alone == "replay" {
			return Body{Replay: s.replay()}
		}
		return Body{Error: s.scriptedError(known)}
	}
	switch {
	case s.has("content") && s.has("synthetic"):
		s.refuse("synthetic", "stands beside content on line %d, must be one of them", s.values["content"].Line)
	case !s.has("content") && !s.has("synthetic") && !s.has("tool_calls"):
		want := "content, synthetic, tool_calls, error or replay"
		if !strings.Contains(s.path, "variants") {
			want = "content, variants, synthetic, tool_calls, error or replay"
		}
		s.reader.report(s.line, s.path, "has no answer, must have %s", want)
	}
	return s.answer(known)
}

// answer reads what there is of an answer that is no error.
func (s *section) answer(known scope) (b Body) {
	if s.has("content") {
		b.Content.Template = s.templateAt("content", known)
	}
	if syn := s.optionalSection("synthetic", []string{"tokens"}); syn != nil {
		b.Content = syn.tokens()
	}
	if node := s.values["reasoning"]; node != nil {
		if node.Kind == yaml.MappingNode {
			b.Reasoning = s.optionalSection("reasoning", []string{"tokens"}).tokens()
		} else {
			b.Reasoning.Template = s.templateAt("reasoning", known)
		}
	}
	if s.has("finish_reason") {
		b.FinishReason = s.oneOf("finish_reason", finishReasons)
	}
	if s.has("tool_calls") {
		for i, node := range s.list("tool_calls", "a list of calls") {
			b.ToolCalls = append(b.ToolCalls, s.toolCall(node, i, known))
		}
	}
	return b
}

// tokens reads how long filler is: a number, or the least and the most.
func (s *section) tokens() (t Text) {
	const want = "a number of tokens, or a list of the least and the most"
	node := s.value("tokens", want)
	switch {
	case node == nil:
	case node.Kind == yaml.SequenceNode && len(node.Content) != 2:
		s.refuse("tokens", "the list has %d items, must be %s", len(node.Content), want)
	case node.Kind == yaml.SequenceNode:
		t.MinTokens = s.item("tokens", 0).integer("tokens[0]", 1, maxScriptedTokens)
		t.MaxTokens = s.item("tokens", 1).integer("tokens[1]", 1, maxScriptedTokens)
		if t.MinTokens > t.MaxTokens && t.MaxTokens > 0 {
			s.refuse("tokens", "%d to %d is not possible, must be the least first", t.MinTokens, t.MaxTokens)
		}
	case node.Kind == yaml.ScalarNode:
		t.MinTokens = s.integer("tokens", 1, maxScriptedTokens)
		t.MaxTokens = t.MinTokens
	default:
		s.refuse("tokens", "%s, must be %s", describe(node), want)
	}
	return t
}

// item stands for the i-th item of the list under key, as a key of its own called
// key[i].
func (s *section) item(key string, i int) *section {
	return &section{
		reader: s.reader, path: s.path, line: s.line,
		values: map[string]*yaml.Node{fmt.Sprintf("%s[%d]", key, i): s.values[key].Content[i]},
	}
}

// templateAt reads the template under key, which is there.
func (s *section) templateAt(key string, known scope) Template {
	node, path := s.values[key], s.pathOf(key)
	text, ok := s.reader.plainText(node, path, "a text")
	if !ok {
		return nil
	}
	return s.reader.template(node, path, text, known)
}

// template takes the text of a node apart and reports what is wrong with it.
func (r *reader) template(node *yaml.Node, path, text string, known scope) Template {
	t, problems := parseTemplate(text, known.check)
	for _, p := range problems {
		r.report(node.Line, path, "%s", p)
	}
	return t
}

func (s *section) scriptedError(known scope) *ScriptedError {
	keys := []string{"status", "message", "type", "code", "retry_after"}
	e := s.optionalSection("error", keys)
	if e == nil {
		return nil
	}
	scripted := &ScriptedError{
		Status: e.integer("status", minStatus, maxStatus),
		Type:   e.optionalText("type", "the type of an OpenAI error"),
		Code:   e.optionalText("code", "the code of an OpenAI error"),
	}
	if e.value("message", "what the error says") != nil {
		scripted.Message = e.templateAt("message", known)
	}
	if n := e.optionalInteger("retry_after", 1, maxRetryAfter); n != nil {
		scripted.RetryAfter = *n
	}
	return scripted
}
