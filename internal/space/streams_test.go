package space_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/memory"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// failing is a log that counts appends and can refuse them.
type failing struct {
	journal.Journal
	fails   atomic.Bool
	appends atomic.Int64
}

func (j *failing) Append(ctx context.Context, name string, drafts []journal.Draft) []journal.Result {
	j.appends.Add(1)
	if !j.fails.Load() {
		return j.Journal.Append(ctx, name, drafts)
	}
	results := make([]journal.Result, len(drafts))
	for i := range results {
		results[i].Err = journal.ErrUnavailable
	}
	return results
}

func TestStreams_EndWithTheirOwner(t *testing.T) {
	const streams = 4000
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint("log fails ", fails), func(t *testing.T) {
			log := &failing{Journal: memory.New(memory.Options{})}
			r := open(t, rights{"alice": {"*"}, "bob": {"*"}}, func(s *space.Services) { s.Journal = log })
			bob := r.join(space.JoinOptions{ID: "bob"})
			var frames []string
			for i := range streams {
				frames = append(frames, fmt.Sprintf(`{"kind": "stream.open", "payload": {"stream_id": "s%d"}}`, i))
			}
			for _, o := range r.say("bob", frames...) {
				if o.Err != nil {
					t.Fatal(o.Err)
				}
			}
			write := func(i int) *protocol.Error {
				return r.say("alice", fmt.Sprintf(`{"kind": "stream.data", "payload": {"stream_id": "s%d", "data": "x"}}`, i))[0].Err
			}
			if code(write(0)) != protocol.CodeIdentityMismatch {
				t.Fatal("the stream is not bob's")
			}
			log.fails.Store(fails)
			before, head := log.appends.Load(), r.Head()
			bob.leave()
			if n := log.appends.Load() - before; n > 30 {
				t.Errorf("%d appends for %d streams", n, streams)
			}
			if closed := int(r.Head() - head); !fails && closed != streams {
				t.Errorf("%d streams were closed in the log", closed)
			}
			log.fails.Store(false)
			for i := range streams {
				if err := write(i); err != nil {
					t.Fatalf("stream %d is still owned: %v", i, err)
				}
			}
		})
	}
}

func TestReservedNames_InAnyCase(t *testing.T) {
	r := open(t, rights{"alice": {"*"}}, nil)
	for _, kind := range []string{"system.presence", "SYSTEM.x", "System.welcome", "sYstem", "system/x", "SYSTEM/x", "space.Invite-ACK"} {
		if o := r.say("alice", fmt.Sprintf(`{"kind": %q}`, kind))[0]; code(o.Err) != protocol.CodeReservedKind {
			t.Errorf("kind %s: %v", kind, o.Err)
		}
	}
	for _, kind := range []string{"systems.x", "x.system", "sys"} {
		if o := r.say("alice", fmt.Sprintf(`{"kind": %q}`, kind))[0]; o.Err != nil {
			t.Errorf("kind %s: %v", kind, o.Err)
		}
	}
	for _, id := range []string{"system:gateway", "System:gateway", "SYSTEM:x"} {
		f := fmt.Sprintf(`{"kind": "space.invite", "payload": {"participant_id": %q}}`, id)
		if o := r.say("alice", f)[0]; code(o.Err) != protocol.CodeInvalidPayload {
			t.Errorf("invite %s: %v", id, o.Err)
		}
	}
}
