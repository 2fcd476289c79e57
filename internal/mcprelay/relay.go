// Package mcprelay passes the JSON-RPC messages of an MCP client on standard input and output
// on to the gateway's /mcp, and its messages back. It changes none of them. A server without
// sessions may restart meanwhile.
package mcprelay

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
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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
	maxLine    = 4 << 20         // bytes of a message of the client; the gateway takes less
	maxMessage = 64 << 20        // bytes of a message of the server
	maxRunning = 256             // requests in progress
	endTimeout = 2 * time.Second // until requests without a response are canceled at the end of In
)

// Codes of JSON-RPC.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeInternal = -32603
)

type object = map[string]json.RawMessage

// relay passes messages on. Its requests end with the context of Run.
type relay struct {
	Options
	client *http.Client
	agent  string // User-Agent, by which the gateway tells clients apart that use the same ids

	running     sync.WaitGroup
	initialized chan struct{} // closed when the response to initialize was read; nil: there was no such request

	mu       sync.Mutex
	session  string // of initialize
	revision string
	calls    map[string]*call // in progress, by their id as written
	failed   error            // of Out
	stop     context.CancelFunc
}

// call is a request in progress.
type call struct {
	cancel   context.CancelFunc
	canceled atomic.Bool // the client expects no response
}

// Run passes messages on until In ends, or until ctx does. At the end of In, requests are
// canceled that have no response shortly after.
func Run(ctx context.Context, o Options) error {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	r := &relay{
		Options: o, agent: "meup/" + o.Version + " " + rand.Text(),
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		calls:  make(map[string]*call), stop: stop,
	}
	lines, ended := make(chan []byte), make(chan error, 1)
	go func() { // ends with In; a read of it cannot be canceled
		in := bufio.NewReaderSize(o.In, 64<<10)
		for {
			line, err := readLine(in, maxLine)
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
	for {
		select {
		case line := <-lines:
			r.message(inner, bytes.TrimSpace(line))
			continue
		case err := <-ended:
			defer time.AfterFunc(endTimeout, stop).Stop()
			r.running.Wait()
			return cmp.Or(ctx.Err(), r.failed, unless(err, io.EOF))
		case <-inner.Done():
			r.running.Wait()
			return cmp.Or(ctx.Err(), r.failed)
		}
	}
}

func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// readLine reads a line. One of more than limit bytes is cut to limit+1.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part[:min(len(part), limit+1-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// message passes on a message of the client, or rejects it.
func (r *relay) message(ctx context.Context, line []byte) {
	var m object
	var batch []json.RawMessage
	switch {
	case len(line) == 0:
		return
	case len(line) > maxLine:
		r.refuse(nil, codeInvalid, fmt.Sprintf("the message is longer than %d bytes", maxLine))
		return
	case !json.Valid(line):
		r.refuse(nil, codeParse, "the line is no JSON: expected one JSON-RPC message a line")
		return
	case json.Unmarshal(line, &batch) == nil && len(batch) > 0: // of revision 2025-03-26
	case json.Unmarshal(line, &m) != nil || !valid(m):
		r.refuse(idOf(m), codeInvalid, `expected a JSON-RPC message: an object with "jsonrpc": "2.0", and a method, or an id and a result or an error`)
		return
	}
	method, id := text(m["method"]), idOf(m)
	if method == "" {
		id = nil // a response, or a batch
	}
	ctx, cancel := context.WithCancel(ctx)
	c, of := &call{cancel: cancel}, (*call)(nil)
	r.mu.Lock()
	full := id != nil && len(r.calls) >= maxRunning
	switch {
	case id != nil && !full:
		r.calls[string(id)] = c
	case method == "notifications/cancelled":
		if of = r.calls[string(members(m["params"])["requestId"])]; of != nil {
			of.canceled.Store(true)
		}
	}
	r.mu.Unlock()
	if full {
		cancel()
		r.refuse(id, codeInternal, fmt.Sprintf("%d requests are in progress; wait for a response", maxRunning))
		return
	}
	before, initialized := r.initialized, chan struct{}(nil)
	if method == "initialize" {
		initialized = make(chan struct{})
		r.initialized = initialized
	}
	r.running.Go(func() {
		defer func() {
			cancel()
			if initialized != nil {
				close(initialized)
			}
		}()
		if before != nil {
			select {
			case <-before:
			case <-ctx.Done():
				return
			}
		}
		r.pass(ctx, c, m, line, id)
		if of != nil {
			of.cancel()
		}
		if id != nil {
			r.mu.Lock()
			delete(r.calls, string(id))
			r.mu.Unlock()
		}
	})
}

// pass sends a message to the server, and writes what it responds. A request has a response.
func (r *relay) pass(ctx context.Context, c *call, m object, line []byte, id json.RawMessage) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Endpoint, bytes.NewReader(line))
	if err != nil {
		r.refuse(id, codeInternal, err.Error())
		return
	}
	params := members(m["params"])
	r.mu.Lock()
	revision := cmp.Or(text(members(params["_meta"])["io.modelcontextprotocol/protocolVersion"]), r.revision)
	session := r.session
	r.mu.Unlock()
	for name, value := range map[string]string{
		"Authorization": "Bearer " + r.Token, "User-Agent": r.agent, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": revision, "Mcp-Session-Id": session, "Mcp-Method": text(m["method"]), "Mcp-Name": cmp.Or(text(params["name"]), text(params["uri"])),
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := r.client.Do(req)
	if err != nil {
		if ctx.Err() == nil && id != nil && !c.canceled.Load() {
			r.refuse(id, codeInternal, fmt.Sprintf("the gateway does not answer (%v); check that it runs, and try again", err))
		}
		return
	}
	defer resp.Body.Close() //nolint:errcheck // it is only read
	answered := false
	for message := range messagesOf(resp) {
		if ctx.Err() != nil || c.canceled.Load() {
			return // a canceled request has no response
		}
		fields := members(message)
		switch {
		case fields["method"] != nil: // a request or a notification
		case fields["jsonrpc"] == nil && message[0] != '[': // such as an error of the API
			answered = true
			if id != nil {
				r.refuse(id, codeInternal, cmp.Or(text(fields["message"]), "the gateway responds "+resp.Status))
			}
			continue
		case id != nil:
			answered = true
			if text(m["method"]) == "initialize" {
				r.mu.Lock()
				r.session, r.revision = resp.Header.Get("Mcp-Session-Id"), text(members(fields["result"])["protocolVersion"])
				r.mu.Unlock()
			}
			if string(fields["id"]) != string(id) { // null, or a number that the server has rounded
				fields["id"] = id
				message, _ = json.Marshal(fields) // its parts are valid
			}
		}
		r.write(message)
	}
	if !answered && id != nil && ctx.Err() == nil && !c.canceled.Load() {
		r.refuse(id, codeInternal, fmt.Sprintf("the gateway ended the connection without a response (%s); try again", resp.Status))
	}
}

// messagesOf yields the messages in a response: of its events, or the only one.
func messagesOf(resp *http.Response) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // "" is no stream
		if kind != "text/event-stream" {
			body, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage+1))
			if body = bytes.TrimSpace(body); err == nil && len(body) > 0 && len(body) <= maxMessage {
				yield(body)
			}
			return
		}
		in, data := bufio.NewReaderSize(resp.Body, 64<<10), []byte(nil)
		for {
			line, err := readLine(in, maxMessage)
			if err != nil || len(line)+len(data) > maxMessage {
				return
			}
			line = bytes.TrimRight(line, "\r\n")
			if rest, found := bytes.CutPrefix(line, []byte("data:")); found {
				data = append(append(data, rest...), '\n')
			}
			if len(line) > 0 {
				continue
			}
			if data = bytes.TrimSpace(data); len(data) > 0 && !yield(data) {
				return
			}
			data = nil
		}
	}
}

// refuse writes an error of the relay.
func (r *relay) refuse(id json.RawMessage, code int, message string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	response, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}}) // its parts are valid
	r.write(response)
}

// write writes a message in a line of its own.
func (r *relay) write(message []byte) {
	var line bytes.Buffer
	if json.Compact(&line, message) != nil {
		return
	}
	line.WriteByte('\n')
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return
	}
	if _, r.failed = r.Out.Write(line.Bytes()); r.failed != nil {
		r.stop()
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
