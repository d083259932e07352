package workload

// Trace makes the requests of a recording: prompts of the recorded lengths that
// start alike where the recorded ones did. It is safe for concurrent use.
type Trace struct {
	words     words
	recording *Recording
	overhead  int
	firstID   int64
}

// NewTrace returns the requests of a recording for a server that c describes.
// Request firstID is the first of them; after the last one, the first comes again.
//
// A prompt has the recorded length by the server's own count. Where that leaves
// no room for a word beside what the server adds, it is raised to the least that
// does: Raised tells how often.
func NewTrace(seed uint64, c Calibration, r *Recording, firstID int64) (*Trace, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Trace{words: words{seed, c.Vocabulary}, recording: r, overhead: c.Overhead, firstID: firstID}, nil
}

// Raised returns how many prompts of the recording were too short for the server.
func (t *Trace) Raised() int {
	n := 0
	for _, q := range t.recording.requests {
		if q.prompt <= t.overhead {
			n++
		}
	}
	return n
}

// request returns what was recorded of request i.
func (t *Trace) request(i int64) *request {
	n := int64(len(t.recording.requests))
	k := (i - t.firstID) % n
	if k < 0 {
		k += n
	}
	return &t.recording.requests[k]
}

// AppendPrompt appends the text of prompt i to dst. Each block of words depends on
// the seed and its recorded id alone, so that a server's prefix cache finds what
// was shared when the trace was recorded; the words past the blocks depend on the
// seed and i. The prompt is shorter than the recorded one by what the server adds
// to it, and lacks those words at its end.
func (t *Trace) AppendPrompt(dst []byte, i int64) []byte {
	left := t.PromptTokens(i) - t.overhead - 1
	dst = append(dst, opening...)
	room := t.recording.blockTokens - 1 // the opening word is one of the first block
	for _, id := range t.request(i).blocks {
		n := min(left, room)
		block := t.words.source(blockStream, id)
		dst = t.words.append(dst, &block, n)
		left -= n
		room = t.recording.blockTokens
	}
	own := t.words.source(promptStream, i)
	return t.words.append(dst, &own, left)
}

// PromptTokens returns how many tokens prompt i was made to have.
func (t *Trace) PromptTokens(i int64) int { return max(t.request(i).prompt, t.overhead+1) }

// OutputTokens returns how many tokens request i asks for.
func (t *Trace) OutputTokens(i int64) int { return t.request(i).output }
