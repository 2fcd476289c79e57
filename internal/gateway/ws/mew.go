package ws

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// joinBytes bounds the first frame of an unauthenticated client. It fits the
// longest valid token.
const joinBytes = 24 << 10

// serveMEW serves a client of the MEW protocol, whose first frame names its
// space and carries its token (section 9). Until then the connection counts as
// unauthenticated, see [access.Conns].
func (s *Server) serveMEW(w http.ResponseWriter, r *http.Request) {
	c, wsConn, err := accept(w, r)
	if err != nil {
		return
	}
	s.joining.Add(1)
	member, refused := s.handshake(context.WithoutCancel(r.Context()), wsConn, access.Address(r))
	if refused != nil {
		s.reject(wsConn, protocol.AsError(refused))
	}
	s.joining.Add(-1)
	if member != nil {
		s.start(wsConn, c, member, r, false)
	}
}

// handshake reads the join and authorizes its sender. Both results are nil if
// the client was already rejected.
func (s *Server) handshake(ctx context.Context, wsConn *websocket.Conn, addr netip.Addr) (*space.Member, error) {
	read, turned := make(chan struct{}), make(chan bool, 1)
	go func() { // ends when the join was read, or with the rejection
		late := time.NewTimer(s.options.HandshakeTimeout)
		defer late.Stop()
		select {
		case <-read:
			turned <- false
			return
		case <-late.C:
			s.reject(wsConn, access.BadRequest("The first frame must be the join, and it did not come in time."))
		case <-s.refusing:
			s.reject(wsConn, protocol.Errorf(protocol.CodeShuttingDown, "The gateway is going down; connect again in a moment."))
		}
		turned <- true
	}()
	frame, refused := readJoin(wsConn)
	close(read)
	if <-turned {
		return nil, nil
	}
	if refused != nil {
		return nil, refused
	}
	join, refused := parseJoin(frame)
	if refused != nil {
		return nil, refused
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.HandshakeTimeout)
	defer cancel()
	sp, identity, refused := s.options.Admission.Authorize(ctx, addr, join.space, join.token)
	if refused != nil {
		return nil, refused
	}
	if join.participant != "" && join.participant != identity.Participant {
		return nil, protocol.Errorf(protocol.CodeIdentityMismatch, "The token is %s's; join under that id.", identity.Participant)
	}
	return s.join(ctx, sp, s.options.Admission.WithIdentity(identity, space.JoinOptions{Dialect: protocol.DialectMEW04}))
}

func readJoin(wsConn *websocket.Conn) ([]byte, error) {
	typ, r, err := wsConn.Reader(context.Background()) // bounded by the timer of handshake
	if err != nil {
		return nil, access.BadRequest("The connection ended before the join.")
	}
	frame, err := io.ReadAll(io.LimitReader(r, joinBytes+1))
	if err != nil || typ != websocket.MessageText || len(frame) > joinBytes {
		return nil, access.BadRequest(`The first frame must be the join: {"type":"join","space":…,"participantId":…,"token":…}.`)
	}
	return frame, nil
}

type joinFrame struct {
	space       string
	participant protocol.ParticipantID
	token       string
}

// withSpace rewrites a request to /spaces/NAME with a token in its header, as
// clients of meup/v0.2 send it, to /ws?space=NAME. It returns any other request
// unchanged.
func withSpace(r *http.Request) *http.Request {
	name, found := strings.CutPrefix(r.URL.Path, "/spaces/")
	q := r.URL.Query()
	if !found || q.Has("space") || !protocol.ValidSpaceName(name) {
		return r
	}
	if _, _, err := access.TokenFromRequest(r); err != nil {
		return r
	}
	q.Set("space", name)
	if !q.Has("dialect") {
		q.Set("dialect", protocol.DialectMEUP02.String())
	}
	changed := r.Clone(r.Context())
	changed.URL.RawQuery = q.Encode()
	return changed
}

// switchDialect checks the first frame of a connection that has not named a
// dialect: a join of MEW, or an envelope in the MEW dialect, switches to it. It
// reports whether the frame was the join, which is answered by a new welcome or
// rejected. An error ends the connection.
func (s *session) switchDialect(frame []byte) (joined bool, err error) {
	if !s.maySwitch {
		return false, nil
	}
	s.maySwitch = false
	doc, parseErr := protocol.ParseJSON(frame, protocol.MaxDepth)
	if parseErr != nil {
		return false, nil //nolint:nilerr // for the decoder to refuse
	}
	fields := doc.Root()
	kind, _ := protocol.ParseKind(fields.Get("kind").Text())
	join := kind == protocol.KindSystemJoin
	if join {
		fields = fields.Get("payload")
	}
	join = join || fields.Get("type").EqualText("join")
	spoken, known := protocol.ParseDialect(doc.Root().Get("protocol").Text())
	if !join && (!known || spoken != protocol.DialectMEW04) {
		return false, nil
	}
	if join {
		if id := fields.Get("participantId").Text(); id != "" && id != string(s.member.ID) {
			return true, s.refuse("", protocol.Errorf(protocol.CodeIdentityMismatch, "The token is %s's; join under that id.", s.member.ID))
		}
		if name := fields.Get("space").Text(); name != "" && name != s.member.Space().Name() {
			return true, s.refuse("", access.BadRequest("This connection is to another space than the join names."))
		}
	}
	s.member.Switch(protocol.DialectMEW04)
	s.sender = s.member.Sender()
	return join, nil
}

// parseJoin parses a join in either of its two forms.
func parseJoin(frame []byte) (joinFrame, error) {
	doc, err := protocol.ParseJSON(frame, protocol.MaxDepth)
	if err != nil {
		return joinFrame{}, protocol.Errorf(protocol.CodeInvalidJSON, "The join is not well-formed JSON: %v.", err)
	}
	fields := doc.Root()
	kind, _ := protocol.ParseKind(fields.Get("kind").Text())
	switch {
	case kind == protocol.KindSystemJoin:
		fields = fields.Get("payload")
	case fields.Get("type").EqualText("join"):
	default:
		return joinFrame{}, protocol.Errorf(protocol.CodeInvalidEnvelope, `The first frame must be the join: {"type":"join","space":…,"participantId":…,"token":…}.`)
	}
	j := joinFrame{
		space:       fields.Get("space").Text(),
		participant: protocol.ParticipantID(fields.Get("participantId").Text()),
		token:       fields.Get("token").Text(),
	}
	if !protocol.ValidSpaceName(j.space) {
		return joinFrame{}, access.BadRequest("The join must name a space.")
	}
	if j.token == "" {
		return joinFrame{}, protocol.Errorf(protocol.CodeUnauthorized, "The join must carry a token.")
	}
	return j, nil
}

// reject sends the reason for a rejected join, and closes.
func (s *Server) reject(wsConn *websocket.Conn, refused *protocol.Error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.options.HandshakeTimeout)
	defer cancel()
	e, err := protocol.FromGateway("join", protocol.KindSystemError, time.Now(), refused)
	if err == nil {
		err = wsConn.Write(ctx, websocket.MessageText, protocol.AppendEnvelope(nil, protocol.DialectMEW04, &e))
	}
	if err != nil {
		_ = wsConn.CloseNow()
		return
	}
	code := websocket.StatusCode(protocol.ClosePolicy)
	switch refused.Code {
	case protocol.CodeUnauthorized:
		code = protocol.CloseTokenExpired
	case protocol.CodeKicked:
		code = protocol.CloseKicked
	case protocol.CodeShuttingDown:
		code = protocol.CloseGoingAway
	case protocol.CodeUnavailable, protocol.CodeInternal:
		code = protocol.CloseInternal
	}
	_ = wsConn.Close(code, truncate(string(refused.Code)))
}
