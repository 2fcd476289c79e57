package backtest_test

import (
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// The paths of a proposed call are those of its host.
func TestRun_Root(t *testing.T) {
	w := newWorld(t, office(), safety.Config{})
	const file = `{"id":%q,"kind":"mcp.proposal","payload":{"participant_id":"files","method":"tools/call","params":{"name":"write","arguments":{"path":%q}}}}`
	w.must("coder", fmt.Sprintf(file, "p1", "/work/docs/a"), fmt.Sprintf(file, "p2", "/etc/docs/a"), fmt.Sprintf(file, "p3", "docs/a"))
	cfg := office().but("coder", `"mcp.proposal"`, `{"kind":"mcp.request","to":"files","payload":{"params":{"arguments":{"path":{"$path":{"below":"docs"}}}}}}`).config(t)
	files := cfg.Participants["files"]
	files.Root = "/work"
	cfg.Participants["files"] = files
	p := office().policy(t, safety.Config{})
	p.Space = func(authority.Directory) *authority.Config { return cfg }
	var used []string
	r := w.run(backtest.Options{New: p, Used: func(e *protocol.Envelope, rule string) { used = append(used, string(e.ID)+" "+rule[:6]) }})
	if r.Allowed != 2 || r.Different != 2 {
		t.Errorf("%d of %d are allowed", r.Allowed, r.Different)
	}
	if got := fmt.Sprint(used); got != `[p1 {"kind p1 "mcp.p p2 "mcp.p p3 {"kind p3 "mcp.p]` {
		t.Error(got)
	}
}
