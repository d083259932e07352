package simserver_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
)

// Serve two models of one's own from Go and ask one of them.
func Example() {
	models, err := config.Parse("models.yml", []byte(`
models:
  - name: quick
    context_length: 8192
    tokenizer: regex
    engine: fixed_rate
    latency: {overhead_ms: 1, prefill_tokens_per_second: 100000, itl_ms: 2}
  - name: at-once
    context_length: 8192
    tokenizer: regex
    engine: instant
`))
	if err != nil {
		log.Fatal(err)
	}
	server, err := simserver.Listen("127.0.0.1:0", models, simserver.Options{})
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer func() { _ = server.Shutdown(context.Background()) }()

	resp, err := http.Post(server.URL()+"/chat/completions", "application/json", strings.NewReader(
		`{"model":"quick","messages":[{"role":"user","content":"Hello there!"}],"max_tokens":5,"stream":true}`))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"))
	fmt.Println(strings.Count(string(body), `"delta":{"content":`), "tokens")
	// Output:
	// 200 OK text/event-stream; charset=utf-8
	// 5 tokens
}
