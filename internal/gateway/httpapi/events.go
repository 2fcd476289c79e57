package httpapi

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/frame"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// events streams the space as server-sent events: the same cursor as that of
// a WebSocket, another spelling.
func (s *Server) events(w http.ResponseWriter, r *http.Request, v visitor) {
	o, refused := eventOptions(r, v)
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return // a stream without a body has no member
	}
	member, refused := v.space.Join(r.Context(), s.options.Door.As(v.as, o))
	if refused != nil {
		access.WriteError(w, refused)
		return
	}
	v.hold.Release() // from now on the bounds of connections hold
	defer v.space.Leave(member)
	defer member.MarkClosed()

	w.WriteHeader(http.StatusOK)
	stream := eventStream{w: w, rc: http.NewResponseController(w), patience: s.options.IdleTimeout}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	member.OnClose(stream.hurry)
	stream.updates = s.listen(member, r.Header.Get("Last-Event-ID") != "")
	if stream.updates != nil {
		defer stream.updates.Close()
	}
	alive := s.keepAlive(ctx, member)
	defer func() { cancel(); <-alive }()
	stream.run(ctx, member)
}

// listen lets a stream hear of the steps of agents, from where the stream
// begins. One that was cut off between an envelope and what was to be told of it
// hears that again: an update tells all of its turn so far.
func (s *Server) listen(m *space.Member, resumed bool) *turns.Listener {
	after := m.JoinedAt()
	if m.Since != nil {
		after = *m.Since
	}
	if resumed && after > 0 {
		after--
	}
	l, err := s.options.Turns.Listen(m.Space(), m.Viewer(), after, m.Notify)
	if err != nil {
		return nil // the gateway is going down
	}
	return l
}

// keepAlive pings the member until ctx ends; what it returns is closed then.
func (s *Server) keepAlive(ctx context.Context, m *space.Member) <-chan struct{} {
	done := make(chan struct{})
	go func() { // ends with ctx; events waits for it
		defer close(done)
		t := time.NewTicker(s.options.KeepAlive)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				m.Ping()
			case <-ctx.Done():
				return
			}
		}
	}()
	return done
}

// eventOptions reads the parameters of section 4; Last-Event-ID says where a
// browser was cut off.
func eventOptions(r *http.Request, v visitor) (space.JoinOptions, *protocol.Error) {
	q := r.URL.Query()
	q.Set("space", v.space.Name())
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		q.Set("since", last)
	}
	copied := *r
	u := *r.URL
	u.RawQuery = q.Encode()
	copied.URL = &u
	o, refused := access.ParseConnect(&copied)
	if refused != nil {
		return space.JoinOptions{}, refused
	}
	o.Join.Dialect = protocol.DialectMEUP01
	return o.Join, nil
}

type eventStream struct {
	w        http.ResponseWriter
	rc       *http.ResponseController
	patience time.Duration
	hurried  atomic.Bool // the stream is to end: no write may take long
	updates  *turns.Listener
	last     protocol.Seq // that was written as an id
	buf      []byte
}

// hurryTimeout is how long a write may still take when the stream is to end.
const hurryTimeout = 2 * time.Second

// hurry lets no write take long any more.
func (s *eventStream) hurry() {
	s.hurried.Store(true)
	_ = s.rc.SetWriteDeadline(time.Now().Add(hurryTimeout)) // a closed connection is as good
}

// keepBuffer is how much of a buffer a stream that waits holds on to, in bytes.
const keepBuffer = 4 << 10

// run writes what the member's cursor finds, until the reader is gone.
func (s *eventStream) run(ctx context.Context, m *space.Member) {
	s.buf = append(s.buf, "retry: 2000\n\n"...)
	var d space.Delivery
	for {
		if err := m.Next(ctx, &d); err != nil {
			return
		}
		s.control(d.Control)
		if s.entries(d.Entries, s.news(ctx, d.Seq)) != nil || s.flush() != nil || d.Close != nil {
			return
		}
	}
}

// control writes the frames for this member alone: the welcome, what went
// wrong, and a comment in the place of a ping.
func (s *eventStream) control(frames []byte) {
	for content, ping := range frame.All(frames) {
		if ping {
			s.buf = append(s.buf, ": \n\n"...)
			continue
		}
		s.event("system", "", content)
	}
}

// news is what there is to tell of the log up to a Seq.
func (s *eventStream) news(ctx context.Context, upTo protocol.Seq) iter.Seq[turns.Update] {
	if s.updates == nil {
		return func(func(turns.Update) bool) {}
	}
	return s.updates.UpTo(ctx, upTo)
}

// flushAt is how much of a stream is gathered before it is written, in bytes.
const flushAt = 1 << 20

// entries writes envelopes, and behind each one what is to be told of it.
func (s *eventStream) entries(list []*space.Entry, news iter.Seq[turns.Update]) error {
	upTo := func(seq protocol.Seq) { // the envelopes up to seq
		for len(list) > 0 && list[0].Envelope.Seq <= seq {
			s.entry(list[0])
			list = list[1:]
		}
	}
	for u := range news {
		upTo(u.Seq)
		s.update(u)
		if len(s.buf) < flushAt {
			continue
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
	upTo(^protocol.Seq(0))
	return nil
}

// update writes an update. One that comes late, since the log was read for the
// first time, has no id: a stream that is cut off behind it is to go on behind
// the last envelope.
func (s *eventStream) update(u turns.Update) {
	id := ""
	if u.Seq >= s.last {
		id = s.mark(u.Seq)
	}
	s.event(u.Name, id, u.Data)
}

func (s *eventStream) mark(seq protocol.Seq) string {
	s.last = seq
	return seq.String()
}

func (s *eventStream) entry(e *space.Entry) {
	name, id := "envelope", ""
	if e.Envelope.Kind == protocol.KindSystemPresence {
		name = "presence"
	}
	if e.Envelope.Seq > 0 {
		id = s.mark(e.Envelope.Seq)
	}
	s.event(name, id, e.JSON(protocol.DialectMEUP01))
}

// event appends one event; JSON as the gateway writes it has no line breaks
// but those that a sender left between tokens of its payload.
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
			s.buf = append(s.buf, ' ') // white space between tokens: inside a string it would be escaped
		default:
			s.buf = append(s.buf, c)
		}
	}
	s.buf = append(s.buf, "\n\n"...)
}

func (s *eventStream) flush() error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(s.patience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if s.hurried.Load() {
		s.hurry()
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
