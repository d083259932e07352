package engine

// Log takes what a Batched engine acts on, with its effective place: how many
// actions the loop had carried out before it. A loop that is told the same in the
// same places has the same timeline. The methods are called from the engine's
// thread and must not block; what they are given may be kept, but not changed.
type Log interface {
	// Arrived is called when a request reaches the scheduler.
	Arrived(turn int64, r *Request)
	// Aborted is called when one is taken out of it, and when that was.
	Aborted(turn int64, r *Request, at int64)
	// Ended is called when a request has its last token, or was aborted.
	Ended(r *Request, aborted bool)
}

// noLog is the Log of an engine that has none.
type noLog struct{}

func (noLog) Arrived(int64, *Request)        {}
func (noLog) Aborted(int64, *Request, int64) {}
func (noLog) Ended(*Request, bool)           {}
