package meuptest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// peer is one WebSocket connection of a conversation. It reads continuously, so
// that it answers pings while the script uses other connections.
type peer struct {
	ws   *websocket.Conn
	raw  net.Conn        // under ws, for frames that the library does not send
	acks map[string]bool // by id: acks that arrived before a line expected them

	frames chan []byte // received; closed when the connection has ended
	err    error       // why it ended; read it only after frames is closed
}

// maxFrames bounds the frames that wait for the script.
const maxFrames = 1 << 14

// read returns the next frame, or the reason why the connection ended.
func (p *peer) read(ctx context.Context) ([]byte, error) {
	select {
	case frame, ok := <-p.frames:
		if !ok {
			return nil, p.err
		}
		return frame, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connectOptions has the options of connecting, parsed from a line.
type connectOptions struct {
	query        string
	label        string
	header       http.Header
	subprotocols []string
	ignorePings  bool // answers no pings
}

func (c *conversation) approach(who, rest string) connectOptions {
	a := connectOptions{label: who, header: http.Header{}}
	rest, a.ignorePings = cutWords(rest, "answering no pings")
	rest, bySubprotocol := cutWords(rest, "by subprotocol")
	if before, label, found := strings.Cut(" "+rest, " as "); found {
		rest, a.label = before, strings.TrimSpace(label)
	}
	query, headers, _ := strings.Cut(" "+rest, " with ")
	setHeaders(a.header, headers)
	a.query = c.vars.Fill(strings.TrimSpace(query))
	if !strings.Contains(a.query, "space=") {
		a.query = strings.TrimSuffix("space=lab&"+a.query, "&")
	}
	if offered := a.header.Get("Sec-WebSocket-Protocol"); offered != "" {
		a.header.Del("Sec-WebSocket-Protocol")
		a.subprotocols = strings.Split(offered, ",")
	}
	switch token := c.token(who); {
	case who == "nobody":
	case bySubprotocol:
		a.subprotocols = []string{"meup.v0.1", "bearer." + base64.RawURLEncoding.EncodeToString([]byte(token))}
	default:
		a.header.Set("Authorization", "Bearer "+token)
	}
	return a
}

// cutWords removes a phrase from a line, if present.
func cutWords(line, phrase string) (rest string, found bool) {
	before, after, found := strings.Cut(line, phrase)
	return strings.TrimSpace(before + after), found
}

// setHeaders parses "Name=value Name=value".
func setHeaders(h http.Header, list string) {
	for _, field := range strings.Fields(list) {
		name, value, _ := strings.Cut(field, "=")
		h.Set(name, value)
	}
}

// token returns the participant's token, or a captured one of that name.
func (c *conversation) token(who string) string {
	if t, ok := c.vars[who+"-token"].(string); ok {
		return t
	}
	return who + "-token"
}

func (c *conversation) dial(ctx context.Context, path string, a connectOptions) (*peer, *http.Response, error) {
	var raw net.Conn
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		raw = conn
		return conn, err
	}}
	ws, resp, err := websocket.Dial(ctx, "ws://"+c.gateway.Addr()+path, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: a.header, Subprotocols: a.subprotocols,
		OnPingReceived: func(context.Context, []byte) bool { return !a.ignorePings },
	})
	if err != nil {
		return nil, resp, err
	}
	p := &peer{ws: ws, raw: raw, acks: make(map[string]bool), frames: make(chan []byte, maxFrames)}
	ws.SetReadLimit(64 << 20)
	go func() { //nolint:gosec // it outlives ctx: it ends with the connection, which the end of the script cuts
		defer close(p.frames)
		for {
			typ, frame, err := ws.Read(context.Background())
			if err == nil && typ != websocket.MessageText {
				err = fmt.Errorf("a frame that is not text: %q", frame)
			}
			if err != nil {
				p.err = err
				return
			}
			p.frames <- frame
		}
	}()
	return p, resp, nil
}

func (c *conversation) connects(ctx context.Context, who, rest string) error {
	a := c.approach(who, rest)
	p, resp, err := c.dial(ctx, "/ws?"+a.query, a)
	if err != nil {
		return fmt.Errorf("%w: %s", err, c.record(resp).body)
	}
	if got := resp.Header.Get("Sec-WebSocket-Protocol"); len(a.subprotocols) > 0 && got != a.subprotocols[0] {
		return fmt.Errorf("the gateway selected the subprotocol %q", got)
	}
	c.peers[a.label] = p
	return nil
}

func (c *conversation) cannotConnect(ctx context.Context, who, rest string) error {
	at := strings.IndexByte(rest, '{')
	if at < 0 {
		at = len(rest)
	}
	words := strings.Fields(rest[:at])
	status := words[len(words)-1]
	a := c.approach(who, strings.Join(words[:len(words)-1], " "))
	p, resp, err := c.dial(ctx, "/ws?"+a.query, a)
	if err == nil {
		_ = p.ws.CloseNow()
		return errors.New("it could")
	}
	if resp == nil {
		return err
	}
	return c.record(resp).is(c.vars, status+" "+rest[at:])
}

func (c *conversation) dials(ctx context.Context, who, path string) error {
	path, withToken := cutWords(path, "with the token")
	if path == "" {
		path = "/"
	}
	a := connectOptions{label: who, header: http.Header{}}
	if withToken {
		a.header.Set("Authorization", "Bearer "+c.token(who))
	}
	p, _, err := c.dial(ctx, path, a) //nolint:bodyclose // an upgrade leaves no body
	if err != nil {
		return err
	}
	c.peers[who] = p
	return nil
}

func (c *conversation) sends(ctx context.Context, p *peer, what string) error {
	switch {
	case strings.HasPrefix(what, "at once "):
		return p.sendAtOnce(c.vars.Fill(strings.TrimPrefix(what, "at once ")))
	case strings.HasPrefix(what, "quoted "):
		text, err := strconv.Unquote(strings.TrimPrefix(what, "quoted "))
		if err != nil {
			return err
		}
		return p.ws.Write(ctx, websocket.MessageText, []byte(text))
	case strings.HasPrefix(what, "binary "):
		return p.ws.Write(ctx, websocket.MessageBinary, []byte(c.vars.Fill(strings.TrimPrefix(what, "binary "))))
	case strings.HasPrefix(what, "a chat of "):
		frame, err := chatOf(c.vars.Fill(what))
		if err != nil {
			return err
		}
		return p.ws.Write(ctx, websocket.MessageText, frame)
	}
	return p.ws.Write(ctx, websocket.MessageText, []byte(c.vars.Fill(what)))
}

// chatOf returns the frame of "a chat of 100 bytes".
func chatOf(what string) ([]byte, error) {
	const around = `{"kind":"chat","payload":{"message":""}}`
	n, err := strconv.Atoi(strings.Fields(what)[3])
	if err != nil || n < len(around) {
		return nil, fmt.Errorf("a chat has at least %d bytes", len(around))
	}
	return []byte(strings.Replace(around, `""`, `"`+strings.Repeat("x", n-len(around))+`"`, 1)), nil
}

// sendAtOnce writes frames in one write, bypassing the library.
func (p *peer) sendAtOnce(list string) error {
	var packet []byte
	d := json.NewDecoder(strings.NewReader(list))
	for {
		var frame json.RawMessage
		err := d.Decode(&frame)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		packet = appendMasked(packet, frame)
	}
	_, err := p.raw.Write(packet)
	return err
}

// appendMasked appends a client's text frame (RFC 6455, section 5.2).
func appendMasked(dst, content []byte) []byte {
	const finText, masked, len16, len64 = 0x81, 0x80, 126, 127
	dst = append(dst, finText)
	switch n := len(content); {
	case n < len16:
		dst = append(dst, masked|byte(n))
	case n <= 0xFFFF:
		dst = binary.BigEndian.AppendUint16(append(dst, masked|len16), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, masked|len64), uint64(n))
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:]) // never fails
	dst = append(dst, mask[:]...)
	for i, b := range content {
		dst = append(dst, b^mask[i%4])
	}
	return dst
}

// next returns the next frame that counts for the script.
func (p *peer) next(ctx context.Context, expected string, presence bool) ([]byte, map[string]any, error) {
	for {
		frame, err := p.read(ctx)
		if err != nil {
			return nil, nil, err
		}
		var got map[string]any
		if len(frame) > 0 && frame[0] == '#' { // stream data of mew/v0.4
			got = map[string]any{"raw": string(frame)}
		} else if err := testkit.DecodeJSON(frame, &got); err != nil {
			return nil, nil, fmt.Errorf("frame %s: %w", frame, err)
		}
		kind, _ := got["kind"].(string)
		if kind == "system.ack" && !strings.Contains(expected, `"system.ack"`) {
			p.acks[fmt.Sprint(got["correlationId"])] = true
			continue
		}
		if !presence && (kind == "system.presence" || kind == "system/presence") {
			continue
		}
		return frame, got, nil
	}
}

// gets compares the next frame to "{…}", "presence {…}" or "text …".
func (c *conversation) gets(ctx context.Context, p *peer, object string) error {
	expected, presence := strings.CutPrefix(object, "presence ")
	text, isText := strings.CutPrefix(object, "text ")
	if isText {
		expected = c.vars.Fill(text)
	}
	frame, got, err := p.next(ctx, expected, presence)
	switch {
	case err != nil:
		return err
	case isText && bytes.Contains(frame, []byte(expected)):
		return nil
	case isText:
		return fmt.Errorf("got %s", frame)
	}
	if err := c.vars.Compare(expected, got); err != nil {
		return fmt.Errorf("%w\ngot %s", err, frame)
	}
	return nil
}

func (c *conversation) waitsFor(ctx context.Context, p *peer, expected string) error {
	var passed []string
	for {
		frame, got, err := p.next(ctx, expected, strings.Contains(expected, "system.presence"))
		if err != nil {
			return fmt.Errorf("%w\ngot %s", err, strings.Join(passed, "\n    "))
		}
		if c.vars.Compare(expected, got) == nil {
			return nil
		}
		passed = append(passed, string(frame))
	}
}

func (p *peer) hasAck(ctx context.Context, id string) error {
	for !p.acks[id] {
		frame, got, err := p.next(ctx, `"system.ack"`, false)
		if err != nil {
			return err
		}
		if got["kind"] != "system.ack" {
			return fmt.Errorf("got %s", frame)
		}
		p.acks[fmt.Sprint(got["correlationId"])] = true
	}
	return nil
}

func (p *peer) closedWith(ctx context.Context, code string) error {
	for {
		_, err := p.read(ctx)
		if err == nil {
			continue
		}
		if got := strconv.Itoa(int(websocket.CloseStatus(err))); got != code {
			return fmt.Errorf("closed with %s (%w)", got, err)
		}
		return nil
	}
}
