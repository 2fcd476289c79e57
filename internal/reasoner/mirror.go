package reasoner

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/kit/privatedir"
)

const (
	mirrorQueue = 1024    // records that wait for a mirror; further ones are dropped
	maxLine     = 1 << 20 // bytes of a line of a file
)

// mirror copies records to a writer, on its own goroutine, so that a slow disk
// or reader delays no decision.
type mirror struct {
	store   *DecisionLog
	write   func(line []byte) error
	close   func() error
	log     *slog.Logger
	queue   chan wire.LogRecord
	done    chan struct{}
	dropped atomic.Int64
	failing bool
}

func (s *DecisionLog) start(write func([]byte) error, closing func() error, log *slog.Logger) {
	m := &mirror{store: s, write: write, close: closing, log: log, queue: make(chan wire.LogRecord, mirrorQueue), done: make(chan struct{})}
	s.mu.Lock()
	s.mirrors = append(s.mirrors, m)
	s.mu.Unlock()
	go m.run() // ends with Close
}

// add queues a record. DecisionLog.mu is held.
func (m *mirror) add(r wire.LogRecord) {
	select {
	case m.queue <- r:
	default:
		m.dropped.Add(1)
	}
}

func (m *mirror) run() {
	defer close(m.done)
	for r := range m.queue {
		m.store.mask(&r)
		line, err := json.Marshal(&r)
		if err == nil {
			err = m.write(append(line, '\n'))
		}
		if err != nil {
			m.dropped.Add(1)
			if !m.failing {
				m.log.Error("decisions are not logged", "error", err)
			}
		}
		m.failing = err != nil
	}
}

// MirrorTo copies each further record to w, as a line of JSON.
func (s *DecisionLog) MirrorTo(w io.Writer, log *slog.Logger) {
	s.start(func(line []byte) error {
		_, err := w.Write(line)
		return err
	}, func() error { return nil }, log)
}

// Close waits until the mirrors have written all records, or ctx ends. Records
// that are added after it are not copied.
func (s *DecisionLog) Close(ctx context.Context) error {
	s.mu.Lock()
	mirrors := s.mirrors
	s.mirrors = nil
	s.mu.Unlock()
	var err error
	for _, m := range mirrors {
		close(m.queue)
		select {
		case <-m.done:
			err = errors.Join(err, m.close())
		case <-ctx.Done():
			err = errors.Join(err, ctx.Err())
		}
	}
	return err
}

// file is a log file. When it has the maximum size it is renamed to FILE.1,
// which it replaces. If another program renames or removes it, it is created
// again.
type file struct {
	path string
	most int64
	lock *os.File
	f    *os.File
	size int64
}

// lockSuffix follows the path of a log file in the name of its lock file. The
// log file itself may be renamed, and so cannot be the lock.
const lockSuffix = ".lock"

// MirrorToFile restores the records of a file, and copies each further record
// to it as a line of JSON. The file and its predecessor, FILE.1, have at most
// Options.Bytes each. Only one process can use a file: another gets an error.
func (s *DecisionLog) MirrorToFile(path string, log *slog.Logger) error {
	lock, err := privatedir.Lock(path + lockSuffix)
	if err != nil {
		return fmt.Errorf("open log of decisions: %w", err)
	}
	f := &file{path: path, most: s.o.Bytes, lock: lock}
	for _, name := range []string{path + ".1", path} {
		if err := s.restore(name); err != nil {
			return errors.Join(fmt.Errorf("restore decisions: %w", err), f.close())
		}
	}
	if err := f.open(); err != nil {
		return errors.Join(err, f.close())
	}
	s.start(f.write, f.close, log)
	return nil
}

// restore reads the records of a file, which may not exist. It skips lines that
// are no records, such as the end of a line whose write was interrupted.
func (s *DecisionLog) restore(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if r, ok := decodeRecord(lines.Bytes()); ok && r.Seq > s.seq {
			s.seq = r.Seq
			s.keep(r)
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return err
	}
	return nil
}

// decodeRecord decodes a line of a file, which may have been changed.
func decodeRecord(line []byte) (r wire.LogRecord, ok bool) {
	err := json.Unmarshal(bytes.TrimSpace(line), &r)
	return r, err == nil && r.Seq > 0 && r.IntentID != "" && !r.Time.IsZero()
}

func (f *file) open() error {
	opened, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open log of decisions: %w", err)
	}
	info, err := opened.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open log of decisions: %w", err), opened.Close())
	}
	f.f, f.size = opened, info.Size()
	end := []byte{'\n'}
	if f.size > 0 {
		_, err = opened.ReadAt(end, f.size-1)
	}
	if err == nil && end[0] != '\n' { // a write was interrupted
		err = f.append([]byte{'\n'})
	}
	return err
}

// follow opens the file again if its path no longer leads to it, since another
// program renamed or removed it, or if it could not be opened before. A truncated
// file is continued.
func (f *file) follow() error {
	current, err := os.Stat(f.path)
	switch {
	case f.f == nil:
	case err == nil:
		if opened, err := f.f.Stat(); err == nil && os.SameFile(opened, current) {
			f.size = current.Size()
			return nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil // the open file can be written, too
	}
	return errors.Join(f.closeFile(), f.open())
}

func (f *file) closeFile() error {
	if f.f == nil {
		return nil
	}
	closing := f.f
	f.f = nil
	return closing.Close()
}

// close closes the file and releases the lock.
func (f *file) close() error { return errors.Join(f.closeFile(), f.lock.Close()) }

func (f *file) write(line []byte) error {
	if err := f.follow(); err != nil {
		return err
	}
	if f.size > 0 && f.size+int64(len(line)) > f.most {
		if err := errors.Join(f.closeFile(), os.Rename(f.path, f.path+".1"), f.open()); err != nil {
			return err
		}
	}
	return f.append(line)
}

func (f *file) append(data []byte) error {
	n, err := f.f.Write(data)
	f.size += int64(n)
	return err
}
