//go:build race

package openai

// splitStep is how many bytes lie between the splits that are tried.
const splitStep = 13
