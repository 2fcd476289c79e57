//go:build !unix

package privatedir

// Umask does nothing where there are no permissions of this kind.
func Umask() {}
