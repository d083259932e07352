package api

import (
	"errors"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"llmsim-bench/internal/wire"
)

const modelsPath = "/v1/models"

// route is what one path offers.
type route struct {
	method string
	serve  func(*Server, *fasthttp.RequestCtx)
}

var routes = map[string]route{
	"/v1/chat/completions":   {fasthttp.MethodPost, generates(orderChat)},
	"/v1/completions":        {fasthttp.MethodPost, generates(orderCompletion)},
	"/v1/embeddings":         {fasthttp.MethodPost, generates(orderEmbeddings)},
	modelsPath:               {fasthttp.MethodGet, (*Server).listModels},
	"/health":                {fasthttp.MethodGet, (*Server).health},
	"/version":               {fasthttp.MethodGet, (*Server).version},
	"/metrics/summary":       {fasthttp.MethodGet, (*Server).summary},
	"/metrics/summary/reset": {fasthttp.MethodPost, (*Server).resetSummary},
	"/admin/reload":          {fasthttp.MethodPost, (*Server).reload},
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
