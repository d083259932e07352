//go:build !linux

package health

// localPorts cannot be told here.
func localPorts() (first, last int64, ok bool) { return 0, 0, false }

// connectionsTo cannot be told here.
func connectionsTo(string) (int64, bool) { return 0, false }
