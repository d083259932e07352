// Package selftest finds out what this program, as a client, can sustain on the
// machine it runs on: requests a second, events a second, streams at once, and
// what each costs in CPU time. The client is the one that measures servers, with
// its dispatcher, sender, connections and monitor; the server is one that answers
// prepared bytes and so costs next to nothing. The URL of such a server and a plan
// go in; a Result comes out, which can be kept and later warns of a load that is
// above it. The package starts no process and reads no flag.
package selftest
