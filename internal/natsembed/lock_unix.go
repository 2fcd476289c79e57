//go:build unix

package natsembed

import (
	"os"
	"syscall"
)

// lockFile takes the lock of a file, or says that somebody has it. It is let
// go when the file is closed, by a killed process too.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
