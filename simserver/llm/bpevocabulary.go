package llm

import (
	"hash/maphash"
	"math/bits"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"

	"llmsim-bench/simserver/plan"
)

// cl100k and o200k are OpenAI's encodings cl100k_base and o200k_base, each
// unpacked when first asked for.
var (
	cl100k = sync.OnceValue(func() *bpe {
		return &bpe{vocabulary: unpack(codec.NewCl100kBase()), pieceEnd: cl100kEnd}
	})
	o200k = sync.OnceValue(func() *bpe {
		return &bpe{vocabulary: unpack(codec.NewO200kBase()), pieceEnd: o200kEnd}
	})
)

// tokenTable is a set of tokens numbered from 0. It holds no pointers to them,
// so that the garbage collector has nothing to follow.
type tokenTable struct {
	text string   // all tokens
	ends []uint32 // of each token in text, after a 0
	// slots is a hash table of ids + 1; 0: free. Its size is a power of two, at
	// least twice the number of tokens.
	slots   []uint32
	seed    maphash.Seed
	longest int               // token, in bytes
	bytes   [256]plan.TokenID // the token of each single byte
}

// unpack returns a codec's tokens. They are those from 0 to the first id without
// one: special tokens have ids past a gap, and text never makes them.
func unpack(c *codec.Codec) *tokenTable {
	v := &tokenTable{ends: []uint32{0}, seed: maphash.MakeSeed()}
	var text []byte
	for id := uint(0); ; id++ {
		token, err := c.Decode([]uint{id})
		if err != nil {
			break
		}
		text = append(text, token...)
		v.ends = append(v.ends, uint32(len(text)))
		v.longest = max(v.longest, len(token))
		if len(token) == 1 {
			v.bytes[token[0]] = plan.TokenID(id)
		}
	}
	v.text = string(text)
	v.slots = make([]uint32, 1<<bits.Len(uint(2*v.size())))
	for id := range v.size() {
		slot := v.hash(v.token(id))
		for v.slots[slot] != 0 {
			slot = v.after(slot)
		}
		v.slots[slot] = uint32(id) + 1
	}
	return v
}

func (v *tokenTable) size() int { return len(v.ends) - 1 }

func (v *tokenTable) token(id int) string { return v.text[v.ends[id]:v.ends[id+1]] }

// lookup returns the id of the token that is s.
func (v *tokenTable) lookup(s string) (id plan.TokenID, ok bool) {
	if len(s) > v.longest {
		return 0, false
	}
	for slot := v.hash(s); v.slots[slot] != 0; slot = v.after(slot) {
		if id := v.slots[slot] - 1; v.token(int(id)) == s {
			return plan.TokenID(id), true
		}
	}
	return 0, false
}

func (v *tokenTable) hash(s string) int {
	return int(maphash.String(v.seed, s) & uint64(len(v.slots)-1))
}

func (v *tokenTable) after(slot int) int { return (slot + 1) & (len(v.slots) - 1) }
