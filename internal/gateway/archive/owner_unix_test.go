//go:build unix

package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Root restores for the gateway's user, to whom the data folder belongs.
func TestRestore_AsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	_, archive := stored(t, 1)
	data := filepath.Join(t.TempDir(), "data")
	const owner = 65532
	if err := errors.Join(os.Mkdir(data, 0o700), os.Chown(data, owner, owner)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, there is something to move away
		_, err := Restore(t.Context(), RestoreOptions{From: archive, Data: data, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil && info.Sys().(*syscall.Stat_t).Uid != owner {
				t.Errorf("%s belongs to another user", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
