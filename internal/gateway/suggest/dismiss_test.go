package suggest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/suggest"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

// dismiss appends a dismissal, with the payload that a suggestion has.
func (w *world) dismiss(by string, payload json.RawMessage) {
	w.t.Helper()
	doc, err := protocol.ParseJSON(payload, protocol.MaxDepth)
	if err == nil {
		err = schemas.Payload(protocol.KindPolicyDismiss, doc.Root())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.add(journal.Draft{Envelope: protocol.Envelope{From: protocol.ParticipantID(by), Kind: protocol.KindPolicyDismiss, Payload: payload}})
}

// only returns the only suggestion of a report.
func only(t *testing.T, r *api.Suggestions) *api.Suggestion {
	t.Helper()
	if len(r.Suggestions) != 1 {
		t.Fatal(says(r))
	}
	return &r.Suggestions[0]
}

// A dismissed rule is suggested again once as many further decisions support it.
func TestRun_Dismissed(t *testing.T) {
	for _, c := range []struct {
		name   string
		decide func(w *world, n int)
		again  string
	}{
		{"allow", func(w *world, n int) { w.approved(n, "coder", "files", "Bash", command("git diff a")) }, "allow coder 6 -6: Bash: `git diff a`"},
		{"deny", func(w *world, n int) { w.rejected(n, "coder", "files", "drop", `{"table":"a"}`) }, `deny coder 6 -6: drop with {"table":"a"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := office(t)
			c.decide(w, 3)
			s := only(t, w.run(w.options()))
			w.dismiss("alice", s.Dismissal)
			c.decide(w, 2)
			if r := w.run(w.options()); says(r) != "" || r.Dismissed != 1 || r.Fewer != 0 {
				t.Errorf("%d are dismissed; %s", r.Dismissed, says(r))
			}
			c.decide(w, 1)
			r := w.run(w.options())
			if says(r) != c.again || r.Dismissed != 0 {
				t.Errorf("%d are dismissed; %s", r.Dismissed, says(r))
			}
			w.dismiss("alice", only(t, r).Dismissal)
			c.decide(w, 5)
			if r := w.run(w.options()); says(r) != "" || r.Dismissed != 1 {
				t.Errorf("%d are dismissed; %s", r.Dismissed, says(r))
			}
		})
	}
}

// A dismissal is about the calls that the rule matches, also if another rule would be derived
// from them, and about nothing else.
func TestRun_DismissedOnly(t *testing.T) {
	diff := `{"recipient":"coder","capabilities":[{"kind":"mcp.request","to":"files","payload":{"params":{"name":"Bash","arguments":{"command":{"$shell":{"commands":["git diff **"]}}}}}}],"decisions":3}`
	for _, c := range []struct{ name, by, payload, want string }{
		{"by its subject", "coder", diff, "allow coder 9 -9: Bash: `git diff` with any arguments; `git log` with any arguments"},
		{"of another participant", "alice", `{"recipient":"twin",` + diff[len(`{"recipient":"coder",`):], "allow coder 9 -9: Bash: `git diff` with any arguments; `git log` with any arguments"},
		{"by somebody", "alice", diff, "allow coder 3 -3: Bash: `git log` with any arguments"},
		{"of everything", "alice", `{"recipient":"coder","capabilities":["*"],"decisions":7}`, ""},
		{"of no capability", "alice", `{"recipient":"coder","capabilities":[{"kind":""}],"decisions":7}`, "allow coder 9 -9: Bash: `git diff` with any arguments; `git log` with any arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := office(t)
			w.approved(2, "coder", "files", "Bash", command("git diff a"), command("git diff b"), command("git diff c"))
			w.approved(1, "coder", "files", "Bash", command("git log a"), command("git log b"), command("git log c"))
			w.add(journal.Draft{Envelope: protocol.Envelope{From: protocol.ParticipantID(c.by), Kind: protocol.KindPolicyDismiss, Payload: []byte(c.payload)}})
			if got := says(w.run(w.options())); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A deny rule is for everybody: a dismissal of it is about everybody's calls, but those of its sender.
func TestRun_DismissedForEverybody(t *testing.T) {
	for by, want := range map[string]string{"alice": "", "coder": `deny coder 6 -6: drop with {"table":"a"}`, "twin": `deny twin 3 -6: drop with {"table":"a"}`} {
		t.Run(by, func(t *testing.T) {
			w := office(t)
			w.rejected(3, "coder", "files", "drop", `{"table":"a"}`)
			w.rejected(3, "twin", "files", "drop", `{"table":"a"}`)
			w.dismiss(by, only(t, w.run(w.options())).Dismissal)
			if got := says(w.run(w.options())); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// The whole tool is not suggested if a part of it was dismissed.
func TestRun_DismissedPart(t *testing.T) {
	w := office(t)
	w.approved(3, "coder", "files", "lookup", `{"q":"a"}`)
	w.dismiss("alice", only(t, w.run(w.options())).Dismissal)
	w.approved(1, "coder", "files", "lookup", `{"q":"b"}`, `{"q":"c"}`, `{"q":"d"}`, `{"q":"e"}`)
	const left = "people coder 4: lookup {\"q\":\"e\"}: a rule would allow each of these calls only as it is, and none was approved 3 times"
	if got := says(w.run(w.options())); got != left {
		t.Error(got)
	}
	w.approved(3, "coder", "files", "drop", `{"q":"a"}`)
	w.rejected(3, "coder", "files", "wipe", `{"q":"a"}`)
	w.dismiss("alice", only(t, w.run(w.options())).Dismissal)
	w.rejected(1, "coder", "files", "wipe", `{"q":"b"}`, `{"q":"c"}`, `{"q":"d"}`)
	if got := says(w.run(w.options())); got != left+"\npeople coder 3: drop {\"q\":\"a\"}: a tool of this name is never suggested, however often it was approved" {
		t.Error(got)
	}
}

// The newest dismissals count, whatever their number is.
func TestRun_ManyDismissals(t *testing.T) {
	w := office(t)
	w.approved(3, "coder", "files", "Bash", command("git diff a"))
	w.dismiss("alice", only(t, w.run(w.options())).Dismissal)
	other := json.RawMessage(`{"recipient":"coder","capabilities":["chat"],"decisions":1}`)
	for range 199 {
		w.dismiss("alice", other)
	}
	if got := says(w.run(w.options())); got != "" {
		t.Error(got)
	}
	w.dismiss("alice", other)
	if got := says(w.run(w.options())); got == "" {
		t.Error("the oldest of 201 dismissals counts")
	}
}

// The payload of the grant is that of a capability.grant; no grant denies.
func TestRun_Grant(t *testing.T) {
	w := office(t)
	w.approved(3, "coder", "files", "Bash", command("git diff a"))
	s := only(t, w.run(w.options()))
	if want := fmt.Sprintf(`{"recipient":"coder","capabilities":[%s]}`, s.Capabilities[0]); string(s.Grant) != want {
		t.Errorf("%s, want %s", s.Grant, want)
	}
	w.add(journal.Draft{Envelope: protocol.Envelope{From: "alice", Kind: protocol.KindCapabilityGrant, Payload: s.Grant}})
	if got := says(w.run(w.options())); got != "" {
		t.Errorf("after the grant: %s", got)
	}
	w.rejected(3, "coder", "files", "drop", `{"table":"a"}`)
	if s := only(t, w.run(w.options())); s.Grant != nil {
		t.Errorf("%s", s.Grant)
	}
}

// endsAfter is a log whose reading ends a context after some times.
type endsAfter struct {
	journal.Reader
	times int
	end   context.CancelFunc
	more  int // times after that
}

func (l *endsAfter) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		if ctx.Err() != nil {
			l.more++
		}
		for e, err := range l.Reader.Range(ctx, space, q) {
			if !yield(e, err) {
				return
			}
		}
		l.times--
		if l.times == 0 {
			l.end()
		}
	}
}

// Rules are not derived for a caller that is gone.
func TestRun_Ends(t *testing.T) {
	w := office(t)
	w.approved(3, "coder", "files", "Bash", command("git diff a"))
	ctx, end := context.WithCancel(t.Context())
	defer end()
	log := &endsAfter{Reader: w.log, times: 2, end: end}
	o := w.options()
	o.Log = log
	_, err := suggest.Run(ctx, o)
	if !errors.Is(err, context.Canceled) || log.more > 0 {
		t.Errorf("%v; the log was read %d times more", err, log.more)
	}
}
