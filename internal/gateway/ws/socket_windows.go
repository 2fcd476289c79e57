package ws

import "syscall"

// rawConn returns nil: a socket of Windows cannot report that data is available
// without a read, so an idle connection has a block there.
func rawConn(any) syscall.RawConn { return nil }

// readSocket is not called, because there is no RawConn.
func readSocket(uintptr, []byte) (int, error) { return 0, syscall.EWINDOWS }
