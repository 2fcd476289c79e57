//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time of this program, including garbage collection.
// Unlike wall time it does not depend on other load of the machine.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
