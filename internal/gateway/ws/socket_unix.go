//go:build linux || darwin

package ws

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// rawConn returns the socket of a connection; nil if it has none (TLS).
func rawConn(c any) syscall.RawConn {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// readSocket reads the available data, or returns syscall.EAGAIN.
func readSocket(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }

// writeSocket writes what the socket takes without waiting, or returns syscall.EAGAIN.
func writeSocket(fd uintptr, frames [][]byte) (int, error) {
	if len(frames) == 1 {
		return syscall.Write(int(fd), frames[0])
	}
	return unix.Writev(int(fd), frames)
}
