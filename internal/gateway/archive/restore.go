package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
)

// tempFolder is the folder, within the data folder, of an incomplete restoration.
const tempFolder = "restore.tmp"

// ownFolders are the folders of a gateway within its data folder.
var ownFolders = []string{logFolder, "replica", "search", "turns"}

// RestoreOptions configures Restore.
type RestoreOptions struct {
	From string // the archive or the folder
	Data string // the data folder; it is created if it does not exist
	// Force restores into a data folder that is in use by no process and not empty. The
	// log and the indexes in it are moved into a new folder within it.
	Force    bool
	Progress io.Writer    // for people
	Logger   *slog.Logger // receives warnings about the log
}

// Restored describes a log that was restored.
type Restored struct {
	Data string `json:"data"`
	// Log is the new id of the log, and OldLog its id in the backup.
	Log     string    `json:"log"`
	OldLog  string    `json:"old_log"`
	Entries uint64    `json:"entries"`
	Spaces  int       `json:"spaces"`
	Bytes   int64     `json:"bytes"`
	Created time.Time `json:"created"` // the backup
	Version string    `json:"version"` // of the program that made the backup
	// Replaced is the folder with the former content of the data folder; empty: there
	// was none.
	Replaced string `json:"replaced,omitempty"`
}

// Restore makes a data folder of a backup. It verifies the backup first, opens its log,
// and gives it another id: clients may have received entries that the backup does not
// have. Only then it changes the data folder. If it fails, or ctx ends, the
// data folder is as it was.
func Restore(ctx context.Context, o RestoreOptions) (result *Restored, err error) {
	if _, err := os.Stat(o.From); err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	_, existed := os.Stat(o.Data)
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	if existed != nil {
		defer func() {
			if err != nil {
				_ = os.Remove(o.Data) // fails if it has got other files meanwhile
			}
		}()
	}
	locks, err := lockData(ctx, o)
	if err != nil {
		return nil, err
	}
	defer locks.close()
	temp := filepath.Join(o.Data, tempFolder)
	unlock, err := newTempFolder(temp)
	if err != nil {
		return nil, err
	}
	defer unlock()
	x := &extraction{ctx: ctx, dir: filepath.Join(temp, logFolder), progress: o.Progress}
	if err := read(ctx, o.From, x); err != nil {
		return nil, fmt.Errorf("restore %s: %w; %s was not changed", o.From, err, o.Data)
	}
	result, err = x.open(o)
	if err != nil {
		return nil, fmt.Errorf("restore %s: %w; %s was not changed", o.From, err, o.Data)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	result.Replaced, err = locks.replace(x.dir)
	if err != nil {
		return nil, fmt.Errorf("restore %s: %w", o.From, err)
	}
	return result, nil
}

// extraction writes the files of a backup into a folder.
type extraction struct {
	ctx      context.Context //nolint:containedctx // of one Restore
	dir      string
	progress io.Writer
	manifest *Manifest
	done     *copyProgress
}

func (x *extraction) begin(m *Manifest) error {
	x.manifest, x.done = m, newCopyProgress(x.progress, "restoring", m.Bytes)
	disk, err := vfs.Default.GetDiskUsage(filepath.Dir(x.dir))
	if err == nil && uint64(m.Bytes) > disk.AvailBytes { // otherwise the disk reports it
		return fmt.Errorf("it needs %s, and the disk has %s", ByteSize(m.Bytes), ByteSize(int64(disk.AvailBytes)))
	}
	return os.Mkdir(x.dir, 0o700)
}

func (x *extraction) file(f File, r io.Reader) error {
	file, err := os.OpenFile(filepath.Join(x.dir, f.Name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(copyAll(x.ctx, file, r, x.done), file.Sync(), file.Close())
}

// open opens the log, compares it with the manifest, and gives it another id.
func (x *extraction) open(o RestoreOptions) (*Restored, error) {
	if err := entrydb.SyncDir(vfs.Default, x.dir); err != nil {
		return nil, err
	}
	m := x.manifest
	stored, err := pebblejournal.OpenStored(x.dir, o.Logger)
	if err != nil {
		return nil, err
	}
	if stored.LogID != m.Log || stored.Entries != m.Entries || stored.Spaces != m.Spaces {
		err = fmt.Errorf("its log %s has %d entries in %d spaces, and its %s states %d in %d of the log %s",
			stored.LogID, stored.Entries, stored.Spaces, manifestName, m.Entries, m.Spaces, m.Log)
	}
	if err := errors.Join(err, stored.Close()); err != nil {
		return nil, err
	}
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: x.dir, Restored: true})
	if err != nil {
		return nil, err
	}
	id, err := j.LogID(x.ctx, "")
	if err := errors.Join(err, j.Close(), giveAway(x.dir, o.Data)); err != nil {
		return nil, err
	}
	return &Restored{
		Data: o.Data, Log: id, OldLog: m.Log, Entries: m.Entries, Spaces: m.Spaces, Bytes: m.Bytes, Created: m.Created, Version: m.Version,
	}, nil
}

// newTempFolder makes an empty folder that no other process restores into. An earlier
// one, of a process that was killed, is removed.
func newTempFolder(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := entrydb.Lock(dir)
	if errors.Is(err, entrydb.ErrInUse) {
		return nil, fmt.Errorf("another process restores into %s", filepath.Dir(dir))
	}
	if err != nil {
		return nil, err
	}
	unlock = func() {
		_ = os.RemoveAll(filepath.Join(dir, logFolder)) // a leftover is removed next time
		_ = lock.Close()
		_ = os.RemoveAll(dir)
	}
	if err := os.RemoveAll(filepath.Join(dir, logFolder)); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// dataLocks are the locks of the logs in a data folder that are replaced.
type dataLocks struct {
	data    string
	present []string // entries to move away
	held    []io.Closer
}

// lockData checks that a data folder can be restored into, and locks its logs.
func lockData(ctx context.Context, o RestoreOptions) (*dataLocks, error) {
	entries, err := os.ReadDir(o.Data)
	if err != nil {
		return nil, fmt.Errorf("read the data folder: %w", err)
	}
	l := &dataLocks{data: o.Data}
	var others []string
	for _, e := range entries {
		switch {
		case e.Name() == tempFolder, e.Name() == "lost+found":
		case slices.Contains(ownFolders, e.Name()):
			l.present = append(l.present, e.Name())
		default:
			others = append(others, e.Name())
		}
	}
	if there := append(slices.Clone(l.present), others...); len(there) > 0 && !o.Force {
		return nil, fmt.Errorf("%s is not empty, it has %s: choose another folder; or stop the gateway and use --force, which moves the log away and deletes nothing",
			o.Data, strings.Join(there[:min(len(there), 5)], ", "))
	}
	conn, err := dial(ctx, o.Data)
	switch {
	case err == nil: // also if its log was moved away
		_ = conn.Close() // nothing was sent
		return nil, fmt.Errorf("%s is in use; stop the gateway", o.Data)
	case !errors.Is(err, errNotRunning):
		return nil, fmt.Errorf("find out whether a gateway uses %s: %w", o.Data, err)
	}
	if err := l.lock(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *dataLocks) lock() error {
	if dir := filepath.Join(l.data, logFolder); slices.Contains(l.present, logFolder) {
		if manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*")); err != nil || len(manifests) == 0 {
			return fmt.Errorf("%s is not the log of a gateway, so it is not moved: choose another folder", dir)
		}
		lock, err := entrydb.Lock(dir)
		if err != nil {
			return inUse(l.data, err)
		}
		l.held = append(l.held, lock)
	}
	file := filepath.Join(l.data, "replica", "replica.lock")
	if _, err := os.Stat(file); err == nil {
		lock, err := vfs.Default.Lock(file)
		if err != nil {
			return inUse(l.data, err)
		}
		l.held = append(l.held, lock)
	}
	return nil
}

func inUse(data string, err error) error {
	return fmt.Errorf("%s cannot be locked; stop the gateway that uses it: %w", data, err)
}

func (l *dataLocks) close() {
	for _, lock := range l.held {
		_ = lock.Close() // it can only be closed already
	}
	l.held = nil
}

// replace moves the former log and indexes into a new folder, and the restored log to
// its place.
func (l *dataLocks) replace(dir string) (aside string, err error) {
	if runtime.GOOS == "windows" {
		l.close() // a folder with an open file cannot be renamed there
	}
	if len(l.present) > 0 {
		aside = filepath.Join(l.data, "replaced-"+time.Now().UTC().Format("20060102T150405.000000000Z"))
		if err := errors.Join(os.Mkdir(aside, 0o700), giveAway(aside, l.data)); err != nil {
			return "", err
		}
	}
	var moved []string
	for _, name := range l.present {
		err = os.Rename(filepath.Join(l.data, name), filepath.Join(aside, name))
		if err != nil {
			break
		}
		moved = append(moved, name)
	}
	if err == nil {
		err = os.Rename(dir, filepath.Join(l.data, logFolder))
	}
	if err == nil {
		return aside, entrydb.SyncDir(vfs.Default, l.data)
	}
	for _, name := range moved {
		err = errors.Join(err, os.Rename(filepath.Join(aside, name), filepath.Join(l.data, name)))
	}
	if aside != "" {
		_ = os.Remove(aside) // it is not empty if an entry could not be moved back
	}
	return "", err
}
