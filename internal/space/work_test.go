package space_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// inspector counts the payloads that it receives.
type inspector struct {
	inspected int
	refuse    bool
}

func (i *inspector) Applies(protocol.Kind) bool { return true }

func (i *inspector) Envelope(_ context.Context, _ protocol.Kind, payload, _ protocol.Value) (ring.Redaction, error) {
	i.inspected++
	r := ring.Redaction{Work: 10 * len(payload.Raw())}
	if i.refuse {
		return r, protocol.Errorf(protocol.CodeInvalidPayload, "refused")
	}
	return r, nil
}

func (i *inspector) Stream() ring.Redactor { return nil }

// ledger is a limiter with one bucket, for work.
type ledger struct {
	authority.Unlimited
	worked, most int
	canceled     int
	retries      int // for which only the kinds were returned
}

func (l *ledger) Worked(_ time.Time, bytes int) { l.worked += bytes }
func (l *ledger) Cancel(time.Time)              { l.canceled++ }
func (l *ledger) CancelKinds(time.Time)         { l.retries++ }

func (l *ledger) Work(time.Time) error {
	if l.worked > l.most {
		return protocol.Errorf(protocol.CodeRateLimited, "too much work")
	}
	return nil
}

func (l *ledger) Reserve(time.Time, protocol.Kind, int) (authority.Reservation, error) {
	return l, nil
}

// openMetered opens a room in which work is charged.
func openMetered(t *testing.T, most int) (*room, *inspector, *ledger) {
	t.Helper()
	i, l := &inspector{}, &ledger{most: most}
	cfg := rights{"ann": {"*"}, "bob": {"*"}}.config(t)
	for id, p := range cfg.Participants {
		p.NewLimiter = func(authority.Limiter) authority.Limiter { return l }
		cfg.Participants[id] = p
	}
	return openWith(t, cfg, func(s *space.Services) { s.Safety = i }), i, l
}

func longThought(id string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"reasoning.thought","payload":{"message":%q}}`, id, strings.Repeat("a ", 1000))
}

// TestRetry_IsNotInspected: an id that was admitted is answered before the
// payload is inspected, and the bytes of the retry stay charged.
func TestRetry_IsNotInspected(t *testing.T) {
	r, i, l := openMetered(t, 1<<30)
	seq := r.must("ann", longThought("x"))
	for range 40 {
		if again := r.must("ann", longThought("x")); again != seq {
			t.Fatalf("retried as %d, admitted as %d", again, seq)
		}
	}
	if o := r.say("bob", longThought("x"))[0]; code(o.Err) != protocol.CodeDuplicateID {
		t.Errorf("another sender: got %v", o.Err)
	}
	if i.inspected != 1 {
		t.Errorf("inspected %d times", i.inspected)
	}
	if l.canceled != 1 || l.retries != 40 { // the duplicate is refused
		t.Errorf("%d charges were given back, of %d retries the kinds", l.canceled, l.retries)
	}
}

// TestInspection_IsCharged: work is charged whether or not the payload is
// admitted, and a sender in debt is rejected without an inspection.
func TestInspection_IsCharged(t *testing.T) {
	r, i, l := openMetered(t, 30_000)
	r.must("ann", longThought("a"))
	i.refuse = true
	if o := r.say("ann", longThought("b"))[0]; code(o.Err) != protocol.CodeInvalidPayload {
		t.Fatalf("got %v", o.Err)
	}
	if l.worked < 2*20_000 {
		t.Fatalf("charged %d bytes of work", l.worked)
	}
	if o := r.say("ann", longThought("c"))[0]; code(o.Err) != protocol.CodeRateLimited || i.inspected != 2 {
		t.Errorf("got %v after %d inspections", o.Err, i.inspected)
	}
}

// TestHistory_ScanIsCutAndCharged: a page ends after a bounded number of entries
// and returns the next position, and scanned entries are charged.
func TestHistory_ScanIsCutAndCharged(t *testing.T) {
	r, _, l := openMetered(t, 1<<20)
	l.most = 1 << 30
	const entries = 12_000
	for n := 0; n < entries; n += 500 {
		frames := make([]string, 500)
		for k := range frames {
			frames[k] = `{"kind":"chat","payload":{"message":"x"}}`
		}
		for _, o := range r.say("ann", frames...) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
		}
	}
	l.worked, l.most = 0, 1<<20
	query := space.HistoryQuery{Filter: protocol.Filter{Kinds: []string{`/^mcp/`}}}
	page, refused := r.History(t.Context(), ring.Viewer{ID: "bob"}, query)
	if refused != nil {
		t.Fatal(refused)
	}
	if n := read(t, page); n != 0 || !page.HasMore || page.Next >= entries || l.worked < 1000*int(page.Next) {
		t.Fatalf("%d entries, more %v, next %d, and charged %d", n, page.HasMore, page.Next, l.worked)
	}
	query.Since = page.Next
	_, refused = r.History(t.Context(), ring.Viewer{ID: "bob"}, query)
	if code(refused) != protocol.CodeRateLimited {
		t.Errorf("a reader that owes: got %v", refused)
	}
	l.worked = 0
	page, refused = r.History(t.Context(), ring.Viewer{ID: "bob"}, query)
	if refused != nil || read(t, page) != 0 || page.HasMore {
		t.Errorf("the rest: got more %v, %v", page.HasMore, refused)
	}
}

func read(t *testing.T, page *space.Page) (entries int) {
	t.Helper()
	for _, err := range page.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		entries++
	}
	return entries
}
