package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// errReaderGone: whoever read the output has seen enough, as head does.
var errReaderGone = errors.New("nobody reads the output any more")

// sink is where an export goes: standard output, or a file that is there as a
// whole or not at all.
type sink struct {
	*bufio.Writer
	file *os.File // nil: standard output
	name string
}

func newSink(name string, stdout io.Writer) (*sink, error) {
	if name == "" {
		signal.Ignore(syscall.SIGPIPE) // so that the log is closed in good order
		return &sink{Writer: bufio.NewWriterSize(pipe{stdout}, 1<<16)}, nil
	}
	if there, err := os.Stat(name); err == nil && !there.Mode().IsRegular() {
		return nil, fmt.Errorf("write %s: it is there and no file", name) // a device, say
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return &sink{Writer: bufio.NewWriterSize(file, 1<<16), file: file, name: name}, nil
}

// end ends the output after an export that has ended with err. A file is given
// its name if nothing went wrong, and goes otherwise.
func (s *sink) end(err error) error {
	if flushed := s.Flush(); err == nil {
		err = flushed
	}
	if s.file == nil {
		return err
	}
	if err == nil {
		err = s.file.Sync()
	}
	err = errors.Join(err, s.file.Close())
	if err == nil {
		err = os.Rename(s.file.Name(), s.name)
	}
	if err != nil {
		_ = os.Remove(s.file.Name()) // what went wrong is said
		return err
	}
	return nil
}

// pipe knows the end of a reader from other errors.
type pipe struct{ to io.Writer }

// Write writes.
func (p pipe) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		return n, errReaderGone
	}
	return n, err
}

// meter says from time to time how far an export is.
type meter struct {
	to            io.Writer
	what          string // is written
	seen, written int
	last          time.Time
}

func newMeter(to io.Writer, f *exportFlags) *meter {
	m := &meter{to: to, what: "turns", last: time.Now()}
	switch {
	case f.format == formatLines:
		m.what = "envelopes"
	case f.format == formatMarkdown && f.gateway != "":
		m.what = "threads"
	}
	return m
}

// read counts an entry of the log.
func (m *meter) read() {
	m.seen++
	if m.seen%1000 == 0 {
		m.say("%d envelopes read …\n", m.seen)
	}
}

// wrote counts what was written.
func (m *meter) wrote() {
	m.written++
	if m.written%1000 == 0 {
		m.say("%d %s …\n", m.written, m.what)
	}
}

func (m *meter) say(format string, args ...any) {
	if time.Since(m.last) > 2*time.Second {
		fmt.Fprintf(m.to, format, args...)
		m.last = time.Now()
	}
}

func (m *meter) done() {
	if m.written == 1 {
		fmt.Fprintf(m.to, "1 %s\n", strings.TrimSuffix(m.what, "s"))
		return
	}
	fmt.Fprintf(m.to, "%d %s\n", m.written, m.what)
}
