package ws

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a burst, which is published together.
const (
	burstFrames = 256
	burstBytes  = 256 << 10
	// heavyBytes is the length above which a frame needs a slot to be decoded.
	heavyBytes = 64 << 10
)

// session is one connection. Its reader goroutine owns it and waits for the end
// of the writer, which has no goroutine while there is nothing to write.
type session struct {
	next *session // in the queue of the writers

	server *Server
	ws     *websocket.Conn
	conn   *conn
	member *space.Member
	sender *admission.Sender

	content    contentReader // of the current message
	frameBytes int           // of the last message
	heavy      bool          // the session holds a slot of Options.Heavy

	messageLimit int64
	contextDepth int
	maySwitch    bool   // the first frame may change the dialect
	address      string // the gateway's URL, as a client of MEW has dialed it
	violations   limit.Violations
}

// run reads the connection until it ends. It waits for data with few frames on the stack. If it
// wakes to control frames alone, such as the answer to a ping, the participant sends nothing: then a
// new goroutine, whose stack is small, takes its place.
func (s *session) run() {
	for {
		if s.conn.raw != nil && s.conn.drained() {
			if err := s.conn.fill(); err != nil {
				s.finish(err)
				return
			}
		}
		err := s.readBurst(context.Background()) // only its close ends a connection
		if errors.Is(err, errIdle) {
			go s.run() // in place of this one
			return
		}
		if err != nil {
			s.finish(err)
			return
		}
	}
}

// finish ends the session, after the reader.
func (s *session) finish(err error) {
	if errors.Is(err, errTooLarge) || errors.Is(err, errViolations) || errors.Is(err, errOverhead) {
		// Closing the connection with unread data would make the peer discard the close frame.
		_ = s.conn.SetReadDeadline(time.Now().Add(expediteTimeout)) // ignore the error: the connection can only be closed already
		_, _ = io.CopyN(io.Discard, s.conn.Conn, lingerBytes)
	}
	s.member.Close(space.Closing{Code: protocol.CloseNormal, Now: true})
	s.conn.expediteClose()
	<-s.member.Closed()
	_ = s.ws.CloseNow()
	s.conn.release()
	s.member.Space().Leave(s.member)
	s.server.mu.Lock()
	delete(s.server.sessions, s)
	s.server.mu.Unlock()
	s.server.done.Done()
}

// readBurst publishes what the participant has sent at once; errIdle: control frames alone.
func (s *session) readBurst(ctx context.Context) error {
	burst := make([]admission.Decoded, 0, 8)
	var frames [][]byte // of the burst, of a client of MEW
	size := 0
	for {
		frame, err := s.read(ctx)
		if errors.Is(err, errIdle) {
			return err
		}
		if err != nil {
			_ = s.publish(ctx, burst, frames) // the connection ends anyway
			return s.readFailed(err)
		}
		if len(frame) > heavyBytes && !s.acquireSlot() {
			return errors.Join(s.publish(ctx, burst, frames), s.endViolation(errViolations))
		}
		if joined, err := s.switchDialect(frame); err != nil {
			return err
		} else if joined {
			break
		}
		p := s.decode(frame)
		switch {
		case p.Err == nil && p.In.Envelope.Kind == protocol.KindSystemSubscribe:
			if err := errors.Join(s.publish(ctx, burst, frames), s.subscribe(p.In)); err != nil {
				return err
			}
			burst, frames = burst[:0], nil
		case p.Err == nil && p.In.Envelope.Kind == protocol.KindSystemHeartbeat && s.member.CurrentDialect() != protocol.DialectMEUP01:
			if err := errors.Join(s.publish(ctx, burst, frames), s.heartbeat(p.In)); err != nil {
				return err
			}
			burst, frames = burst[:0], nil
		default:
			burst = append(burst, p)
			if s.member.CurrentDialect() == protocol.DialectMEW04 {
				frames = append(frames, frame)
			}
		}
		size += len(frame)
		if len(burst) >= burstFrames || size >= burstBytes || !s.conn.frameBuffered() {
			break
		}
	}
	return s.publish(ctx, burst, frames)
}

func (s *session) decode(frame []byte) admission.Decoded {
	if frame == nil {
		return admission.Decoded{In: &protocol.Inbound{Size: s.frameBytes}, Err: protocol.Errorf(protocol.CodeInvalidJSON,
			"An envelope is a text frame; this was a binary one.")}
	}
	in, err := protocol.Decode(frame, s.member.CurrentDialect(), s.contextDepth)
	return admission.Decoded{In: in, Err: err}
}

var errTooLarge = errors.New("message too large")

// read returns the next message in a buffer of its own; nil for a binary
// message that is not stream data.
func (s *session) read(ctx context.Context) ([]byte, error) {
	s.conn.betweenMessages = true
	typ, message, err := s.ws.Reader(ctx)
	s.conn.betweenMessages = false
	if err != nil {
		return nil, err
	}
	limits := s.member.Limits() // they can change during a connection
	s.messageLimit, s.contextDepth = limits.MessageBytes, limits.ContextDepth
	if s.messageLimit <= 0 {
		s.messageLimit = 1 << 20
	}
	if s.contextDepth <= 0 {
		s.contextDepth = protocol.DefaultContextDepth
	}
	s.content = contentReader{message, s.conn}
	r := &s.content
	defer s.conn.content(frameHead)
	block := blocks.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
	defer blocks.Put(block)
	n, err := io.ReadFull(r, *block)
	var frame []byte
	switch {
	case err == nil: // longer than a block
		limit := s.messageLimit - int64(n) + 1
		if limit <= 0 {
			return nil, errTooLarge
		}
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(r, limit))
		frame = append(append(make([]byte, 0, n+len(rest)), *block...), rest...)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		frame, err = append(make([]byte, 0, n), (*block)[:n]...), nil
	}
	if err != nil {
		return nil, err
	}
	s.frameBytes = len(frame)
	if int64(len(frame)) > s.messageLimit {
		return nil, errTooLarge
	}
	if typ != websocket.MessageText && !protocol.IsStreamFrame(frame, s.member.CurrentDialect()) {
		return nil, nil
	}
	return frame, nil
}

// readFailed sends the reason why reading ends, if the gateway ends it.
func (s *session) readFailed(err error) error {
	if errors.Is(err, errTooLarge) {
		e := protocol.Errorf(protocol.CodeMessageTooLarge, "A message may have at most %d bytes; the connection is closed.", s.messageLimit)
		e.Limit = s.messageLimit
		s.server.options.Observer.Refused(e.Code)
		s.sender.ChargeRefused(int(s.messageLimit))
		s.member.Refuse("", e)
		s.end(space.Closing{Code: protocol.CloseTooBig, Reason: "message too large", UpTo: s.member.Space().Head()})
	}
	if errors.Is(err, errOverhead) {
		return s.endViolation(errOverhead)
	}
	return err
}

// end closes the connection after its queued frames. It waits until they are
// written, at most for expediteTimeout.
func (s *session) end(c space.Closing) {
	s.conn.expediteClose()
	s.member.Close(c)
	t := time.NewTimer(expediteTimeout)
	defer t.Stop()
	select {
	case <-s.member.Closed():
	case <-t.C:
	}
}

// acquireSlot waits until a long frame may be decoded: a decoded frame uses many
// times its bytes in memory until it is published. It returns false if the
// participant's rejected envelopes have used up its bytes; then none of its
// connections decodes long frames.
func (s *session) acquireSlot() bool {
	if s.sender.ChargeRefused(0) > 0 {
		return false
	}
	if !s.heavy {
		s.server.options.Heavy <- struct{}{}
		s.heavy = true
	}
	return true
}

// releaseSlot returns the slot. It is called before anything waits for the peer.
func (s *session) releaseSlot() {
	if s.heavy {
		<-s.server.options.Heavy
		s.heavy = false
	}
}

// maxPause bounds how long one frame of a client of MEW waits for its limits.
const maxPause = 10 * time.Second

// publish admits a burst and answers it. A client of MEW is slowed down: its frames
// wait until its limits refill, while nothing is read from its connection. The
// returned error ends the connection.
func (s *session) publish(ctx context.Context, burst []admission.Decoded, frames [][]byte) error {
	n, wait, err := s.admit(ctx, burst, frames != nil)
	if err != nil || n == len(burst) {
		return err
	}
	for _, frame := range frames[n:] {
		for n, deadline := 0, time.Now().Add(maxPause); n == 0; {
			paced := time.Now().Add(wait).Before(deadline)
			if paced {
				s.pause(wait)
			}
			if len(frame) > heavyBytes && !s.acquireSlot() {
				return s.endViolation(errViolations)
			}
			n, wait, err = s.admit(ctx, []admission.Decoded{s.decode(frame)}, paced)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// pause waits, or until the connection ends. The peer does not look idle meanwhile:
// it has sent what is not read yet.
func (s *session) pause(wait time.Duration) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.member.Closed():
	}
	s.conn.lastRead.Store(int64(time.Since(epoch)))
}

// admit publishes a burst and sends the acknowledgments and errors; paced: up to the
// first envelope that has to wait for a limit. It returns how many it published,
// and how long the next one has to wait.
func (s *session) admit(ctx context.Context, burst []admission.Decoded, paced bool) (n int, wait time.Duration, err error) {
	defer s.releaseSlot()
	s.member.Answering.Store(true)
	defer s.member.Answering.Store(false)
	if len(burst) == 0 || s.member.Ending() {
		return len(burst), 0, nil // the connection is closing
	}
	var results []admission.Result
	if paced {
		results, wait = s.sender.PublishPaced(ctx, burst)
	} else {
		results = s.sender.Publish(ctx, burst)
	}
	clear(burst) // a decoded frame uses many times its bytes, and the answers may wait for the peer
	s.releaseSlot()
	n = len(results)
	refused := false
	for i := range results {
		r := &results[i]
		if r.Err != nil {
			if err := s.refuse(r.ID, r.Err); err != nil {
				return n, 0, err
			}
			refused = true
			continue
		}
		if s.member.Ack {
			s.member.SendControl(protocol.KindSystemAck, r.ID, protocol.Ack{Seq: r.Seq, Decides: r.Decides})
		}
		if r.Invite != nil {
			if s.member.CurrentDialect() == protocol.DialectMEW04 {
				r.Invite.Status, r.Invite.ConnectionURL = "created", s.address
			}
			s.member.SendControl(protocol.KindSpaceInviteAck, r.ID, r.Invite)
		}
	}
	if refused && s.sender.ChargeRefused(0) > 0 {
		return n, 0, s.endViolation(errViolations)
	}
	return n, wait, nil
}

var errViolations = errors.New("too many refused envelopes")

// refuse sends the error for a rejected envelope. Too many of them end the
// connection.
func (s *session) refuse(id protocol.ID, err *protocol.Error) error {
	s.member.Refuse(id, err)
	if !s.violations.Add(time.Now()) {
		return nil
	}
	return s.endViolation(errViolations)
}

// endViolation closes the connection of a peer that exceeds the limits.
func (s *session) endViolation(reason error) error {
	s.server.options.Observer.ViolationClose()
	s.end(space.Closing{Code: protocol.ClosePolicy, Reason: reason.Error(), UpTo: s.member.Space().Head()})
	return reason
}

// heartbeat charges a heartbeat of a client of another dialect. It has no response.
func (s *session) heartbeat(in *protocol.Inbound) error {
	err := protocol.AsError(s.sender.Charge(in))
	switch {
	case err == nil:
		return nil
	case err.Code == protocol.CodeRateLimited && s.member.CurrentDialect() == protocol.DialectMEW04:
		s.pause(min(time.Duration(err.RetryAfterMS)*time.Millisecond, maxPause))
		return nil
	}
	return s.refuse(in.Envelope.ID, err)
}

func (s *session) subscribe(in *protocol.Inbound) error {
	err := s.sender.Charge(in)
	var f protocol.Filter
	if err == nil {
		f, err = protocol.ParseFilter(in.Payload)
	}
	if err == nil {
		err = s.member.Subscribe(in.Envelope.ID, f)
	}
	refused := protocol.AsError(err)
	if refused == nil {
		return nil
	}
	if s.sender.ChargeRefused(in.Size) > 0 {
		s.member.Refuse(in.Envelope.ID, refused)
		return s.endViolation(errViolations)
	}
	return s.refuse(in.Envelope.ID, refused)
}

// truncate shortens a close reason to the maximum of a close frame.
func truncate(reason string) string {
	const maxReason = 123
	if len(reason) > maxReason {
		return strings.ToValidUTF8(reason[:maxReason], "")
	}
	return reason
}
