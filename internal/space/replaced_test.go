package space_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// swapped is a log that can be replaced by another one, can lag behind its
// source, and can fail appends after they have happened.
type swapped struct {
	current  atomic.Pointer[journal.Journal]
	sink     journal.Sink
	replaced journal.Replaced
	barrier  atomic.Pointer[error] // result of Barrier; nil: nil
	unknown  atomic.Bool
}

func newSwapped() *swapped {
	j := &swapped{}
	first := journal.Journal(journal.NewMemory(journal.MemoryOptions{}))
	j.current.Store(&first)
	return j
}

// replace replaces the log with an empty one.
func (j *swapped) replace() {
	next := journal.Journal(journal.NewMemory(journal.MemoryOptions{}))
	next.Follow(j.sink, nil)
	j.current.Store(&next)
	j.replaced(func(string) bool { return true })
}

func (j *swapped) now() journal.Journal { return *j.current.Load() }

func (j *swapped) Follow(sink journal.Sink, replaced journal.Replaced) {
	j.sink, j.replaced = sink, replaced
	j.now().Follow(sink, nil)
}

func (j *swapped) Append(ctx context.Context, name string, drafts []journal.Draft) []journal.Result {
	results := j.now().Append(ctx, name, drafts)
	if j.unknown.Load() {
		for i := range results {
			results[i] = journal.Result{Err: journal.ErrOutcomeUnknown}
		}
	}
	return results
}

func (j *swapped) Range(ctx context.Context, name string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return j.now().Range(ctx, name, q)
}

func (j *swapped) Lookup(ctx context.Context, name string, id protocol.ID) (*journal.Entry, error) {
	return j.now().Lookup(ctx, name, id)
}

func (j *swapped) Bounds(ctx context.Context, name string) (oldest, newest protocol.Seq, err error) {
	return j.now().Bounds(ctx, name)
}

func (j *swapped) Spaces(ctx context.Context) ([]string, error) { return j.now().Spaces(ctx) }

func (j *swapped) LogID(ctx context.Context, name string) (string, error) {
	return j.now().LogID(ctx, name)
}

func (j *swapped) Snapshot(name string) (journal.Snapshot, error) { return j.now().Snapshot(name) }

func (j *swapped) Base(name string) (journal.Base, error) { return j.now().Base(name) }

func (j *swapped) SaveSnapshot(name string, s journal.Snapshot) error {
	return j.now().SaveSnapshot(name, s)
}

func (j *swapped) Barrier(context.Context, string) error {
	if err := j.barrier.Load(); err != nil {
		return *err
	}
	return nil
}

func (j *swapped) Ready() error { return nil }
func (j *swapped) Close() error { return nil }

func openSwapped(t *testing.T) (*room, *swapped) {
	t.Helper()
	log := newSwapped()
	r := open(t, rights{"alice": {"*"}, "bob": {"*"}}, func(s *space.Services) { s.Journal = log })
	for i := range 5 {
		r.must("alice", chat(fmt.Sprint("c", i)))
	}
	return r, log
}

// code returns the code of an error; "" for none.
func code(err error) protocol.Code {
	var e *protocol.Error
	if !errors.As(err, &e) || e == nil {
		return ""
	}
	return e.Code
}

func TestJoin_PositionAndLog(t *testing.T) {
	lag := errors.New("lagging")
	for _, test := range []struct {
		name    string
		since   protocol.Seq
		log     string // "own": the space's log id
		lagging bool
		refused protocol.Code
		expired bool
	}{
		{name: "own log", since: 2, log: "own"},
		{name: "no log named", since: 2},
		{name: "another log", since: 2, log: "other", expired: true},
		{name: "another log, gateway behind", since: 2, log: "other", lagging: true, refused: protocol.CodeUnavailable},
		{name: "beyond the head", since: 99, expired: true},
		{name: "beyond the head, gateway behind", since: 99, lagging: true, refused: protocol.CodeUnavailable},
		{name: "beyond the head of the own log", since: 99, log: "own", refused: protocol.CodeUnavailable},
		{name: "own log, gateway behind", since: 2, log: "own", lagging: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, log := openSwapped(t)
			if test.lagging {
				log.barrier.Store(&lag)
			}
			id := test.log
			if id == "own" {
				id = r.LogID()
			}
			bob, refused := r.tryJoin(space.JoinOptions{ID: "bob", Since: &test.since, Log: id})
			if code(refused) != test.refused {
				t.Fatalf("refused with %v", refused)
			}
			if refused != nil {
				if refused.RetryAfterMS == 0 {
					t.Error("no time to come back")
				}
				return
			}
			defer bob.leave()
			r.must("alice", chat("end"))
			bob.gets("end")
			if n := len(bob.frames("system.error")); n != map[bool]int{true: 1}[test.expired] {
				t.Errorf("%d errors", n)
			}
			if n := len(bob.ids()); n != map[bool]int{true: 6, false: 4}[test.expired] {
				t.Errorf("%d envelopes", n)
			}
		})
	}
}

func TestHistory_PositionAndLog(t *testing.T) {
	r, log := openSwapped(t)
	page, refused := r.History(t.Context(), ring.Viewer{ID: "bob"}, space.HistoryQuery{Since: 2, Log: r.LogID()})
	if refused != nil || page.Log != r.LogID() || count(t, page) != 3 {
		t.Fatalf("got %+v, %v", page, refused)
	}
	_, refused = r.History(t.Context(), ring.Viewer{ID: "bob"}, space.HistoryQuery{Since: 2, Log: "other"})
	if code(refused) != protocol.CodeCursorExpired || protocol.AsError(refused).OldestSeq != 1 {
		t.Errorf("another log: %v", refused)
	}
	page, refused = r.History(t.Context(), ring.Viewer{ID: "bob"}, space.HistoryQuery{Since: 99})
	if refused != nil || count(t, page) != 0 {
		t.Errorf("beyond the head: %+v, %v", page, refused)
	}
	lag := errors.New("lagging")
	log.barrier.Store(&lag)
	_, refused = r.History(t.Context(), ring.Viewer{ID: "bob"}, space.HistoryQuery{Since: 99})
	if code(refused) != protocol.CodeUnavailable {
		t.Errorf("beyond the head of a gateway that is behind: %v", refused)
	}
}

func TestReplacedLog_MembersResume(t *testing.T) {
	r, log := openSwapped(t)
	r.must("alice", `{"id": "k", "kind": "capability.grant", "payload": {"recipient": "bob", "capabilities": ["x.tool"]}}`)
	bob := r.join(space.JoinOptions{ID: "bob"})
	cursor := r.Follow(0)
	defer cursor.Close()
	before := r.LogID()
	log.replace()
	<-bob.done
	if bob.closing == nil || bob.closing.Code != protocol.CloseGoingAway {
		t.Fatalf("closed with %+v", bob.closing)
	}
	if o := r.say("alice", chat("late"))[0]; code(o.Err) != protocol.CodeUnavailable {
		t.Errorf("published into a space of the old log: %+v", o)
	}
	for {
		if _, _, err := cursor.Next(t.Context()); err != nil {
			if !errors.Is(err, space.ErrRetired) {
				t.Errorf("cursor: %v", err)
			}
			break
		}
	}
	again, err := r.hub.Space(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	if again.LogID() == before || again.Head() != 0 {
		t.Errorf("log %s at %d", again.LogID(), again.Head())
	}
	r.Space = again
	r.must("alice", chat("first"))
	since := protocol.Seq(5)
	bob = r.join(space.JoinOptions{ID: "bob", Since: &since, Log: before})
	defer bob.leave()
	bob.gets("first")
	errs := bob.frames("system.error")
	if len(errs) != 1 || !strings.Contains(string(errs[0].Payload), `"cursor_expired"`) {
		t.Errorf("errors %s", errs)
	}
}

// An append with an unknown outcome is answered by the id for a retry, and the
// retry by the Seq of the entry.
func TestPublish_OutcomeUnknown(t *testing.T) {
	r, log := openSwapped(t)
	log.unknown.Store(true)
	for _, f := range []string{chat("mine"), `{"kind": "chat", "payload": {"message": "without an id"}}`} {
		o := r.say("alice", f)[0]
		if code(o.Err) != protocol.CodeOutcomeUnknown || o.Err.ID == "" || o.ID != o.Err.ID {
			t.Fatalf("%s: got %+v", f, o)
		}
		log.unknown.Store(false)
		head := r.Head()
		if seq := r.must("alice", fmt.Sprintf(`{"id": %q, "kind": "chat", "payload": {"message": "x"}}`, o.Err.ID)); seq != head {
			t.Errorf("retry is at %d, and the first one at %d", seq, head)
		}
		log.unknown.Store(true)
	}
}
