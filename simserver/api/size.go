package api

import (
	"strings"

	"llmsim-bench/simserver/plan"
)

// maxAnswerBytes bounds the estimated size of one request's answer, which is held in
// memory several times over while it is rendered. The largest batch of embeddings
// that OpenAI takes fits: 2,048 of 1,536 numbers.
const maxAnswerBytes = 40 << 20

// What an answer is estimated to consist of, in bytes.
const (
	tokenBytes       = 24 // in the plan, beside its text
	alternativeBytes = 72 // of a token's logprobs: its own entry, or an alternative
	byteListBytes    = 5  // for a byte of text in logprobs, which is spelled as a number too
	numberBytes      = 13 // of an embedding
	base64Bytes      = 6  // such a number in base64
)

// answerSize adds up the estimated size of the choices of one order.
type answerSize struct {
	order         *order
	tokens, bytes int
}

// take adds a choice, or refuses it with the rest of the request.
func (s *answerSize) take(c *plan.Choice) error {
	for i := range c.Tokens {
		t := &c.Tokens[i]
		s.bytes += tokenBytes + len(t.Text)
		if s.order.logprobs() && t.Kind == plan.Content {
			s.bytes += (1+s.order.alternatives)*alternativeBytes + min(1+s.order.alternatives, 2)*len(t.Text)*byteListBytes
		}
	}
	s.tokens += len(c.Tokens)
	if s.bytes <= maxAnswerBytes {
		return nil
	}
	fields := s.fields()
	fit := int(float64(s.tokens) * maxAnswerBytes / float64(s.bytes))
	return badField(fields[0], "the answer would take more than %d MiB: with such tokens, and %d alternatives to each, %d tokens of all choices fit; lower %s",
		maxAnswerBytes>>20, max(0, s.order.alternatives), fit, strings.Join(fields, ", "))
}

// fields are the parameters that make an answer large, of which the first does most.
func (s *answerSize) fields() (names []string) {
	switch {
	case s.order.alternatives > 0:
		names = append(names, s.order.form.names().alternatives)
	case s.order.logprobs():
		names = append(names, "logprobs")
	}
	if s.order.request.N > 1 {
		names = append(names, "n")
	}
	return append(names, "max_tokens")
}

// checkSize refuses more numbers than fit an answer.
func (e *embeddings) checkSize() error {
	number, format := numberBytes, "float"
	if e.base64 {
		number, format = base64Bytes, "base64"
	}
	one := e.dimensions * number
	if e.inputs.len() <= maxAnswerBytes/one {
		return nil
	}
	return badField("input", "%d texts of %d dimensions as %s would take more than %d MiB: %d of them fit, or %d dimensions; lower input or dimensions",
		e.inputs.len(), e.dimensions, format, maxAnswerBytes>>20, maxAnswerBytes/one, maxAnswerBytes/(e.inputs.len()*number))
}
