package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// The environment variables that name the programs where they are installed
// elsewhere.
const (
	fsServerEnv         = "MEUP_TEST_FS_SERVER"
	everythingServerEnv = "MEUP_TEST_EVERYTHING_SERVER"
)

// FindFilesystemServer returns the program of
// @modelcontextprotocol/server-filesystem: the one named by the environment, or
// the one installed in the repository by make install-npm; "" if it is not
// installed.
func FindFilesystemServer() string { return find(fsServerEnv, "mcp-server-filesystem") }

func find(env, program string) string {
	if path := os.Getenv(env); path != "" {
		return path
	}
	dir, err := os.Getwd() // of a test: the folder of its package
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return ""
	}
	path := filepath.Join(dir, ".tools/node/node_modules/.bin", program)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// FilesystemServer is FindFilesystemServer for a test that is skipped without
// it, or fails in CI (if the environment has CI).
func FilesystemServer(t testing.TB) string {
	t.Helper()
	return orSkip(t, FindFilesystemServer(), "filesystem", fsServerEnv)
}

// EverythingServer is the same for @modelcontextprotocol/server-everything.
func EverythingServer(t testing.TB) string {
	t.Helper()
	return orSkip(t, find(everythingServerEnv, "mcp-server-everything"), "everything", everythingServerEnv)
}

func orSkip(t testing.TB, path, name, env string) string {
	t.Helper()
	if path == "" && os.Getenv("CI") != "" {
		t.Fatalf("@modelcontextprotocol/server-%s is not installed: run make install-npm", name)
	}
	if path == "" {
		t.Skipf("@modelcontextprotocol/server-%s is not installed: run make install-npm, or name its program in %s", name, env)
	}
	return path
}
