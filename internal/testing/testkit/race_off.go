//go:build !race

package testkit

// Race reports whether the race detector runs, with which loops of a single goroutine take
// ten times as long and find nothing more.
const Race = false
