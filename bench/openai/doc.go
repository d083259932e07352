// Package openai speaks the APIs that OpenAI-compatible servers offer, and
// Anthropic's, which many offer beside them, one file for each dialect: request
// bodies out, the bytes of an answer with the instants at which they came in,
// and a Result out. It does no I/O and reads no clock; an instant is an int64 of
// nanoseconds on the caller's clock.
package openai
