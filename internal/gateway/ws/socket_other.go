//go:build !linux && !darwin

package ws

import "syscall"

// rawConn returns nil: a socket of Windows cannot report that data is available
// without a read, so an idle connection has a block there, and each write a goroutine.
func rawConn(any) syscall.RawConn { return nil }

// readSocket and writeSocket are not called, because there is no RawConn.
func readSocket(uintptr, []byte) (int, error)    { return 0, syscall.ENOTSUP }
func writeSocket(uintptr, [][]byte) (int, error) { return 0, syscall.ENOTSUP }
