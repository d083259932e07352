package api

import (
	"errors"

	"github.com/valyala/fasthttp"
)

// Reloaded says what a responses file holds that is in effect now.
type Reloaded struct {
	// Responses counts the entries, Variants the answers in them and in the default.
	Responses int `json:"responses"`
	Variants  int `json:"variants"`
	// Warnings each say what is allowed and hardly meant, and where.
	Warnings []string `json:"warnings"`
}

// reload has the responses read again.
func (s *Server) reload(ctx *fasthttp.RequestCtx) {
	var done Reloaded
	err := errors.New("this server has nothing to reload")
	if s.config.Reload != nil {
		done, err = s.config.Reload()
	}
	if err != nil {
		e := badRequest("%v", err)
		e.code = "reload_failed"
		answerError(ctx, e)
		return
	}
	if done.Warnings == nil {
		done.Warnings = []string{}
	}
	answerJSON(ctx, fasthttp.StatusOK, marshal(struct {
		Status string `json:"status"`
		Reloaded
	}{"reloaded", done}))
}
