//go:build unix

package privatedir

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// createReadable creates folders and files that every user can read; a name that ends
// with a slash is a folder.
func createReadable(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSecure(t *testing.T) {
	for _, test := range []struct {
		name    string
		before  []string // entries of the folder; nil: it does not exist
		modes   map[string]fs.FileMode
		warning string
	}{
		{"new folder", nil, map[string]fs.FileMode{".": 0o700}, ""},
		{"empty folder", []string{"./"}, map[string]fs.FileMode{".": 0o700}, ""},
		{
			"own files",
			[]string{"./", "log/", "log/1.sst", "LOCK"},
			map[string]fs.FileMode{".": 0o700, "log": 0o700, "log/1.sst": 0o600, "LOCK": 0o600},
			"",
		},
		{
			"other files beside them",
			[]string{"./", "log/", "log/1.sst", "notes"},
			map[string]fs.FileMode{".": 0o755, "log": 0o700, "log/1.sst": 0o600, "notes": 0o644},
			"other users can list the data folder",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			createReadable(t, dir, test.before...)
			var log bytes.Buffer
			if err := Secure(dir, slog.New(slog.NewTextHandler(&log, nil)), "log", "LOCK"); err != nil {
				t.Fatal(err)
			}
			for name, want := range test.modes {
				if got := mode(t, filepath.Join(dir, name)); got != want {
					t.Errorf("%s has mode %o, want %o", name, got, want)
				}
			}
			if got := log.String(); (got != "") != (test.warning != "") || !strings.Contains(got, test.warning) {
				t.Errorf("the log: %q", got)
			}
		})
	}
}
