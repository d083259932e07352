package api

import (
	"errors"
	"io"
	"math"
	"net"
	"strconv"

	"github.com/valyala/fasthttp"

	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/plan"
)

// maxPhase bounds the length of a phase's name.
const maxPhase = 128

// generates is a route whose answers take time: it accepts a request, as read reads
// its body, and leaves it to the connection to answer it.
func generates(read func(body []byte) (*order, error)) func(*Server, *fasthttp.RequestCtx) {
	return func(s *Server, ctx *fasthttp.RequestCtx) {
		a, err := s.accept(ctx, read)
		if err != nil {
			answerError(ctx, err)
			if errors.Is(err, errDraining) {
				ctx.SetConnectionClose()
			}
			if p, ok := ctx.Conn().(*peer); ok {
				p.LookedAt()
			}
			return
		}
		p := a.peer
		p.answer = a
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(rest net.Conn) { p.handover <- p.TakeUnread(io.Reader(rest)) })
	}
}

// accept checks a request and plans its answer.
func (s *Server) accept(ctx *fasthttp.RequestCtx, read func(body []byte) (*order, error)) (*answer, error) {
	if s.draining.Load() {
		return nil, errDraining
	}
	p, ok := ctx.Conn().(*peer)
	if !ok {
		return nil, errors.New("the connection is not one of this server's")
	}
	phase := string(ctx.Request.Header.Peek(wire.HeaderPhase))
	if len(phase) > maxPhase {
		return nil, badField(wire.HeaderPhase, "%d bytes, must be %d or fewer", len(phase), maxPhase)
	}
	o, err := read(ctx.PostBody())
	if err != nil {
		return nil, err
	}
	m, err := s.model(o.model)
	if err != nil {
		return nil, err
	}
	o.request.Take = (&answerSize{order: o}).take
	plan, err := m.Generator.Generate(o.request)
	if err != nil {
		return nil, o.generateError(err)
	}
	if err := m.Engine.Check(plan); err != nil {
		return nil, badField(o.promptField, "%v", err)
	}
	plan.Priority = o.priority

	names := o.form.names()
	a := &answer{
		server: s, model: m, peer: p, order: o,
		head: chunk{
			ID: names.idPrefix + strconv.FormatUint(s.ids.Add(1), 10), Object: names.chunk, Created: created(), Model: m.Name,
		},
		usage:      planned(plan),
		wantTiming: string(ctx.Request.Header.Peek(wire.HeaderTiming)) == "1",
		keepAlive:  ctx.Request.Header.IsHTTP11() && !ctx.Request.Header.ConnectionClose(),
		framing:    framing(ctx.Request.Header.IsHTTP11()),
	}
	a.request = engine.Request{
		Plan: plan, Outlet: a, Arrival: max(p.Received(), p.previousDue),
		Queue: engine.NotDelivered, QueueServer: engine.NotDelivered,
	}
	if err := m.Engine.Accept(&a.request); err != nil {
		s.config.Metrics.Reject(m.Name, phase, rejectQueueFull)
		return nil, s.queueFull(err)
	}
	a.metrics = s.config.Metrics.Begin(m.Name, phase, len(plan.Prompt))
	if !o.streamed {
		a.renderText()
		return a, nil
	}
	for i := range plan.Choices {
		a.renderers = append(a.renderers, newChoiceRenderer(a, i))
	}
	return a, nil
}

// planned is the usage that a plan will have come to, but for what the engine knows.
func planned(p *plan.Plan) usage {
	u := usage{PromptTokens: len(p.Prompt), CompletionTokens: p.OutputTokens()}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	reasoning := 0
	for i := range p.Choices {
		for _, t := range p.Choices[i].Tokens {
			if t.Kind != plan.Reasoning {
				break
			}
			reasoning++
		}
	}
	if reasoning > 0 {
		u.CompletionTokensDetails = &completionTokensDetails{ReasoningTokens: reasoning}
	}
	return u
}

// generateError is what the client is told where there is no plan.
func (o *order) generateError(err error) error {
	var tooLong *llm.ContextError
	if errors.As(err, &tooLong) {
		return &apiError{
			status: fasthttp.StatusBadRequest, kind: invalidRequest, param: o.promptField,
			code: "context_length_exceeded", message: err.Error(),
		}
	}
	var scripted *llm.ScriptedError
	if errors.As(err, &scripted) {
		e := &apiError{
			status: scripted.Status, kind: scripted.Type, code: scripted.Code,
			message: scripted.Message, retryAfter: scripted.RetryAfter,
		}
		if e.kind == "" {
			e.kind = kindOfStatus(e.status)
		}
		return e
	}
	return err
}

// rejectQueueFull is why a request was refused, as /metrics/summary counts it.
const rejectQueueFull = "queue_full"

// queueFull is the answer to a request that an engine did not accept.
func (s *Server) queueFull(err error) error {
	e := &apiError{
		status: fasthttp.StatusTooManyRequests, kind: rateLimited, code: "rate_limit_exceeded",
		message: err.Error(), retryAfter: 1,
	}
	var full *engine.QueueFull
	if errors.As(err, &full) {
		e.retryAfter = max(1, int(math.Ceil(full.Wait.Seconds()/s.config.TimeScale)))
	}
	return e
}
