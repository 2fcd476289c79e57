package archive

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal/entrydb"
)

// destination is a backup that is being written. It has a temporary name until commit.
type destination interface {
	begin() error
	add(ctx context.Context, name string, size int64, r io.Reader, p *copyProgress) error
	// finish makes the added files durable, and returns their size.
	finish() (int64, error)
	// commit gives the backup its name.
	commit() error
	// discard removes the written files. It may be called at any time before commit,
	// and after an error of commit.
	discard()
}

// newDestination checks that the destination can be written.
func newDestination(o BackupOptions) (destination, error) {
	if o.To == "" {
		return nil, errors.New("a file or folder to write is required")
	}
	to, err := filepath.Abs(o.To)
	if err != nil {
		return nil, err
	}
	// The files in the data folder belong to the gateway, and a backup on the same disk is lost with it.
	parent, err := filepath.EvalSymlinks(filepath.Dir(to))
	if err != nil {
		return nil, err
	}
	data, err := filepath.Abs(o.Data)
	if err == nil {
		data, err = filepath.EvalSymlinks(data)
	}
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(data, parent); err == nil && filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s is in the data folder: write the backup to another place, best on another disk", to)
	}
	info, err := os.Lstat(to)
	exists := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case exists && !o.Force:
		return nil, fmt.Errorf("%s exists: choose another name, or replace it with --force", o.To)
	case isArchive(to) && exists && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s exists and is not a regular file", o.To)
	case isArchive(to):
		return &backupArchive{to: to, force: o.Force}, nil
	}
	for _, end := range []string{".tar", ".gz", ".zip", ".zst", ".xz", ".bz2"} {
		if strings.HasSuffix(to, end) {
			return nil, fmt.Errorf("%s: the name of an archive ends with .tar.gz or .tgz; another name is that of a folder, and must not end with %s", o.To, end)
		}
	}
	if exists {
		if err := checkReplaceable(to); err != nil {
			return nil, fmt.Errorf("%s is not replaced: %w", o.To, err)
		}
	}
	return &backupFolder{to: to, force: o.Force}, nil
}

func isArchive(name string) bool {
	return strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
}

// checkReplaceable accepts an empty folder, or one that is a backup.
func checkReplaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	file, err := os.Open(filepath.Join(dir, manifestName))
	if err != nil {
		return errNoBackup
	}
	defer file.Close() //nolint:errcheck // it was only read
	_, err = readManifest(file)
	return err
}

// tempName returns a pattern of hidden names beside the destination.
func tempName(to string) string { return "." + filepath.Base(to) + "-*" }

// stillFree checks again, before the destination gets its name, that it does not exist.
func stillFree(to string, force bool) error {
	if _, err := os.Lstat(to); err == nil && !force {
		return fmt.Errorf("%s was created meanwhile", to)
	}
	return nil
}

// backupArchive is a destination that is a compressed tar file.
type backupArchive struct {
	to    string
	force bool

	file *os.File
	gzip *gzip.Writer
	tar  *tar.Writer
	now  time.Time
}

func (a *backupArchive) begin() (err error) {
	a.file, err = os.CreateTemp(filepath.Dir(a.to), tempName(a.to))
	if err != nil {
		return err
	}
	// Most of a log is compressed already; a higher level takes five times as long.
	a.gzip, err = gzip.NewWriterLevel(a.file, gzip.BestSpeed)
	if err != nil {
		return err
	}
	a.tar, a.now = tar.NewWriter(a.gzip), time.Now()
	return nil
}

func (a *backupArchive) add(ctx context.Context, name string, size int64, r io.Reader, p *copyProgress) error {
	err := a.tar.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: a.now.Truncate(time.Second), Format: tar.FormatPAX,
	})
	if err != nil {
		return err
	}
	return copyAll(ctx, a.tar, r, p)
}

func (a *backupArchive) finish() (int64, error) {
	if err := errors.Join(a.tar.Close(), a.gzip.Close(), a.file.Sync()); err != nil {
		return 0, err
	}
	info, err := a.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), a.file.Close()
}

func (a *backupArchive) commit() error {
	if err := stillFree(a.to, a.force); err != nil {
		return err
	}
	if err := os.Rename(a.file.Name(), a.to); err != nil {
		return err
	}
	return entrydb.SyncDir(vfs.Default, filepath.Dir(a.to))
}

func (a *backupArchive) discard() {
	if a.file != nil {
		_ = a.file.Close() // it may be closed already
		_ = os.Remove(a.file.Name())
	}
}

// backupFolder is a destination that is a folder.
type backupFolder struct {
	to    string
	force bool

	temp string
	size int64
}

func (d *backupFolder) begin() (err error) {
	d.temp, err = os.MkdirTemp(filepath.Dir(d.to), tempName(d.to))
	if err != nil {
		return err
	}
	return os.Mkdir(filepath.Join(d.temp, logFolder), 0o700)
}

func (d *backupFolder) add(ctx context.Context, name string, size int64, r io.Reader, p *copyProgress) error {
	file, err := os.OpenFile(filepath.Join(d.temp, filepath.FromSlash(name)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	d.size += size
	return errors.Join(copyAll(ctx, file, r, p), file.Sync(), file.Close())
}

func (d *backupFolder) finish() (int64, error) {
	return d.size, errors.Join(entrydb.SyncDir(vfs.Default, filepath.Join(d.temp, logFolder)), entrydb.SyncDir(vfs.Default, d.temp))
}

func (d *backupFolder) commit() error {
	if err := stillFree(d.to, d.force); err != nil {
		return err
	}
	parent, former := filepath.Dir(d.to), ""
	if _, err := os.Lstat(d.to); err == nil {
		former, err = os.MkdirTemp(parent, tempName(d.to))
		if err != nil {
			return err
		}
		if err := os.Rename(d.to, filepath.Join(former, "former")); err != nil {
			return errors.Join(err, os.Remove(former))
		}
	}
	err := os.Rename(d.temp, d.to)
	if err != nil && former != "" {
		err = errors.Join(err, os.Rename(filepath.Join(former, "former"), d.to))
	}
	if err != nil {
		return err
	}
	if former != "" {
		_ = os.RemoveAll(former) // the new backup is complete
	}
	return entrydb.SyncDir(vfs.Default, parent)
}

func (d *backupFolder) discard() {
	if d.temp != "" {
		_ = os.RemoveAll(d.temp) // the error that led here is returned
	}
}
