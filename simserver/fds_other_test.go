//go:build !unix

package simserver_test

import "testing"

// descriptors is how many files this process may have open, as far as is known.
func descriptors(*testing.T) int { return 1000 }
