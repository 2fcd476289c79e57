package bridge

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Notices holds what a server said unasked until the bridge has passed it on.
// It is filled from the server's connection, whose reader must not wait.
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
	key    string // those with the same one supersede each other
	params mcp.Params
}

// maxNotices bounds the notifications that wait.
const maxNotices = 256

// NewNotices returns an empty one.
func NewNotices() *Notices { return &Notices{ready: make(chan struct{}, 1)} }

// Put takes a notification, as mcptools.Options.OnNotice. Of those that say the
// same the latest stays; when there are too many the oldest goes.
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
		return fmt.Sprint(method, " ", n.count) // each says something else
	}
	return method
}

// Restarted notes that the server was started again, as
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

// take returns everything that waits.
func (n *Notices) take() (list []notice, restarted bool, dropped int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list, restarted, dropped = n.list, n.restarted, n.dropped
	n.list, n.restarted, n.dropped = nil, false, 0
	return list, restarted, dropped
}

// paramsOf is what is passed on of a notification's params. What _meta says is
// about the connection on which it came.
func paramsOf(params mcp.Params) json.RawMessage {
	doc := make(map[string]json.RawMessage)
	raw := mustMarshal(params)
	if json.Unmarshal(raw, &doc) != nil {
		return json.RawMessage(`{}`)
	}
	delete(doc, "_meta")
	return mustMarshal(doc)
}
