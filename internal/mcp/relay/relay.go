// Package relay passes the JSON-RPC messages of an MCP client on standard input and output
// on to the gateway's /mcp, and its messages back. It changes none of them. A server without
// sessions may restart meanwhile.
package relay

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Options configures a relay. All fields are required.
type Options struct {
	Endpoint string // URL of the server
	Token    string // bearer token; only the endpoint gets it
	Version  string // of this program
	In       io.Reader
	Out      io.Writer
}

// Bounds of a relay.
const (
	maxLine     = 4 << 20         // bytes of a message of the client; the gateway takes less
	maxMessage  = 64 << 20        // bytes of a message of the server
	maxRequests = 256             // without a response; further ones are refused
	maxSending  = 2 * maxRequests // messages of the client being sent: requests leave room for cancellations; the next message waits
	endTimeout  = 2 * time.Second // until requests without a response are canceled at the end of In
)

// Codes of JSON-RPC.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeInternal = -32603
)

// refusal is an error of the relay, as JSON-RPC has it.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type object = map[string]json.RawMessage

// relay passes messages on. Its requests end with the context of Run.
type relay struct {
	Options
	client *http.Client
	agent  string // User-Agent, by which the gateway tells clients apart that use the same ids

	slots       chan struct{} // one is taken by each message of the client being sent
	running     sync.WaitGroup
	out         chan []byte   // lines for Out
	initialized chan struct{} // closed when the response to initialize was read; nil: there was no such request

	mu       sync.Mutex
	session  string // of initialize
	revision string
	calls    map[string]*message // by the ids, as written, of requests whose responses the client expects
}

// message is a line of the client.
type message struct {
	line   []byte
	fields object            // nil: a batch
	method string            // "": a response, or a batch
	ids    []json.RawMessage // of its requests; nil: the error has no id
	ends   []string          // ids, as written, of the requests that it cancels
	cancel context.CancelFunc
}

// Run passes messages on until In ends, or until ctx does. At the end of In, requests are
// canceled that have no response shortly after. Run does not wait for a write to Out then.
func Run(ctx context.Context, o Options) error {
	inner, stop := context.WithCancelCause(ctx)
	r := &relay{
		Options: o, agent: "meup/" + o.Version + " " + rand.Text(),
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		slots:  make(chan struct{}, maxSending), out: make(chan []byte), calls: make(map[string]*message),
	}
	lines, ended := make(chan []byte), make(chan error, 1)
	go func() { // ends with In; a read of it cannot be canceled
		in := bufio.NewReaderSize(o.In, 64<<10)
		for {
			line, err := textutil.ReadLine(in, maxLine)
			select {
			case lines <- line:
			case <-inner.Done():
				return
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	written := make(chan struct{})
	go func() { // ends with Run; a write to Out cannot be canceled
		defer close(written)
		for line := range r.out {
			if _, err := o.Out.Write(line); err != nil {
				stop(err)
				return
			}
		}
	}()
	var end error // of In
	for end == nil && inner.Err() == nil {
		select {
		case line := <-lines:
			r.receive(inner, bytes.TrimSpace(line))
		case end = <-ended:
		case <-inner.Done():
		}
	}
	defer time.AfterFunc(endTimeout, func() { stop(end) }).Stop()
	r.running.Wait()
	close(r.out)
	select {
	case <-written:
	case <-inner.Done():
	}
	stop(end)
	if err := cmp.Or(ctx.Err(), context.Cause(inner)); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// receive passes on a message of the client, or refuses it. It waits while maxSending are being sent.
func (r *relay) receive(ctx context.Context, line []byte) {
	if len(line) == 0 {
		return
	}
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	m, refused := parse(line)
	ctx, m.cancel = context.WithCancel(ctx)
	if err := r.begin(m); refused == nil {
		refused = err
	}
	canceled := r.canceledBy(m)
	before, initialized := r.initialized, chan struct{}(nil)
	if m.method == "initialize" && refused == nil {
		initialized = make(chan struct{})
		r.initialized = initialized
	}
	r.running.Go(func() {
		defer func() {
			m.cancel()
			if initialized != nil {
				close(initialized)
			}
			<-r.slots
		}()
		if before != nil && refused == nil {
			select {
			case <-before:
			case <-ctx.Done():
			}
		}
		if refused == nil {
			refused = r.pass(ctx, m)
		}
		r.refuse(ctx, m, refused)
		for _, c := range canceled {
			c.cancel()
		}
	})
}

// parse returns the message in a line, and why it is refused.
func parse(line []byte) (*message, *refusal) {
	m, none := &message{line: line}, []json.RawMessage{nil}
	var batch []json.RawMessage
	switch {
	case len(line) > maxLine:
		return &message{ids: none}, &refusal{codeInvalid, fmt.Sprintf("the message is longer than %d bytes", maxLine)}
	case !json.Valid(line):
		return &message{ids: none}, &refusal{codeParse, "the line is no JSON: expected one JSON-RPC message a line"}
	case json.Unmarshal(line, &batch) == nil && len(batch) > 0: // which servers of revision 2025-03-26 must accept
		for _, part := range batch {
			m.note(members(part))
		}
		return m, nil
	case json.Unmarshal(line, &m.fields) != nil || !valid(m.fields):
		return &message{ids: []json.RawMessage{idOf(m.fields)}}, &refusal{codeInvalid, `expected a JSON-RPC message: an object with "jsonrpc": "2.0", and a method, or an id and a result or an error`}
	}
	m.method = text(m.fields["method"])
	m.note(m.fields)
	return m, nil
}

// note notes the id of a request, and the one that a notification cancels.
func (m *message) note(fields object) {
	id := idOf(fields)
	switch {
	case fields["method"] != nil && id != nil:
		m.ids = append(m.ids, id)
	case text(fields["method"]) == "notifications/cancelled":
		m.ends = append(m.ends, string(members(fields["params"])["requestId"]))
	}
}

// begin adds the requests of a message to calls, and returns why they are refused.
func (r *relay) begin(m *message) (refused *refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(m.ids) > 0 && len(r.calls)+len(m.ids) > maxRequests {
		refused = &refusal{codeInternal, fmt.Sprintf("at most %d requests may be in progress; wait for a response", maxRequests)}
	}
	for i, id := range m.ids {
		switch {
		case id == nil:
		case r.calls[string(id)] != nil:
			refused = &refusal{codeInvalid, fmt.Sprintf("id %s is in progress; use another one", id)}
			m.ids[i] = nil // an error with the id would be the response to the other request
		default:
			r.calls[string(id)] = m
		}
	}
	return refused
}

// canceledBy returns the messages whose last requests a message cancels. These requests have no
// response.
func (r *relay) canceledBy(m *message) (canceled []*message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range m.ends {
		ended := r.calls[id]
		delete(r.calls, id)
		if ended != nil && !slices.ContainsFunc(ended.ids, func(id json.RawMessage) bool { return r.calls[string(id)] == ended }) {
			canceled = append(canceled, ended)
		}
	}
	return canceled
}

// settle removes a request of a message from calls, and reports whether it was there.
func (r *relay) settle(m *message, id json.RawMessage) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[string(id)] != m {
		return false
	}
	delete(r.calls, string(id))
	return true
}

// pass sends a message to the server, and writes what it responds. It returns what the
// requests get that have no response.
func (r *relay) pass(ctx context.Context, m *message) *refusal {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Endpoint, bytes.NewReader(m.line))
	if err != nil {
		return &refusal{codeInternal, err.Error()}
	}
	params := members(m.fields["params"])
	r.mu.Lock()
	revision := cmp.Or(text(members(params["_meta"])["io.modelcontextprotocol/protocolVersion"]), r.revision)
	session := r.session
	r.mu.Unlock()
	for name, value := range map[string]string{
		"Authorization": "Bearer " + r.Token, "User-Agent": r.agent, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": revision, "Mcp-Session-Id": session, "Mcp-Method": m.method, "Mcp-Name": cmp.Or(text(params["name"]), text(params["uri"])),
	} {
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return &refusal{codeInvalid, fmt.Sprintf("the value of the header %s has control characters; remove them from the message", name)}
		}
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return &refusal{codeInternal, fmt.Sprintf("the gateway does not answer (%v); check that it runs, and try again", err)}
	}
	defer resp.Body.Close() //nolint:errcheck // it is only read
	failure := &refusal{codeInternal, fmt.Sprintf("the gateway ended the connection without a response (%s); try again", resp.Status)}
	if resp.StatusCode >= http.StatusMultipleChoices {
		failure.Message = "the gateway responds " + resp.Status
	}
	for raw, err := range messagesOf(resp) {
		if errors.Is(err, errTooLong) {
			return &refusal{codeInternal, err.Error()}
		}
		var batch []json.RawMessage
		if m.fields == nil && json.Unmarshal(raw, &batch) == nil {
			var admitted []json.RawMessage
			for _, part := range batch {
				part = r.admit(m, resp, part)
				if part != nil {
					admitted = append(admitted, part)
				}
			}
			raw, _ = json.Marshal(admitted)
			if len(admitted) > 0 { // they are valid
				r.write(ctx, raw)
			}
			continue
		}
		switch fields := members(raw); {
		case fields["jsonrpc"] == nil: // such as an error of the API
			failure.Message = cmp.Or(text(fields["message"]), failure.Message)
		case len(m.ids) > 0 && m.fields == nil && fields["error"] != nil && idOf(fields) == nil: // of the batch as a whole
			_ = json.Unmarshal(fields["error"], failure)
		default:
			raw = r.admit(m, resp, raw)
			if raw != nil {
				r.write(ctx, raw)
			}
		}
	}
	return failure
}

// admit returns a message of the server as the client gets it; nil: it does not get it.
func (r *relay) admit(m *message, resp *http.Response, raw json.RawMessage) json.RawMessage {
	fields := members(raw)
	id := idOf(fields)
	if m.method != "" && len(m.ids) == 1 {
		id = m.ids[0] // not null, or a number that the server has rounded
	}
	switch {
	case fields["method"] != nil: // a request or a notification
		return raw
	case fields["result"] == nil && fields["error"] == nil:
		return nil
	case id == nil: // an error
		return raw
	case !r.settle(m, id):
		return nil // a canceled request has no response
	}
	if m.method == "initialize" {
		r.mu.Lock()
		r.session, r.revision = resp.Header.Get("Mcp-Session-Id"), text(members(fields["result"])["protocolVersion"])
		r.mu.Unlock()
	}
	if string(fields["id"]) == string(id) {
		return raw
	}
	fields["id"] = id
	raw, _ = json.Marshal(fields) // its parts are valid
	return raw
}

var errTooLong = fmt.Errorf("the response is longer than %d MiB; ask for less", maxMessage>>20)

// messagesOf yields the messages in a response: of its events, or the only one. It ends
// with the first error.
func messagesOf(resp *http.Response) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // "" is no stream
		if kind != "text/event-stream" {
			body, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage+1))
			if len(body) > maxMessage {
				err = errTooLong
			}
			yield(bytes.TrimSpace(body), err)
			return
		}
		in, data := bufio.NewReaderSize(resp.Body, 64<<10), []byte(nil)
		for {
			line, err := textutil.ReadLine(in, maxMessage)
			if len(line)+len(data) > maxMessage {
				err = errTooLong
			}
			if err != nil {
				yield(nil, err)
				return
			}
			line = bytes.TrimRight(line, "\r\n")
			if rest, found := bytes.CutPrefix(line, []byte("data:")); found {
				data = append(append(data, rest...), '\n')
			}
			if len(line) > 0 {
				continue
			}
			data = bytes.TrimSpace(data)
			if len(data) > 0 && !yield(data, nil) {
				return
			}
			data = nil
		}
	}
}

// refuse responds with an error to the requests of a message that have no response.
func (r *relay) refuse(ctx context.Context, m *message, why *refusal) {
	for _, id := range m.ids {
		if id != nil && !r.settle(m, id) || ctx.Err() != nil {
			continue
		}
		response, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": why}) // its parts are valid
		r.write(ctx, response)
	}
}

// write writes a message in a line of its own, unless ctx ends before.
func (r *relay) write(ctx context.Context, raw json.RawMessage) {
	var line bytes.Buffer
	_ = json.Compact(&line, raw) // it is valid
	line.WriteByte('\n')
	select {
	case r.out <- line.Bytes():
	case <-ctx.Done():
	}
}

// valid reports whether an object is a request, a notification or a response.
func valid(m object) bool {
	if text(m["jsonrpc"]) != "2.0" || m["id"] != nil && idOf(m) == nil {
		return false
	}
	return text(m["method"]) != "" || m["method"] == nil && m["id"] != nil && (m["result"] == nil) != (m["error"] == nil)
}

// idOf returns the id of a message, as written; nil if it is no text or number.
func idOf(m object) json.RawMessage {
	if id := m["id"]; len(id) > 0 && strings.ContainsRune(`"-0123456789`, rune(id[0])) {
		return id
	}
	return nil
}

// members returns the members of an object; nil if the text is none.
func members(raw json.RawMessage) (m object) {
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// text returns a string; "" if the value is none.
func text(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
