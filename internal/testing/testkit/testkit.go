// Package testkit has helpers for the tests of all packages.
package testkit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

// Patience bounds how long tests wait for something that must happen. A test that
// waits for so long has failed; a busy machine must not reach it. The time-out of the
// test binary is the bound of everything else.
const Patience = 5 * time.Minute

// Deadline returns a context that ends with the test, or after Patience.
func Deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Eventually polls a condition that another goroutine or process fulfills.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(Patience)
	for !condition() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not within %s: %s", Patience, what)
		}
	}
}

// FreePort returns a TCP port of 127.0.0.1 that nothing else uses before the test
// ends, so that a server can be started, stopped and started again there. It is
// below the ports that systems give to connections and to listeners at port 0, and
// above 10080, which browsers do not connect to.
// The UDP socket of the same number marks it as taken for the tests of all
// processes.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 10_100 + rand.IntN(21_900)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		mark, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", address)
		if err != nil {
			continue
		}
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			_ = mark.Close()
			continue
		}
		_ = l.Close()
		t.Cleanup(func() { _ = mark.Close() })
		return port
	}
	t.Fatal("no port is free")
	return 0
}

// FreeAddress is FreePort as host:port.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(FreePort(t)))
}

// CopyFolder copies a folder that a program is using, as a crash would leave it: it begins
// again if a file is removed meanwhile, which the program needs no more.
func CopyFolder(t testing.TB, to, from string) {
	t.Helper()
	for {
		err := os.CopyFS(to, os.DirFS(from))
		if err == nil {
			return
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
}

// Output is the output of a test until the test ends. What comes later, as from a callback of
// nats.go, is dropped.
func Output(t testing.TB) io.Writer {
	o := &output{to: t.Output()}
	t.Cleanup(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.to = io.Discard
	})
	return o
}

type output struct {
	mu sync.Mutex
	to io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(p)
}

// Log is a log in memory. Its methods may be called concurrently.
type Log struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed at the next write; nil: none was read
}

// Write appends to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return l.text.Write(p)
}

// String returns the log.
func (l *Log) String() string {
	text, _ := l.read()
	return text
}

func (l *Log) read() (text string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.text.String(), l.changed
}

// Wait waits until the log has a text, and returns the rest of its line.
func (l *Log) Wait(t testing.TB, what string) string {
	t.Helper()
	late := time.After(Patience)
	for {
		text, changed := l.read()
		_, after, found := strings.Cut(text, what)
		if line, _, whole := strings.Cut(after, "\n"); found && whole {
			return line
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%q is not in the log:\n%s", what, text)
		}
	}
}

// ClockReading returns a reading of time.Now at a machine on which elapsed has passed since
// the reading start and on which the wall clock shows wall more than then. They differ
// after somebody has set the clock.
func ClockReading(t testing.TB, start time.Time, wall, elapsed time.Duration) time.Time {
	t.Helper()
	r := start.Add(elapsed)
	// The first word of a time.Time with a monotonic reading is a bit, 33 bits of seconds
	// and 30 bits of nanoseconds of the wall clock.
	seconds := int64((wall - elapsed) / time.Second)
	*(*uint64)(unsafe.Pointer(&r)) += uint64(seconds) << 30 //nolint:gosec // nothing else sets the two clocks apart
	if got := time.Duration(r.UnixNano() - start.UnixNano()); r.Sub(start) != elapsed || got != elapsed+time.Duration(seconds)*time.Second {
		t.Fatalf("a time.Time has another layout: %v and %v have passed, want %v and %v", got, r.Sub(start), wall, elapsed)
	}
	return r
}
