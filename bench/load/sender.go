package load

import (
	"context"
	"errors"
	"sync"

	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/transport"
	"llmsim-bench/internal/wire"
)

// Sender performs requests: its Prepare and Send are made for Options.Prepare
// and Options.Do. It is safe for concurrent use; the fields are not to be
// changed while it is in use.
type Sender struct {
	Pool  *transport.Pool
	Clock Clock
	// API is the endpoint under the target's base path.
	API        openai.API
	Model      string
	Extensions openai.Extensions
	// APIKey goes as the API wants it; empty sends none.
	APIKey   string
	Timeouts Timeouts
	// Leave makes clients leave early.
	Leave Leave
	// Retries is how often a request that was refused (429 or 5xx), or for which
	// no connection could be opened, is made again.
	Retries int
	// KeepText keeps the first choice's text in the record.
	KeepText bool
	// Simulator says that the server is the bundled simulator, which is told each
	// request's phase, "<Run>/<phase>", and asked for its own account of the times.
	Simulator bool
	// Run names this run in the phases told to the simulator.
	Run string

	scratch sync.Pool // of *scratch
}

// scratch is what one request needs while it runs.
type scratch struct {
	read   [16 << 10]byte
	answer openai.Answer
}

// Prepare makes the bytes of a job's request, so that Send need not.
func (s *Sender) Prepare(job *Job) {
	r := openai.Request{
		Model: s.Model, Prompt: string(job.Prompt), MaxTokens: job.OutputTokens,
		Stream: s.API.Streams(), Extensions: s.Extensions,
	}
	target := s.Pool.Target()
	job.Request = s.Pool.AppendRequest(nil, "POST", target.BasePath+s.API.Path(), s.headers(job), s.API.AppendBody(nil, &r))
}

func (s *Sender) headers(job *Job) []transport.Header {
	var headers []transport.Header
	for _, h := range s.API.Headers(s.APIKey) {
		headers = append(headers, transport.Header(h))
	}
	if s.Simulator {
		headers = append(headers,
			transport.Header{Name: wire.HeaderPhase, Value: s.Run + "/" + job.Phase},
			transport.Header{Name: wire.HeaderTiming, Value: "1"})
	}
	return headers
}

// Send performs one request and fills rec from Conn on: its instants, outcome
// and what the answer says. End is always set: to the answer's end, or to when
// the request failed.
func (s *Sender) Send(ctx context.Context, job *Job, rec *record.Request) {
	if job.Request == nil {
		s.Prepare(job)
	}
	w, _ := s.scratch.Get().(*scratch)
	if w == nil {
		w = &scratch{}
	}
	defer s.scratch.Put(w)
	leave := Leave{}
	if s.Leave.Chooses(job.ID) {
		leave = s.Leave
	}
	ctx, dog := watch(ctx, s.Timeouts, leave.After, s.Clock.Now)
	defer dog.stop()
	for {
		a := attempt{Sender: s, job: job, rec: rec, scratch: w, dog: dog, leaveAfterTokens: leave.AfterTokens}
		a.run(ctx)
		wait, again := s.retryWait(rec)
		if !again || !dog.allows(wait) {
			return
		}
		dog.attempt()
		refusal := errors.New(rec.Error)
		renew(rec)
		if !pause(ctx, wait) {
			a.fail(ctx, rec.Retried[len(rec.Retried)-1], refusal)
			return
		}
	}
}

// renew makes a record ready for the next attempt.
func renew(rec *record.Request) {
	next := record.New()
	next.ID, next.Point, next.Phase, next.PromptTokensAsked = rec.ID, rec.Point, rec.Phase, rec.PromptTokensAsked
	next.Sched, next.Dispatch, next.Slot = rec.Sched, rec.Dispatch, rec.Slot
	next.Retried = append(rec.Retried, rec.Kind)
	*rec = *next
}

func (s *Sender) now() record.Instant { return record.Instant(s.Clock.Now()) }
