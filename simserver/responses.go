package simserver

import (
	"errors"
	"sync"

	"llmsim-bench/simserver/api"
	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/llm"
)

// Reloaded says what a responses file holds that is in effect now.
type Reloaded = api.Reloaded

// responses is what all models of a server say, from one book.
type responses struct {
	book llm.ResponseBook
	file string // to read again; empty: none

	mu sync.Mutex // a reload at a time, so that the last one read is the one that stays
}

// newResponses takes what was read at the start; nil: filler.
func newResponses(r *config.Responses, file string) *responses {
	s := &responses{file: file}
	if r != nil {
		s.book.Set(llm.NewResponses(script(r)))
	}
	return s
}

// reload reads the file again. On an error everything stays as it was.
func (s *responses) reload() (Reloaded, error) {
	if s.file == "" {
		return Reloaded{}, errors.New("the server was started without a responses file, so there is nothing to reload")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := config.LoadResponses(s.file)
	if err != nil {
		return Reloaded{}, err
	}
	s.book.Set(llm.NewResponses(script(r)))
	done := Reloaded{Responses: len(r.Entries), Variants: len(r.Default), Warnings: r.Warnings}
	for _, e := range r.Entries {
		done.Variants += len(e.Bodies)
	}
	return done, nil
}

// Reload reads Options.ResponsesFile again: later requests are answered from it.
// The error names every mistake in the file, and the old responses stay.
func (s *Server) Reload() (Reloaded, error) { return s.responses.reload() }

// script is what a responses file says, as the generator wants it.
func script(r *config.Responses) llm.Script {
	s := llm.Script{Seed: r.Seed, Default: bodies(r.Default)}
	for _, e := range r.Entries {
		s.Entries = append(s.Entries, llm.Entry{ID: e.ID, Match: llm.Match(e.Match), Bodies: bodies(e.Bodies)})
	}
	return s
}

func bodies(from []config.Body) (to []llm.Body) {
	for _, b := range from {
		if b.Replay != nil {
			to = append(to, replayBody(b.Replay))
			continue
		}
		body := llm.Body{Reasoning: scriptedText(b.Reasoning), Content: scriptedText(b.Content), FinishReason: b.FinishReason}
		for _, c := range b.ToolCalls {
			body.ToolCalls = append(body.ToolCalls, llm.ToolCall{Name: c.Name, Arguments: template(c.Arguments), JSON: c.JSON})
		}
		if e := b.Error; e != nil {
			body.Error = &llm.ErrorBody{Status: e.Status, Message: template(e.Message), Type: e.Type, Code: e.Code, RetryAfter: e.RetryAfter}
		}
		to = append(to, body)
	}
	return to
}

func scriptedText(t config.Text) llm.Text {
	return llm.Text{Template: template(t.Template), MinTokens: t.MinTokens, MaxTokens: t.MaxTokens}
}

func template(from config.Template) (to llm.Template) {
	for _, p := range from {
		to = append(to, llm.Part(p))
	}
	return to
}
