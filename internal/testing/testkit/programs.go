package testkit

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Build builds Go packages into a program, or a folder for a path that ends with a slash,
// with the flags of a release. All tests build so: the compiled packages are shared.
func Build(path string, args ...string) error {
	build := exec.Command("go", append([]string{"build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", path}, args...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", args[len(args)-1], err, out)
	}
	return nil
}

// Program returns the path of a program of this repository, such as "meup-gateway". See Programs.
func Program(t testing.TB, name string) string {
	t.Helper()
	dir, err := Programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// Programs returns the folder with the programs of this repository, .tools/programs. They
// are built when they are first asked for, once for the tests of all packages.
//
// All folders of sources are read, so that the go command runs a test again that it had
// passed, when a program may have changed.
var Programs = sync.OnceValues(func() (dir string, err error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	for _, part := range []string{"cmd", "client", "internal", "protocol", "schemas", "sdk"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	dir = filepath.Join(root, ".tools", "programs")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(dir, ".lock")).Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	return dir, Build(dir+"/", "github.com/meup-protocol/meup/cmd/...")
})

// Reads declares folders that programs of other languages read in a test, so that the go
// command runs it again when a file there has changed: it sees only what Go opens.
func Reads(t testing.TB, folders ...string) {
	t.Helper()
	for _, dir := range folders {
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Root returns the root folder of the repository.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
		dir = parent
	}
}
