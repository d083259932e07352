// Package load sends the requests of a run: each at its due time, none held back
// by those before it. Due times and prompts go in through a Source, one function
// performs one request, and a record of every request comes out together with
// the accounting of what became of them.
//
// Open and closed loops are the same machinery: a Source hands out jobs and hears
// of the requests that ended. The package knows nothing of statistics, files or
// the command line.
package load
