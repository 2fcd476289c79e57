package entrydb

import (
	"fmt"
)

// Err returns nil while the database takes writes, and otherwise why not.
func (d *DB) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cur == nil {
		return d.err
	}
	return d.cur.gate.failure()
}

// Failed returns a channel that is closed once the database takes no more
// writes. After a successful Reopen there is a new one.
func (d *DB) Failed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cur == nil {
		return closedChannel
	}
	return d.cur.gate.frozen
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Reopen opens a database again that has failed. It first tries whether the
// disk takes data; while it does not, the database stays as it is, readable.
// An error means that nothing has become better, and the caller tries again
// later. Reopen of a healthy database does nothing.
//
// After it, what is in the database is durable. A batch whose commit had
// returned an error is in it as a whole or not at all; which of the two is
// found by looking for its first row.
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
		_ = old.pdb.Close() // its writes are in memory since it failed
	}
	s, err := d.openStore()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cur, d.err = s, err
	return err
}

// probeBytes is what a store needs at least to open and to go on for a while.
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
