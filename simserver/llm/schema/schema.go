// Package schema makes JSON values that a JSON Schema accepts, for structured
// output and for the arguments of tool calls. A schema's text goes in, and for
// each seed a value comes out, always the same for the same seed.
//
// It covers what OpenAI's strict mode allows and the common rest of draft
// 2020-12. A schema that it does not cover, or that no value can fit, is refused
// when it is compiled, never later. It must not know of requests and answers.
package schema

import (
	"fmt"
	"math/rand/v2"
)

// Limits of schemas and of the values made from them. With them no schema takes
// more than a moment or a few megabytes.
const (
	maxSchemaBytes = 256 << 10
	maxNesting     = 200     // of brackets in a schema
	maxNodes       = 10_000  // schemas within a schema
	maxShapes      = 10_000  // combinations of them
	maxBranches    = 64      // of one schema's anyOf and oneOf, all combined; others are not used
	maxWork        = 200_000 // steps of combining, and as many of making a value
	maxValueBytes  = 64 << 10

	// What is not required may add so many bytes to the smallest value, and
	// nothing where it is nested deeper.
	extraBytes = 1500
	extraDepth = 8
)

// How often a value is drawn again that turns out not to fit.
const (
	compileTries = 32
	appendTries  = 8
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	root  *node
	shape *shape
	// known is a value that fits, for a seed that finds none.
	known []byte
}

// Error says what is wrong with a schema, and where.
type Error struct {
	// Pointer is the place in the schema, as a JSON pointer after "#".
	Pointer string
	// Keyword is the keyword at fault; empty: the schema there as a whole.
	Keyword string
	// Problem says what is wrong and what would be right.
	Problem string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Keyword == "" {
		return fmt.Sprintf("schema at %s: %s", e.Pointer, e.Problem)
	}
	return fmt.Sprintf("schema at %s: %s: %s", e.Pointer, e.Keyword, e.Problem)
}

// Compile reads a schema, a JSON object or boolean. Errors are *Error.
func Compile(raw []byte) (*Schema, error) {
	root, err := parse(raw)
	if err != nil {
		return nil, err
	}
	shape, err := combine(root)
	if err != nil {
		return nil, err
	}
	s := &Schema{root: root, shape: shape}
	// A value may still break what is only checked afterwards, as oneOf's "not
	// the others". One that fits is found here, or the schema is refused.
	var last *Error
	work := maxWork
	for seed := range uint64(compileTries) {
		value, err := s.draw(nil, seed, 0, &work)
		if err == nil {
			s.known = value
			return s, nil
		}
		if last = err; work < 0 {
			break
		}
	}
	return nil, last
}

// AppendJSON appends the seed's value to dst, without white space: an object's
// properties in the order in which the schema names them.
func (s *Schema) AppendJSON(dst []byte, seed uint64) []byte {
	return s.AppendWithin(dst, seed, NewBudget())
}

// Budget bounds the work of making several values together.
type Budget struct{ work int }

// NewBudget returns a budget of what a single value may take.
func NewBudget() *Budget { return &Budget{maxWork} }

// AppendWithin is AppendJSON that takes its work from a budget. Once that is used
// up, it appends a value that was made before, the same for every seed.
func (s *Schema) AppendWithin(dst []byte, seed uint64, b *Budget) []byte {
	for try := uint64(0); try < appendTries && b.work >= 0; try++ {
		if value, err := s.draw(dst, seed, try, &b.work); err == nil {
			return value
		}
	}
	return append(dst, s.known...)
}

// draw appends a value and checks it. What it takes is taken from work.
func (s *Schema) draw(dst []byte, seed, try uint64, work *int) ([]byte, *Error) {
	g := generator{random: rand.New(rand.NewPCG(seed, try)), extra: extraBytes, work: *work}
	start := len(dst)
	dst = g.value(dst, s.shape, 0)
	*work = g.work - (len(dst)-start)/16
	if g.err != nil {
		return nil, g.err
	}
	value, err := decode(dst[start:], maxValueNesting)
	if err != nil {
		return nil, s.root.fail("", "a value was made that is not JSON: %v", err)
	}
	v := validator{work: *work}
	failed := v.check(s.root, value)
	*work = v.work
	if failed != nil {
		return nil, failed
	}
	return dst, nil
}
