package bridge

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Notices queues the server's notifications until the bridge has sent them. The
// reader of the server's connection fills it and must not block.
type Notices struct {
	ready chan struct{}

	mu        sync.Mutex
	list      []notice // in order
	dropped   int
	restarted bool
	count     int
}

type notice struct {
	method string
	key    string // a notice replaces a queued one with the same key
	params mcp.Params
}

// maxNotices bounds the queued notifications.
const maxNotices = 256

// NewNotices returns an empty queue.
func NewNotices() *Notices { return &Notices{ready: make(chan struct{}, 1)} }

// Put queues a notification; it serves as mcptools.Options.OnNotice. A
// notification replaces a queued one with the same key. If the queue is full,
// the oldest is dropped.
func (n *Notices) Put(method string, params mcp.Params) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	it := notice{method, n.keyOf(method, params), params}
	for i := range n.list {
		if n.list[i].key == it.key {
			n.list[i] = it
			return
		}
	}
	if n.list = append(n.list, it); len(n.list) > maxNotices {
		n.list = append(n.list[:0], n.list[1:]...)
		n.dropped++
	}
	n.wake()
}

func (n *Notices) keyOf(method string, params mcp.Params) string {
	switch p := params.(type) {
	case *mcp.ResourceUpdatedNotificationParams:
		return method + " " + p.URI
	case *mcp.ProgressNotificationParams:
		return fmt.Sprint(method, " ", p.ProgressToken)
	}
	if method == logMessage {
		return fmt.Sprint(method, " ", n.count) // log messages do not replace one another
	}
	return method
}

// Restarted records that the server was restarted; it serves as
// mcptools.Options.OnRestart.
func (n *Notices) Restarted() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.restarted = true
	n.wake()
}

func (n *Notices) wake() {
	select {
	case n.ready <- struct{}{}:
	default:
	}
}

// drain empties the queue and returns its content.
func (n *Notices) drain() (list []notice, restarted bool, dropped int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list, restarted, dropped = n.list, n.restarted, n.dropped
	n.list, n.restarted, n.dropped = nil, false, 0
	return list, restarted, dropped
}

// paramsOf returns the params of a notification to forward. _meta is removed
// because it describes the connection to the server.
func paramsOf(params mcp.Params) json.RawMessage {
	doc := make(map[string]json.RawMessage)
	raw := mustMarshal(params)
	if json.Unmarshal(raw, &doc) != nil {
		return json.RawMessage(`{}`)
	}
	delete(doc, "_meta")
	return mustMarshal(doc)
}
