package entrydb

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal"
)

// Checkpoint makes a copy of the database in dir, which must not exist. The copy has
// everything that was committed with sync before the call, and a prefix of the later
// commits. Commits go on meanwhile. Tables are hard links where dir is on the same file
// system; tables that the database no longer uses stay on disk as long as dir does.
//
// Err: ErrUnavailable if the database has failed. The database does not fail if dir
// cannot be written.
func (d *DB) Checkpoint(dir string) error {
	s, err := d.acquire()
	if err != nil {
		return err
	}
	defer d.release(s)
	if failure := s.fs.failure(); failure != nil {
		return journal.Unavailable(failure)
	}
	err = s.checkpoint(dir)
	if failure := s.fs.failure(); failure != nil {
		err = journal.Unavailable(failure) // later writes were in memory
	}
	if err != nil {
		return errors.Join(fmt.Errorf("make a checkpoint in %s: %w", dir, err), d.fs.RemoveAll(dir))
	}
	return nil
}

// checkpoint turns a panic of Pebble, which a directory that cannot be synced causes, into
// an error. Pebble holds no lock then.
func (s *store) checkpoint(dir string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return s.pdb.Checkpoint(dir)
}

// Lock locks the database in a folder, so that no process can open it before the
// result is closed. Err: ErrInUse.
func Lock(dir string) (io.Closer, error) {
	lock, err := pebble.LockDirectory(dir, vfs.Default)
	if err != nil && isLocked(err) {
		return nil, fmt.Errorf("%w: %w", ErrInUse, err)
	}
	return lock, err
}
