//go:build race

package main

// raceDetector says that these tests, and the programs that they start, have it.
const raceDetector = true
