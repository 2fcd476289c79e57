//go:build unix

package privatedir

import (
	"os"
	"syscall"
)

// lockFile locks a file, or returns an error if it is locked. The lock is
// released when the file is closed, also when the process is killed.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// Umask makes every file and folder that the process creates from now on
// accessible only to its owner.
func Umask() { syscall.Umask(others) }
