// Package sched decides which sequences an inference engine computes next, and
// which blocks of KV cache they hold: continuous batching over paged KV blocks
// with a prefix cache, as vLLM's V1 scheduler does it, block for block.
//
// A Scheduler is a plain value with three verbs. Add queues a request. Schedule
// puts the next step together. Complete says that the oldest step was computed,
// and returns the tokens it yielded and the requests they finished. Around them
// a driver turns the time: it asks the cost model in this package how long a
// step takes, on a real clock or a virtual one.
//
// The package is pure: no clock, no lock, no goroutine, no randomness. The same
// calls give the same steps, always. It knows counts and opaque token ids, never
// text. docs/scheduler.md tells the whole story.
package sched
