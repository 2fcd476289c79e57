package gatewaytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/sdk/conformance/vector"
)

// peer is one connection of a vector.
type peer struct {
	ws      *websocket.Conn
	frames  chan []byte // received; closed when the connection has ended
	err     error       // why it ended; set before frames is closed
	reading sync.WaitGroup
	stop    context.CancelFunc
	log     func(direction string, frame []byte)

	passed [][]byte // received, and not expected by a step so far
}

// maxFrames bounds the frames that wait for the script.
const maxFrames = 1 << 14

// dial connects with the token of a participant, without one if there is none. With an
// error it returns the response of the gateway, if there is one.
func (s *Suite) dial(ctx context.Context, user, path string) (*peer, *answer, error) {
	header := make(http.Header)
	if token := s.o.Tokens[user]; token != "" {
		header.Set("Authorization", "Bearer "+token)
	} else if user == "stranger" {
		header.Set("Authorization", "Bearer no-such-token-f00d")
	}
	address := "ws" + strings.TrimPrefix(strings.TrimSuffix(s.o.URL, "/"), "http") + path
	ws, resp, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: s.http, HTTPHeader: header})
	if err != nil {
		if resp == nil || resp.Body == nil {
			return nil, nil, err
		}
		a := read(resp)
		return nil, a, fmt.Errorf("the gateway refused the connection with status %d: %s", a.status, vector.Compact(a.body))
	}
	ws.SetReadLimit(64 << 20)
	reading, cancel := context.WithCancel(context.Background())
	p := &peer{ws: ws, frames: make(chan []byte, maxFrames), stop: cancel}
	p.log = func(direction string, frame []byte) {
		fmt.Fprintf(s.o.Output, "\t%s %s %s\n", user, direction, vector.Compact(frame))
	}
	p.reading.Go(func() { p.read(reading) }) // ends with the connection, which cut ends
	return p, nil, nil
}

func (p *peer) read(ctx context.Context) {
	defer close(p.frames)
	for {
		typ, frame, err := p.ws.Read(ctx)
		if err == nil && typ != websocket.MessageText {
			err = errors.New("the gateway sent a binary frame")
		}
		if err != nil {
			p.err = err
			return
		}
		select {
		case p.frames <- frame:
		default:
			p.err = errors.New("the gateway sent more frames than the script reads")
			return
		}
	}
}

// leave ends the connection, after the gateway has answered its close frame: what a gateway does when it notices the
// end, such as forgetting the tools of the participant, does not come in the midst of the next script.
func (p *peer) leave() {
	_ = p.ws.Close(websocket.StatusNormalClosure, "") // an error: the connection has ended otherwise
	p.cut()
}

// cut ends the connection without a close frame.
func (p *peer) cut() {
	_ = p.ws.CloseNow()
	p.stop()
	p.reading.Wait()
}

// next returns the next frame, or the reason why the connection ended.
func (p *peer) next(ctx context.Context) ([]byte, error) {
	select {
	case frame, open := <-p.frames:
		if !open {
			return nil, fmt.Errorf("the connection has ended: %w", p.err)
		}
		p.log("<", frame)
		return frame, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// send sends a frame of the script as it is.
func (p *peer) send(ctx context.Context, encoding vector.Encoding, body string) error {
	typ := websocket.MessageText
	if encoding == vector.Binary {
		typ = websocket.MessageBinary
	}
	p.log(">", []byte(body))
	return p.ws.Write(ctx, typ, []byte(body))
}

// gets runs a step "<": the next frame matches. Presence and acknowledgements are passed
// over, because their place among the other frames is free.
func (g *game) gets(ctx context.Context, p *peer, s vector.Step) error {
	for {
		frame, err := p.next(ctx)
		if err != nil {
			return err
		}
		err = g.matches(s.Encoding, s.Body, frame)
		if err == nil {
			return nil
		}
		if !mayComeAnyTime(frame) {
			return fmt.Errorf("%w\nreceived %s", err, vector.Compact(frame))
		}
		p.passed = append(p.passed, frame)
	}
}

// maxListed bounds the frames in an error.
const maxListed = 12

// awaits runs a step "<<".
func (g *game) awaits(ctx context.Context, p *peer, body string) error {
	for i, frame := range p.passed {
		if g.matches(vector.JSON, body, frame) == nil {
			p.passed = slices.Delete(p.passed, i, i+1)
			return nil
		}
	}
	for {
		frame, err := p.next(ctx)
		if err != nil {
			return fmt.Errorf("%w\npassed over:\n\t%s", err, bytes.Join(p.passed[max(0, len(p.passed)-maxListed):], []byte("\n\t")))
		}
		if g.matches(vector.JSON, body, frame) == nil {
			return nil
		}
		p.passed = append(p.passed, frame)
	}
}

// not runs a step "not".
func (g *game) not(p *peer, body string) error {
	for _, frame := range p.passed {
		if g.matches(vector.JSON, body, frame) == nil {
			return fmt.Errorf("it was received: %s", vector.Compact(frame))
		}
	}
	return nil
}

// matches compares a frame with the expected one: JSON, or bytes that it contains.
func (g *game) matches(encoding vector.Encoding, body string, frame []byte) error {
	if encoding == vector.Raw {
		if !bytes.Contains(frame, []byte(body)) {
			return fmt.Errorf("it does not contain %s", body)
		}
		return nil
	}
	var got any
	if err := testkit.DecodeJSON(frame, &got); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	return g.vars.Compare(body, got)
}

// mayComeAnyTime reports whether a frame has no fixed place among the others.
func mayComeAnyTime(frame []byte) bool {
	var env struct{ Kind string }
	_ = testkit.DecodeJSON(frame, &env) // without a kind it has a place
	return env.Kind == "system.presence" || env.Kind == "system.ack"
}

// closed waits for the end of the connection, and checks the close code.
func (p *peer) closed(ctx context.Context, code string) error {
	for {
		frame, err := p.next(ctx)
		if err == nil {
			p.passed = append(p.passed, frame)
			continue
		}
		if ctx.Err() != nil {
			return err
		}
		if got := websocket.CloseStatus(p.err); strconv.Itoa(int(got)) != code {
			return fmt.Errorf("it was closed with %d: %w", got, p.err)
		}
		return nil
	}
}
