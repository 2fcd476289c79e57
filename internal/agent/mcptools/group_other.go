//go:build !unix

package mcptools

import (
	"os"
	"syscall"
)

// ownGroup returns nil: without process groups only the command itself is
// ended.
func ownGroup() *syscall.SysProcAttr { return nil }

func terminateGroup(pid int) { killGroup(pid) }

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
