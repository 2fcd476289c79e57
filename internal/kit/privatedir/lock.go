package privatedir

import (
	"fmt"
	"os"
)

// Lock locks a file, which it creates if necessary. The lock is released when
// the file is closed, also when the process is killed. If another process has
// the lock, the error names the file.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		_ = f.Close() // the error of the lock has more detail
		return nil, fmt.Errorf("%s is in use by another process", path)
	}
	return f, nil
}
