package pebblejournal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/protocol"
)

// Checkpoint makes a copy of the log in a folder that must not exist, on the same file
// system. The copy has every entry that was acknowledged before the call. Appends go
// on meanwhile. See [entrydb.DB.Checkpoint].
func (j *Journal) Checkpoint(dir string) error {
	acknowledged := j.mark.acknowledged.Load()
	if err := j.db.Checkpoint(dir); err != nil {
		return err
	}
	// With the mark, the copy shows whether it is complete, as the original does.
	fs := j.db.FS()
	file, err := fs.Create(fs.PathJoin(dir, markFile), vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = file.Write(formatMark(acknowledged))
		err = errors.Join(err, file.Sync(), file.Close(), entrydb.SyncDir(fs, dir))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("make a checkpoint in %s: %w", dir, err), fs.RemoveAll(dir))
	}
	return nil
}

// Stored is the log in a folder, opened without a change of its files. No process can
// open the folder before Close.
type Stored struct {
	db *entrydb.DB

	LogID   string
	Entries uint64 // that were ever appended
	Spaces  int
}

// OpenStored opens the log in a folder for reading. It rejects a log that lacks
// acknowledged entries. It creates no file other than the one that locks the folder.
func OpenStored(dir string, log *slog.Logger) (*Stored, error) {
	db, err := entrydb.Open(entrydb.Options{Dir: dir, ReadOnly: true, Logger: log})
	if err != nil {
		return nil, err
	}
	s := &Stored{db: db}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open log in %s: %w", dir, err), db.Close())
	}
	return s, nil
}

func (s *Stored) load() error {
	if _, err := checkFormat(s.db); err != nil {
		return err
	}
	id, err := s.db.Meta(logIDKey)
	if err != nil {
		return err
	}
	if id == nil {
		return errors.New("it has no id: it is not the log of a gateway")
	}
	counted, appended, err := appendedEntries(s.db)
	if err != nil {
		return err
	}
	acknowledged, known, err := readMark(s.db.FS(), s.db.Dir())
	if err != nil {
		return err
	}
	if err := lostEntries(acknowledged, known, appended, counted); err != nil {
		return err
	}
	spaces, err := s.db.Spaces()
	if err != nil {
		return err
	}
	spaces = slices.DeleteFunc(spaces, func(space string) bool { return space == journal.GatewayLog })
	s.LogID, s.Entries, s.Spaces = string(id), appended, len(spaces)
	return nil
}

// Reader returns a reader of the log. It is valid until Close.
func (s *Stored) Reader() journal.Reader { return storedReader{s.db} }

// storedReader reads a log that nobody appends to.
type storedReader struct{ db *entrydb.DB }

func (r storedReader) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return r.db.Range(ctx, space, q)
}

func (r storedReader) Lookup(_ context.Context, space string, id protocol.ID) (*journal.Entry, error) {
	return r.db.Lookup(space, id)
}

func (r storedReader) Bounds(_ context.Context, space string) (oldest, newest protocol.Seq, err error) {
	return r.db.Bounds(space)
}

func (r storedReader) Spaces(context.Context) ([]string, error) {
	spaces, err := r.db.Spaces()
	spaces = slices.DeleteFunc(spaces, func(space string) bool { return space == journal.GatewayLog })
	slices.Sort(spaces)
	return spaces, err
}

// readMark returns the number in the mark in dir; known is false if there is no mark, or
// an unreadable one.
func readMark(fs vfs.FS, dir string) (acknowledged uint64, known bool, err error) {
	file, err := fs.Open(fs.PathJoin(dir, markFile))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return 0, false, err
	}
	text := make([]byte, markLength)
	if _, err := io.ReadFull(file, text); err == nil {
		acknowledged, known = parseMark(text)
	}
	return acknowledged, known, file.Close()
}

// Close closes the log and unlocks its folder.
func (s *Stored) Close() error { return s.db.Close() }
