//go:build unix

package privatedir

import "syscall"

// Umask makes every file and folder that the process creates from now on
// accessible only to its owner.
func Umask() { syscall.Umask(others) }
