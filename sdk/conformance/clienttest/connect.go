package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/sdk/conformance/vector"
)

// attempt is an upgrade request that waits for the script.
type attempt struct {
	r      *http.Request
	answer chan func(w http.ResponseWriter) // one entry
}

func (a *attempt) refuse(status int, body string) {
	a.answer <- func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// ServeHTTP hands upgrades to the script, and answers the requests of the HTTP API that a
// client needs to catch up.
func (g *game) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/ws" && r.Header.Get("Authorization") != "Bearer "+token {
		writeJSON(w, http.StatusUnauthorized, protocol.Errorf("unauthorized", "The token is not good for this gateway."))
		return
	}
	switch r.URL.Path {
	case "/ws":
	case "/api/spaces/" + space + "/envelopes":
		g.log.history(w, r)
		return
	default:
		writeJSON(w, http.StatusNotFound, protocol.Errorf("not_found", "The conformance runner has no such route."))
		return
	}
	a := &attempt{r: r, answer: make(chan func(http.ResponseWriter), 1)}
	select {
	case g.attempts <- a:
		(<-a.answer)(w)
	case <-r.Context().Done():
	case <-g.over:
	}
}

// upgrade waits for an attempt and checks it.
func (g *game) upgrade(ctx context.Context) (*attempt, error) {
	if g.program == nil {
		return nil, errors.New("the program does not run")
	}
	if g.conn != nil {
		return nil, errors.New("the program is connected already: cut the connection first")
	}
	var a *attempt
	select {
	case a = <-g.attempts:
	case <-g.program.Exited():
		return nil, fmt.Errorf("the program has ended with the exit status %d", g.program.ExitCode())
	case <-ctx.Done():
		return nil, fmt.Errorf("no attempt to connect: %w", context.Cause(ctx))
	}
	if err := g.checkUpgrade(a.r); err != nil {
		a.refuse(http.StatusBadRequest, "{}")
		return nil, err
	}
	return a, nil
}

// checkUpgrade checks the token and the parameters of an upgrade.
func (g *game) checkUpgrade(r *http.Request) error {
	q := r.URL.Query()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+token:
		return errors.New("the upgrade has not the token in Authorization")
	case q.Get("space") != space:
		return fmt.Errorf("the upgrade names the space %q", q.Get("space"))
	case q.Get("ack") != "true":
		return errors.New("the upgrade has no ack=true")
	case g.program.connects == 0:
		return nil
	}
	since, err := protocol.ParseSeq(q.Get("since"))
	switch {
	case err != nil:
		return fmt.Errorf("a reconnect has since=%q", q.Get("since"))
	case since > g.program.seen:
		return fmt.Errorf("a reconnect has since=%d; the last seq that the program received is %d", since, g.program.seen)
	case q.Has("log") && q.Get("log") != g.program.log:
		return fmt.Errorf("a reconnect has log=%q; the log was %q", q.Get("log"), g.program.log)
	}
	return nil
}

func (g *game) refuse(ctx context.Context, status int, body string) error {
	a, err := g.upgrade(ctx)
	if err != nil {
		return err
	}
	a.refuse(status, body)
	return nil
}

// connect accepts an upgrade, and sends the welcome and the replay.
func (g *game) connect(ctx context.Context) error {
	a, err := g.upgrade(ctx)
	if err != nil {
		return err
	}
	type result struct {
		ws  *websocket.Conn
		err error
	}
	done := make(chan result, 1)
	a.answer <- func(w http.ResponseWriter) {
		ws, err := websocket.Accept(w, a.r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		done <- result{ws, err}
	}
	accepted := <-done
	if accepted.err != nil {
		return fmt.Errorf("accept the upgrade: %w", accepted.err)
	}
	q := a.r.URL.Query()
	g.conn = newConn(accepted.ws, q.Get("echo") != "false")
	return g.greet(ctx, q.Get("since"), q.Get("log"))
}

// greet sends the welcome and the entries of the log after a position.
func (g *game) greet(ctx context.Context, since, log string) error {
	id, head := g.log.state()
	p := g.program
	p.connects++
	p.log, p.seen = id, max(p.seen, head)
	welcome := map[string]json.RawMessage{
		"you": json.RawMessage(`{"id":"` + bot + `","capabilities":["*"],"limits":{"message_bytes":1048576,"context_depth":5}}`),
		"participants": json.RawMessage(`[{"id":"` + bot + `","capabilities":["*"]},{"id":"alice","capabilities":["*"]},
			{"id":"` + tools + `","capabilities":["mcp.response"],"serves":["tools"]}]`),
		"space":    json.RawMessage(fmt.Sprintf(`{"name":%q,"seq":%d,"log":%q}`, space, head, id)),
		"protocol": json.RawMessage(`"meup/v0.1"`),
	}
	maps.Copy(welcome, g.welcomeChange)
	if err := g.notify(ctx, protocol.KindSystemWelcome, "", welcome); err != nil || since == "" {
		return err
	}
	from, err := protocol.ParseSeq(since)
	if err != nil {
		return fmt.Errorf("the upgrade has since=%q", since)
	}
	if log != "" && log != id {
		from, p.seen = 0, head
		gap := protocol.Errorf(protocol.CodeCursorExpired, "The log was replaced.")
		gap.OldestSeq = 1
		if err := g.notify(ctx, protocol.KindSystemError, "", gap); err != nil {
			return err
		}
	}
	for _, e := range g.log.after(from) {
		if err := g.deliver(ctx, &e); err != nil {
			return err
		}
	}
	return nil
}

// notify sends a frame of the gateway itself.
func (g *game) notify(ctx context.Context, kind protocol.Kind, about protocol.ID, payload any) error {
	env, err := protocol.FromGateway(protocol.ID(uuid.Must(uuid.NewV7()).String()), kind, time.Now(), payload)
	if err != nil {
		return err
	}
	if about != "" {
		env.Correlation = protocol.CorrelateTo(about)
	}
	return g.write(ctx, websocket.MessageText, encode(&env))
}

// deliver sends an entry of the log.
func (g *game) deliver(ctx context.Context, env *protocol.Envelope) error {
	if g.program != nil {
		g.program.seen = max(g.program.seen, env.Seq)
	}
	return g.write(ctx, websocket.MessageText, encode(env))
}

func (g *game) write(ctx context.Context, typ websocket.MessageType, frame []byte) error {
	if g.conn == nil {
		return errors.New("the program is not connected")
	}
	fmt.Fprintf(g.output, "\t< %s\n", vector.Compact(frame))
	if err := g.conn.ws.Write(ctx, typ, frame); err != nil {
		return fmt.Errorf("send a frame: %w (%w)", err, g.conn.reason())
	}
	return nil
}

// disconnect ends the connection.
func (g *game) disconnect(s vector.Step) error {
	if g.conn == nil {
		return errors.New("the program is not connected")
	}
	if s.Verb == vector.Close {
		var code websocket.StatusCode
		number, text, _ := strings.Cut(s.Word, " ")
		if _, err := fmt.Sscan(number, &code); err != nil {
			return fmt.Errorf("%q is no close code", number)
		}
		_ = g.conn.ws.Close(code, text) // the program may have closed it already
	}
	g.drop()
	return nil
}

// drop cuts the connection, if there is one.
func (g *game) drop() {
	if g.conn == nil {
		return
	}
	_ = g.conn.ws.CloseNow()
	g.conn.reading.Wait()
	g.conn = nil
}
