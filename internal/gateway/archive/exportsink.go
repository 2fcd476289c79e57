package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// errReaderGone: the reader of the output has closed its end, as head does.
var errReaderGone = errors.New("the reader of the output has closed it")

// sink is the destination of an export: standard output, or a file that is
// written completely or not at all.
type sink struct {
	*bufio.Writer
	file *os.File // nil: standard output
	name string
}

func newSink(name string, stdout io.Writer) (*sink, error) {
	if name == "" {
		signal.Ignore(syscall.SIGPIPE) // so that the log is closed cleanly
		return &sink{Writer: bufio.NewWriterSize(pipe{stdout}, 1<<16)}, nil
	}
	if there, err := os.Stat(name); err == nil && !there.Mode().IsRegular() {
		return nil, fmt.Errorf("write %s: it exists and is not a regular file", name) // a device, for example
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return &sink{Writer: bufio.NewWriterSize(file, 1<<16), file: file, name: name}, nil
}

// end closes the output after an export that ended with err. A file gets its
// name on success, and is removed otherwise.
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
		_ = os.Remove(s.file.Name()) // the first error is returned already
		return err
	}
	return nil
}

// pipe distinguishes a closed reader from other errors.
type pipe struct{ to io.Writer }

// Write writes.
func (p pipe) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		return n, errReaderGone
	}
	return n, err
}

// exportProgress reports the progress of an export periodically.
type exportProgress struct {
	to            io.Writer
	unit          string // of written
	seen, written int
	last          time.Time
}

// read counts an entry of the log.
func (m *exportProgress) read() {
	m.seen++
	if m.seen%1000 == 0 {
		m.printf("%s read …\n", textutil.Count(m.seen, "envelope"))
	}
}

// wrote counts a written unit.
func (m *exportProgress) wrote() {
	m.written++
	if m.written%1000 == 0 {
		m.printf("%s …\n", textutil.Count(m.written, m.unit))
	}
}

func (m *exportProgress) printf(format string, args ...any) {
	if time.Since(m.last) > 2*time.Second {
		fmt.Fprintf(m.to, format, args...)
		m.last = time.Now()
	}
}

func (m *exportProgress) done() { fmt.Fprintln(m.to, textutil.Count(m.written, m.unit)) }
