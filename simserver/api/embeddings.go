package api

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"reflect"

	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/plan"
)

// embeddingRequest is the body of POST /v1/embeddings.
type embeddingRequest struct {
	Model          string  `json:"model"`
	Input          inputs  `json:"input"`
	Dimensions     *int    `json:"dimensions"`
	EncodingFormat *string `json:"encoding_format"`
	Priority       int     `json:"priority"`
}

// Limits of a request for embeddings.
const (
	defaultDimensions = 1536
	maxDimensions     = 4096
	maxInputs         = 2048 // as OpenAI
)

var (
	embeddingFields     = fieldNames(reflect.TypeFor[embeddingRequest]())
	embeddingParameters = parameters{"user": text, "request_id": text}
)

// embeddings is what an answer consists of in place of text.
type embeddings struct {
	inputs     inputs
	dimensions int
	base64     bool
}

// orderEmbeddings reads a request. To the engine it is a prompt, that of all inputs
// together, with one token of answer.
func orderEmbeddings(body []byte) (*order, error) {
	var r embeddingRequest
	if err := decodeWithInputs(body, &r, "input"); err != nil {
		return nil, err
	}
	err := embeddingParameters.checkMembers(body, embeddingFields, func(string, []byte) error { return nil })
	if err != nil {
		return nil, err
	}
	if r.Model == "" {
		return nil, badField("model", "is missing, must name a model of /v1/models")
	}
	if err := r.Input.check("input", maxInputs); err != nil {
		return nil, err
	}
	if err := checkBounds(bound{"dimensions", r.Dimensions, 1, maxDimensions}); err != nil {
		return nil, err
	}
	e := &embeddings{inputs: r.Input, dimensions: defaultDimensions}
	if r.Dimensions != nil {
		e.dimensions = *r.Dimensions
	}
	if f := r.EncodingFormat; f != nil {
		if *f != "float" && *f != "base64" {
			return nil, badField("encoding_format", "%.80q is not known, must be float or base64", *f)
		}
		e.base64 = *f == "base64"
	}
	if err := e.checkSize(); err != nil {
		return nil, err
	}
	request := llm.Request{MaxTokens: 1, Unscripted: true}
	r.Input.fill(&request)
	return &order{
		model: r.Model, request: request, form: textForm{}, promptField: "input", priority: r.Priority,
		alternatives: noLogprobs, embeddings: e,
	}, nil
}

type (
	embeddingList struct {
		Object string          `json:"object"`
		Data   []embedding     `json:"data"`
		Model  string          `json:"model"`
		Usage  *embeddingUsage `json:"usage"`
	}
	embedding struct {
		Object    string `json:"object"`
		Index     int    `json:"index"`
		Embedding any    `json:"embedding"` // numbers, or their bytes in base64
	}
	embeddingUsage struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	}
)

// list is the answer but for its usage.
func (e *embeddings) list(model string) embeddingList {
	list := embeddingList{Object: "list", Model: model}
	add := func(text string, ids []plan.TokenID) {
		vector := llm.Embedding(text, ids, e.dimensions)
		one := embedding{Object: "embedding", Index: len(list.Data), Embedding: vector}
		if e.base64 {
			one.Embedding = encoded(vector)
		}
		list.Data = append(list.Data, one)
	}
	for _, text := range e.inputs.texts {
		add(text, nil)
	}
	for _, ids := range e.inputs.tokens {
		add("", ids)
	}
	return list
}

// encoded is a vector as 32-bit floats, the lowest byte first, in base64.
func encoded(vector []float32) string {
	data := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(data)
}
