package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"llmsim-bench/simserver/recording"
)

// recordings writes a file of each kind into a directory and returns it.
func recordings(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	good := recording.Exchange{
		Response: &recording.Response{
			Status: 200, Headers: map[string][]string{"Content-Type": {"application/json"}},
			Segments: []recording.Segment{{AtNS: 7, Data: []byte(`{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`)}},
		},
		End: recording.End{Complete: true},
	}
	cut := good
	cut.End = recording.End{Reason: "the client left"}
	for name, e := range map[string]recording.Exchange{"good.json": good, "cut.json": cut} {
		if err := e.Write(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "other.json"), []byte(`{"schema":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestReplay(t *testing.T) {
	dir := recordings(t)
	got, err := ParseResponses(filepath.Join(dir, "r.yml"), []byte(`version: 1
responses:
  - {id: a, match: {exact: a}, replay: good.json}
  - {id: b, match: {exact: b}, replay: {file: `+filepath.Join(dir, "good.json")+`, timing: true}}
  - id: c
    match: {exact: c}
    reasoning: shared
    tool_calls: [{name: f}]
    variants: [x, {replay: {file: good.json, timing: false}}]
default: {replay: {file: good.json}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range []struct {
		Body
		timing bool
	}{
		{got.Entries[0].Bodies[0], false},
		{got.Entries[1].Bodies[0], true},
		{got.Entries[2].Bodies[1], false},
		{got.Default[0], false},
	} {
		if b.Replay == nil || b.Replay.Timing != b.timing || b.Replay.Answer.Choices[0].Content.Text != "hi" || len(b.ToolCalls) > 0 || b.Reasoning.Template != nil {
			t.Errorf("body %d is %s", i, dumpAny(b.Body))
		}
	}
}

func TestReplayErrors(t *testing.T) {
	dir := recordings(t)
	file := filepath.Join(dir, "r.yml")
	at := file + ":5: responses[0]."
	_, err := os.Stat(filepath.Join(dir, "none.json"))
	missing := err.Error()
	for answer, want := range map[string]string{
		"replay: none.json":                           at + "replay: " + missing,
		"replay: {file: none.json, timing: true}":     at + "replay.file: " + missing,
		"replay: other.json":                          at + "replay: " + filepath.Join(dir, "other.json") + `: is not a recorded exchange: kind is "", must be "llmsim-exchange"`,
		"replay: cut.json":                            at + "replay: " + filepath.Join(dir, "cut.json") + " can't be replayed: the exchange is not complete: the client left",
		"replay: .":                                   at + "replay: " + dir + " is not a file, must be a recorded exchange",
		"replay: 7":                                   at + "replay: is the number 7, must be the file of a recorded exchange, or a section with the keys file, timing; in quotes it is a text",
		"replay: {timing: true}":                      at + "replay.file: missing, must be the file of a recorded exchange",
		"replay: {file: good.json, timing: 1}":        at + "replay.timing: is the number 1, must be true or false",
		"replay: {file: good.json, time: true}":       at + "replay.time: unknown key; known here: file, timing",
		"replay: good.json\n    content: x":           file + ":6: responses[0].content: has no effect beside replay, must be left out",
		"replay: good.json\n    variants: [a]":        at + "replay: stands beside variants on line 6, must be one of them",
		"variants: [{replay: cut.json}, {replay: .}]": at + "variants[0].replay: " + filepath.Join(dir, "cut.json") + " can't be replayed: the exchange is not complete: the client left\n" + at + "variants[1].replay: " + dir + " is not a file, must be a recorded exchange",
	} {
		_, err := ParseResponses(file, []byte(strings.Replace(scriptFile, "content: hello", answer, 1)))
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n%v\nwant\n%s", answer, err, want)
		}
	}
}
