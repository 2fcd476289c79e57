package program

import "golang.org/x/sys/unix"

// discardTyped drops the input of a terminal that no read has returned.
func discardTyped(terminal uintptr) {
	_ = unix.IoctlSetInt(int(terminal), unix.TCFLSH, unix.TCIFLUSH)
}
