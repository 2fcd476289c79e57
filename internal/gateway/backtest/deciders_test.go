package backtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/gateway/backtest"
	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/protocol"
)

const (
	listRule = `{"kind":"mcp.request","payload":{"params":{"name":"list_*"}}}`
	noDrop   = `{"kind":"mcp.request","payload":{"params":{"name":"drop_*"}},"deny":true}`
	onlyWipe = `{"kind":"mcp.request","payload":{"params":{"name":"wipe"}}}`
	writes   = `{"kind":"mcp.request","payload":{"params":{"name":"write_*"}}}`
)

// judged is an office with deciders.
func judged() rules {
	return office().but("rev", `"mcp.opinion"`, `"decide"`, `"mcp.reject"`).but(deciders, listRule, onlyWipe, writes, "shadow")
}

func opine(t testing.TB, proposal, tool string) string {
	t.Helper()
	e := protocol.Envelope{Payload: fmt.Appendf(nil, `{`+call+`}`, tool)}
	return fmt.Sprintf(`{"id":%q,"kind":"mcp.opinion","correlationId":%q,"payload":{"verdict":"approve","call":%q}}`, "o-"+proposal, proposal, exchange.CallOf(&e).Digest())
}

func mode(kind, more string) string {
	return fmt.Sprintf(`{"kind":"reviewer.%s","payload":{"participant_id":"rev"}%s}`, kind, more)
}

// workJudged fills the log of an office with decisions of rules, a reviewer and people.
func workJudged(t testing.TB) *world {
	w := newWorld(t, judged(), safety.Config{})
	w.must("coder", request("r1", "files", "list_files"), propose("p1", "write_file"), propose("p2", "wipe"), propose("p3", "write_file"))
	w.mustNot("coder", request("r2", "files", "write_file"))
	w.must("rev", opine(t, "p1", "write_file"), opine(t, "p2", "wipe"))
	w.mustNot("rev", reject("x1", "p1"))
	w.must("alice", approve("a1", "p1", "write_file"), mode("promote", ""))
	w.must("rev", opine(t, "p3", "write_file"), approve("a3", "p3", "write_file"))
	w.mustNot("rev", reject("x2", "p2"))
	w.must("coder", propose("p4", "write_file"), propose("p5", "drop_table"))
	w.mustNot("bob", reject("x4", "p4"))
	w.now = w.now.Add(time.Minute)
	w.must("bob", reject("a4", "p4"))
	w.must("alice", mode("demote", `,"correlationId":"a3"`))
	w.mustNot("rev", reject("x5", "p5"))
	w.must("alice", approve("a2", "p2", "wipe"), reject("a5", "p5"))
	return w
}

// The configuration in force decides everything as it was decided, from each place of the log,
// also of what a participant sees of it.
func TestRun_DecidersSame(t *testing.T) {
	w := workJudged(t)
	same := judged().policy(t, safety.Config{})
	w.same(backtest.Options{New: same})
	for before := range w.space.Head() + 1 {
		w.same(backtest.Options{New: same, Log: cut{w.log, before}})
		w.same(backtest.Options{New: same, After: before})
	}
	w.same(backtest.Options{New: same, Log: visible{w.log, ""}, Partial: true})
	if r := w.run(backtest.Options{New: same}); r.Envelopes != 16 || r.Unjudged != 0 {
		t.Errorf("%d envelopes, %d not judged", r.Envelopes, r.Unjudged)
	}
}

func TestRun_DecidersOther(t *testing.T) {
	w := workJudged(t)
	current := judged().policy(t, safety.Config{})
	for name, c := range map[string]struct {
		new  rules
		want []string
	}{
		"more rules": {judged().but(deciders, `{"kind":"mcp.request","payload":{"params":{"name":["list_*","drop_*"]}}}`, onlyWipe, writes, "shadow"), []string{
			`allowed 1 mcp.proposal of coder rejected by [alice]: {"kind":"mcp.request","payload":{"params":{"name":["list_*","drop_*"]}}}by a rule of the deciders`,
		}},
		"no rule": {judged().but(deciders, "", onlyWipe, writes, "shadow"), []string{`asked 1 mcp.request of coder: "mcp.proposal"`}},
		"a rule that denies": {judged().but(deciders, noDrop, onlyWipe, writes, "shadow"), []string{
			`asked 1 mcp.request of coder: "mcp.proposal"`,
			`refused 1 mcp.proposal of coder rejected by [alice]: ` + noDrop + `a rule of the deciders rejects the call`,
		}},
		"human_only":                {judged().but(deciders, listRule, writes, writes, "shadow"), []string{`refused 1 mcp.request of rev: the deciders do not let it decide on the proposal`}},
		"another entry of reviewer": {judged().but(deciders, listRule, onlyWipe, listRule, "shadow"), []string{`refused 1 mcp.request of rev: the deciders do not let it decide on the proposal`}},
		"no deciders": {judged().but(deciders), []string{
			`asked 1 mcp.request of coder: "mcp.proposal"`,
			`refused 1 reviewer.demote of alice: it may not change the mode of the reviewer`,
			`refused 1 reviewer.promote of alice: it may not change the mode of the reviewer`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := summary(w.run(backtest.Options{New: c.new.policy(t, safety.Config{}), Current: current}))
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
