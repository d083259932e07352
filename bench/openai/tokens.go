package openai

// minClumped is the least number of token-bearing events to be called clumped.
const minClumped = 10

// tokenLog collects token-bearing events of all choices and counts their tokens.
// The zero value is ready to use.
type tokenLog struct {
	events []loggedEvent
	usage  Usage
	// usageAt is how many events had come when usage came last; -1: it never did.
	usageAt int
	// running is the best count of tokens so far.
	running int
	// firstOutput is the first event that is not reasoning alone, -1 if none is.
	firstOutput int
	// latest is the first of the events at the end of which the read at hand ends,
	// so far: they came when its newest byte did.
	latest int
}

type loggedEvent struct {
	came   Received
	choice int
	// listed is how many ids or logprobs the event has, 0 for none.
	listed int
	// total is the usage's completion tokens with this event, -1 where it has none.
	total int
}

func (l *tokenLog) reset() { *l = tokenLog{events: l.events[:0], usageAt: -1, firstOutput: -1} }

// followed says that bytes came behind the latest events in the same read, which
// waited for its bytes since notBefore: when the events came is not known exactly.
func (l *tokenLog) followed(notBefore int64) {
	for ; l.latest < len(l.events); l.latest++ {
		l.events[l.latest].came.NotBefore = notBefore
	}
}

// settle says that another read begins.
func (l *tokenLog) settle() { l.latest = len(l.events) }

// add takes the token-bearing deltas and the usage of one event, which is the
// latest of the read that came.
func (l *tokenLog) add(c *Chunk, came Received) {
	total := -1
	// Where several choices share an event, its usage tells nothing of each.
	if c.UsageKnown && len(c.Deltas) == 1 {
		total = c.Usage.CompletionTokens
	}
	if came.At < came.Read { // else the instant is when it was read
		came.NotBefore = came.At
	}
	for i := range c.Deltas {
		d := &c.Deltas[i]
		if !d.TokenBearing() {
			continue
		}
		if d.Output && l.firstOutput < 0 {
			l.firstOutput = len(l.events)
		}
		l.events = append(l.events, loggedEvent{came: came, choice: d.Choice, listed: d.Tokens, total: total})
		l.running += max(d.Tokens, 1)
	}
	// Not every event that has usage says how long the prompt was.
	l.usage.PromptTokens = max(l.usage.PromptTokens, c.Usage.PromptTokens)
	l.usage.CachedTokens = max(l.usage.CachedTokens, c.Usage.CachedTokens)
	if c.UsageKnown {
		l.usage.CompletionTokens, l.usageAt = c.Usage.CompletionTokens, len(l.events)
		if len(l.events) > 0 {
			l.running = max(l.running, c.Usage.CompletionTokens)
		}
	}
}

// choices returns how many choices have spoken.
func (l *tokenLog) choices() int {
	seen := make(map[int]struct{}, 1)
	for i := range l.events {
		seen[l.events[i].choice] = struct{}{}
	}
	return len(seen)
}

// usageFinal reports whether the server's count covers every event.
func (l *tokenLog) usageFinal() bool { return l.usageAt >= 0 && l.usageAt == len(l.events) }

// outputTokens returns the tokens of all choices.
func (l *tokenLog) outputTokens() int {
	if l.usageFinal() {
		return l.usage.CompletionTokens
	}
	return len(l.events)
}

// firstChoice returns the events of the choice that spoke first, with the tokens
// in each, and whether those had to be spread evenly.
func (l *tokenLog) firstChoice() (events []TokenEvent, estimated bool) {
	if len(l.events) == 0 {
		return nil, false
	}
	tokens, estimated := l.counter()
	events = make([]TokenEvent, 0, len(l.events))
	for i, ev := range l.events {
		if ev.choice == l.events[0].choice {
			events = append(events, TokenEvent{Received: ev.came, Tokens: tokens(i)})
		}
	}
	return events, estimated
}

// counter returns the tokens of the event at an index, from the best source
// there is, and whether they are an even spread. Without the server's count an
// event is the unit, here as in outputTokens, so that the two agree.
func (l *tokenLog) counter() (tokens func(i int) float64, estimated bool) {
	n := l.outputTokens()
	switch {
	case l.usageFinal() && l.usageGrows():
		return func(i int) float64 {
			if i == 0 {
				return float64(l.events[0].total)
			}
			return float64(l.events[i].total - l.events[i-1].total)
		}, false
	case l.usageFinal() && l.allListed():
		return func(i int) float64 { return float64(l.events[i].listed) }, false
	case n == len(l.events):
		return func(int) float64 { return 1 }, false
	}
	each := float64(n) / float64(len(l.events))
	return func(int) float64 { return each }, true
}

// usageGrows reports whether every event came with a usage that never fell.
func (l *tokenLog) usageGrows() bool {
	before := 0
	for _, ev := range l.events {
		if ev.total < before { // -1 is below too
			return false
		}
		before = ev.total
	}
	return true
}

// allListed reports whether every event lists its tokens.
func (l *tokenLog) allListed() bool {
	for _, ev := range l.events {
		if ev.listed == 0 {
			return false
		}
	}
	return true
}

// clumped reports whether more than half of the events came with the one before.
func (l *tokenLog) clumped() bool {
	together := 0
	for i := 1; i < len(l.events); i++ {
		if l.events[i].came.At == l.events[i-1].came.At {
			together++
		}
	}
	return len(l.events) >= minClumped && 2*together > len(l.events)
}
