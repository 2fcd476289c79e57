//go:build !linux

package program

func discardTyped(uintptr) {}
