package ws

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

// Observer counts events on connections. Its methods may be called concurrently
// and must not block.
type Observer interface {
	Delivered(entries int, lag time.Duration)
	Refused(code protocol.Code)
	ViolationClose()
}

// Options configures a server. All fields but the bound and the origins are
// required.
type Options struct {
	Admission *access.Admission
	// Origins are allowed in addition to the gateway's own:
	// scheme://host[:port].
	Origins []string
	// NewViolations returns a counter for a new connection.
	NewViolations func() limit.Violations

	PingInterval     time.Duration
	IdleTimeout      time.Duration // without receiving or without reading
	HandshakeTimeout time.Duration // for a client that joins by its first frame
	MaxConnections   int           // 0: bounded by the file descriptors only
	Heavy            chan struct{} // slots for decoding and admitting long frames
	Observer         Observer
	Logger           *slog.Logger
}

// Server serves WebSocket connections.
type Server struct {
	options Options
	writers writers
	joining atomic.Int64 // connections whose join frame has not arrived yet

	mu       sync.Mutex
	sessions map[*session]struct{}
	reserved int // places of participants whose session has not started yet
	closed   bool
	cut      bool           // Wait no longer waits: new sessions are cut
	done     sync.WaitGroup // sessions, and requests that may become one
	refusing chan struct{}  // closed with the first Refuse
}

// NewServer returns a server.
func NewServer(o Options) *Server {
	s := &Server{options: o, sessions: make(map[*session]struct{}), refusing: make(chan struct{})}
	s.writers.limit = runtime.GOMAXPROCS(0)
	return s
}

// ServeHTTP upgrades a request to a connection, or responds with the error.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	upgrade := r.Method == http.MethodGet && access.HasToken(r.Header["Connection"], "upgrade") &&
		access.HasToken(r.Header["Upgrade"], "websocket") && r.Header.Get("Sec-WebSocket-Key") != "" &&
		r.Header.Get("Sec-WebSocket-Version") == "13"
	if !upgrade {
		w.Header().Set("Upgrade", "websocket")
		access.WriteError(w, access.BadRequest("This address is for WebSocket connections: GET /ws?space=NAME with an Upgrade header."))
		return
	}
	if err := s.admit(r); err != nil {
		access.WriteError(w, err)
		return
	}
	defer s.done.Done()
	r = withSpace(r)
	if !r.URL.Query().Has("space") {
		s.serveMEW(w, r)
		return
	}
	o, err := access.ParseConnect(r)
	if err != nil {
		access.WriteError(w, err)
		return
	}
	sp, identity, err := s.options.Admission.AuthorizeRequest(r, r.URL.Query().Get("space"))
	if err != nil {
		access.WriteError(w, err)
		return
	}
	if !o.DialectNamed {
		o.Join.Dialect = sp.Dialect()
	}
	member, err := s.join(r.Context(), sp, s.options.Admission.WithIdentity(identity, o.Join))
	if err != nil {
		access.WriteError(w, err)
		return
	}
	c, wsConn, acceptErr := accept(w, r)
	if acceptErr != nil {
		sp.Leave(member)
		s.unreserve()
		s.options.Logger.Debug("upgrade", "participant", identity.Participant, "error", acceptErr)
		return
	}
	s.start(wsConn, c, member, r, !o.DialectNamed)
}

// admit checks a request before its sender is authenticated.
func (s *Server) admit(r *http.Request) *protocol.Error {
	if !access.OriginAllowed(r, s.options.Origins) {
		return protocol.Errorf(protocol.CodeForbidden, "Pages of %s may not connect to this gateway; its operator can list the origin.", r.Header.Get("Origin"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return protocol.Errorf(protocol.CodeShuttingDown, "The gateway is going down; connect again in a moment.")
	}
	s.done.Add(1)
	return nil
}

// join makes a participant a member of its space, if the connection limit
// allows. start takes over the reserved place, or unreserve releases it.
func (s *Server) join(ctx context.Context, sp *space.Space, o space.JoinOptions) (*space.Member, error) {
	s.mu.Lock()
	limit := s.options.MaxConnections
	full := limit > 0 && len(s.sessions)+s.reserved >= limit
	if !full {
		s.reserved++
	}
	s.mu.Unlock()
	if full {
		err := protocol.Errorf(protocol.CodeTooMany, "The gateway has all the connections that it takes; try again later.")
		err.RetryAfterMS = 5000
		return nil, err
	}
	member, err := sp.Join(ctx, o)
	if err != nil {
		s.unreserve()
		return nil, err
	}
	return member, nil
}

func (s *Server) unreserve() {
	s.mu.Lock()
	s.reserved--
	s.mu.Unlock()
}

func accept(w http.ResponseWriter, r *http.Request) (*conn, *websocket.Conn, error) {
	h := &hijacker{ResponseWriter: w}
	wsConn, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // admit has checked the origin
		Subprotocols:       []string{"meup.v0.1", "meup.v0.2", "mew.v0.4"},
		OnPongReceived:     func(context.Context, []byte) { h.conn.controlRead() },
		OnPingReceived: func(_ context.Context, payload []byte) (libraryAnswers bool) {
			h.conn.controlRead()
			if h.conn.pong == nil {
				return true
			}
			h.conn.pong(payload) // the library would answer from the reader, which must not block on a peer that does not read
			return false
		},
	})
	if err != nil {
		return nil, nil, err
	}
	h.ResponseWriter = nil  // releases the request and the server's buffers
	wsConn.SetReadLimit(-1) // the reader counts, so that it can send an error first
	return h.conn, wsConn, nil
}

// start starts the goroutine of the connection. The handler then returns,
// which frees its stack, its request and its buffers.
func (s *Server) start(wsConn *websocket.Conn, c *conn, member *space.Member, r *http.Request, maySwitch bool) {
	x := &session{server: s, ws: wsConn, conn: c, member: member, sender: member.Sender(), violations: s.options.NewViolations()}
	x.maySwitch = maySwitch
	if maySwitch || member.CurrentDialect() == protocol.DialectMEW04 {
		scheme := "ws://"
		if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
			scheme = "wss://"
		}
		x.address = scheme + r.Host + "/"
	}
	c.pong = member.Pong
	member.OnClose(c.expediteClose)
	member.OnWake(func() { s.writers.add(x) })
	s.mu.Lock()
	s.sessions[x] = struct{}{}
	s.reserved--
	s.done.Add(1)
	if s.cut {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.writers.add(x) // for the welcome
	go x.run()       // ends with the connection; Wait waits for it
}

// Joining returns how many connections have not sent their join frame yet.
func (s *Server) Joining() int { return int(s.joining.Load()) }

// Refuse rejects new connections, and connections without a join so far.
func (s *Server) Refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.refusing)
	}
}

// Wait waits until all connections have ended. If ctx ends first, it cuts the
// remaining ones.
func (s *Server) Wait(ctx context.Context) {
	done := make(chan struct{})
	go func() { // ends with the last connection, which the cut below guarantees
		s.done.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.cut = true
	for x := range s.sessions {
		_ = x.conn.Close()
	}
	s.mu.Unlock()
	<-done
}

// Run pings the connections and closes idle ones, until ctx ends.
func (s *Server) Run(ctx context.Context) {
	t := time.NewTicker(min(s.options.PingInterval, s.options.IdleTimeout) / 2)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		s.mu.Lock()
		now := time.Since(epoch)
		for x := range s.sessions {
			silent := x.conn.silence(now)
			switch {
			case silent > s.options.IdleTimeout:
				x.member.Close(space.Closing{Code: protocol.CloseIdle, Reason: "nothing heard", Now: true})
			case silent > s.options.PingInterval:
				x.member.Ping()
			}
		}
		s.mu.Unlock()
	}
}
