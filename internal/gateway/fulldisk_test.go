package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// fullDisk fails every write while it is set.
type fullDisk struct{ full atomic.Bool }

func (d *fullDisk) String() string { return "full disk" }

func (d *fullDisk) MaybeError(op errorfs.Op) error {
	if d.full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
		return syscall.ENOSPC
	}
	return nil
}

// With a full disk only sending is rejected, and /readyz names no path.
func TestFullDisk_ReadersContinue(t *testing.T) {
	disk := &fullDisk{}
	g := meuptest.Start(t, meuptest.Config, func(o *gateway.Options) { o.SetFS(errorfs.Wrap(vfs.Default, disk)) })
	const chat = `{"kind":"chat","payload":{"message":"hello"}}`
	request := func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, g.HTTP()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer alice-token")
		transport := &http.Transport{DisableKeepAlives: true}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	if status, text := request(http.MethodPost, "/api/spaces/lab/envelopes", chat); status != http.StatusOK {
		t.Fatal(text)
	}
	disk.full.Store(true)
	defer disk.full.Store(false)
	for _, c := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{http.MethodPost, "/api/spaces/lab/envelopes", chat, http.StatusServiceUnavailable, "again"},
		{http.MethodGet, "/api/spaces/lab/envelopes", "", http.StatusOK, "hello"},
		{http.MethodGet, "/api/spaces/lab/participants", "", http.StatusOK, "participants"},
		{http.MethodGet, "/api/spaces", "", http.StatusOK, "lab"},
		{http.MethodGet, "/healthz", "", http.StatusOK, "ok"},
	} {
		if status, text := request(c.method, c.path, c.body); status != c.status || !strings.Contains(text, c.contains) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, text)
		}
	}
	ws := dial(t, g, "bob", "since=0")
	ctx := testkit.Deadline(t)
	for _, want := range []string{"system.welcome", "hello"} {
		if typ, frame, err := ws.Read(ctx); err != nil || typ != websocket.MessageText || !strings.Contains(string(frame), want) {
			t.Fatalf("want %s, got %s: %v", want, frame, err)
		}
	}
	status, text := request(http.MethodGet, "/readyz", "")
	if want := `{"status":"unavailable","reason":"the log is not accepting entries"}` + "\n"; status != http.StatusServiceUnavailable || sorted(text) != sorted(want) {
		t.Errorf("%d %s", status, text)
	}
}

// sorted returns the two fields of a flat JSON object in a fixed order.
func sorted(object string) string {
	a, b, _ := strings.Cut(strings.Trim(object, "{}\n"), ",")
	return min(a, b) + "," + max(a, b)
}
