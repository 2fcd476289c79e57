package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// load is a set of participants that send numbered envelopes without a pause
// and record the acknowledgments.
type load struct {
	t       *testing.T
	stop    context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	acked map[protocol.ID]protocol.Seq
	sent  map[protocol.ParticipantID]int
	goal  int // of acknowledgments

	refused time.Duration // an acknowledgment that takes so long tells of an outage; 0: none does

	ordered map[protocol.ID]bool // acknowledged before the first outage; nil without one
}

// inFlight is an envelope that was sent.
type inFlight struct {
	*client.Pending
	at time.Time
}

// startLoad makes the clients send until finish is called: without a pause as long as
// more waits, and then a few at a time.
func startLoad(t *testing.T, clients ...*client.Client) *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{t: t, stop: stop, acked: make(map[protocol.ID]protocol.Seq), sent: make(map[protocol.ParticipantID]int)}
	for _, c := range clients {
		l.running.Add(1)
		go func() {
			defer l.running.Done()
			l.one(ctx, c)
		}()
	}
	return l
}

func (l *load) one(ctx context.Context, c *client.Client) {
	who := c.You()
	var pending []inFlight
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		if l.enough() {
			<-pace.C
		}
		draft := protocol.Envelope{
			ID: protocol.ID(fmt.Sprintf("%s-%06d", who, n)), Kind: protocol.KindChat,
			Payload: []byte(fmt.Sprintf(`{"message":"number %d"}`, n)),
		}
		at := time.Now()
		p, err := c.SendAsync(context.Background(), draft)
		if err != nil {
			l.t.Errorf("send as %s: %v", who, err)
			return
		}
		l.mu.Lock()
		l.sent[who] = n + 1
		l.mu.Unlock()
		pending = append(pending, inFlight{p, at})
		if len(pending) > 32 {
			l.settle(pending[0])
			pending = pending[1:]
		}
	}
	for _, p := range pending {
		l.settle(p)
	}
}

func (l *load) settle(p inFlight) {
	r, err := p.Wait(context.Background())
	if err != nil {
		l.t.Errorf("envelope %s: %v", p.ID, err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused > 0 && time.Since(p.at) >= l.refused {
		l.unorder()
	}
	l.acked[r.ID] = r.Seq
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// enough reports whether the goal is reached.
func (l *load) enough() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked) >= l.goal
}

// more waits until n more envelopes have been acknowledged.
func (l *load) more(n int) {
	l.t.Helper()
	goal := l.count() + n
	l.mu.Lock()
	l.goal = goal
	l.mu.Unlock()
	eventually(l.t, fmt.Sprintf("%d acknowledged", goal), func() bool { return l.count() >= goal })
}

// finish stops sending, and waits for envelopes in flight.
func (l *load) finish() {
	l.stop()
	l.running.Wait()
}

// refusedAfter makes an acknowledgment that takes longer than a gateway waits for its log tell of
// an outage.
func (l *load) refusedAfter(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = d
}

// outage tells that the log may be unavailable from now on. Gateways then refuse
// envelopes in flight, and the client sends those again behind others.
func (l *load) outage() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unorder()
}

// unorder ends the order of the senders, behind what was acknowledged so far; mu is held.
func (l *load) unorder() {
	if l.ordered != nil {
		return
	}
	l.ordered = make(map[protocol.ID]bool)
	for id := range l.acked {
		l.ordered[id] = true
	}
}

// verify compares the log with the acknowledgments: every acknowledged envelope
// is in it, at its seq, once, and until an outage in the order of its sender.
func (l *load) verify(log []line) {
	l.t.Helper()
	seqs := make(map[protocol.ID]protocol.Seq, len(log))
	next := make(map[protocol.ParticipantID]int)
	last := protocol.Seq(0)
	for _, e := range log {
		if e.Seq <= last {
			l.t.Fatalf("seq %d stands behind %d", e.Seq, last)
		}
		last = e.Seq
		if _, twice := seqs[e.ID]; twice {
			l.t.Fatalf("%s is in the log twice", e.ID)
		}
		seqs[e.ID] = e.Seq
		if want := protocol.ID(fmt.Sprintf("%s-%06d", e.From, next[e.From])); e.Kind == "chat" && e.ID != want && (l.ordered == nil || l.ordered[e.ID]) {
			l.t.Fatalf("%s said %s where %s was expected", e.From, e.ID, want)
		}
		next[e.From]++
	}
	for id, seq := range l.acked {
		if seqs[id] != seq {
			l.t.Fatalf("%s was acknowledged at %d and stands at %d", id, seq, seqs[id])
		}
	}
	for who, n := range l.sent {
		if next[who] != n {
			l.t.Fatalf("%s sent %d, the log has %d", who, n, next[who])
		}
	}
	l.t.Logf("%d envelopes acknowledged and found", len(l.acked))
}
