//go:build !linux

package program

// Protect does nothing on this system.
func Protect() error { return nil }

func discardTyped(uintptr) {}
