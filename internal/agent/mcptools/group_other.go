//go:build !unix

package mcptools

import (
	"os"
	"syscall"
)

// ownGroup has no fields: without process groups only the command itself is ended.
var ownGroup syscall.SysProcAttr

func terminateGroup(pid int) { killGroup(pid) }

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
