//go:build !unix

package main

import "time"

var begun = time.Now()

// cpuTime returns the wall time, since the system provides no CPU time.
func cpuTime() time.Duration { return time.Since(begun) }
