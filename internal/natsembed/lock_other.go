//go:build !unix

package natsembed

import "os"

// lockFile does nothing on systems without these locks: the operator must
// ensure that only one process uses a folder.
func lockFile(*os.File) error { return nil }
