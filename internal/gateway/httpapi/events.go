package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/derived"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// events streams the space as server-sent events. It uses the same cursor as a
// WebSocket, with another encoding, and the parameters of section 4. Last-Event-ID is the
// position at which a browser's stream was cut.
func (s *Server) events(w http.ResponseWriter, r *http.Request, v caller) {
	q := r.URL.Query()
	q.Set("space", v.space.Name())
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		q.Set("since", last)
	}
	connect, u := *r, *r.URL
	u.RawQuery = q.Encode()
	connect.URL = &u
	o, refused := access.ParseConnect(&connect)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	o.Join.Dialect = protocol.DialectMEUP01
	// An envelope waits for the updates of turns that precede it, so a client that ignores
	// them gets it sooner without.
	updates := true
	if value := r.URL.Query().Get("updates"); value != "" {
		var ok bool
		updates, ok = access.Boolean(value)
		if !ok {
			access.WriteError(w, access.BadRequest("The parameter updates is true or false."))
			return
		}
	}
	s.stream(w, r, v, s.options.Admission.WithIdentity(v.identity, o.Join), func(m *space.Member, stream *eventStream) (deliver, func()) {
		if updates {
			after := m.JoinedAt()
			if m.Since != nil {
				after = *m.Since
			}
			// A stream that was cut between an envelope and its updates receives the updates
			// again, which is harmless: each contains the whole turn so far.
			if r.Header.Get("Last-Event-ID") != "" && after > 0 {
				after--
			}
			listener, err := s.options.Turns.Listen(m.Space(), m.Viewer(), after, m.Notify)
			if err == nil { // otherwise the gateway is shutting down
				stream.updates = listener
			}
		}
		return stream.envelopes, func() {
			if stream.updates != nil {
				stream.updates.Close()
			}
		}
	})
}

// deliver writes what a stream delivers to its buffer.
type deliver func(context.Context, *space.Delivery) error

// stream joins a member, and writes what it receives until it leaves. begin returns how, and
// what ends that.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, v caller, o space.JoinOptions, begin func(*space.Member, *eventStream) (deliver, func())) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return // a response without a body joins no member
	}
	member, err := v.space.Join(r.Context(), o)
	if err != nil {
		access.WriteError(w, err)
		return
	}
	v.hold.Release() // from here on, the connection limits apply instead
	defer v.space.Leave(member)
	defer member.MarkClosed()

	w.WriteHeader(http.StatusOK)
	stream := eventStream{w: w, rc: http.NewResponseController(w), writeTimeout: s.options.IdleTimeout}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	member.OnClose(stream.expediteClose)
	write, end := begin(member, &stream)
	defer end()
	pings := make(chan struct{})
	go func() { // ends with ctx; waited for below
		defer close(pings)
		t := time.NewTicker(s.options.KeepAlive)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				member.Ping()
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { cancel(); <-pings }()
	stream.run(ctx, member, write)
}

type eventStream struct {
	w            http.ResponseWriter
	rc           *http.ResponseController
	writeTimeout time.Duration
	expedited    atomic.Bool // the stream is closing: writes have a short deadline
	updates      *derived.TurnListener
	last         protocol.Seq // the last seq written as an id
	buf          []byte
}

// expediteTimeout bounds a write when the stream is closing.
const expediteTimeout = 2 * time.Second

// expediteClose shortens the deadline of current and later writes.
func (s *eventStream) expediteClose() {
	s.expedited.Store(true)
	_ = s.rc.SetWriteDeadline(time.Now().Add(expediteTimeout)) // ignore the error: the connection can only be closed already
}

// keepBuffer is how many bytes of its buffer an idle stream retains.
const keepBuffer = 4 << 10

// run writes the frames from the member's cursor until the reader disconnects.
func (s *eventStream) run(ctx context.Context, m *space.Member, write deliver) {
	s.buf = append(s.buf, "retry: 2000\n\n"...)
	var d space.Delivery
	for {
		if err := m.Next(ctx, &d); err != nil {
			return
		}
		for content, ping := range ring.SplitFrames(d.Control) { // the welcome, errors and pings
			if ping {
				s.buf = append(s.buf, ": \n\n"...)
				continue
			}
			s.event("system", "", content)
		}
		if write(ctx, &d) != nil || s.flush() != nil || d.Close != nil {
			return
		}
	}
}

// flushAt is the size of the buffer, in bytes, at which it is written.
const flushAt = 1 << 20

// envelopes writes envelopes, each followed by its updates.
func (s *eventStream) envelopes(ctx context.Context, d *space.Delivery) error {
	list := d.Entries
	upTo := func(seq protocol.Seq) { // the envelopes up to seq
		for len(list) > 0 && list[0].Envelope.Seq <= seq {
			s.entry(list[0])
			list = list[1:]
		}
	}
	if s.updates != nil {
		for u := range s.updates.UpTo(ctx, d.Seq) {
			upTo(u.Seq)
			// A late update, which was created when the log was first read, has no id: a
			// stream that is cut after it resumes after the last envelope.
			id := ""
			if u.Seq >= s.last {
				id = s.mark(u.Seq)
			}
			s.event(u.Name, id, u.Data)
			if len(s.buf) < flushAt {
				continue
			}
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	upTo(^protocol.Seq(0))
	return nil
}

func (s *eventStream) mark(seq protocol.Seq) string {
	s.last = seq
	return seq.String()
}

func (s *eventStream) entry(e *ring.Entry) {
	name, id := "envelope", ""
	if e.Envelope.Kind == protocol.KindSystemPresence {
		name = "presence"
	}
	if e.Envelope.Seq > 0 {
		id = s.mark(e.Envelope.Seq)
	}
	s.event(name, id, e.JSON(protocol.DialectMEUP01))
}

// event appends one event. JSON from the gateway has no line breaks except
// between tokens of a sender's payload.
func (s *eventStream) event(name, id string, data []byte) {
	s.buf = append(s.buf, "event: "...)
	s.buf = append(s.buf, name...)
	if id != "" {
		s.buf = append(s.buf, "\nid: "...)
		s.buf = append(s.buf, id...)
	}
	s.buf = append(s.buf, "\ndata: "...)
	for _, c := range data {
		switch c {
		case '\n':
			s.buf = append(s.buf, "\ndata: "...)
		case '\r':
			s.buf = append(s.buf, ' ') // between tokens; line breaks in strings are escaped
		default:
			s.buf = append(s.buf, c)
		}
	}
	s.buf = append(s.buf, "\n\n"...)
}

func (s *eventStream) flush() error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(s.writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if s.expedited.Load() {
		s.expediteClose()
	}
	_, err := s.w.Write(s.buf)
	s.buf = s.buf[:0]
	if cap(s.buf) > keepBuffer {
		s.buf = nil
	}
	if err != nil {
		return err
	}
	return s.rc.Flush()
}
