package space

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
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
	for name, test := range map[string]struct{ calls, bytes int }{
		"all kept": {5, 0}, "all dropped": {11, 0}, "dropped, then kept": {15, 0}, "dropped often": {50, 0}, "large ones dropped": {7, 16 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			log := &heldLog{Journal: journal.NewMemory(journal.MemoryOptions{}), asked: make(chan struct{}), answer: make(chan struct{})}
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
			dropped := false
			for range test.calls {
				log.append(t, 100, protocol.KindChat, `{"message":"meanwhile`+strings.Repeat("x", test.bytes)+`"}`)
				loading := hub.lookup("lab")
				loading.deliverMu.Lock()
				bytes := 0
				for _, e := range loading.pending {
					bytes += len(e.Envelope.Payload)
				}
				if n := len(loading.pending); n > maxPending || bytes > maxPendingBytes {
					t.Errorf("%d entries with %d bytes are kept, want at most %d and %d", n, bytes, maxPending, maxPendingBytes)
				}
				dropped = dropped || loading.dropped > 0
				loading.deliverMu.Unlock()
			}
			if dropped != (name != "all kept") {
				t.Errorf("dropped: %v", dropped)
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
			if !ok || len(entries) != 1+100*test.calls {
				t.Errorf("the ring has %d entries, want %d", len(entries), 1+100*test.calls)
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
