package api

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/valyala/fasthttp"
)

// apiError is an error in OpenAI's form.
type apiError struct {
	status  int
	message string
	kind    string // error.type
	param   string // the field that is wrong; empty: none
	code    string // error.code; empty: none
	// retryAfter is in how many seconds the same request may succeed; 0: unknown.
	retryAfter int
}

func (e *apiError) Error() string { return e.message }

const (
	invalidRequest = "invalid_request_error"
	unavailable    = "service_unavailable"
	rateLimited    = "rate_limit_error"
	serverError    = "server_error"
)

// kindOfStatus is the error.type that OpenAI gives such a status.
func kindOfStatus(status int) string {
	switch {
	case status == fasthttp.StatusUnauthorized:
		return "authentication_error"
	case status == fasthttp.StatusForbidden:
		return "permission_error"
	case status == fasthttp.StatusTooManyRequests:
		return rateLimited
	case status == fasthttp.StatusServiceUnavailable:
		return unavailable
	case status >= fasthttp.StatusInternalServerError:
		return serverError
	}
	return invalidRequest
}

// badField says that one field of the request is wrong.
func badField(param, format string, args ...any) *apiError {
	return &apiError{
		status: fasthttp.StatusBadRequest, kind: invalidRequest, param: param,
		message: param + ": " + fmt.Sprintf(format, args...),
	}
}

func badRequest(format string, args ...any) *apiError {
	return &apiError{status: fasthttp.StatusBadRequest, kind: invalidRequest, message: fmt.Sprintf(format, args...)}
}

// body is the error's JSON.
func (e *apiError) body() []byte {
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	return marshal(struct {
		Error inner `json:"error"`
	}{inner{e.message, e.kind, optional(e.param), optional(e.code)}})
}

// answerError writes err as the response.
func answerError(ctx *fasthttp.RequestCtx, err error) {
	var e *apiError
	if !errors.As(err, &e) {
		e = &apiError{status: fasthttp.StatusInternalServerError, kind: serverError, message: err.Error()}
	}
	ctx.Response.Reset()
	answerJSON(ctx, e.status, e.body())
	if e.retryAfter > 0 {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(e.retryAfter))
	}
}

func answerJSON(ctx *fasthttp.RequestCtx, status int, body []byte) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}
