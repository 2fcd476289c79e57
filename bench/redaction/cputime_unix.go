//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is how long processors have worked for this program, collecting its
// garbage included. Unlike the time on the clock it does not depend on what
// else the machine does.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
