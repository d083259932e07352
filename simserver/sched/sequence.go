package sched

// sequence is a request in the scheduler's hands: its tokens so far, and its
// blocks. Token counts are of prompt and output together.
type sequence struct {
	id ID
	// computed counts the leading tokens that have KV entries, or are being given
	// them by a step in flight; known all tokens seen; inFlight the outputs that a
	// step in flight will add.
	computed, known, inFlight int32
	// room is how many tokens the table's blocks hold; full how many must be known for
	// the next key.
	room, full int32
	// prefill is how many tokens were known at the last admission.
	prefill int32
	// prompt is the prompt's length; end where the sequence ends; limit where it
	// would have to at the latest, as far as can be known before it does.
	prompt, end, limit int32
	finish             FinishReason // why it ends at end
	running            bool         // in running; else in the waiting queue
	ended              bool
	preempted          bool // ever

	// table lists the blocks, in the order of the tokens in them; keys the keys of
	// all full blocks' worth of known tokens. The first registered blocks of the
	// table are in the prefix index.
	table      []int32
	keys       []blockKey
	registered int
	// chain hashes the known tokens up to outputs[:hashed]. Without prefix caching
	// there are no keys and no chain.
	chain   chain
	hashed  int
	outputs []uint32

	priority  int
	arrivalNS int64
	name      string
	added     uint64 // how many were added before
	// before and behind link the FCFS queue.
	before, behind *sequence
}

// sequences hands out sequences and their ids, and uses ended ones again.
type sequences struct {
	bySlot []*sequence
	idle   []uint32
}

// get returns the sequence of an id that has not ended, or nil.
func (s *sequences) get(id ID) *sequence {
	if int(id.slot) >= len(s.bySlot) {
		return nil
	}
	if q := s.bySlot[id.slot]; q.id == id && !q.ended {
		return q
	}
	return nil
}

// start returns a sequence that is blank but for its id and its slices' room.
func (s *sequences) start() *sequence {
	if len(s.idle) == 0 {
		s.idle = append(s.idle, uint32(len(s.bySlot)))
		s.bySlot = append(s.bySlot, &sequence{id: ID{slot: uint32(len(s.bySlot))}})
	}
	slot := s.idle[len(s.idle)-1]
	s.idle = s.idle[:len(s.idle)-1]
	q := s.bySlot[slot]
	*q = sequence{
		id:    ID{slot: slot, generation: q.id.generation + 1},
		table: q.table[:0],
		keys:  q.keys[:0],
	}
	return q
}

// end takes back a sequence that nothing refers to any more.
func (s *sequences) end(q *sequence) {
	q.ended = true
	q.outputs = nil
	s.idle = append(s.idle, q.id.slot)
}

// hashPrompt makes the keys of the prompt's full blocks.
func (q *sequence) hashPrompt(prompt []uint32, blockSize int) {
	c := chainSeed
	for len(prompt) >= blockSize {
		c = c.add(prompt[:blockSize])
		q.keys = append(q.keys, c.key())
		prompt = prompt[blockSize:]
	}
	q.chain = c.add(prompt)
	q.full = int32((len(q.keys) + 1) * blockSize)
}

// hashOutputs makes the key of the block that the last known token filled.
func (q *sequence) hashOutputs() {
	known := int(q.known - q.prompt)
	q.chain = q.chain.add(q.outputs[q.hashed:known])
	q.hashed = known
	q.keys = append(q.keys, q.chain.key())
}
