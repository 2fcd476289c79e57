package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/protocol"
)

// firstStart decides which of the processes of a participant answers a question: the one
// whose reasoning.start for it is the first in the log. The others leave it, and ask from
// time to time whether a process still works on it (TwinWatch). It is closed when the own
// start is the first.
type firstStart chan struct{}

// newFirstStart returns a firstStart that is not decided.
func newFirstStart() firstStart { return make(firstStart) }

// Win decides for this process. It must be called once.
func (f firstStart) Win() { close(f) }

// Won reports whether it was decided for this process.
func (f firstStart) Won() bool {
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
func (f firstStart) Wait(ctx context.Context) error {
	timer := time.NewTimer(echoTime)
	defer timer.Stop()
	select {
	case <-f:
	case <-timer.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// claimPart returns the envelope by which a process takes a part that another participant gives to its
// participant: the process whose claim is the first in the log reasons about it. The start of a
// part is not its own, so there is none that could decide.
func claimPart(you protocol.ParticipantID, part protocol.ID) protocol.Envelope {
	return protocol.Envelope{
		ID: protocol.ID(uuid.Must(uuid.NewV7()).String()), Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{you},
		Payload: append(protocol.AppendString([]byte(`{"status":"taken","question":`), string(part)), '}'),
	}
}

// claimedPart returns the part that an envelope of the own participant takes; "": none.
func claimedPart(env *protocol.Envelope) protocol.ID {
	p := env.ParsePayload()
	if env.Kind != protocol.KindParticipantStatus || !p.Get("status").EqualText("taken") {
		return ""
	}
	return protocol.ID(p.Get("question").Text())
}

// ReplyTime is how long a process waits for a reply to its probe.
const ReplyTime = 10 * time.Second

// TwinWatch observes the work on a question, which another process of the participant may do.
type TwinWatch struct {
	You      protocol.ParticipantID
	Question protocol.ID
	Inbox    *Inbox
	Send     func(context.Context, protocol.Envelope) (protocol.Seq, error)
	Interval time.Duration // between probes
	After    func(time.Duration) <-chan time.Time
}

// Gone probes after a time, and then once in each Interval, until no process replies that it
// works on the question. It returns the position of that probe; 0 if the probe was not
// allowed. It returns false if the question is answered, or if ctx ends. Answers are reported to
// a box of the inbox, which can lose some: the caller reads the log before it takes the question
// over. A question that is withdrawn may have left an open context.
func (w *TwinWatch) Gone(ctx context.Context, first time.Duration) (asked protocol.Seq, gone bool) {
	box := w.Inbox.Expect(w.Question)
	defer w.Inbox.Release(w.Question)
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case env := <-box:
			if env.Kind == protocol.KindChat && env.From == w.You {
				return 0, false
			}
		case <-timer.C:
			if asked, alive := w.probe(ctx); !alive {
				return asked, ctx.Err() == nil
			}
			timer.Reset(w.Interval)
		case <-ctx.Done():
			return 0, false
		}
	}
}

// probe asks the other processes whether one works on the question. A probe is
// not correlated to the question, since its sender would receive it.
func (w *TwinWatch) probe(ctx context.Context) (asked protocol.Seq, alive bool) {
	id := protocol.ID(uuid.Must(uuid.NewV7()).String())
	box := w.Inbox.Expect(id)
	defer w.Inbox.Release(id)
	asked, err := w.Send(ctx, protocol.Envelope{
		ID: id, Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{w.You},
		Payload: append(protocol.AppendString([]byte(`{"status":"waiting","question":`), string(w.Question)), '}'),
	})
	if err != nil { // without the right to ask, the process that begins first is not known to live
		return 0, !errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation})
	}
	late := w.After(ReplyTime)
	for {
		select {
		case env := <-box:
			if env.Kind == protocol.KindParticipantStatus && env.From == w.You {
				return asked, true
			}
		case <-late:
			return asked, false
		case <-ctx.Done():
			return asked, true
		}
	}
}

// refusalID returns the id of the chat that refuses a question, which is the same
// in all processes: the second one is a retry, and the question gets one refusal.
func refusalID(question protocol.ID) protocol.ID { return sharedID("refusal of " + question) }

// givenUpID returns the id of the chat that gives a question up, which is the same in all
// processes, too.
func givenUpID(question protocol.ID) protocol.ID { return sharedID("end of " + question) }

func sharedID(name protocol.ID) protocol.ID {
	return protocol.ID(uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String())
}

// AskedAbout returns the question of a probe; "" if the envelope is none.
func AskedAbout(env *protocol.Envelope) protocol.ID {
	var p struct {
		Status   string      `json:"status"`
		Question protocol.ID `json:"question"`
	}
	if env.Kind != protocol.KindParticipantStatus || json.Unmarshal(env.Payload, &p) != nil || p.Status != "waiting" {
		return ""
	}
	return p.Question
}
