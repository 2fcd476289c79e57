//go:build !unix

package privatedir

// Umask does nothing on systems without these permissions.
func Umask() {}
