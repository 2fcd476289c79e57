package program

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestProtect(t *testing.T) {
	if err := Protect(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }()
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || dumpable != 0 {
		t.Errorf("dumpable %d, %v", dumpable, err)
	}
}
