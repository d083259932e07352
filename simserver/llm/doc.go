// Package llm decides what the simulated model says. A Request goes in (its
// messages and how many tokens it may get), a plan.Plan comes out: the prompt's
// token ids and the answer's tokens, from scripted responses or else filler. The
// same request always gets the same plan from the same responses.
//
// It must not know when anything is said: it has no clock and no engine, and it
// knows nothing of HTTP or of configuration files.
package llm
