package eventlog

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/plan"
	"llmsim-bench/simserver/sched"
	"llmsim-bench/simserver/virtual"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	log := w.Model("m", 1, "a timeline")
	r := &engine.Request{
		Arrival: 500,
		Plan: &plan.Plan{
			Prompt: []plan.TokenID{7, 8, 9}, MaxTokens: 4, Priority: 2,
			Choices: []plan.Choice{
				{Tokens: []plan.Token{{ID: 1}, {ID: 2}}, FinishReason: "stop"},
				{Tokens: []plan.Token{{ID: 3}, {ID: 4}, {ID: 5}, {ID: 6}}, FinishReason: "length"},
			},
		},
		Timelines: []engine.Timeline{
			{Due: []int64{1000, 2000}, Released: []int64{1001, 2002}, Queue: 300, CachedTokens: 16, Preemptions: 1},
			{Due: []int64{1000, 2000, 3000}, Released: []int64{1001, 2002}, Queue: 400}, // the third was never sent
		},
	}
	log.Arrived(10, r)
	log.Aborted(14, r, 2500)
	log.Ended(r, true)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the log has its name before it is complete: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	logs, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) != 1 || logs[0].Model != "m" || logs[0].Replica != 1 || logs[0].Timeline != "a timeline" {
		t.Fatalf("%+v", logs)
	}
	request := func(id int64, stops bool, output ...uint32) virtual.Request {
		return virtual.Request{ID: id, Arrival: 500, Measured: true, Request: sched.Request{
			Prompt: []uint32{7, 8, 9}, Output: output, Stops: stops, MaxTokens: 4, Priority: 2, ArrivalNS: 500,
		}}
	}
	want := []virtual.Event{
		{Turn: 10, Request: request(0, true, 1, 2)},
		{Turn: 10, Request: request(1, false, 3, 4, 5, 6)},
		{Turn: 14, Aborted: true, ID: 0},
		{Turn: 14, Aborted: true, ID: 1},
	}
	if !reflect.DeepEqual(logs[0].Events, want) {
		t.Errorf("events:\n%+v\nwant\n%+v", logs[0].Events, want)
	}
	first := End{Due: []int64{1000, 2000}, QueueNS: 300, Cached: 16, Preemptions: 1, Aborted: true}
	second := End{Due: []int64{1000, 2000}, QueueNS: 400, Aborted: true}
	if !reflect.DeepEqual(logs[0].Ends, map[int64]End{0: first, 1: second}) {
		t.Errorf("ends: %+v", logs[0].Ends)
	}
}

func TestBadLinesAreNamed(t *testing.T) {
	const model = `{"event":"model","model":"m","timeline":"t"}` + "\n"
	for _, c := range []struct{ name, log, says string }{
		{"no JSON", model + "x\n", "line 2"},
		{"unknown event", model + `{"event":"sleep","model":"m","id":1}` + "\n", `line 2: unknown event "sleep"`},
		{"no model", `{"event":"abort","model":"m","id":1}` + "\n", "line 1"},
		{
			"turns out of order",
			model + `{"event":"arrive","model":"m","turn":5,"id":1,"choices":[{}]}` + "\n" + `{"event":"arrive","model":"m","turn":4,"id":2,"choices":[{}]}` + "\n",
			"line 3: turn 4 comes after turn 5",
		},
	} {
		if _, err := Read(strings.NewReader(c.log)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want …%s…", c.name, err, c.says)
		}
	}
	logs, err := Read(strings.NewReader(model + `{"event":"arr`))
	if err != nil || len(logs) != 1 || len(logs[0].Events) != 0 {
		t.Errorf("a last line that is cut: %+v, %v", logs, err)
	}
}
