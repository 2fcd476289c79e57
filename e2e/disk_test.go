package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// With a full disk, envelopes are refused as unavailable, readiness is off,
// nothing is half-admitted, and the gateway resumes when there is space again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	g := startGateway(t, labConfig, "--data", filepath.Join(dir, "data"))
	read := collect(t, g.dial(t, "dave", client.After(0)))
	l := startLoad(t, g.dial(t, "alice", client.Position{}), g.dial(t, "bob", client.Position{}))
	l.more(200)

	l.outage()
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 64<<20), 0o600); err == nil {
		t.Fatal("the disk did not fill up")
	}
	eventually(t, "an envelope is refused", func() bool {
		return post(t, g.addr, "carol", `{"kind":"x.full","payload":{"text":"`+strings.Repeat("x", 4000)+`"}}`) == string(protocol.CodeUnavailable)
	})
	eventually(t, "readiness is off", func() bool { return get(g.addr, "/readyz", "") == http.StatusServiceUnavailable })
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	eventually(t, "readiness is on", func() bool { return get(g.addr, "/readyz", "") == http.StatusOK })
	l.more(200)
	l.finish()
	if text := g.log.String(); strings.Contains(text, ".go:") {
		t.Errorf("the log has stack traces:\n%s", text)
	}
	log := history(t, g.addr, "dave")
	read.verify(log)
	chats := make([]line, 0, len(log))
	for _, e := range log {
		if e.Kind == "chat" {
			chats = append(chats, e)
		}
	}
	l.verify(chats)
}
