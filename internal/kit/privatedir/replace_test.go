package privatedir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A link stays a link, also if the file that it leads to does not exist yet.
func TestReplaceFile_FollowsLinks(t *testing.T) {
	dir := t.TempDir()
	real, settings := filepath.Join(dir, "dotfiles", "real.json"), filepath.Join(dir, "settings.json")
	if err := os.Symlink(filepath.Join("dotfiles", "second"), settings); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "dotfiles"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.json", filepath.Join(dir, "dotfiles", "second")); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(settings, nil, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(real); err != nil || string(text) != "{}\n" {
		t.Errorf("%q %v", text, err)
	}
	if info, err := os.Lstat(settings); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error(info, err)
	}
}

func TestReplaceFile_Changed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "file")
	if err := ReplaceFile(path, nil, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(path, []byte("other"), []byte("two")); err == nil || !strings.Contains(err.Error(), "changed in the meantime") {
		t.Error(err)
	}
	if err := ReplaceFile(path, []byte("one"), []byte("two")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || string(text) != "two" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q %v %v %v", text, err, info, statErr)
	}
	if rest, err := os.ReadDir(filepath.Dir(path)); err != nil || len(rest) != 1 {
		t.Error(rest, err)
	}
}
