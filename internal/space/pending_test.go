package space

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/memory"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// heldLog blocks the opening of a space after its head was read.
type heldLog struct {
	journal.Journal
	asked, answer chan struct{}
}

func (j *heldLog) Range(ctx context.Context, name string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	if q.Backwards {
		j.asked <- struct{}{}
		<-j.answer
	}
	return j.Journal.Range(ctx, name, q)
}

// append appends n entries in one call and returns the last Seq.
func (j *heldLog) append(t *testing.T, n int, kind protocol.Kind, payload string) (last protocol.Seq) {
	t.Helper()
	_, newest, err := j.Bounds(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	var drafts []journal.Draft
	for i := range n {
		drafts = append(drafts, journal.Draft{State: kind != protocol.KindChat, CheckedAtStateSeq: newest, Envelope: protocol.Envelope{
			ID: protocol.ID(fmt.Sprintf("m-%d-%d", newest, i)), From: "alice", Kind: kind, Payload: []byte(payload),
		}})
	}
	for _, r := range j.Append(t.Context(), "lab", drafts) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		last = r.Seq
	}
	return last
}

// TestOpen_BoundsPending appends entries while a space is being opened: few of
// them are buffered, and the space has all of them after it is open.
func TestOpen_BoundsPending(t *testing.T) {
	for name, calls := range map[string]int{"all kept": 5, "all dropped": 11, "dropped, then kept": 15, "dropped often": 50} {
		t.Run(name, func(t *testing.T) {
			log := &heldLog{Journal: memory.New(memory.Options{}), asked: make(chan struct{}), answer: make(chan struct{})}
			hub := NewHub(Services{Journal: log, RingEntries: 1 << 16, RingBytes: 64 << 20, RingTotal: 64 << 20}, func(name string) (*authority.Config, bool) {
				return &authority.Config{Name: "lab"}, name == "lab"
			})
			before := log.append(t, 10, protocol.KindChat, `{"message":"before"}`)
			var opening sync.WaitGroup
			var s *Space
			var opened error
			opening.Go(func() { s, opened = hub.Space(t.Context(), "lab") })
			<-log.asked
			state := log.append(t, 1, protocol.KindSpaceKick, `{"participant_id":"bob"}`)
			for range calls {
				log.append(t, 100, protocol.KindChat, `{"message":"meanwhile"}`)
				loading := hub.lookup("lab")
				loading.deliverMu.Lock()
				if n := len(loading.pending); n > maxPending {
					t.Errorf("%d entries are kept, want at most %d", n, maxPending)
				}
				loading.deliverMu.Unlock()
			}
			close(log.answer)
			opening.Wait()
			if opened != nil {
				t.Fatal(opened)
			}
			pos, _, ok := s.ring.Seek(before, 0)
			entries := make([]*ring.Entry, 0, 1<<14)
			for n := -1; n < len(entries); {
				n = len(entries)
				entries, pos, _, _ = s.ring.Read(entries, pos)
			}
			if !ok || len(entries) != 1+100*calls {
				t.Errorf("the ring has %d entries, want %d", len(entries), 1+100*calls)
			}
			for i, e := range entries {
				if want := state + protocol.Seq(i); e.Envelope.Seq != want {
					t.Fatalf("entry %d of the ring is %d, want %d", i, e.Envelope.Seq, want)
				}
			}
			if !s.Kicked("bob") {
				t.Error("the state lacks an entry")
			}
		})
	}
}
