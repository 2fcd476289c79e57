package entrydb

import (
	"fmt"
)

// Err returns nil while the database accepts writes, and otherwise the reason
// why it does not.
func (d *DB) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cur == nil {
		return d.err
	}
	return d.cur.fs.failure()
}

// Failed returns a channel that is closed once the database accepts no more
// writes. After a successful Reopen it returns a new channel.
func (d *DB) Failed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cur == nil {
		return closedChannel
	}
	return d.cur.fs.failed
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Fail makes the database fail as an error of its disk does: it writes nothing more to its
// folder. It does nothing if the database has failed already.
func (d *DB) Fail(reason error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cur != nil {
		d.cur.fs.fail(reason)
	}
}

// Reopen opens a failed database again. It first tests whether the disk accepts
// data; if not, the database stays as it is, readable. After an error the
// caller retries later. Reopen of a healthy database does nothing.
//
// After Reopen, everything in the database is durable. A batch whose commit
// returned an error is in it as a whole or not at all; its first row shows
// which.
func (d *DB) Reopen() error {
	d.reopening.Lock()
	defer d.reopening.Unlock()
	reason := d.Err()
	if reason == nil {
		return nil
	}
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return errClosed
	}
	if err := d.probe(); err != nil {
		return fmt.Errorf("try to write in %s: %w", d.dir, err)
	}
	if old := d.detach(reason); old != nil {
		_ = old.pdb.Close() // its writes since the failure are in memory
	}
	s, err := d.openStore()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cur, d.err = s, err
	return err
}

// probeBytes is the minimum space that a store needs to open and to run for a
// while.
const probeBytes = 1 << 20

// probe writes and removes a file.
func (d *DB) probe() error {
	name := d.fs.PathJoin(d.dir, "probe.tmp")
	f, err := d.fs.Create(name, "meup-probe")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeBytes))
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if removeErr := d.fs.Remove(name); err == nil {
		err = removeErr
	}
	return err
}
