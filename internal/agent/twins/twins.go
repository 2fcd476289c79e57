// Package twins lets the processes of one participant share its questions. The
// process whose reasoning.start for a question is the first in the log answers
// it. The others leave it, and ask from time to time whether a process still
// works on it.
package twins

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/internal/agent/inbox"
	"github.com/meup-protocol/meup/protocol"
)

// First is closed when the own reasoning.start for a question is the first one.
type First chan struct{}

// NewFirst returns a First that is not decided.
func NewFirst() First { return make(First) }

// Win decides for this process. It must be called once.
func (f First) Win() { close(f) }

// Won reports whether it was decided for this process.
func (f First) Won() bool {
	select {
	case <-f:
		return true
	default:
		return false
	}
}

// echoTime bounds the wait for an own envelope that is in the log.
const echoTime = 30 * time.Second

// Wait waits until it is decided for this process, or ctx ends, and then returns
// the cause. Without a decision within echoTime, the connection did not deliver
// the own start, and there is no one to wait for.
func (f First) Wait(ctx context.Context) error {
	timer := time.NewTimer(echoTime)
	defer timer.Stop()
	select {
	case <-f:
	case <-timer.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// Claim returns the envelope by which a process takes a part that another participant gives to its
// participant: the process whose claim is the first in the log reasons about it. The start of a
// part is not its own, so there is none that could decide.
func Claim(you protocol.ParticipantID, part protocol.ID) protocol.Envelope {
	return protocol.Envelope{
		ID: protocol.ID(uuid.Must(uuid.NewV7()).String()), Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{you},
		Payload: append(protocol.AppendString([]byte(`{"status":"taken","question":`), string(part)), '}'),
	}
}

// Claimed returns the part that an envelope of the own participant takes; "": none.
func Claimed(env *protocol.Envelope) protocol.ID {
	p := env.ParsePayload()
	if env.Kind != protocol.KindParticipantStatus || !p.Get("status").EqualText("taken") {
		return ""
	}
	return protocol.ID(p.Get("question").Text())
}

// ReplyTime is how long a process waits for a reply to its probe.
const ReplyTime = 10 * time.Second

// Watch observes a question that another process of the participant answers.
type Watch struct {
	You      protocol.ParticipantID
	Question protocol.ID
	Inbox    *inbox.Inbox
	Publish  func(context.Context, ...protocol.Envelope) error
	Interval time.Duration // between probes
	After    func(time.Duration) <-chan time.Time
}

// Gone waits until no process works on the question and it is neither answered
// nor withdrawn. It returns false if it is, or if ctx ends. Answers are reported
// to a box of the inbox, which can lose some: the caller reads the log before it
// takes the question over.
func (w *Watch) Gone(ctx context.Context) bool {
	box := w.Inbox.Expect(w.Question)
	defer w.Inbox.Release(w.Question)
	timer := time.NewTimer(w.Interval)
	defer timer.Stop()
	for {
		select {
		case env := <-box:
			if env.Kind == protocol.KindChatCancel || env.Kind == protocol.KindChat && env.From == w.You {
				return false
			}
		case <-timer.C:
			if !w.probe(ctx) {
				return ctx.Err() == nil
			}
			timer.Reset(w.Interval)
		case <-ctx.Done():
			return false
		}
	}
}

// probe asks the other processes whether one works on the question. A probe is
// not correlated to the question, since its sender would receive it.
func (w *Watch) probe(ctx context.Context) (alive bool) {
	id := protocol.ID(uuid.Must(uuid.NewV7()).String())
	box := w.Inbox.Expect(id)
	defer w.Inbox.Release(id)
	err := w.Publish(ctx, protocol.Envelope{
		ID: id, Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{w.You},
		Payload: append(protocol.AppendString([]byte(`{"status":"waiting","question":`), string(w.Question)), '}'),
	})
	if err != nil { // not allowed: nothing is known of the other process
		return true
	}
	late := w.After(ReplyTime)
	for {
		select {
		case env := <-box:
			if env.Kind == protocol.KindParticipantStatus && env.From == w.You {
				return true
			}
		case <-late:
			return false
		case <-ctx.Done():
			return true
		}
	}
}

// RefusalID returns the id of the chat that refuses a question, which is the same
// in all processes: the second one is a retry, and the question gets one refusal.
func RefusalID(question protocol.ID) protocol.ID {
	return protocol.ID(uuid.NewSHA1(uuid.NameSpaceOID, []byte("refusal of "+question)).String())
}

// Asked returns the question of a probe; "" if the envelope is none.
func Asked(env *protocol.Envelope) protocol.ID {
	var p struct {
		Status   string      `json:"status"`
		Question protocol.ID `json:"question"`
	}
	if env.Kind != protocol.KindParticipantStatus || json.Unmarshal(env.Payload, &p) != nil || p.Status != "waiting" {
		return ""
	}
	return p.Question
}
