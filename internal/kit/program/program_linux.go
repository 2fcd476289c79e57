package program

import "golang.org/x/sys/unix"

// Protect keeps other processes of the same user, such as tool servers that this
// program starts, from reading its memory and its environment, both of which
// hold secrets. Programs that it starts are not affected.
func Protect() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// discardTyped drops the input of a terminal that no read has returned.
func discardTyped(terminal uintptr) {
	_ = unix.IoctlSetInt(int(terminal), unix.TCFLSH, unix.TCIFLUSH)
}
