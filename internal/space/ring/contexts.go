package ring

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// ContextState is the state of a context.
type ContextState string

// The states of a context. It is abandoned when its opener has disconnected
// without closing it.
const (
	ContextReasoning ContextState = "reasoning"
	ContextConcluded ContextState = "concluded"
	ContextCancelled ContextState = "cancelled"
	ContextAbandoned ContextState = "abandoned"
)

// Context is one node of the tree of contexts.
type Context struct {
	Path    protocol.ContextPath   `json:"path"`
	Opener  protocol.ParticipantID `json:"opener"`
	State   ContextState           `json:"state"`
	Started protocol.Time          `json:"started"`
	Ended   *protocol.Time         `json:"ended,omitempty"`
	// Elapsed is in seconds, up to the end of the context or to now.
	Elapsed float64 `json:"elapsed"`
	// Implicit: no envelope opened it; the opener is its first writer.
	Implicit bool          `json:"implicit,omitempty"`
	Answers  []protocol.ID `json:"answers,omitempty"` // the correlation of its start
	Message  string        `json:"message,omitempty"` // of its start
	Counts   ContextCounts `json:"counts"`
	Seq      protocol.Seq  `json:"seq"` // of its first envelope
	Children []*Context    `json:"children"`

	start *Entry // decides who may see the context
	// addressed counts the envelopes with addressees. They are part of Counts
	// only for viewers that see all of them: every participant in a space with
	// visibility everyone; otherwise only in a context whose start is addressed
	// too.
	addressed ContextCounts
}

// ContextCounts counts the envelopes of a context, without nested contexts.
type ContextCounts struct {
	Envelopes int `json:"envelopes"`
	Steps     int `json:"steps"`
	Requests  int `json:"requests"`
	Responses int `json:"responses"`
	Errors    int `json:"errors"`
}

// maxContexts bounds the contexts of a space in memory. Beyond it, the oldest
// closed ones are only in the log.
const maxContexts = 4096

// Contexts is the tree of a space's contexts, folded from the log.
type Contexts struct {
	mu     sync.Mutex
	byPath map[protocol.ContextPath]*Context
	byLast map[string]protocol.ContextPath // by the last segment: the id of the start
	order  []protocol.ContextPath          // by first appearance
	open   map[protocol.ParticipantID]int
	nested map[string]int // number of contexts below an outermost one
}

// NewContexts returns an empty tree.
func NewContexts() *Contexts {
	return &Contexts{
		byPath: make(map[protocol.ContextPath]*Context),
		byLast: make(map[string]protocol.ContextPath),
		open:   make(map[protocol.ParticipantID]int),
		nested: make(map[string]int),
	}
}

// Apply folds one entry into the tree.
func (t *Contexts) Apply(e *Entry) {
	env := e.Envelope
	if e.Hidden() || env.Context == "" && env.Kind != protocol.KindReasoningStart && env.Kind != protocol.KindReasoningCancel {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if path, opens := env.Opens(); opens {
		t.openContext(path, e)
	}
	if env.Context == "" {
		if env.Kind == protocol.KindReasoningCancel { // from outside: it names the context by the id of its start
			for _, id := range env.Correlation.IDs {
				c := t.byPath[t.byLast[string(id)]]
				if c != nil {
					t.closeContext(c, env)
				}
			}
		}
		return
	}
	c := t.byPath[env.Context]
	if c == nil {
		c = t.add(env.Context, e)
		c.Implicit = true
	}
	if c.Implicit && c.start.IsAddressed() && !e.IsAddressed() {
		c.start = e.WithoutContent() // without a start, the first broadcast decides the visibility
	}
	if e.IsAddressed() {
		c.addressed.add(e)
	} else {
		c.Counts.add(e)
	}
	if env.Kind.ClosesContext() {
		t.closeContext(c, env)
	}
}

// openContext applies a reasoning.start. The context may already have envelopes
// from before its start.
func (t *Contexts) openContext(path protocol.ContextPath, e *Entry) {
	c := t.byPath[path]
	if c == nil {
		c = t.add(path, e)
	} else if !c.Implicit {
		return
	}
	c.Implicit = false
	c.Opener, c.Started = e.Envelope.From, protocol.Time{Time: e.Envelope.TS}
	c.Answers = e.Envelope.Correlation.IDs
	payload := e.Payload()
	for _, key := range []string{"message", "content", "text"} {
		if v := payload.Get(key); v.Type() == protocol.TypeString {
			c.Message = textutil.Shorten(v.Text(), maxMessage)
			break
		}
	}
	c.start = e.WithoutContent()
	if c.State == ContextReasoning {
		t.open[c.Opener]++
	}
}

func (t *Contexts) add(path protocol.ContextPath, e *Entry) *Context {
	if len(t.order) >= maxContexts {
		t.evict()
	}
	c := &Context{
		Path: path, Opener: e.Envelope.From, State: ContextReasoning,
		Started: protocol.Time{Time: e.Envelope.TS}, Seq: e.Envelope.Seq, start: e.WithoutContent(),
	}
	t.byPath[path] = c
	t.byLast[path.Last()] = path
	t.order = append(t.order, path)
	if root, _, nested := strings.Cut(string(path), "/"); nested {
		t.nested[root]++
	}
	return c
}

// evict drops the oldest closed context, or the oldest if none is closed.
func (t *Contexts) evict() {
	at := slices.IndexFunc(t.order, func(p protocol.ContextPath) bool { return t.byPath[p].State != ContextReasoning })
	at = max(at, 0)
	c := t.byPath[t.order[at]]
	if c.State == ContextReasoning {
		t.closed(c)
	}
	delete(t.byPath, c.Path)
	if t.byLast[c.Path.Last()] == c.Path {
		delete(t.byLast, c.Path.Last())
	}
	if root, _, nested := strings.Cut(string(c.Path), "/"); nested {
		t.nested[root]--
		if t.nested[root] == 0 {
			delete(t.nested, root)
		}
	}
	t.order = slices.Delete(t.order, at, at+1)
}

func (t *Contexts) closed(c *Context) {
	if c.Implicit {
		return
	}
	t.open[c.Opener]--
	if t.open[c.Opener] <= 0 {
		delete(t.open, c.Opener)
	}
}

// closeContext closes a context and the nested ones that its opener left open. A
// client that names its contexts itself opens, by its start, a context that it
// never uses.
func (t *Contexts) closeContext(c *Context, e *protocol.Envelope) {
	if c.State == ContextReasoning {
		t.closeOne(c, e)
	}
	root, _, _ := strings.Cut(string(c.Path), "/")
	if t.nested[root] == 0 {
		return
	}
	for _, path := range t.order {
		if !path.Within(c.Path) {
			continue
		}
		if inner := t.byPath[path]; inner.Opener == c.Opener && inner.State == ContextReasoning {
			t.closeOne(inner, e)
		}
	}
}

func (t *Contexts) closeOne(c *Context, e *protocol.Envelope) {
	c.State = ContextConcluded
	if e.Kind == protocol.KindReasoningCancel {
		c.State = ContextCancelled
	}
	ended := protocol.Time{Time: e.TS}
	c.Ended = &ended
	t.closed(c)
}

func (n *ContextCounts) add(e *Entry) {
	n.Envelopes++
	switch kind := e.Envelope.Kind; {
	case kind.IsStep():
		n.Steps++
	case kind == protocol.KindMCPRequest:
		n.Requests++
	case kind == protocol.KindMCPResponse:
		n.Responses++
		if e.Payload().Get("error").Exists() {
			n.Errors++
		}
	}
}

func (n ContextCounts) plus(m ContextCounts) ContextCounts {
	return ContextCounts{
		Envelopes: n.Envelopes + m.Envelopes, Steps: n.Steps + m.Steps,
		Requests: n.Requests + m.Requests, Responses: n.Responses + m.Responses, Errors: n.Errors + m.Errors,
	}
}

// maxMessage bounds the stored part of a start's message, in bytes.
const maxMessage = 2 << 10

// OpenOf returns how many contexts a participant has open.
func (t *Contexts) OpenOf(id protocol.ParticipantID) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[id]
}

// HasEnded reports whether a context, or one around it, was concluded or cancelled. Of
// contexts that are only in the log it does not know.
func (t *Contexts) HasEnded(path protocol.ContextPath) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ; path != ""; path = path.Parent() {
		if c := t.byPath[path]; c != nil && c.Ended != nil {
			return true
		}
	}
	return false
}

// List returns the contexts below prefix ("": all) as trees, as far as a viewer
// may see them, oldest first. A context is abandoned if isPresent returns false
// for its opener.
func (t *Contexts) List(visible Visibility, prefix protocol.ContextPath, now time.Time, isPresent func(protocol.ParticipantID) bool) []*Context {
	copies, order := t.visible(visible, prefix)
	roots := []*Context{}
	for _, path := range order {
		c := copies[path]
		end := now
		if c.Ended != nil {
			end = c.Ended.Time
		} else if !isPresent(c.Opener) {
			c.State = ContextAbandoned
		}
		c.Elapsed = float64(end.Sub(c.Started.Time).Milliseconds()) / 1000
		var parent *Context // the closest that is listed
		for parent == nil && strings.Contains(string(path), "/") {
			path = path.Parent()
			parent = copies[path]
		}
		if parent != nil {
			parent.Children = append(parent.Children, c)
			continue
		}
		roots = append(roots, c)
	}
	return roots
}

// visible returns copies of the contexts below prefix that the viewer may see,
// without children, and their order.
func (t *Contexts) visible(visible Visibility, prefix protocol.ContextPath) (map[protocol.ContextPath]*Context, []protocol.ContextPath) {
	t.mu.Lock()
	defer t.mu.Unlock()
	copies := make(map[protocol.ContextPath]*Context)
	var order []protocol.ContextPath
	for _, path := range t.order {
		if c := t.byPath[path]; path.Within(prefix) && c.start.VisibleTo(visible) {
			copied := *c
			copied.Children = []*Context{}
			if visible.Everyone || c.start.IsAddressed() {
				copied.Counts = c.Counts.plus(c.addressed)
			}
			copies[path] = &copied
			order = append(order, path)
		}
	}
	return copies, order
}
