package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/derived"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// threadEvents streams what happens to the questions of a thread, from its beginning on, as
// server-sent events. A stream that resumes folds the thread again, and leaves out what its
// reader has.
func (s *Server) threadEvents(w http.ResponseWriter, r *http.Request, v caller) {
	f := &threadFold{server: s, caller: v, thread: protocol.ID(r.PathValue("thread"))}
	last := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
	var err error
	seq, n, several := strings.Cut(last, ".")
	if last != "" {
		f.after.seq, err = protocol.ParseSeq(seq)
	}
	if err == nil && several {
		f.after.n, err = strconv.Atoi(n)
	}
	if err != nil || f.after.n < 0 {
		access.WriteError(w, access.BadRequest("The parameter after is the id of an event."))
		return
	}
	view, err := s.options.Turns.View(r.Context(), v.space, v.viewer())
	var begins protocol.Seq
	if err == nil {
		begins, err = view.Begins(f.thread, view.Viewer)
	}
	if err != nil {
		writeTurnError(w, err)
		return
	}
	begins--
	o := s.options.Admission.WithIdentity(v.identity, space.JoinOptions{Since: &begins, Observe: true, Dialect: protocol.DialectMEUP01})
	s.stream(w, r, v, o, func(m *space.Member, stream *eventStream) (deliver, func()) {
		f.member, f.stream = m, stream
		return f.deliver, f.close
	})
}

// position is a place in the events of a thread: the number of an event among those of an
// envelope.
type position struct {
	seq protocol.Seq
	n   int
}

func (p position) String() string {
	if p.n == 0 {
		return p.seq.String()
	}
	return p.seq.String() + "." + strconv.Itoa(p.n)
}

func (p position) covers(other position) bool {
	return other.seq < p.seq || other.seq == p.seq && other.n <= p.n
}

// threadFold makes the events of a thread from the envelopes that its reader may see.
type threadFold struct {
	server *Server
	caller caller
	member *space.Member
	stream *eventStream
	thread protocol.ID
	turns  ask.Thread
	after  position    // the reader has the events up to here
	timer  *time.Timer // wakes the stream when a turn ends because nothing follows
}

func (f *threadFold) close() {
	if f.timer != nil {
		f.timer.Stop()
	}
}

// deliver writes the events of a delivery.
func (f *threadFold) deliver(ctx context.Context, d *space.Delivery) error {
	f.close()
	if len(d.Entries) > 0 {
		view, err := f.server.options.Turns.View(ctx, f.caller.space, f.caller.viewer())
		if err != nil {
			return err
		}
		for _, e := range d.Entries {
			if err := f.entry(view, e); err != nil {
				return err
			}
		}
	}
	if d.Seq < f.member.JoinedAt() {
		return nil // the past goes on
	}
	ends, next := f.turns.Expire(time.Now())
	for _, event := range ends {
		f.write(event, nil, "")
	}
	if !next.IsZero() {
		f.timer = time.AfterFunc(time.Until(next), f.member.Notify)
	}
	return nil
}

// entry writes the events of an envelope.
func (f *threadFold) entry(view *derived.TurnView, e *ring.Entry) error {
	env := e.Envelope
	number, begins := 0, false
	if env.Seq > 0 {
		key, question, known := view.Question(env.ID)
		if !known || key.Thread != f.thread {
			return nil
		}
		number, begins = key.Turn, question == env.Seq
	}
	ends, _ := f.turns.Expire(env.TS)
	at := position{seq: env.Seq}
	for _, event := range ends {
		if env.Seq == 0 || !f.after.covers(at) {
			f.write(event, nil, "")
		}
	}
	var events []*ask.Event
	if begins {
		events = f.turns.Ask(env, number)
	} else {
		events = f.turns.Apply(env, number)
	}
	for _, event := range events {
		if event.Type == ask.Delta || event.Type == ask.Answering { // a stream that resumes has no such event
			f.write(event, e, "")
			continue
		}
		if !f.after.covers(at) {
			f.write(event, e, at.String())
		}
		at.n++
	}
	if len(f.stream.buf) >= flushAt {
		return f.stream.flush()
	}
	return nil
}

// write writes an event.
func (f *threadFold) write(event *ask.Event, e *ring.Entry, id string) {
	out := api.ThreadEvent{
		Type: string(event.Type), Question: event.Question, Turn: event.Turn, Text: event.Text, Steps: event.Steps, Ref: event.Ref, State: event.State,
	}
	if event.Envelope != nil {
		out.From = event.Envelope.From
	}
	if event.InLog() {
		out.Envelope = e.JSON(protocol.DialectMEUP01)
	}
	if event.Type == ask.Proposed {
		out.MayDecide = f.caller.space.MayDecide(f.caller.id, event.Envelope)
	}
	text, err := encode(out)
	if err != nil {
		panic(fmt.Sprint("encode an event: ", err)) // of texts and JSON that was admitted
	}
	f.stream.event(out.Type, id, text[:len(text)-1])
}
