package llm

import (
	"unicode/utf8"

	"llmsim-bench/simserver/plan"
)

// bpe is a byte-pair encoding: text is cut into pieces, words for the most part,
// and a piece that is no token itself is merged from its bytes, at each moment
// the leftmost of the pairs whose token has the lowest id.
//
// Bytes that are not valid UTF-8, of which the encodings say nothing, are tokens
// of one byte each.
type bpe struct {
	vocabulary *tokenTable
	// pieceEnd returns where the piece that starts at start ends.
	pieceEnd func(text string, start int) int
}

// Bounds of a piece, in bytes. Merging a piece up to shortPiece, which is longer
// than words are, allocates nothing. One past maxPiece, which no prose has, is
// cut there before it is merged: a run of whatever length costs a prompt bounded
// memory and linear time, for at most a few tokens that the encoding would cut
// elsewhere.
const (
	shortPiece = 128
	maxPiece   = 16 << 10
)

// each calls yield with the id and the end of each of text's tokens.
func (b *bpe) each(text string, yield func(id plan.TokenID, end int)) {
	var shortNodes [shortPiece]mergeNode
	var shortQueue [2 * shortPiece]mergeCandidate
	nodes, queue := shortNodes[:0], mergeQueue(shortQueue[:0])
	for start := 0; start < len(text); {
		pieceEnd := b.pieceEnd(text, start)
		for start < pieceEnd {
			end := pieceEnd
			if end-start > maxPiece {
				end = characterEnd(text, start+maxPiece)
			}
			piece := text[start:end]
			if id, ok := b.vocabulary.lookup(piece); ok {
				yield(id, end)
			} else {
				nodes, queue = b.vocabulary.merge(piece, nodes, queue)
				for i := 0; i < len(piece); {
					node := nodes[i]
					i = int(node.next)
					yield(node.id, start+i)
				}
			}
			start = end
		}
	}
}

// Count implements Tokenizer.
func (b *bpe) Count(text string) int {
	n := 0
	b.each(text, func(plan.TokenID, int) { n++ })
	return n
}

// AppendIDs implements Tokenizer.
func (b *bpe) AppendIDs(dst []plan.TokenID, text string) []plan.TokenID {
	b.each(text, func(id plan.TokenID, _ int) { dst = append(dst, id) })
	return dst
}

// AppendTokens implements Tokenizer.
func (b *bpe) AppendTokens(dst []plan.Token, text string, raw bool) []plan.Token {
	start := 0
	b.each(text, func(id plan.TokenID, end int) {
		if !raw {
			end = characterEnd(text, end)
		}
		dst = append(dst, plan.Token{ID: id, Text: text[start:end]})
		start = end
	})
	return dst
}

// characterEnd returns the last end of a character of text that is not past end.
func characterEnd(text string, end int) int {
	if end == len(text) || utf8.RuneStart(text[end]) {
		return end
	}
	for start := end - 1; start >= 0 && start > end-utf8.UTFMax; start-- {
		if !utf8.RuneStart(text[start]) {
			continue
		}
		if _, size := utf8.DecodeRuneInString(text[start:]); start+size > end {
			return start
		}
		break
	}
	return end
}
