//go:build !unix

package mcptools

import (
	"os"
	"syscall"
)

// ownGroup: without process groups the command alone is ended.
func ownGroup() *syscall.SysProcAttr { return nil }

func terminateGroup(pid int) { killGroup(pid) }

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
