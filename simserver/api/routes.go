package api

import (
	"errors"
	"io"
	"math"
	"net"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/llm"
)

const modelsPath = "/v1/models"

// route is what one path offers.
type route struct {
	method string
	serve  func(*Server, *fasthttp.RequestCtx)
}

var routes = map[string]route{
	"/v1/chat/completions":   {fasthttp.MethodPost, (*Server).chat},
	modelsPath:               {fasthttp.MethodGet, (*Server).listModels},
	"/health":                {fasthttp.MethodGet, (*Server).health},
	"/version":               {fasthttp.MethodGet, (*Server).version},
	"/metrics/summary":       {fasthttp.MethodGet, (*Server).summary},
	"/metrics/summary/reset": {fasthttp.MethodPost, (*Server).resetSummary},
}

func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	r, ok := routes[path]
	if !ok && strings.HasPrefix(path, modelsPath+"/") {
		r, ok = route{fasthttp.MethodGet, (*Server).oneModel}, true
	}
	method := string(ctx.Method())
	switch {
	case !ok:
		answerError(ctx, &apiError{
			status: fasthttp.StatusNotFound, kind: invalidRequest, code: "unknown_url",
			message: "unknown path " + path + ", see /v1/chat/completions and /v1/models",
		})
	case method != r.method && (method != fasthttp.MethodHead || r.method != fasthttp.MethodGet):
		answerError(ctx, &apiError{
			status: fasthttp.StatusMethodNotAllowed, kind: invalidRequest, code: "method_not_allowed",
			message: method + " is not possible on " + path + ", use " + r.method,
		})
		ctx.Response.Header.Set(fasthttp.HeaderAllow, r.method)
	default:
		r.serve(s, ctx)
	}
}

// handleBroken answers what fasthttp could not read as a request.
func (s *Server) handleBroken(ctx *fasthttp.RequestCtx, err error) {
	e := badRequest("not a readable HTTP request: %v", err)
	var tooSmall *fasthttp.ErrSmallBuffer
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		e.status = fasthttp.StatusRequestEntityTooLarge
		e.message = "the body is larger than the limit of " + strconv.Itoa(s.config.MaxBodyBytes) + " bytes"
	case errors.As(err, &tooSmall):
		e.status = fasthttp.StatusRequestHeaderFieldsTooLarge
		e.message = "the request's headers are too large"
	}
	answerError(ctx, e)
	ctx.SetConnectionClose()
	if p, ok := ctx.Conn().(*peer); ok {
		p.closeGently = true // the client may still be sending
	}
}

func (s *Server) health(ctx *fasthttp.RequestCtx) {
	if s.draining.Load() {
		answerError(ctx, errDraining)
		return
	}
	answerJSON(ctx, fasthttp.StatusOK, []byte(`{"status":"ok"}`))
}

func (s *Server) version(ctx *fasthttp.RequestCtx) {
	answerJSON(ctx, fasthttp.StatusOK, marshal(map[string]string{"name": wire.ServerName, "version": s.config.Version}))
}

// modelInfo is one entry of /v1/models; max_model_len is vLLM's name for the
// context length.
type modelInfo struct {
	ID            string `json:"id"`
	Object        string `json:"object"`
	Created       int64  `json:"created"`
	OwnedBy       string `json:"owned_by"`
	ContextLength int    `json:"max_model_len"`
}

func (s *Server) info(m *Model) modelInfo {
	return modelInfo{ID: m.Name, Object: "model", Created: s.started, OwnedBy: wire.ServerName, ContextLength: m.ContextLength}
}

func (s *Server) listModels(ctx *fasthttp.RequestCtx) {
	list := struct {
		Object string      `json:"object"`
		Data   []modelInfo `json:"data"`
	}{Object: "list", Data: []modelInfo{}}
	for i := range s.config.Models {
		list.Data = append(list.Data, s.info(&s.config.Models[i]))
	}
	answerJSON(ctx, fasthttp.StatusOK, marshal(list))
}

func (s *Server) oneModel(ctx *fasthttp.RequestCtx) {
	m, err := s.model(strings.TrimPrefix(string(ctx.Path()), modelsPath+"/"))
	if err != nil {
		answerError(ctx, err)
		return
	}
	answerJSON(ctx, fasthttp.StatusOK, marshal(s.info(m)))
}

func (s *Server) model(name string) (*Model, error) {
	if m := s.models[name]; m != nil {
		return m, nil
	}
	return nil, &apiError{
		status: fasthttp.StatusNotFound, kind: invalidRequest, param: "model", code: "model_not_found",
		message: "model: " + strconv.Quote(name) + " does not exist, see " + modelsPath,
	}
}

func (s *Server) summary(ctx *fasthttp.RequestCtx) {
	sum := s.config.Metrics.Summary(string(ctx.QueryArgs().Peek("phase")))
	s.mu.Lock()
	sum.Connections = &wire.Connections{Accepted: s.accepted, Open: int64(len(s.peers))}
	s.mu.Unlock()
	answerJSON(ctx, fasthttp.StatusOK, marshal(sum))
}

func (s *Server) resetSummary(ctx *fasthttp.RequestCtx) {
	s.config.Metrics.Reset()
	answerJSON(ctx, fasthttp.StatusOK, []byte(`{"status":"reset"}`))
}

var errDraining = &apiError{
	status: fasthttp.StatusServiceUnavailable, kind: unavailable, code: "draining",
	message: "the server is stopping: answers that were begun end, new requests are refused",
}

// maxPhase bounds the length of a phase's name.
const maxPhase = 128

// chat accepts a chat request and leaves it to the connection to answer it.
func (s *Server) chat(ctx *fasthttp.RequestCtx) {
	a, err := s.accept(ctx)
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

// accept checks a chat request and plans its answer.
func (s *Server) accept(ctx *fasthttp.RequestCtx) (*answer, error) {
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
	r, err := decodeChat(ctx.PostBody())
	if err != nil {
		return nil, err
	}
	m, err := s.model(r.Model)
	if err != nil {
		return nil, err
	}
	plan, err := m.Generator.Generate(r.generation())
	var tooLong *llm.ContextError
	if errors.As(err, &tooLong) {
		return nil, &apiError{
			status: fasthttp.StatusBadRequest, kind: invalidRequest, param: "messages",
			code: "context_length_exceeded", message: err.Error(),
		}
	}
	if err != nil {
		return nil, err
	}
	if err := m.Engine.Check(plan); err != nil {
		return nil, badField("messages", "%v", err)
	}
	plan.Priority = r.Priority

	a := &answer{
		server: s, model: m, peer: p,
		head: chatChunk{
			ID: "chatcmpl-" + strconv.FormatUint(s.ids.Add(1), 10), Object: chunkObject, Created: created(), Model: m.Name,
		},
		usage: usage{
			PromptTokens: len(plan.Prompt), CompletionTokens: plan.OutputTokens(),
			TotalTokens: len(plan.Prompt) + plan.OutputTokens(),
		},
		streamed:   r.Stream,
		wantUsage:  r.includeUsage(),
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
	if !a.streamed {
		a.renderText()
		return a, nil
	}
	for i := range plan.Choices {
		a.renderers = append(a.renderers, newEventRenderer(a.head, i))
	}
	return a, nil
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
