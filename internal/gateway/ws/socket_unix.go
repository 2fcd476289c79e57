//go:build !windows

package ws

import "syscall"

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
