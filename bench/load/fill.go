package load

import (
	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/record"
)

// fill copies what the answer says.
func fill(rec *record.Request, r *openai.Result) {
	instant := func(at int64) record.Instant {
		if at == openai.Never {
			return record.Unset
		}
		return record.Instant(at)
	}
	rec.First, rec.Out = instant(r.First), instant(r.Out)
	rec.Last, rec.End = instant(r.Last), instant(r.End)
	rec.PromptTokens, rec.CachedTokens, rec.OutputTokens = r.PromptTokens, r.CachedTokens, r.OutputTokens
	rec.TokensEstimated, rec.Timing = r.Estimated, r.Timing
	if r.FromUsage {
		rec.OutputTokensFrom = record.FromUsage
	} else if r.OutputTokens > 0 {
		rec.OutputTokensFrom = record.FromEvents
	}
	rec.FirstDelay, rec.LastDelay = clientDelay(r.FirstCame), clientDelay(r.LastCame)
	rec.Text = r.Text
	rec.Events = make([]record.Event, 0, len(r.Tokens))
	for _, ev := range r.Tokens {
		rec.Events = append(rec.Events, event(ev))
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{record.FlagShortOutput, r.ShortOutput},
		{record.FlagTokenMismatch, r.TokenMismatch},
		{record.FlagClumped, r.Clumped},
		{record.FlagNotStreamed, r.NotStreamed},
	} {
		if flag.set {
			rec.Flags = append(rec.Flags, flag.name)
		}
	}
}

// event is what a record keeps of an event.
func event(ev openai.TokenEvent) record.Event {
	return record.Event{
		At: record.Instant(ev.At), Tokens: ev.Tokens,
		Width: ev.At - ev.NotBefore, Unread: ev.Read - ev.At, Delay: clientDelay(ev.Received),
	}
}

// clientDelay is how much of the instant at which bytes came, in nanoseconds,
// may be the client's doing. Where others came behind them before they were
// read, the instant is the others'. If the reader was away, they may have come
// at any time since it left. If it was waiting, it was late by about as much for
// the first of the bytes as for the last.
func clientDelay(came openai.Received) int64 {
	width := came.At - came.NotBefore
	if came.Waited {
		return min(width, came.Read-came.At)
	}
	return width
}
