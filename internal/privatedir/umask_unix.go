//go:build unix

package privatedir

import "syscall"

// Umask makes every file and folder that the process creates from now on
// readable for its owner alone.
func Umask() { syscall.Umask(others) }
