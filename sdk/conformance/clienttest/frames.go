package clienttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
	"github.com/meup-protocol/meup/sdk/conformance/vector"
)

// inbound is a frame of the program.
type inbound struct {
	frame []byte
	env   protocol.Envelope
}

// send sends a frame of the script.
func (g *game) send(ctx context.Context, encoding vector.Encoding, body string) error {
	switch encoding {
	case vector.Raw:
		return g.write(ctx, websocket.MessageText, []byte(body))
	case vector.Binary:
		return g.write(ctx, websocket.MessageBinary, []byte(body))
	case vector.Again:
		env, found := g.log.find(protocol.ID(body))
		if !found {
			return fmt.Errorf("the log has no envelope %q", body)
		}
		return g.deliver(ctx, &env)
	case vector.JSON:
	}
	if g.conn == nil {
		return errors.New("the program is not connected")
	}
	env, err := g.compose(body)
	if err != nil {
		return err
	}
	return g.deliver(ctx, &env)
}

// compose completes an envelope of the script. If its kind is stored, it is then in the log.
func (g *game) compose(body string) (protocol.Envelope, error) {
	env, err := protocol.DecodeDelivered([]byte(body))
	if err != nil {
		return env, err
	}
	if env.ID == "" {
		env.ID = newID()
	}
	if env.Payload == nil {
		env.Payload = json.RawMessage(`{}`)
	}
	isSystem := strings.HasPrefix(string(env.Kind), "system.")
	if isSystem && env.From == "" {
		env.From = protocol.GatewayID
	}
	if env.From == "" {
		return env, errors.New("from is missing")
	}
	if isSystem || env.Kind.IsLive() {
		env.TS = time.Now()
		return env, nil
	}
	if _, used := g.log.find(env.ID); used {
		return env, fmt.Errorf("the log has an envelope %q already", env.ID)
	}
	g.log.add(&env)
	if env.AddressedTo(bot) && (env.Kind == protocol.KindParticipantPause || env.Kind == protocol.KindParticipantResume) {
		g.paused, g.refused = env.Kind == protocol.KindParticipantPause, 0
	}
	return env, nil
}

func newID() protocol.ID { return protocol.ID(uuid.Must(uuid.NewV7()).String()) }

// next returns the next frame that is no retry of an admitted one.
func (g *game) next(ctx context.Context) (*inbound, error) {
	for {
		if g.conn == nil {
			return nil, errors.New("the program is not connected")
		}
		var frame []byte
		var open bool
		select {
		case frame, open = <-g.conn.frames:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if !open {
			return nil, fmt.Errorf("the connection has ended: %w", g.conn.reason())
		}
		fmt.Fprintf(g.output, "\t> %s\n", vector.Compact(frame))
		in, err := g.check(frame)
		if err != nil {
			return nil, fmt.Errorf("%w\nreceived %s", err, vector.Compact(frame))
		}
		if g.paused && !isAllowedInPause(in.env.Kind) {
			g.refused++
			if g.refused > maxRefused {
				return nil, fmt.Errorf("the program goes on although it is paused\nreceived %s", vector.Compact(frame))
			}
			err := g.notify(ctx, protocol.KindSystemError, in.env.ID, protocol.Errorf(protocol.CodePaused, "The participant is paused."))
			if err != nil {
				return nil, err
			}
			continue
		}
		first, isRetry := g.log.find(in.env.ID)
		if !isRetry {
			return in, nil
		}
		if !sameEnvelope(&first, &in.env) {
			return nil, fmt.Errorf("the id %q was used for another envelope\nreceived %s\nbefore   %s", in.env.ID, vector.Compact(frame), encode(&first))
		}
		g.acknowledge(ctx, &first)
	}
}

// isAllowedInPause reports whether a paused participant may send a kind (section 2).
func isAllowedInPause(kind protocol.Kind) bool {
	switch kind {
	case protocol.KindParticipantStatus, protocol.KindMCPResponse, protocol.KindChatAcknowledge, protocol.KindSystemSubscribe:
		return true
	}
	return strings.HasSuffix(string(kind), ".cancel")
}

// maxRefused bounds the frames that a paused program may try to send. A few may have been
// on their way.
const maxRefused = 8

// check checks the form of a frame.
func (g *game) check(frame []byte) (*inbound, error) {
	in, err := protocol.Decode(frame, protocol.DialectMEUP01, protocol.DefaultContextDepth)
	if err != nil {
		return nil, err
	}
	env := in.Envelope
	switch {
	case env.Kind == protocol.KindSystemSubscribe:
	case env.Kind.IsReserved():
		return nil, fmt.Errorf("the kind %s is the gateway's", env.Kind)
	case env.ID == "":
		return nil, errors.New("an envelope without an id cannot be sent again")
	case in.ClaimedFrom != "" && in.ClaimedFrom != bot:
		return nil, fmt.Errorf("from is %q", in.ClaimedFrom)
	default:
		if err := schemas.Payload(env.Kind, in.Payload); err != nil {
			return nil, err
		}
	}
	env.From, env.TS = bot, time.Time{} // the ts is that of the gateway
	return &inbound{frame: frame, env: env}, nil
}

// sameEnvelope compares an entry of the log with a retry.
func sameEnvelope(a, b *protocol.Envelope) bool {
	return a.Kind == b.Kind && a.Context == b.Context && slices.Equal(a.To, b.To) && slices.Equal(a.Correlation.IDs, b.Correlation.IDs) &&
		bytes.Equal(compact(a.Payload), compact(b.Payload))
}

func compact(raw []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return raw
	}
	return out.Bytes()
}

// matches compares a frame with the expected one. Without a match it captures nothing.
func (g *game) matches(expected string, in *inbound) error {
	var want, got map[string]any
	if err := testkit.DecodeJSON([]byte(expected), &want); err != nil {
		return err
	}
	if err := testkit.DecodeJSON(in.frame, &got); err != nil {
		return err
	}
	got["from"] = bot
	got["kind"] = string(in.env.Kind)
	if kind, ok := want["kind"].(string); ok {
		want["kind"] = strings.Replace(kind, "/", ".", 1)
	}
	if text, ok := want["correlationId"].(string); ok && in.env.Correlation.Array {
		got["correlationId"] = g.correlation(text, in)
	}
	return g.vars.Match(want, got)
}

// correlation returns the element of an array of correlations to compare with an expected
// text: the one that matches, or else the first.
func (g *game) correlation(want string, in *inbound) any {
	for _, id := range in.env.Correlation.IDs {
		if want != "$any" && want != "$absent" && g.vars.Match(want, string(id)) == nil {
			return string(id)
		}
	}
	return string(in.env.Correlation.First())
}

// expect runs a step ">".
func (g *game) expect(ctx context.Context, s vector.Step) error {
	for {
		in, err := g.next(ctx)
		if err != nil {
			return err
		}
		err = g.matches(s.Body, in)
		if err == nil {
			return g.decide(ctx, s, in)
		}
		if !mayComeAnyTime(&in.env) {
			return fmt.Errorf("%w\nreceived %s", err, vector.Compact(in.frame))
		}
		if err := g.passOver(ctx, in); err != nil {
			return err
		}
	}
}

// await runs a step ">>".
func (g *game) await(ctx context.Context, s vector.Step) error {
	if s.Fate == vector.Admit {
		for i, in := range g.passed {
			if g.matches(s.Body, in) == nil {
				g.passed = slices.Delete(g.passed, i, i+1)
				return nil
			}
		}
	}
	for {
		in, err := g.next(ctx)
		if err != nil {
			return fmt.Errorf("%w\npassed over:\n%s", err, g.list())
		}
		if g.matches(s.Body, in) == nil {
			return g.decide(ctx, s, in)
		}
		if err := g.passOver(ctx, in); err != nil {
			return err
		}
	}
}

// maxListed bounds the frames in an error.
const maxListed = 12

// list returns the last frames that were passed over.
func (g *game) list() string {
	var lines []string
	for _, in := range g.passed[max(0, len(g.passed)-maxListed):] {
		lines = append(lines, "\t"+vector.Compact(in.frame))
	}
	return strings.Join(lines, "\n")
}

// not runs a step "not".
func (g *game) not(s vector.Step) error {
	for _, in := range g.passed {
		if g.matches(s.Body, in) == nil {
			return fmt.Errorf("it was received: %s", vector.Compact(in.frame))
		}
	}
	return nil
}

// quietTime is how long a step "quiet" waits for a frame that must not come. A program
// that is slow passes, so it is no source of random failures.
const quietTime = 300 * time.Millisecond

var errQuiet = errors.New("quiet")

func (g *game) quiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, quietTime, errQuiet)
	defer cancel()
	for {
		in, err := g.next(ctx)
		if errors.Is(err, errQuiet) {
			return nil
		}
		if err != nil {
			return err
		}
		if !mayComeAnyTime(&in.env) {
			return fmt.Errorf("received %s", vector.Compact(in.frame))
		}
		if err := g.passOver(context.WithoutCancel(ctx), in); err != nil {
			return err
		}
	}
}

// mayComeAnyTime reports whether a client may send an envelope that no step expects.
func mayComeAnyTime(env *protocol.Envelope) bool {
	switch namespace, _ := env.Kind.Split(); {
	case namespace == "stream", env.Kind == protocol.KindParticipantStatus, env.Kind == protocol.KindChatAcknowledge,
		env.Kind == protocol.KindSystemSubscribe:
		return true
	case env.Kind == protocol.KindMCPRequest:
		method := env.ParsePayload().Get("method").Text()
		return method == "tools/list" || strings.HasPrefix(method, "notifications/")
	}
	return false
}

// passOver admits a frame that no step expected.
func (g *game) passOver(ctx context.Context, in *inbound) error {
	g.passed = append(g.passed, in)
	return g.admit(ctx, in)
}
