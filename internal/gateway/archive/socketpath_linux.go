package archive

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxPath is the length of a path that fits into the address of a socket.
const maxPath = 107

// socketPath returns a path of the socket, which is valid until release is called. A
// path that is too long for an address is replaced by one through a descriptor of the
// folder.
func socketPath(data string) (path string, release func(), err error) {
	path = filepath.Join(data, SocketName)
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(data)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), SocketName), func() { _ = dir.Close() }, nil
}
