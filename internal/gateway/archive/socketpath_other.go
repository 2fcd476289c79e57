//go:build !linux

package archive

import (
	"fmt"
	"path/filepath"
)

// maxPath is the length of a path that fits into the address of a socket, on all of
// these systems.
const maxPath = 103

// socketPath returns the path of the socket. An error states that it is too long.
func socketPath(data string) (path string, release func(), err error) {
	path = filepath.Join(data, SocketName)
	if len(path) > maxPath {
		return "", nil, fmt.Errorf("the path %s has %d bytes, and the path of a socket at most %d here: use a shorter one for the data folder, such as a relative path or a symbolic link, for the gateway and for the command", path, len(path), maxPath)
	}
	return path, func() {}, nil
}
