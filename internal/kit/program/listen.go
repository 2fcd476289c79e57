package program

import (
	"errors"
	"fmt"
	"syscall"
)

// wsaAddressInUse is the error of Windows for an address that is in use.
const wsaAddressInUse = syscall.Errno(10048)

// IsAddressInUse reports whether a process could not listen because another one does.
func IsAddressInUse(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaAddressInUse)
}

// ListenError returns the error of a process that could not listen on an address, which
// the flag sets.
func ListenError(address, flag string, err error) error {
	if IsAddressInUse(err) {
		return fmt.Errorf("listen on %s: another process listens there, perhaps an earlier start of this program; stop it, or choose another address with --%s: %w", address, flag, err)
	}
	return fmt.Errorf("listen on %s: %w", address, err)
}
