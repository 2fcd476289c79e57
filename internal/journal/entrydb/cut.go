package entrydb

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// ErrDamagedWAL is wrapped by the error of Open when a write-ahead log is
// damaged before its end. Options.CutDamage opens such a database.
var ErrDamagedWAL = errors.New("the write-ahead log is damaged")

// damagedWAL is an ErrDamagedWAL with the path of the file.
type damagedWAL struct {
	path string
	err  error // returned by Pebble
}

func (d *damagedWAL) Error() string {
	return fmt.Sprintf("the write-ahead log %s is damaged before its end: %v", d.path, d.err)
}

func (d *damagedWAL) Unwrap() []error { return []error{ErrDamagedWAL, d.err} }

func isWAL(fs vfs.FS, path string) (wal.NumWAL, bool) {
	num, _, ok := wal.ParseLogFilename(fs.PathBase(path))
	return num, ok
}

// cutWAL cuts a write-ahead log before its first damaged record and removes the
// later logs, since their batches depend on the lost ones. The original files
// are kept in the folder that it returns.
//
// If cutWAL is interrupted, the next Open fails with ErrDamagedWAL again.
func cutWAL(fs vfs.FS, path string) (kept string, err error) {
	dir := fs.PathDir(path)
	logs, err := wal.Scan(wal.Dir{FS: fs, Dirname: dir})
	if err != nil {
		return "", err
	}
	num, _ := isWAL(fs, path)
	damaged, _ := logs.Get(num)
	intact, err := intactBytes(damaged)
	if err != nil {
		return "", err
	}
	kept = fs.PathJoin(dir, "damaged-"+time.Now().UTC().Format("20060102T150405.000000000Z"))
	if err := fs.MkdirAll(kept, 0o700); err != nil {
		return "", err
	}
	if err := vfs.Copy(fs, path, fs.PathJoin(kept, fs.PathBase(path))); err != nil {
		return "", err
	}
	// Newest first: until the damaged log is cut, it shows that others followed.
	for _, later := range slices.Backward(logs) {
		if later.Num <= num {
			break
		}
		_, from := later.SegmentLocation(0)
		if err := fs.Rename(from, fs.PathJoin(kept, fs.PathBase(from))); err != nil {
			return "", err
		}
	}
	if err := errors.Join(SyncDir(fs, kept), SyncDir(fs, dir)); err != nil {
		return "", err
	}
	cut := fs.PathJoin(dir, "temporary.000000.dbtmp") // Pebble removes a leftover one
	if err := vfs.LimitedCopy(fs, path, cut, intact); err != nil {
		return "", err
	}
	if err := fs.Rename(cut, path); err != nil {
		return "", err
	}
	return kept, SyncDir(fs, dir)
}

// intactBytes returns the offset of the first damaged record of a write-ahead
// log, or the log's length.
func intactBytes(l wal.LogicalLog) (n int64, err error) {
	r := l.OpenForRead()
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		_, at, err := r.NextRecord()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, record.ErrInvalidChunk), errors.Is(err, record.ErrZeroedChunk),
			errors.Is(err, record.ErrUnexpectedEOF), pebble.IsCorruptionError(err):
			return at.Physical, nil
		default:
			return 0, fmt.Errorf("read %s: %w", at.PhysicalFile, err)
		}
	}
}

// SyncDir makes the names of the files in a folder durable.
func SyncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
