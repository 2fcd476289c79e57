//go:build !unix

package natsembed

import "os"

// lockFile does nothing where there are no locks of this kind: the operator
// must see to it that one process alone uses a folder.
func lockFile(*os.File) error { return nil }
