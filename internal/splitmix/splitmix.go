// Package splitmix makes numbers that have nothing in common out of neighbouring
// ones, as the generator SplitMix64 does (Steele, Lea and Flood, OOPSLA 2014).
package splitmix

// Gamma is what SplitMix64 adds to its state for the next number.
const Gamma = 0x9e3779b97f4a7c15

// Mix returns the number of a state: a bijection on 64 bits.
func Mix(state uint64) uint64 {
	state = (state ^ state>>30) * 0xbf58476d1ce4e5b9
	state = (state ^ state>>27) * 0x94d049bb133111eb
	return state ^ state>>31
}
