package ring

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"sync/atomic"

	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

// Bounds of what is known about tools, in the bytes that their compiled schemas take.
// Others stay unknown.
const (
	maxHostTools  = 4 << 20
	maxSpaceTools = 16 << 20
	maxHubTools   = 64 << 20

	maxToolName   = 256   // bytes
	maxAsked      = 1_024 // requests without a response; all are dropped then
	toolSize      = 512   // of a tool without its schema
	toolValueSize = 512   // of a value of a schema
)

// Methods of MCP that tell what is known about tools.
const (
	methodListTools    = "tools/list"
	methodToolsChanged = "notifications/tools/list_changed"
)

// Tools are the input schemas of the tools of a space, from the hosts' responses to tools/list
// in the log. What is known is a help: it may be lost, and it is dropped whenever
// the tools of a host may be others.
type Tools struct {
	Total *atomic.Int64 // bytes in all spaces

	mu    sync.Mutex
	asked map[protocol.ID]toolsQuestion // requests of tools/list without a response
	hosts map[protocol.ParticipantID]*hostTools
	size  int64
}

type toolsQuestion struct {
	host protocol.ParticipantID
	more bool // for a further page
}

type hostTools struct {
	byName map[string]listedTool
	size   int64
}

type listedTool struct {
	schema *schemas.Tool // nil: listed with several
	sum    [sha256.Size]byte
	size   int64
}

// Apply learns from an entry of the log.
func (t *Tools) Apply(e *Entry) {
	env := e.Envelope
	switch env.Kind {
	case protocol.KindMCPRequest:
		if !e.parsed.Exists() && !bytes.Contains(env.Payload, []byte("tools/")) {
			return
		}
		payload := e.Payload()
		switch method := payload.Get("method"); {
		case method.EqualText(methodToolsChanged):
			t.Forget(env.From)
		case method.EqualText(methodListTools) && len(env.To) == 1:
			t.ask(env.ID, toolsQuestion{env.To[0], payload.Get("params").Get("cursor").Exists()})
		}
	case protocol.KindMCPResponse:
		if q, found := t.answered(env); found {
			t.learn(q, e.Payload())
		}
	case protocol.KindParticipantStatus: // of a bridge that has started, or a participant that has other tools
		payload := e.Payload()
		if payload.Get("status").EqualText("started") || payload.Get("offers").Exists() {
			t.Forget(env.From)
		}
	}
}

func (t *Tools) ask(id protocol.ID, q toolsQuestion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked == nil || len(t.asked) >= maxAsked {
		t.asked = make(map[protocol.ID]toolsQuestion)
	}
	t.asked[id] = q
}

// answered returns the request that a response of its host answers, and drops it.
func (t *Tools) answered(response *protocol.Envelope) (q toolsQuestion, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range response.Correlation.IDs {
		q, found = t.asked[id]
		if found && q.host == response.From {
			delete(t.asked, id)
			return q, true
		}
	}
	return q, false
}

// learn replaces the tools of a host by those of a response, or adds a page of them.
func (t *Tools) learn(q toolsQuestion, payload protocol.Value) {
	list := payload.Get("result").Get("tools")
	masked := payload.Get("redacted").Exists()
	if list.Type() != protocol.TypeArray && !masked {
		return // an error
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !q.more || masked {
		t.dropLocked(q.host)
	}
	if masked {
		return
	}
	for x := range list.Elements {
		t.addLocked(q.host, x.Get("name").Text(), x.Get("inputSchema").Raw())
	}
}

func (t *Tools) addLocked(host protocol.ParticipantID, name string, schema []byte) {
	if name == "" || len(name) > maxToolName {
		return
	}
	if t.hosts == nil {
		t.hosts = make(map[protocol.ParticipantID]*hostTools)
	}
	h := t.hosts[host]
	if h == nil {
		h = &hostTools{byName: make(map[string]listedTool)}
		t.hosts[host] = h
	}
	x := listedTool{sum: sha256.Sum256(schema), size: toolSize}
	before, again := h.byName[name]
	if again && before.sum == x.sum {
		return
	}
	if !again && len(schema) > 0 && len(schema) <= schemas.MaxToolSchema {
		x.schema = schemas.NewTool(bytes.Clone(schema))
		x.size += int64(2*len(schema)) + toolValueSize*int64(bytes.Count(schema, []byte(":"))+bytes.Count(schema, []byte(",")))
	}
	growth := x.size - before.size
	if h.size+growth > maxHostTools || t.size+growth > maxSpaceTools || t.Total.Load()+growth > maxHubTools {
		return
	}
	h.byName[name] = x
	h.size += growth
	t.size += growth
	t.Total.Add(growth)
}

// Forget drops what is known of a host, and the requests that it has not answered: their
// responses may be older than what follows.
func (t *Tools) Forget(host protocol.ParticipantID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropLocked(host)
	for id, q := range t.asked {
		if q.host == host {
			delete(t.asked, id)
		}
	}
}

func (t *Tools) dropLocked(host protocol.ParticipantID) {
	if h := t.hosts[host]; h != nil {
		t.size -= h.size
		t.Total.Add(-h.size)
		delete(t.hosts, host)
	}
}

// Drop drops everything.
func (t *Tools) Drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Total.Add(-t.size)
	t.size, t.hosts, t.asked = 0, nil, nil
}

// Find returns the schema of a tool; nil if it is not known.
func (t *Tools) Find(host protocol.ParticipantID, name string) *schemas.Tool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[host]
	if h == nil {
		return nil
	}
	return h.byName[name].schema
}
