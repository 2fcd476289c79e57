package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// stuckDisk blocks every sync from freeze to release.
type stuckDisk struct {
	mu       sync.Mutex
	released chan struct{} // nil: syncs complete
	stuck    chan struct{} // receives when a sync is blocked
}

func (d *stuckDisk) String() string { return "stuck disk" }

func (d *stuckDisk) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
	default:
		return nil
	}
	d.mu.Lock()
	released := d.released
	d.mu.Unlock()
	if released == nil {
		return nil
	}
	select {
	case d.stuck <- struct{}{}:
	default:
	}
	<-released
	return nil
}

func (d *stuckDisk) freeze() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.released = make(chan struct{})
}

func TestDrain_DiskHangs(t *testing.T) {
	disk := &stuckDisk{stuck: make(chan struct{}, 1)}
	options := gateway.Options{Config: parseConfig(t, discreetConfig)}
	options.Config.Data = t.TempDir()
	options.SetFS(errorfs.Wrap(vfs.Default, disk))
	g, err := gateway.New(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }() // ends with Close
	<-g.Opened()
	disk.freeze()
	posted := make(chan struct{})
	go func() { // ends when the sync returns, or the connection is cut
		defer close(posted)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String()+"/api/spaces/lab/envelopes",
			strings.NewReader(`{"kind":"chat","payload":{"message":"hello"}}`))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer secret-of-alice")
		transport := &http.Transport{DisableKeepAlives: true}
		if resp, err := transport.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-disk.stuck

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Drain(ctx); !errors.Is(err, gateway.ErrNotClosed) {
		t.Errorf("Drain: %v", err)
	}
	close(disk.released)
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	<-posted
	g.Wait()
}

// endsLater is a context that ends later than its deadline, for a disk that is slow to close the
// log.
type endsLater struct {
	context.Context
	deadline time.Time
}

func (c endsLater) Deadline() (time.Time, bool) { return c.deadline, true }

// Clients that do not go on, such as one whose request never ends, leave the log time to
// close.
func TestDrain_ClientHangs(t *testing.T) {
	t.Parallel()
	for limit := 2 * time.Second; !drainsHanging(t, limit); limit *= 4 { // a busy machine may be late
		if limit > testkit.Patience {
			t.Fatalf("the client was cut after the deadline, and left no time of %s to close the log", limit)
		}
	}
}

// drainsHanging drains a gateway whose client hangs, and reports whether the client was cut before
// the deadline.
func drainsHanging(t *testing.T, limit time.Duration) (inTime bool) {
	t.Helper()
	g, err := gateway.New(t.Context(), gateway.Options{Config: parseConfig(t, discreetConfig)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }() // ends with Drain
	<-g.Opened()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// The server asks for the body when its handler reads it.
	request := "POST /api/spaces/lab/envelopes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret-of-alice\r\n" +
		"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n"
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	response := bufio.NewReader(c)
	if line, err := response.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	cut := make(chan time.Time, 1)
	go func() { // ends with the connection
		_, _ = io.Copy(io.Discard, response)
		cut <- time.Now()
	}()
	ctx := endsLater{testkit.Deadline(t), time.Now().Add(limit)}
	err = g.Drain(ctx)
	if err == nil || errors.Is(err, gateway.ErrNotClosed) {
		t.Errorf("Drain: %v, want an error about the connection", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	return (<-cut).Before(ctx.deadline)
}
