package transport

import (
	"errors"
	"fmt"
)

// explainExhausted adds to an error of the system that has run out of something
// what that is and what would help.
func explainExhausted(err error) error {
	switch {
	case errors.Is(err, errNoPort):
		return fmt.Errorf("%w: no local (ephemeral) port is free towards this address, or it is of a kind that this machine "+
			"has no address of; for ports, keep fewer connections open, reuse them, or widen the range "+
			"(Linux: sysctl net.ipv4.ip_local_port_range)", err)
	case errors.Is(err, errNoFile), errors.Is(err, errNoFileAnywhere):
		return fmt.Errorf("%w: every connection takes a file descriptor; raise the limit (ulimit -n), "+
			"or keep fewer connections open", err)
	}
	return err
}
