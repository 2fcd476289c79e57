//go:build !unix

package privatedir

import "os"

// lockFile does nothing on systems without these locks: the operator must
// ensure that only one process uses the files.
func lockFile(*os.File) error { return nil }

// Umask does nothing on systems without these permissions.
func Umask() {}
