package sched

// chain is the running hash of a sequence's tokens, from its first on. The key of
// a full block is drawn from it where the block ends, so a key stands for all
// tokens up to there, as a prefix cache needs it, and no token is hashed twice.
//
// Keys have 64 bits. For one token add is a bijection of the chain: sequences
// that differ can only meet in the very token that differs, with a chance of
// 2⁻⁶⁴ each. A wrong hit needs a looked-up key that equals the key of another
// block of the cache: a billion lookups against a million cached blocks see one
// with a chance of 10¹⁵ ÷ 2⁶⁴, 1 in 18,000. No tokens are chosen against it here.
type chain uint64

// chainSeed is where every sequence begins.
const chainSeed chain = 0x9e3779b97f4a7c15

// add appends tokens. The mixing is that of MurmurHash3's fmix64, a round of
// multiplication and shift a token.
func (c chain) add(tokens []uint32) chain {
	h := uint64(c)
	for _, t := range tokens {
		h ^= (uint64(t) + 1) * 0xff51afd7ed558ccd
		h *= 0xc4ceb9fe1a85ec53
		h ^= h >> 32
	}
	return chain(h)
}

// blockKey stands for the content of a full block and all before it.
type blockKey uint64

// key is the key of the block that ends here.
func (c chain) key() blockKey {
	h := uint64(c)
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return blockKey(h)
}
