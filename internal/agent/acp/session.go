package acp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/acp"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/protocol"
)

// session is a session of the program: the memory of one thread.
type session struct {
	thread  string
	id      sessionID
	program *program
	fresh   bool // the program does not know the thread yet

	// Guarded by Agent.mu.
	busy bool
	free chan struct{} // closed when it is no longer busy
	used int           // the larger, the later

	// Owned by the turn.
	cost   float64 // of the session so far
	tokens int64   // in the context of the model
}

// sessionTime bounds a request that changes or closes a session. One that opens a
// session, and may start its MCP servers, has the time of a start.
const sessionTime = time.Minute

// threadOf returns the thread of a question: the session that the client names, or the
// chain of answers that it belongs to. A private question has threads of its own, so that
// nothing that was said there is known in others.
func (a *Agent) threadOf(t *agent.Task) string {
	parts := make([]string, 0, len(t.Audience)+1)
	for _, id := range t.Audience {
		parts = append(parts, string(id))
	}
	slices.Sort(parts)
	audience := strings.Join(parts, ",")
	a.mu.Lock()
	defer a.mu.Unlock()
	thread := string(t.Chat.ID)
	if named := t.Chat.ParsePayload().Get("session_id").Text(); protocol.ValidID(named) {
		thread = "session " + named
	}
	for _, id := range t.Chat.Correlation.IDs {
		if earlier, ok := a.threads.Get(audience + " " + string(id)); ok {
			thread = earlier
			break
		}
	}
	a.threads.Put(audience+" "+string(t.Chat.ID), thread)
	a.threads.Put(audience+" "+string(t.Reply), thread)
	return audience + " " + thread
}

// take returns the session of a thread, when no other question uses it. The caller must
// call release.
func (a *Agent) take(ctx context.Context, thread string) (*session, error) {
	for {
		p, err := a.running(ctx)
		if err != nil {
			return nil, err
		}
		a.mu.Lock()
		s := a.sessions[thread]
		if s == nil || s.program != p && !s.busy {
			s = &session{thread: thread, program: p, busy: true, free: make(chan struct{})}
			a.sessions[thread] = s
			a.mu.Unlock()
			err := a.open(ctx, s)
			if err != nil { // the thread gets a new session
				a.mu.Lock()
				if a.sessions[thread] == s {
					delete(a.sessions, thread)
				}
				s.busy = false
				close(s.free)
				a.mu.Unlock()
				return nil, err
			}
			return s, nil
		}
		if !s.busy {
			s.busy, s.free, s.fresh = true, make(chan struct{}), false
			a.mu.Unlock()
			return s, nil
		}
		free := s.free
		a.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// release ends the use of a session, and closes the ones that were unused for longest if there
// are too many.
func (a *Agent) release(s *session) {
	a.mu.Lock()
	a.uses++
	s.busy, s.used = false, a.uses
	close(s.free)
	var old []*session
	for len(a.sessions) > a.o.MaxSessions {
		var oldest *session
		for _, x := range a.sessions {
			if !x.busy && (oldest == nil || x.used < oldest.used) {
				oldest = x
			}
		}
		if oldest == nil {
			break
		}
		delete(a.sessions, oldest.thread)
		old = append(old, oldest)
	}
	a.mu.Unlock()
	for _, x := range old {
		if x.program.can.Session.Close == nil || x.program.ended() {
			continue
		}
		ctx := context.Background() // the question has ended, and call bounds the time
		if err := x.program.call(ctx, sessionTime, "session/close", map[string]any{"sessionId": x.id}, nil); err != nil {
			a.o.Log.Debug("session not closed", "err", err)
		}
	}
}

// open opens the session of a thread: it resumes or loads the one that it had, if the
// program can, and otherwise makes a new one.
func (a *Agent) open(ctx context.Context, s *session) error {
	servers := a.o.MCPServers
	if s.program.can.MCP.HTTP && len(a.o.HTTPServers) > 0 {
		servers = a.o.HTTPServers
	}
	if servers == nil {
		servers = []any{}
	}
	params := map[string]any{"cwd": a.o.Dir, "mcpServers": servers}
	a.mu.Lock()
	earlier, known := a.known.Get(s.thread)
	a.mu.Unlock()
	method := "session/load"
	if s.program.can.Session.Resume != nil {
		method = "session/resume"
	}
	if known && (s.program.can.LoadSession || s.program.can.Session.Resume != nil) {
		params["sessionId"] = earlier
		err := s.program.call(ctx, a.o.StartTimeout, method, params, nil)
		if err == nil {
			s.id = earlier
			return a.setMode(ctx, s)
		}
		if ctx.Err() != nil || s.program.ended() {
			return s.program.fault(ctx, err)
		}
		a.o.Log.Info("an earlier session cannot be continued; the thread gets a new one", "err", err)
		delete(params, "sessionId")
	}
	var made struct {
		ID sessionID `json:"sessionId"`
	}
	err := s.program.call(ctx, a.o.StartTimeout, "session/new", params, &made)
	if err == nil && made.ID == "" {
		err = errors.New("it gave the session no id")
	}
	if err != nil {
		return s.program.fault(ctx, err)
	}
	s.id, s.fresh = made.ID, true
	a.mu.Lock()
	a.known.Put(s.thread, s.id)
	a.mu.Unlock()
	return a.setMode(ctx, s)
}

// setMode sets the mode of a session, if one is configured.
func (a *Agent) setMode(ctx context.Context, s *session) error {
	if a.o.Mode == "" {
		return nil
	}
	err := s.program.call(ctx, sessionTime, "session/set_mode", map[string]any{"sessionId": s.id, "modeId": a.o.Mode}, nil)
	if err != nil && ctx.Err() == nil && !s.program.ended() {
		return faultOf(err, "the agent program has no mode %q (--mode)", a.o.Mode)
	}
	if err != nil {
		return s.program.fault(ctx, err)
	}
	return nil
}

// fault returns the failure of a request to the program.
func (p *program) fault(ctx context.Context, err error) error {
	var refusal *acp.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case p.ended() && !errors.Is(p.conn.Err(), acp.ErrEnded):
		return faultOf(p.process.Explain(err), "the agent program broke its protocol: %v", p.conn.Err())
	case p.ended():
		return faultOf(p.process.Explain(err), "the agent program ended while it worked on this")
	case errors.Is(err, errSlow):
		return faultOf(err, "the agent program did not answer in time")
	case errors.Is(err, acp.ErrUnread):
		return faultOf(err, "the agent program does not read its messages")
	case errors.As(err, &refusal) && refusal.Code == acp.CodeAuthRequired:
		return faultOf(err, "the agent program needs a login; start it once in a terminal to log in")
	}
	return faultOf(p.process.Explain(err), "the agent program reported an error")
}
