package llm

import "slices"

// automaton finds which of many literals a text holds, in one pass over it
// (Aho and Corasick's). The literals' ASCII letters are in lower case, and the
// text's are read as if they were.
//
// States are numbered by depth. The first of them, as many as maxCells allows, have
// a row with the next state of every class of bytes; for most files these are all.
// A state past them has only its own edges and the state to fall back to, so that
// a large file costs a few bytes a state, and a step of the pass a few steps back
// that earlier ones have paid for.
type automaton struct {
	classes [256]uint8 // of a byte; 0: in no literal
	width   uint32     // how many classes there are
	rows    uint32     // how many states have a row
	cells   []uint32   // their next states, with the bit hit

	// Of the states without a row, counted from 0.
	fallback []uint32
	edges    []uint32 // where the edges of a state start; one more than states
	classOf  []uint8  // of an edge
	next     []uint32 // state of an edge, with the bit hit

	// longest is the longest literal that ends in a state, which has the bit hit;
	// shorter is the next shorter one that ends where a literal does; -1: none.
	longest, shorter []int32
}

// hit marks a state in which literals end.
const hit = 1 << 31

// maxCells bounds the rows to 4 MiB.
const maxCells = 1 << 20

// trieNode is a state while the automaton is built.
type trieNode struct {
	edges    []trieEdge
	literal  int32 // that ends here; -1: none
	fallback uint32
}

type trieEdge struct {
	class uint8
	to    uint32
}

func (n *trieNode) next(class uint8) (uint32, bool) {
	for _, e := range n.edges {
		if e.class == class {
			return e.to, true
		}
	}
	return 0, false
}

// newAutomaton builds the automaton of literals that are distinct, not empty, and
// have no upper case letter of ASCII.
func newAutomaton(literals []string) *automaton { return newAutomatonOf(literals, maxCells) }

// newAutomatonOf gives rows of so many cells together, at least one row.
func newAutomatonOf(literals []string, cells uint32) *automaton {
	a := &automaton{}
	nodes := breadthFirst(a.trie(literals))
	a.shorter = make([]int32, len(literals))
	a.longest = make([]int32, len(nodes))
	a.link(nodes)
	a.rows = min(uint32(len(nodes)), max(1, cells/a.width))
	a.cells = make([]uint32, a.rows*a.width)
	for state := range a.rows {
		row := a.cells[state*a.width : (state+1)*a.width]
		if state > 0 {
			copy(row, a.cells[nodes[state].fallback*a.width:])
		}
		for _, e := range nodes[state].edges {
			row[e.class] = a.marked(e.to)
		}
	}
	for _, n := range nodes[a.rows:] {
		a.fallback = append(a.fallback, n.fallback)
		a.edges = append(a.edges, uint32(len(a.next)))
		for _, e := range n.edges {
			a.classOf = append(a.classOf, e.class)
			a.next = append(a.next, a.marked(e.to))
		}
	}
	a.edges = append(a.edges, uint32(len(a.next)))
	return a
}

// marked is a state with the bit hit where it belongs.
func (a *automaton) marked(state uint32) uint32 {
	if a.longest[state] >= 0 {
		return state | hit
	}
	return state
}

// trie sorts the bytes into classes and builds the tree of the literals.
func (a *automaton) trie(literals []string) []trieNode {
	a.width = 1
	nodes := []trieNode{{literal: -1}}
	for i, l := range literals {
		at := uint32(0)
		for _, c := range []byte(l) {
			if a.classes[c] == 0 {
				a.classes[c] = uint8(a.width) // 26 bytes have no class of their own, so it fits
				a.width++
			}
			to, ok := nodes[at].next(a.classes[c])
			if !ok {
				to = uint32(len(nodes))
				nodes = append(nodes, trieNode{literal: -1})
				nodes[at].edges = append(nodes[at].edges, trieEdge{a.classes[c], to})
			}
			at = to
		}
		nodes[at].literal = int32(i)
	}
	for c := byte('A'); c <= 'Z'; c++ {
		a.classes[c] = a.classes[lowerByte(c)]
	}
	return nodes
}

// breadthFirst renumbers the states by depth.
func breadthFirst(nodes []trieNode) []trieNode {
	order, place := []uint32{0}, make([]uint32, len(nodes))
	for i := 0; i < len(order); i++ {
		for _, e := range nodes[order[i]].edges {
			place[e.to] = uint32(len(order))
			order = append(order, e.to)
		}
	}
	sorted := make([]trieNode, 0, len(nodes))
	for _, old := range order {
		n := nodes[old]
		for i := range n.edges {
			n.edges[i].to = place[n.edges[i].to]
		}
		sorted = append(sorted, n)
	}
	return sorted
}

// link finds each state's fallback, the state of its longest proper end, and from
// it which literals end there.
func (a *automaton) link(nodes []trieNode) {
	a.longest[0] = -1
	for state := range nodes {
		for _, e := range nodes[state].edges {
			child := &nodes[e.to]
			for back := uint32(state); back != 0 && child.fallback == 0; {
				back = nodes[back].fallback
				if to, ok := nodes[back].next(e.class); ok {
					child.fallback = to
				}
			}
			a.longest[e.to] = a.longest[child.fallback]
			if child.literal >= 0 {
				a.shorter[child.literal] = a.longest[child.fallback]
				a.longest[e.to] = child.literal
			}
		}
	}
}

// find adds to seen the numbers of the literals that text holds. It takes time
// linear in the text, whatever the literals: what ends where a literal seen before
// ends has been seen too.
func (a *automaton) find(text string, seen bitset) {
	state := uint32(0)
	for i := 0; i < len(text); i++ {
		entry := a.step(state, a.classes[text[i]])
		state = entry &^ hit
		if entry == state {
			continue
		}
		for l := a.longest[state]; l >= 0 && !seen.has(l); l = a.shorter[l] {
			seen.add(l)
		}
	}
}

// step is the state after a byte of the class, with the bit hit.
func (a *automaton) step(state uint32, class uint8) uint32 {
	if state >= a.rows {
		return a.edgeStep(state, class)
	}
	return a.cells[state*a.width+uint32(class)]
}

// edgeStep is step from a state without a row.
func (a *automaton) edgeStep(state uint32, class uint8) uint32 {
	for state >= a.rows {
		i := state - a.rows
		from, to := a.edges[i], a.edges[i+1]
		if at := slices.Index(a.classOf[from:to], class); at >= 0 {
			return a.next[from+uint32(at)]
		}
		state = a.fallback[i]
	}
	return a.cells[state*a.width+uint32(class)]
}

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i int32) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bitset) add(i int32)      { b[i/64] |= 1 << (i % 64) }
