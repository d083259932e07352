package experiments

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"llmsim-bench/bench"
	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/workload"
	"llmsim-bench/experiments/simulate"
)

// logOf writes an event log by hand.
type logOf struct {
	strings.Builder
	id int
}

func (l *logOf) request(maxTokens int, at, last, left int64) {
	l.id++
	fmt.Fprintf(l, `{"event":"arrive","id":%d,"at_ns":%d,"max_tokens":%d,"choices":[{}]}`+"\n", l.id, at, maxTokens)
	if left > 0 {
		fmt.Fprintf(l, `{"event":"abort","id":%d,"at_ns":%d}`+"\n", l.id, left)
	}
	fmt.Fprintf(l, `{"event":"end","id":%d,"choices":[{"due_ns":[%d,%d]}]}`+"\n", l.id, at+1, last)
}

func TestDelaysAreReadFromALog(t *testing.T) {
	var log logOf
	log.WriteString(`{"event":"model","model":"base"}` + "\n")
	log.request(1, 5, 6, 0) // a probe
	for i := range int64(3) {
		log.request(turnaroundOutput+1, i*100_000, i*100_000+70_000, 0) // the next comes 30 µs later
	}
	for i := range int64(40) {
		log.request(turnaroundOutput+16, i, 1_000_000+i, 0)
	}
	for i := range int64(100) {
		log.request(apartOutput+int(i), i*50_000, i*50_000+1_000_000, 0) // the 65th arrives 2.2 ms after the first ends
	}
	for i := range int64(2 * burstSize) {
		log.request(burstOutput, i/burstSize*1_000_000_000+i%burstSize*2000, 5, 0)
	}
	log.request(leavingOutput, 0, 10_000, 15_000)
	open := arrivalLoad()
	source, err := open.Source(0, noWorkload{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(11) {
		job, _ := source.Next()
		log.request(arrivalOutput, 7_000_000+int64(job.Due)+i*1000, 5, 0)
	}
	m, err := delaysOf([]byte(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	last := func(d simulate.Distribution) int64 { return d[len(d)-1] }
	if d := m.Turnaround[1]; d[0] != 30_000 || last(d) != 30_000 {
		t.Errorf("turnaround of one user: %v", d)
	}
	if d := m.Arrival; d[0] != 0 || d.At(0.5) != 5000 || last(d) != 10_000 {
		t.Errorf("arrival: %v", d)
	}
	if len(m.Bursts) != 2 || m.Bursts[0][0] != 0 || last(m.Bursts[0]) != 126_000 || !reflect.DeepEqual(m.Bursts[0], m.Bursts[1]) {
		t.Errorf("bursts: %v", m.Bursts)
	}
	if d := m.Apart; d[0] != 2_200_000 || last(d) != 2_200_000 {
		t.Errorf("turnaround of users apart: %v", d)
	}
	if m.Leaving[0] != 5000 {
		t.Errorf("leaving: %v", m.Leaving)
	}
	if _, err := delaysOf([]byte(`{"event":"model"}` + "\n")); err == nil || !strings.Contains(err.Error(), "there is no") {
		t.Errorf("an empty log: %v", err)
	}
	if _, err := delaysOf([]byte("x\n")); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("no log: %v", err)
	}
}

func TestEachCaseHasItsOwnDelays(t *testing.T) {
	a, b, c, d := simulate.Distribution{1}, simulate.Distribution{2}, simulate.Distribution{3}, simulate.Distribution{4}
	m := MachineDelays{[]DelayRound{{
		Turnaround: map[int]simulate.Distribution{1: a, 16: b, 64: c}, Apart: d, Arrival: a, Bursts: []simulate.Distribution{c, d},
	}}}
	fixed, range_ := workload.Shape{Output: workload.Fixed(5)}, workload.Shape{Output: workload.Lengths{Min: 5, Max: 6}}
	for _, x := range []struct {
		what string
		c    Case
		want simulate.Distribution
	}{
		{"1 user", Case{Load: bench.Users(1), Shape: fixed}, a},
		{"2 users", Case{Load: bench.Users(2), Shape: fixed}, b},
		{"64 users", Case{Load: bench.Users(64), Shape: fixed}, c},
		{"500 users", Case{Load: bench.Users(500), Shape: fixed}, c},
		{"64 users of different lengths", Case{Load: bench.Users(64), Shape: range_}, d},
	} {
		if got := m.of(&x.c, 1, 1).Turnaround; !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s: %v, want %v", x.what, got, x.want)
		}
	}
	burst := Case{Load: bench.Load{Arrivals: arrival.Process{Kind: arrival.KindBurst}}}
	open := Case{Load: bench.AtRate(5)}
	if x, y, z := m.of(&burst, 1, 1), m.of(&burst, 1, 2), m.of(&open, 1, 1); !reflect.DeepEqual(x.Arrival, d) || !reflect.DeepEqual(y.Arrival, c) || !reflect.DeepEqual(z.Arrival, a) {
		t.Errorf("arrivals: %v, %v, %v", x.Arrival, y.Arrival, z.Arrival)
	}
	m.Rounds = append(m.Rounds, DelayRound{Arrival: b, Bursts: []simulate.Distribution{a}})
	if x, y, z := m.of(&open, 1, 0), m.of(&open, 1, 1), m.of(&burst, 1, 2); !reflect.DeepEqual(x.Arrival, a) || !reflect.DeepEqual(y.Arrival, b) || !reflect.DeepEqual(z.Arrival, d) {
		t.Errorf("of two rounds: %v, %v, %v", x.Arrival, y.Arrival, z.Arrival)
	}
	if m.of(&open, 1, 1).Seed == m.of(&open, 1, 2).Seed || m.of(&open, 1, 1).Seed == m.of(&open, 2, 1).Seed {
		t.Error("two runs draw the same delays")
	}
}
