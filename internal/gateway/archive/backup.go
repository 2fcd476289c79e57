// Package archive copies the log of a gateway: into backups, from backups, into exports.
//
// A backup is an archive or a folder, and has the whole log, see [Manifest]. It is made
// while the gateway runs, from a checkpoint that it requests at a [ControlServer], or of
// the folder of a stopped one. It has no indexes, which are built again from the log, and
// neither the configuration nor tokens, which are not in the data folder. It is as
// confidential as the log. An export has one space, or a thread or a job of it, for readers.
package archive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
)

// BackupOptions configures CreateBackup.
type BackupOptions struct {
	Data string // the data folder of the gateway
	// To is the file, NAME.tar.gz or NAME.tgz, or the folder to write. Force replaces
	// an existing one.
	To    string
	Force bool
	// Embedded states that the gateway's log is in the data folder, even if it has a
	// replica of a log on JetStream too.
	Embedded bool
	Version  string       // of the program
	Progress io.Writer    // for people; nil: none
	Logger   *slog.Logger // receives warnings about the log; nil: discarded

	// wait bounds the time for a gateway that starts, or for another program that has the
	// log open; default 5 s.
	wait time.Duration
}

const (
	defaultWait = 5 * time.Second
	waitPause   = 250 * time.Millisecond
)

// BackupResult describes a backup that was made.
type BackupResult struct {
	To string `json:"to"`
	// Size is the size of the backup in bytes.
	Size int64 `json:"size"`
	// Running is true if a running gateway made the checkpoint.
	Running bool    `json:"running"`
	Log     string  `json:"log"`
	Entries uint64  `json:"entries"`
	Spaces  int     `json:"spaces"`
	Bytes   int64   `json:"bytes"` // of the log
	Seconds float64 `json:"seconds"`
}

// CreateBackup makes a backup. It has every entry that was acknowledged before the call. If
// it fails, or ctx ends, no file or folder has the name of the destination, or the
// former one still has it.
func CreateBackup(ctx context.Context, o BackupOptions) (*BackupResult, error) {
	began := time.Now()
	if info, err := os.Stat(o.Data); err != nil || !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s is not a data folder", o.Data), err)
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	to, err := newDestination(o)
	if err != nil {
		return nil, err
	}
	return create(ctx, o, to, began)
}

// create makes a backup at a destination.
func create(ctx context.Context, o BackupOptions, to destination, began time.Time) (*BackupResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s, err := openSource(ctx, cancel, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	m, err := s.manifest(ctx, o)
	if err != nil {
		return nil, err
	}
	size, err := write(ctx, s.dir, m, to, newCopyProgress(o.Progress, "writing", m.Bytes))
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		to.discard()
		return nil, fmt.Errorf("write %s: %w", o.To, err)
	}
	if err := to.commit(); err != nil {
		to.discard()
		return nil, fmt.Errorf("write %s: %w", o.To, err)
	}
	return &BackupResult{
		To: o.To, Size: size, Running: s.lease != nil, Log: m.Log, Entries: m.Entries, Spaces: m.Spaces, Bytes: m.Bytes,
		Seconds: time.Since(began).Seconds(),
	}, nil
}

// write adds the manifest and the files to the destination, and returns its size.
func write(ctx context.Context, dir string, m *Manifest, to destination, p *copyProgress) (size int64, err error) {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return 0, err
	}
	text = append(text, '\n')
	if err := to.begin(); err != nil {
		return 0, err
	}
	if err := to.add(ctx, manifestName, int64(len(text)), bytes.NewReader(text), newCopyProgress(io.Discard, "", 0)); err != nil {
		return 0, err
	}
	for _, f := range m.Files {
		if err := addFile(ctx, filepath.Join(dir, f.Name), f, to, p); err != nil {
			return 0, err
		}
	}
	return to.finish()
}

func addFile(ctx context.Context, path string, f File, to destination, p *copyProgress) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return to.add(ctx, logFolder+"/"+f.Name, f.Size, file, p)
}

// source is a log that does not change while it is copied.
type source struct {
	dir    string
	stored *pebblejournal.Stored
	lease  *Lease // nil: no gateway runs
}

// openSource asks the running gateway for a checkpoint, or opens the log of a stopped
// one. cancel is called if the checkpoint may be gone.
func openSource(ctx context.Context, cancel context.CancelCauseFunc, o BackupOptions) (*source, error) {
	end := time.Now().Add(cmp.Or(o.wait, defaultWait))
	for {
		lease, err := Checkpoint(ctx, o.Data)
		if err == nil {
			stored, err := pebblejournal.OpenStored(lease.Dir, o.Logger)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("read the checkpoint: %w", err), lease.Close())
			}
			go func() { // ends with the lease
				<-lease.Ended()
				cancel(errors.New("the gateway ended during the backup: run it again"))
			}()
			return &source{dir: lease.Dir, stored: stored, lease: lease}, nil
		}
		if !errors.Is(err, errNotRunning) {
			return nil, err
		}
		dir := filepath.Join(o.Data, logFolder)
		_, err = os.Stat(dir)
		_, replicaErr := os.Stat(filepath.Join(o.Data, "replica"))
		switch {
		case err != nil && replicaErr == nil:
			return nil, ErrNATS
		case err != nil:
			return nil, fmt.Errorf("no log in %s: %w", o.Data, err)
		case replicaErr == nil && !o.Embedded:
			return nil, fmt.Errorf("%s has a log and a replica of a log on JetStream: name the configuration of the gateway with --config", o.Data)
		}
		stored, err := pebblejournal.OpenStored(dir, o.Logger)
		switch {
		case err == nil:
			return &source{dir: dir, stored: stored}, nil
		case !errors.Is(err, entrydb.ErrInUse):
			return nil, fmt.Errorf("%w. A backup is made of a complete log only; a damaged one can be copied as a folder", err)
		case time.Now().After(end):
			return nil, fmt.Errorf("%w, and it does not answer at %s: wait for another backup or export of this folder, or for a gateway that starts or stops; "+
				"restart a gateway of an earlier version", err, filepath.Join(o.Data, SocketName))
		}
		if err := pause(ctx, waitPause); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ErrNATS explains how a log on JetStream is backed up.
var ErrNATS = errors.New("the log is on JetStream, which has a backup of its own: run nats account backup FOLDER, or nats stream backup STREAM FOLDER for each stream; " +
	"the data folder has a copy only, which a gateway makes again")

func (s *source) close() {
	_ = s.stored.Close() // it was only read
	if s.lease != nil {
		_ = s.lease.Close() // the connection is closed also after an error
	}
}

// manifest lists the files of the log with their digests.
func (s *source) manifest(ctx context.Context, o BackupOptions) (*Manifest, error) {
	m := &Manifest{
		Format: format, Version: o.Version, Created: time.Now().UTC().Truncate(time.Second),
		Log: s.stored.LogID, Entries: s.stored.Entries, Spaces: s.stored.Spaces,
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !storeFile.MatchString(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, File{Name: e.Name(), Size: info.Size()})
		m.Bytes += info.Size()
	}
	slices.SortFunc(m.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	p := newCopyProgress(o.Progress, "reading", m.Bytes)
	for i := range m.Files {
		f := &m.Files[i]
		f.SHA256, err = digest(ctx, filepath.Join(s.dir, f.Name), p)
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

func digest(ctx context.Context, path string, p *copyProgress) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if err := copyAll(ctx, sum, file, p); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
