package workload

import (
	"slices"
	"strings"
	"testing"
)

// tokens counts a prompt as a server does whose tokenizer makes one token of each
// word, and whose template adds overhead.
func tokens(prompt []byte, overhead int) int {
	return overhead + strings.Count(string(prompt), " ") + 1
}

// sharedWords returns how many words two prompts have in common at their start.
func sharedWords(a, b []byte) int {
	n, words := 0, 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		if a[n] == ' ' {
			words++
		}
		n++
	}
	if (n == len(a) || a[n] == ' ') && (n == len(b) || b[n] == ' ') {
		words++
	}
	return words
}

// byChance is how many words at the most two of a few thousand texts share that
// were drawn apart: two of 10,000 texts share six words of 1,400 once in 10¹¹
// times, and five once in 10⁸.
const byChance = 5

// longestShared returns the most words that any two of the prompts share at their
// start. In the order of their words, the prompts that share most are neighbours.
func longestShared(prompts [][]byte) int {
	slices.SortFunc(prompts, func(a, b []byte) int { return strings.Compare(string(a), string(b)) })
	longest := 0
	for i := range len(prompts) - 1 {
		longest = max(longest, sharedWords(prompts[i], prompts[i+1]))
	}
	return longest
}

func allocatesNothing(t *testing.T, appendPrompt func(dst []byte, i int64) []byte) {
	t.Helper()
	buf := make([]byte, 0, 1<<20)
	i := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		buf = appendPrompt(buf[:0], i)
		i++
	}); n != 0 {
		t.Errorf("%v allocations a prompt, want 0", n)
	}
}
