package meuptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// record stores a response for the lines that check it.
func (c *conversation) record(resp *http.Response) answer {
	c.answer = answer{}
	if resp == nil {
		return c.answer
	}
	defer resp.Body.Close() //nolint:errcheck // it is read
	body, _ := io.ReadAll(resp.Body)
	c.answer = answer{resp.StatusCode, resp.Header, body}
	return c.answer
}

// is compares a response to "200 {…}".
func (a answer) is(v testkit.JSONVars, expected string) error {
	status, rest, _ := strings.Cut(strings.TrimSpace(expected), " ")
	if strconv.Itoa(a.status) != status {
		return fmt.Errorf("status %d: %s", a.status, a.body)
	}
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return nil
	}
	if err := v.CompareAll(rest, string(a.body)); err != nil {
		return fmt.Errorf("%w\ngot %s", err, a.body)
	}
	return nil
}

// has compares a header to "Name value"; without a value it must be present.
func (a answer) has(expected string) error {
	name, want, _ := strings.Cut(expected, " ")
	if got := a.header.Get(name); got == "" || want != "" && got != want {
		return fmt.Errorf("got %q", got)
	}
	return nil
}

func (a answer) contains(text string) error {
	if !bytes.Contains(a.body, []byte(text)) {
		return fmt.Errorf("got %s", a.body)
	}
	return nil
}

// request runs the line "/path as alice with Name=value {body} 200 {…}".
func (c *conversation) request(ctx context.Context, method, rest string) error {
	path, rest, _ := strings.Cut(rest, " ")
	header := http.Header{}
	if after, ok := strings.CutPrefix(rest, "as "); ok {
		var who string
		who, rest, _ = strings.Cut(after, " ")
		header.Set("Authorization", "Bearer "+c.token(who))
	}
	for strings.HasPrefix(rest, "with ") {
		var field string
		field, rest, _ = strings.Cut(strings.TrimPrefix(rest, "with "), " ")
		setHeaders(header, field)
	}
	var body string
	if method == http.MethodPost {
		var err error
		body, rest, err = c.body(rest)
		if err != nil {
			return fmt.Errorf("body: %w", err)
		}
	}
	address := c.vars.Fill(path)
	if strings.HasPrefix(address, "/") {
		address = c.gateway.HTTP() + address
	} else if method == http.MethodPost && header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	return c.record(resp).is(c.vars, rest)
}

// body parses the request body at the start of a line.
func (c *conversation) body(line string) (body, rest string, err error) {
	if quoted, ok := strings.CutPrefix(line, "quoted "); ok {
		literal, err := strconv.QuotedPrefix(quoted)
		if err != nil {
			return "", "", err
		}
		body, err = strconv.Unquote(literal)
		return body, strings.TrimSpace(quoted[len(literal):]), err
	}
	if strings.HasPrefix(line, "a chat of ") {
		chat, err := chatOf(line)
		words := strings.Fields(line)
		return string(chat), strings.Join(words[min(5, len(words)):], " "), err
	}
	var raw json.RawMessage
	d := json.NewDecoder(strings.NewReader(line))
	if err := d.Decode(&raw); err != nil {
		return "", "", err
	}
	return c.vars.Fill(string(raw)), strings.TrimSpace(line[d.InputOffset():]), nil
}

// listener reads a stream of server-sent events.
type listener struct {
	events chan event
	stop   func()
}

type event struct{ name, id, data string }

// openEvents runs the line "QUERY after 7".
func (c *conversation) openEvents(who, rest string) error {
	query, last, _ := strings.Cut(rest, "after ")
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		c.gateway.HTTP()+"/api/spaces/lab/events?"+c.vars.Fill(strings.TrimSpace(query)), http.NoBody)
	if err != nil {
		cancel()
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token(who))
	if last != "" {
		req.Header.Set("Last-Event-ID", c.vars.Fill(last))
	}
	resp, err := c.client.Do(req) //nolint:bodyclose // readEvents closes it
	if err != nil {
		cancel()
		return err
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Accel-Buffering") != "no" {
		cancel()
		return fmt.Errorf("status %d: %s", resp.StatusCode, c.record(resp).body)
	}
	l := &listener{events: make(chan event, 64)}
	done := make(chan struct{})
	go func() { // ends with ctx, or with the gateway; stop waits
		defer close(done)
		l.readEvents(ctx, resp.Body)
	}()
	l.stop = func() { cancel(); <-done }
	c.listeners[who] = l
	return nil
}

func (l *listener) readEvents(ctx context.Context, body io.ReadCloser) {
	defer close(l.events)
	defer body.Close() //nolint:errcheck // the stream is over
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 4<<20)
	var e event
	var data []string
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "event":
			e.name = value
		case name == "id":
			e.id = value
		case name == "data":
			data = append(data, value)
		case lines.Text() == "" && len(data) > 0:
			e.data = strings.Join(data, "\n")
			select {
			case l.events <- e:
			case <-ctx.Done():
				return
			}
			e, data = event{}, nil
		}
	}
}

// getsEvent runs the line "envelope {…}", or "envelope 7 {…}" with an id. It skips
// events of presence and control frames, unless the line expects one.
func (c *conversation) getsEvent(ctx context.Context, who, rest string) error {
	name, expected, _ := strings.Cut(rest, " ")
	id := ""
	if !strings.HasPrefix(expected, "{") {
		id, expected, _ = strings.Cut(expected, " ")
	}
	for {
		var e event
		var open bool
		select {
		case e, open = <-c.listeners[who].events:
		case <-ctx.Done():
			return ctx.Err()
		}
		switch {
		case !open && name == "the":
			return nil // the line "alice gets event the end"
		case !open:
			return errors.New("the stream has ended")
		case e.name != name && (e.name == "system" || e.name == "presence" || name == "the"):
			continue
		case e.name != name || id != "" && e.id != c.vars.Fill(id):
			return fmt.Errorf("got event %s with id %q: %s", e.name, e.id, e.data)
		}
		if err := c.vars.CompareAll(expected, e.data); err != nil {
			return fmt.Errorf("%w\ngot %s", err, e.data)
		}
		return nil
	}
}
