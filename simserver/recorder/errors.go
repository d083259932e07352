package recorder

import (
	"encoding/json"
	"net/http"
)

// answerError answers with an error in OpenAI's form.
func answerError(w http.ResponseWriter, status int, code, message string) {
	kind := "invalid_request_error"
	if status >= http.StatusInternalServerError {
		kind = "server_error"
	}
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	body, err := json.Marshal(struct {
		Error inner `json:"error"`
	}{inner{Message: message, Type: kind, Code: code}})
	if err != nil {
		body = []byte(`{"error":{}}`) // texts always encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has left needs none
}
