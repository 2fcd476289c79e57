package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/protocol"
)

// Requests that were sent while no process of the bridge ran are answered when
// it starts, if they are not older than Options.Missed.
//
// A request that an earlier process may have received is a different matter: it
// may have been carried out. To tell them apart, the bridge writes two marks to
// the log, as participant.status addressed to itself: "started" before it
// handles the first request, and "stopped" after the last, with the seq up to
// which it has handled the log. If its newest envelope is not "stopped", it was
// killed, and every request without a response is uncertain. Of those, a tool
// call is repeated only if the tool just reads; otherwise the response is an
// error with the reason restarted.
//
// A process that is not killed but runs beside the new one replies to its mark
// with "running", to which the new process leaves the uncertain calls. A process
// that waits for such a reply itself does not reply.

// Bounds of reading the log.
const (
	missedPages = 5
	missedPage  = 1000 // entries
	missedTime  = 30 * time.Second
	twinTime    = 2 * time.Second // for another process to reply to the mark of the start
)

// The marks, as the status of a participant.status.
const (
	markStarted = "started"
	markStopped = "stopped"
	markRunning = "running" // replies to the start of another process
)

// mark is the payload of a mark.
type mark struct {
	Status  string       `json:"status"`
	Through protocol.Seq `json:"through,omitempty"` // with stopped: handled up to this seq
}

func (b *Bridge) catchesUp() bool { return b.opts.History != nil && b.opts.Missed > 0 }

// writeMark writes a mark to the log.
func (b *Bridge) writeMark(ctx context.Context, id protocol.ID, m mark) {
	ctx, cancel := context.WithTimeout(ctx, participant.ClosingTime)
	defer cancel()
	_, err := b.opts.Space.Send(ctx, protocol.Envelope{
		ID: id, Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{b.you}, Payload: mustMarshal(m),
	})
	if err != nil {
		b.log.Warn("mark not written: calls that are in progress when the bridge ends may be repeated", "mark", m.Status, "err", err)
	}
}

// handleMissed writes the mark of the start, and handles the requests from before it unless
// the log could not be read.
func (b *Bridge) handleMissed(ctx context.Context, m *missed, err error) {
	if err != nil && ctx.Err() == nil {
		b.log.Warn("the log cannot be read: requests from before the start are not answered", "err", err)
	}
	b.writeMark(ctx, b.start, mark{Status: markStarted})
	var uncertain []*call // an earlier process may have made them
	for i := 0; err == nil && i < len(m.requests); i++ {
		env := &m.requests[i]
		request, err := participant.ParseRequest(env)
		if err != nil || request.IsNotification || m.answered[env.ID] {
			continue
		}
		c := &call{Request: request, asker: env.From, envelope: env.ID, contextPath: env.Context}
		withdrawn := slices.ContainsFunc(m.cancelled, func(w cancellation) bool {
			return w.from == c.asker && w.seq > env.Seq && (w.id.EqualText(string(c.envelope)) || sameID(c.ID, w.id))
		})
		switch {
		case withdrawn:
			b.sendAsync(b.response(c, outcome{fault: faultOf(participant.CodeCancelled, Cancelled, "%v", errCancelled)}))
		case env.Seq <= m.through && request.Method == "tools/call" && !b.isReadOnly(request.Params.Get("name").Text()):
			uncertain = append(uncertain, c)
		default:
			b.log.Info("request from before the start", "envelope", env.ID, "from", env.From, "method", request.Method)
			b.admit(env)
		}
	}
	if len(uncertain) == 0 {
		b.settled.Store(true)
		return
	}
	// The uncertain calls are answered, unless another process works on them.
	b.runtime.Group.Go(func() {
		select {
		case <-b.twin:
			b.log.Warn("another process of this participant runs: calls from before the start are left to it", "calls", len(uncertain))
		case <-b.opts.After(twinTime):
			for _, c := range uncertain {
				b.sendAsync(b.response(c, outcome{fault: faultOf(participant.CodeFailed, Restarted,
					"the bridge was restarted after this request was sent; the call may have been made or not")}))
			}
		case <-b.runtime.Work.Done(): // the next process answers them
		}
		b.settled.Store(true)
	})
}

// onMark handles a mark of another process of this participant.
func (b *Bridge) onMark(env *protocol.Envelope) {
	var m mark
	if env.From != b.you || env.ID == b.start || json.Unmarshal(env.Payload, &m) != nil {
		return
	}
	switch {
	case m.Status == markStarted && b.settled.Load():
		b.sendAsync(protocol.Envelope{
			Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{b.you},
			Correlation: protocol.CorrelateTo(env.ID), Payload: mustMarshal(mark{Status: markRunning}),
		})
	case m.Status == markRunning && env.Correlation.Names(b.start):
		select {
		case b.twin <- struct{}{}:
		default:
		}
	}
}

// isReadOnly reports whether the server declares that a tool changes nothing.
func (b *Bridge) isReadOnly(name string) bool {
	for _, t := range b.opts.Server.Tools() {
		if t.Name == name {
			return t.Hinted && t.ReadOnly
		}
	}
	return false
}

// missed is the part of the log that concerns requests to the bridge from
// before its start.
type missed struct {
	requests  []protocol.Envelope // oldest first
	answered  map[protocol.ID]bool
	cancelled []cancellation
	through   protocol.Seq // requests up to it may have been received by an earlier process
}

// cancellation is the withdrawal of a request, by the id of its envelope or of JSON-RPC.
type cancellation struct {
	from protocol.ParticipantID
	id   protocol.Value
	seq  protocol.Seq
}

// oldestMissed is the oldest time of a request that is answered, by the gateway's clock.
func (b *Bridge) oldestMissed() time.Time {
	return b.opts.Now().Add(b.opts.Space.Welcome().Clock - b.opts.Missed)
}

// readMissed reads the requests of the window, and what became of them.
func (b *Bridge) readMissed(ctx context.Context) (*missed, error) {
	ctx, cancel := context.WithTimeout(ctx, missedTime)
	defer cancel()
	m := &missed{answered: make(map[protocol.ID]bool)}
	var err error
	m.through, err = b.handledThrough(ctx)
	if err != nil {
		return nil, err
	}
	oldest := b.oldestMissed()
	q := api.EnvelopeQuery{Kinds: []string{"mcp.request", "mcp.response"}, Descending: true, Limit: missedPage, Log: b.joined.Log, Before: b.joined.Seq + 1}
	for range missedPages {
		page, err := b.opts.History.Envelopes(ctx, b.joined.Name, q)
		if err != nil {
			return nil, fmt.Errorf("read missed requests: %w", err)
		}
		for i := range page.Envelopes {
			env := &page.Envelopes[i]
			if env.TS.Before(oldest) {
				slices.Reverse(m.requests)
				return m, nil
			}
			m.note(env, b.you)
		}
		if !page.HasMore {
			break
		}
		q.Before = page.Next
	}
	slices.Reverse(m.requests)
	return m, nil
}

// note records one entry. Entries come newest first.
func (m *missed) note(env *protocol.Envelope, you protocol.ParticipantID) {
	switch {
	case env.From == you && env.Kind == protocol.KindMCPResponse:
		for _, id := range env.Correlation.IDs {
			m.answered[id] = true
		}
	case env.From != you && env.Kind == protocol.KindMCPRequest && env.AddressedTo(you):
		if r, err := participant.ParseRequest(env); err == nil && r.Method == "notifications/cancelled" {
			m.cancelled = append(m.cancelled, cancellation{env.From, r.Params.Get("requestId"), env.Seq})
			return
		}
		m.requests = append(m.requests, *env)
	}
}

// handledThrough returns the seq up to which an earlier process may have
// received requests; 0 if there was none.
func (b *Bridge) handledThrough(ctx context.Context) (protocol.Seq, error) {
	if !participant.MayAllow(b.opts.Space.Welcome().You.Capabilities, protocol.KindParticipantStatus) {
		return b.joined.Seq, nil // no earlier process could mark its start
	}
	page, err := b.opts.History.Envelopes(ctx, b.joined.Name, api.EnvelopeQuery{
		From: []protocol.ParticipantID{b.you}, Descending: true, Limit: 1, Log: b.joined.Log, Before: b.joined.Seq + 1,
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("read own envelopes: %w", err)
	case len(page.Envelopes) == 0 && !page.HasMore:
		return 0, nil
	case len(page.Envelopes) == 0:
		return b.joined.Seq, nil
	}
	last := &page.Envelopes[0]
	var m mark
	if last.Kind == protocol.KindParticipantStatus && json.Unmarshal(last.Payload, &m) == nil && m.Status == markStopped {
		return m.Through, nil
	}
	b.log.Warn("no stop of an earlier process is in the log: it was killed, or another process with this token runs, and both carry out each request")
	return b.joined.Seq, nil
}
