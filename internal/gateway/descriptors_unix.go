//go:build !windows

package gateway

import "syscall"

// descriptorLimit returns how many files this process may have open. The Go
// runtime has raised the soft limit to the hard limit.
func descriptorLimit() uint64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 1024
	}
	return r.Cur
}
