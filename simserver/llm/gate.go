package llm

import (
	"runtime"

	"llmsim-bench/simserver/plan"
)

// shortText is how many bytes a text may have to be worked on at once: it takes
// less than a millisecond.
const shortText = 16 << 10

// gate lets only so many pieces of long work go on at once, so that a core is left
// for the answers that are being written, as far as there are several. Whoever
// waits, waits in line. Long work never begins other long work, so that none
// waits for itself.
type gate chan struct{}

// longWork is the gate of all generators and schemas.
var longWork = newGate(runtime.GOMAXPROCS(0) - 1)

// newGate lets n pieces go on at once, at least one.
func newGate(n int) gate { return make(gate, max(1, n)) }

// text begins work on a text of so many bytes, to be ended with what it returns;
// for a short one it does nothing.
func (g gate) text(bytes int) (entered bool) {
	if bytes <= shortText {
		return false
	}
	return g.enter()
}

// enter begins long work, when its turn comes. It returns true, for end.
func (g gate) enter() bool {
	g <- struct{}{}
	return true
}

func (g gate) end(entered bool) {
	if entered {
		<-g
	}
}

// pause ends a slice of long work: it goes on after what waits in line, and after
// what the processor has to do.
func (g gate) pause(entered bool) {
	if entered {
		<-g
		runtime.Gosched()
		g <- struct{}{}
	}
}

// gatedTokenizer is a tokenizer whose work on long texts goes through a gate.
type gatedTokenizer struct {
	Tokenizer
	gate gate
	// raw makes every token's text its own bytes.
	raw bool
}

// Count implements Tokenizer.
func (t gatedTokenizer) Count(text string) int {
	defer t.gate.end(t.gate.text(len(text)))
	return t.Tokenizer.Count(text)
}

// AppendIDs implements Tokenizer.
func (t gatedTokenizer) AppendIDs(dst []plan.TokenID, text string) []plan.TokenID {
	defer t.gate.end(t.gate.text(len(text)))
	return t.Tokenizer.AppendIDs(dst, text)
}

// AppendTokens implements Tokenizer.
func (t gatedTokenizer) AppendTokens(dst []plan.Token, text string, raw bool) []plan.Token {
	defer t.gate.end(t.gate.text(len(text)))
	return t.Tokenizer.AppendTokens(dst, text, raw || t.raw)
}
