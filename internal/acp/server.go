// Package acp speaks the Agent Client Protocol (version 1): [Serve] serves a space to an
// editor, and [Conn] is a connection to either side, an editor or an agent's program.
package acp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// ServerOptions configures a server. All fields but To and Log are required.
type ServerOptions struct {
	Client  *api.Client
	Space   string
	You     protocol.ParticipantID
	To      []protocol.ParticipantID // of the questions; none: all
	In      io.Reader
	Out     io.Writer
	Version string
	Log     *slog.Logger // nil discards
}

// server is one connection of an editor.
type server struct {
	o    ServerOptions
	conn *Conn

	mu       sync.Mutex
	sessions map[string]*session
}

// session is a conversation of the editor.
type session struct {
	id     string
	name   string // in the space, which does not tell the ids of the questions
	asked  int    // prompts that have become questions
	failed string // text of a prompt whose question may be in the log: a retry must not ask again
	number uint64 // of the last cancel; it ends the prompts that were sent before it

	// Of the prompt in progress; nil: there is none.
	prompting context.Context
	cancel    context.CancelCauseFunc
	ended     chan struct{}
}

// Bounds of a connection.
const (
	maxSessions = 256
	maxReplayed = 200 // turns that session/load shows, the newest
	maxPrompts  = 10_000
	maxGrowing  = 32 // streams whose shown text is remembered
)

// Serve serves the space to an editor, for which the space is the agent, until In ends, or
// until ctx does. A prompt is a question in the space; what participants think, call and
// answer becomes the updates of its session. A proposal that the participant may decide is a
// request for permission. Questions that are open at the end stay open in the space.
func Serve(ctx context.Context, o ServerOptions) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{o: o, sessions: make(map[string]*session)}
	// The input ends with ctx. A read in progress is given up: standard input cannot be interrupted.
	in, pump := io.Pipe()
	defer in.Close() //nolint:errcheck // never fails
	defer context.AfterFunc(ctx, func() { _ = pump.Close() })()
	go func() { // ends with In, or with the next input after the connection
		_, err := io.Copy(pump, o.In)
		_ = pump.CloseWithError(err)
	}()
	s.conn = NewConn(in, o.Out, o.Log, s.handle)
	s.conn.Start()
	<-s.conn.Done()
	s.conn.Close()
	if err := s.conn.Err(); !errors.Is(err, ErrEnded) {
		return err
	}
	return ctx.Err()
}

// handle handles a message of the editor.
func (s *server) handle(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case "initialize":
		return map[string]any{
			"protocolVersion": 1, "authMethods": []any{},
			"agentInfo": map[string]string{"name": "meup", "title": "Space " + s.o.Space, "version": s.o.Version},
			"agentCapabilities": map[string]any{
				"loadSession":         true,
				"promptCapabilities":  map[string]bool{"embeddedContext": true, "image": false, "audio": false},
				"mcpCapabilities":     map[string]bool{"http": false, "sse": false},
				"sessionCapabilities": map[string]any{},
			},
		}, nil
	case "authenticate":
		return struct{}{}, nil
	case "session/new":
		x := s.sessionOf(uuid.NewString())
		if err := s.add(ctx, x); err != nil {
			return nil, err
		}
		return map[string]string{"sessionId": x.id}, nil
	case "session/load":
		return s.load(ctx, params)
	case "session/prompt":
		return s.prompt(ctx, params)
	case "session/cancel":
		if x, err := s.sessionIn(params); err == nil {
			s.cancel(ctx, x)
		}
		return nil, nil
	}
	return nil, NewError(CodeNoSuchMethod, "method not found: %.100q", method)
}

// sessionOf returns a session with the id that the editor has. Its name in the space
// is another one: participants that could derive the ids of its questions could use them first.
func (s *server) sessionOf(id string) *session {
	return &session{id: id, name: string(s.idOf("session", id))}
}

// add stores a session; one that has no prompt in progress makes room for it.
func (s *server) add(ctx context.Context, x *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.sessions[x.id]
	if known != nil {
		if err := s.awaitEndLocked(ctx, known); err != nil {
			return err
		}
	}
	if known == nil && len(s.sessions) >= maxSessions {
		for id, old := range s.sessions {
			if old.cancel == nil {
				delete(s.sessions, id)
				break
			}
		}
	}
	if known == nil && len(s.sessions) >= maxSessions {
		return NewError(codeInternal, "too many sessions have a prompt in progress")
	}
	s.sessions[x.id] = x
	return nil
}

// sessionIn returns the session that params name.
func (s *server) sessionIn(params json.RawMessage) (*session, error) {
	var p struct {
		ID string `json:"sessionId"`
	}
	if err := Params(params, &p); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[p.ID]
	if x == nil {
		return nil, NewError(codeInvalidParams, "there is no session %.100q; load it, or begin a new one", p.ID)
	}
	return x, nil
}

// questionID returns the id of the question of a prompt. It follows from the place of the
// prompt in its session, so a retry asks nothing twice.
func (s *server) questionID(x *session, n int) protocol.ID {
	return s.idOf("prompt", x.id, fmt.Sprint(n))
}

func (s *server) idOf(parts ...string) protocol.ID {
	text, err := json.Marshal(append([]string{s.o.Space, string(s.o.You)}, parts...))
	if err != nil {
		panic(err) // of texts
	}
	sum := sha256.Sum256(text)
	return protocol.ID("acp-" + hex.EncodeToString(sum[:16]))
}

// isAsked reports whether the log has the question of a prompt.
func (s *server) isAsked(ctx context.Context, x *session, n int) (bool, error) {
	_, err := s.o.Client.Envelope(ctx, s.o.Space, s.questionID(x, n))
	if errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
		return false, nil
	}
	return err == nil, err
}

// load continues a session of an earlier connection, and shows its turns.
func (s *server) load(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		ID string `json:"sessionId"`
	}
	if err := Params(params, &p); err != nil {
		return nil, err
	}
	if !protocol.ValidID(p.ID) {
		return nil, NewError(codeInvalidParams, "sessionId: expected the id of a session")
	}
	s.mu.Lock()
	var err error
	if known := s.sessions[p.ID]; known != nil {
		err = s.awaitEndLocked(ctx, known) // its question counts
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	x := s.sessionOf(p.ID)
	for x.asked < maxPrompts {
		asked, err := s.isAsked(ctx, x, x.asked+1)
		if err != nil {
			return nil, faultOf(err)
		}
		if !asked {
			break
		}
		x.asked++
	}
	if x.asked > 0 {
		h, err := s.o.Client.SessionHistory(ctx, s.o.Space, x.name, api.SessionPage{Limit: maxReplayed})
		if err != nil {
			return nil, faultOf(err)
		}
		for i := range h.Turns {
			s.replay(ctx, x, &h.Turns[i])
		}
	}
	if err := s.add(ctx, x); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// replay shows a turn of the log.
func (s *server) replay(ctx context.Context, x *session, t *api.Turn) {
	if t.From == s.o.You {
		s.update(ctx, x, textChunk("user_message_chunk", t.UserInput))
	} else { // a chat that is not known to be an answer
		s.update(ctx, x, textChunk("agent_message_chunk", fmt.Sprintf("**%s**: %s\n\n", t.From, t.UserInput)))
	}
	switch {
	case len(t.Responses) > 0:
		for i := range t.Responses {
			r := &t.Responses[i]
			s.update(ctx, x, textChunk("agent_message_chunk", fmt.Sprintf("**%s**: %s\n\n", r.From, r.Text)))
		}
	case t.Response != nil:
		s.update(ctx, x, textChunk("agent_message_chunk", *t.Response))
	}
}

func textChunk(kind, text string) map[string]any {
	return map[string]any{"sessionUpdate": kind, "content": map[string]string{"type": "text", "text": text}}
}

// update sends an update of a session. An error means that the editor is gone.
func (s *server) update(ctx context.Context, x *session, update map[string]any) {
	if err := s.conn.Notify(ctx, "session/update", map[string]any{"sessionId": x.id, "update": update}); err != nil {
		s.o.Log.Debug("update not sent", "err", err)
	}
}

// errCanceled is the cause that ends a prompt which the editor cancels.
var errCanceled = errors.New("the editor canceled the prompt")

// cancel ends the prompt in progress, and the ones that were received before and are
// not handled yet.
func (s *server) cancel(ctx context.Context, x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.number = Number(ctx)
	if x.cancel != nil {
		x.cancel(errCanceled)
	}
}

// awaitEndLocked waits until the prompt in progress of a session has ended, if it was
// canceled. Error: the prompt was not, or ctx has ended.
func (s *server) awaitEndLocked(ctx context.Context, x *session) error {
	for x.prompting != nil {
		if x.prompting.Err() == nil {
			return NewError(codeInvalidParams, "a prompt of this session is in progress")
		}
		ended := x.ended
		s.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// prompt asks the question of a prompt, and returns when its turn has ended.
func (s *server) prompt(ctx context.Context, params json.RawMessage) (any, error) {
	x, err := s.sessionIn(params)
	if err != nil {
		return nil, err
	}
	var p struct {
		Prompt []json.RawMessage `json:"prompt"`
	}
	if err := Params(params, &p); err != nil {
		return nil, err
	}
	text := promptText(p.Prompt)
	if strings.TrimSpace(text) == "" {
		return nil, NewError(codeInvalidParams, "prompt: expected a text")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	err = s.awaitEndLocked(ctx, x)
	switch {
	case Number(ctx) < x.number:
		s.mu.Unlock()
		return map[string]string{"stopReason": "cancelled"}, nil
	case err != nil:
		s.mu.Unlock()
		return nil, err
	}
	ended := make(chan struct{})
	x.prompting, x.cancel, x.ended = ctx, cancel, ended
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		x.prompting, x.cancel, x.ended = nil, nil, nil
		close(ended)
	}()
	return s.ask(ctx, x, text)
}

// ask publishes a question and follows its turn.
func (s *server) ask(ctx context.Context, x *session, text string) (any, error) {
	n := x.asked + 1
	if x.failed != "" && x.failed != text { // another prompt after one that may be in the log
		asked, err := s.isAsked(ctx, x, n)
		if err != nil {
			return nil, faultOf(err)
		}
		if asked {
			x.asked, n = n, n+1
		}
	}
	x.failed = text
	e := protocol.Envelope{ID: s.questionID(x, n), Kind: protocol.KindChat, To: s.o.To, Payload: object("message", text, "session_id", x.name)}
	if n > 1 {
		e.Correlation = protocol.CorrelateTo(s.questionID(x, n-1))
	}
	q, err := ask.Publish(ctx, s.o.Client, s.o.Space, s.o.You, e)
	if err == nil {
		t := &turn{server: s, session: x, question: q, growing: recent.New[protocol.ID, *grown](maxGrowing), missed: recent.New[protocol.ID, struct{}](maxGrowing), asking: make(map[protocol.ID]context.CancelFunc)}
		err = t.follow(ctx)
		t.close()
	}
	switch {
	case errors.Is(context.Cause(ctx), errCanceled):
		x.asked, x.failed = n, ""
		s.withdraw(ctx, e.ID, s.o.To)
		return map[string]string{"stopReason": "cancelled"}, nil
	case err != nil:
		return nil, faultOf(err)
	}
	x.asked, x.failed = n, ""
	return map[string]string{"stopReason": "end_turn"}, nil
}

// withdrawTime bounds the withdrawal of a question.
const withdrawTime = 10 * time.Second

// withdraw cancels a question in the space.
func (s *server) withdraw(ctx context.Context, question protocol.ID, to []protocol.ParticipantID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer cancel()
	err := ask.SendDerived(ctx, s.o.Client, s.o.Space, protocol.Envelope{
		ID: s.idOf("cancel", string(question)), Kind: protocol.KindChatCancel, To: to,
		Correlation: protocol.CorrelateTo(question), Payload: object("reason", "canceled in the editor"),
	})
	if err != nil {
		s.o.Log.Warn("question not withdrawn", "question", question, "err", err)
	}
}

// faultOf returns the error of a request, with a text for the user.
func faultOf(err error) error {
	var refusal *protocol.Error
	if errors.As(err, &refusal) {
		return NewError(codeInternal, "%s: %s", refusal.Code, refusal.Message)
	}
	return NewError(codeInternal, "the gateway cannot be reached: send the prompt again to continue (%v)", err)
}

// promptText returns the text of a prompt: of texts and embedded files, and the addresses of
// linked ones.
func promptText(blocks []json.RawMessage) string {
	var parts []string
	for _, raw := range blocks {
		var b struct {
			Type, Text, Name, URI string
			Resource              struct{ URI, Text string }
		}
		switch {
		case json.Unmarshal(raw, &b) != nil:
		case b.Type == "text":
			parts = append(parts, b.Text)
		case b.Type == "resource_link":
			parts = append(parts, fmt.Sprintf("[%s](%s)", b.Name, b.URI))
		case b.Type == "resource" && b.Resource.Text != "":
			parts = append(parts, fmt.Sprintf("%s:\n\n%s", b.Resource.URI, fenced(b.Resource.Text)))
		default:
			parts = append(parts, fmt.Sprintf("[attachment without text: %.40s]", b.Type))
		}
	}
	return strings.Join(parts, "\n")
}

// fenced returns a text as a block of Markdown.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// object returns a JSON object of names and texts.
func object(members ...string) json.RawMessage {
	out := []byte{'{'}
	for i := 0; i < len(members); i += 2 {
		if i > 0 {
			out = append(out, ',')
		}
		out = protocol.AppendString(append(protocol.AppendString(out, members[i]), ':'), members[i+1])
	}
	return append(out, '}')
}
