// Package mcptoolstest finds the MCP servers of others that tests run against.
package mcptoolstest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// fsServerEnv names the program where it is installed elsewhere.
const fsServerEnv = "MEUP_TEST_FS_SERVER"

// FindFilesystemServer returns the program of
// @modelcontextprotocol/server-filesystem: the one that the environment names,
// or the one that make install-npm has put into the repository; "" if there is
// none.
func FindFilesystemServer() string {
	if path := os.Getenv(fsServerEnv); path != "" {
		return path
	}
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return ""
	}
	path := filepath.Join(filepath.Dir(here), "../../../.tools/node/node_modules/.bin/mcp-server-filesystem")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// FilesystemServer is FindFilesystemServer for a test that is nothing without
// it, and is skipped then.
func FilesystemServer(t testing.TB) string {
	t.Helper()
	path := FindFilesystemServer()
	if path == "" {
		t.Skipf("@modelcontextprotocol/server-filesystem is not installed: run make install-npm, or name its program in %s", fsServerEnv)
	}
	return path
}
