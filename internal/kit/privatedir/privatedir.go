// Package privatedir makes the folders that the programs write accessible only
// to their owner: the folders contain the log and keys.
package privatedir

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
)

const (
	dirMode = 0o700
	others  = 0o077 // permissions of group and others
)

// Secure creates dir, accessible only to its owner. In an existing folder it
// tightens the given entries, which are the program's own, and everything below
// them. It tightens the folder itself if it has no other entries, and otherwise
// logs a warning. It also logs failures to tighten.
//
// Files created later have the mode of the process; see Umask.
func Secure(dir string, log *slog.Logger, own ...string) error {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read the data folder: %w", err)
	}
	shared := false
	for _, e := range entries {
		if !slices.Contains(own, e.Name()) {
			shared = true
			continue
		}
		if err := tightenAll(filepath.Join(dir, e.Name())); err != nil {
			log.Warn("files in the data folder are readable by other users", "error", err)
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("read the data folder: %w", err)
	}
	if info.Mode().Perm()&others == 0 {
		return nil
	}
	if shared {
		log.Warn("other users can list the data folder; its mode was not changed because it contains other files", "folder", dir, "mode", info.Mode().Perm())
		return nil
	}
	if err := os.Chmod(dir, dirMode); err != nil {
		log.Warn("other users can list the data folder", "folder", dir, "mode", info.Mode().Perm(), "error", err)
	}
	return nil
}

// tightenAll removes the permissions of others from a file, or a folder and
// everything below it. It continues after an error and returns the first one.
func tightenAll(root string) error {
	var first error
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && (e.IsDir() || e.Type().IsRegular()) { // Chmod would follow a link
			info, err = e.Info()
		}
		if err == nil && info != nil && info.Mode().Perm()&others != 0 {
			err = os.Chmod(path, info.Mode().Perm()&^others)
		}
		if err != nil && first == nil && !errors.Is(err, fs.ErrNotExist) {
			first = err
		}
		return nil
	})
	return first
}

// Lock locks a file, which it creates if necessary. The lock is released when
// the file is closed, also when the process is killed. If another process has
// the lock, the error names the file.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		_ = f.Close() // the error of the lock has more detail
		return nil, fmt.Errorf("%s is in use by another process", path)
	}
	return f, nil
}
