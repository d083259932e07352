package simserver

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/plan"
)

// block is a fenced block of a Markdown page, and the line it starts after.
var block = regexp.MustCompile("(?sm)^```(yaml|text)\n(.*?)^```$")

// TestDocs plays every example of docs/responses.md: each file or entry must load
// without a warning, and each request under it must get the answer that stands
// there.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/responses.md")
	if err != nil {
		t.Fatal(err)
	}
	files, requests := 0, 0
	var g *llm.Generator
	for _, m := range block.FindAllSubmatchIndex(page, -1) {
		name := fmt.Sprintf("responses.md:%d", strings.Count(string(page[:m[0]]), "\n")+1)
		kind, text := string(page[m[2]:m[3]]), string(page[m[4]:m[5]])
		if kind == "yaml" {
			files++
			if !strings.HasPrefix(text, "version:") {
				text = "version: 1\nresponses:\n" + text + "default: {content: nothing matched}\n"
			}
			r, err := config.ParseResponses(name, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Warnings) > 0 {
				t.Errorf("warnings: %q", r.Warnings)
			}
			g = llm.NewGenerator(llm.Options{ContextLength: 10_000, Model: "sim", Responses: &newResponses(r, "").book})
			continue
		}
		for _, example := range strings.Split("\n"+text, "\n> ")[1:] {
			requests++
			message, want, _ := strings.Cut(example, "\n")
			if got := shown(g, message); got != strings.TrimSpace(want) {
				t.Errorf("%s: %q gets\n%s\nthe page says\n%s", name, message, got, want)
			}
		}
	}
	if files != 7 || requests != 13 {
		t.Errorf("the page has %d files and %d requests, want 7 and 13", files, requests)
	}
}

// shown is an answer as the page shows it.
func shown(g *llm.Generator, message string) string {
	p, err := g.Generate(llm.Request{Messages: []llm.Message{{Role: "user", Text: message}}})
	var scripted *llm.ScriptedError
	if errors.As(err, &scripted) {
		return fmt.Sprintf("[error %d: %s]", scripted.Status, scripted.Message)
	}
	if err != nil {
		return err.Error()
	}
	c := p.Choices[0]
	var texts [3]string
	var counts [3]int
	for _, token := range c.Tokens {
		texts[token.Kind] += token.Text
		counts[token.Kind]++
	}
	var lines []string
	show := func(kind plan.Kind, text, filler string) {
		switch {
		case counts[kind] >= 30:
			lines = append(lines, fmt.Sprintf(filler, counts[kind]))
		case counts[kind] > 0:
			lines = append(lines, fmt.Sprintf(text, texts[kind]))
		}
	}
	show(plan.Reasoning, "[thinks: %s]", "[%d tokens of thought]")
	show(plan.Content, "%s", "[%d tokens]")
	for _, call := range c.ToolCalls {
		arguments := ""
		for _, token := range c.Tokens[call.Start:call.End] {
			arguments += token.Text
		}
		lines = append(lines, fmt.Sprintf("[calls %s %s]", call.Name, arguments))
	}
	return strings.Join(lines, "\n")
}
