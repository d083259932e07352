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
	if r.First != openai.Never {
		rec.FirstCame, rec.LastCame = came(r.FirstCame), came(r.LastCame)
	}
	rec.Text = r.Text
	rec.Events = make([]record.Event, 0, len(r.Tokens))
	for _, ev := range r.Tokens {
		rec.Events = append(rec.Events, record.Event{At: record.Instant(ev.At), Tokens: ev.Tokens, Came: came(ev.Received)})
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

// came is what a record keeps of when bytes came.
func came(r openai.Received) record.Came {
	return record.Came{Width: r.At - r.NotBefore, Unread: r.Read - r.At, Away: !r.Waited}
}
