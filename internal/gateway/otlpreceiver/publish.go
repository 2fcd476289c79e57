package otlpreceiver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of publishing.
const (
	maxWait    = 5 * time.Second // for the rates of the participant, in one request
	maxPath    = 4               // segments of a context; a deeper agent is a step
	codeFailed = -32000          // JSON-RPC code of a call that failed
)

// export publishes the spans of one request.
type export struct {
	client *api.Client
	memory *memory
	space  string
	you    protocol.ParticipantID
	waited time.Duration
	closed bool // cancelLost was called

	rejected map[string]bool // ids of the spans that were rejected
	reason   string          // of the first one
}

// idPrefix begins the ids of all envelopes of the adapter.
const idPrefix = "otlp"

func object(pairs ...any) json.RawMessage { return adapter.Object(pairs...) }

// id returns the id of an envelope about a span or a trace: the same for a repeated
// export.
func (x *export) id(parts ...string) protocol.ID {
	return adapter.ID(idPrefix, append([]string{x.space, string(x.you)}, parts...)...)
}

// all publishes spans, the ones of a trace in the order of their starts. An error
// means that the export must be repeated; what was published is not published again.
func (x *export) all(ctx context.Context, list []*span) error {
	// The open traces of the participant may be from before a restart of the gateway, or were opened at another
	// one. Without them, a root that is no GenAI span would not close its trace.
	if !x.memory.isRestored(x.owner()) {
		open, err := x.openContexts(ctx)
		if err != nil {
			return err
		}
		for _, c := range open {
			x.memory.opened(x.owner(), protocol.ID(c.Path), c.Started)
		}
		x.memory.restored(x.owner())
	}
	for _, key := range x.memory.stale(x.owner(), time.Now()) { // traces whose root did not arrive
		if err := x.cancel(ctx, key); err != nil {
			return err
		}
		x.memory.closed(x.owner(), key)
	}
	byTrace := make(map[string][]*span)
	var order []string
	for _, s := range list {
		if byTrace[s.trace] == nil {
			order = append(order, s.trace)
		}
		byTrace[s.trace] = append(byTrace[s.trace], s)
	}
	for _, trace := range order {
		if err := x.trace(ctx, trace, byTrace[trace]); err != nil {
			return err
		}
	}
	return nil
}

// roots links the spans of a trace to the ones that contain them, and returns the
// others, in the order of their starts.
func roots(list []*span) (top []*span) {
	byID := make(map[string]*span, len(list))
	for _, s := range list {
		byID[s.id] = s
	}
	for _, s := range list {
		if p := byID[s.parent]; p != nil && byID[s.id] == s && !within(byID, p, s) {
			p.children = append(p.children, s)
		} else {
			top = append(top, s)
		}
	}
	byStart := func(a, b *span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.order, b.order)) }
	slices.SortFunc(top, byStart)
	for _, s := range list {
		slices.SortFunc(s.children, byStart)
	}
	return top
}

// within reports whether a span is, by the parents that it names, inside of s, or too
// deep to tell: spans that contain each other would never be published.
func within(byID map[string]*span, p, s *span) bool {
	for range maxAncestors {
		if p == s {
			return true
		}
		p = byID[p.parent]
		if p == nil {
			return false
		}
	}
	return true
}

// maxAncestors bounds the depth of the spans of a request.
const maxAncestors = 128

// trace publishes the spans of one trace. Its context is opened for the first GenAI
// span, whichever arrives, and closed for the span without a parent.
func (x *export) trace(ctx context.Context, trace string, list []*span) error {
	var root, first *span
	for _, s := range list {
		if s.parent == "" {
			root = s
		}
		if s.kind != other && (first == nil || s.start < first.start) {
			first = s
		}
	}
	key := x.id("trace", trace)
	if first == nil && (root == nil || !x.memory.isOpen(x.owner(), key)) {
		return nil // no GenAI span, and none before
	}
	path := protocol.ContextPath(key)
	if first != nil {
		if err := x.open(ctx, key, root, first); err != nil {
			return err
		}
	}
	top := roots(list)
	for _, s := range top {
		if s == root {
			continue // last, since it closes the context
		}
		if err := x.span(ctx, path, s); err != nil {
			return err
		}
	}
	if root == nil {
		return nil
	}
	for _, s := range root.children {
		if err := x.span(ctx, path, s); err != nil {
			return err
		}
	}
	return x.close(ctx, key, path, root)
}

func (x *export) owner() string { return x.space + "\n" + string(x.you) }

// open opens the context of a trace.
func (x *export) open(ctx context.Context, key protocol.ID, root, first *span) error {
	if x.memory.isDone(string(key)) {
		return nil
	}
	about := first
	if root != nil {
		about = root
	}
	text := cmp.Or(messageText(about.get(input), true), messageText(first.get(input), true), about.agent(), about.name)
	sessionID := about.get(session)
	if !protocol.ValidID(sessionID) {
		sessionID = ""
	}
	err := x.send(ctx, first, protocol.Envelope{
		ID: key, Kind: protocol.KindReasoningStart,
		Payload: object("message", text, "session_id", sessionID, "metadata", about.metadata("opentelemetry")),
	})
	if err == nil {
		x.memory.opened(x.owner(), key, time.Now())
		x.memory.done(string(key))
	}
	return x.skip(err)
}

// close closes the context of a trace with its root.
func (x *export) close(ctx context.Context, key protocol.ID, path protocol.ContextPath, root *span) error {
	if root.kind == call || root.kind == tool { // a trace of one call
		if err := x.step(ctx, path, root); err != nil {
			return err
		}
	}
	if err := x.conclude(ctx, path, root); err != nil {
		return err
	}
	x.memory.closed(x.owner(), key)
	return nil
}

// conclude closes a context with the output of a span, or its error.
func (x *export) conclude(ctx context.Context, path protocol.ContextPath, s *span) error {
	e := protocol.Envelope{
		ID: x.id("end", s.trace, s.id), Kind: protocol.KindReasoningConclusion, Context: path,
		Payload: object("message", messageText(s.get(output), false), "metadata", s.metadata("")),
	}
	if s.failed {
		e.Kind = protocol.KindReasoningCancel
		e.Payload = object("reason", s.problem(), "metadata", s.metadata(""))
	}
	return x.once(ctx, s, e)
}

// span publishes a span with the ones inside of it.
func (x *export) span(ctx context.Context, path protocol.ContextPath, s *span) error {
	inside := path
	nests := s.kind == agent && path.Depth() < maxPath
	switch {
	case nests:
		id := x.id("start", s.trace, s.id)
		text := cmp.Or(messageText(s.get(input), true), s.agent(), s.name)
		err := x.once(ctx, s, protocol.Envelope{
			ID: id, Kind: protocol.KindReasoningStart, Context: path, Payload: object("message", text, "metadata", s.metadata("opentelemetry")),
		})
		if err != nil {
			return err
		}
		inside = path.Child(id)
	case s.kind != other:
		if err := x.step(ctx, path, s); err != nil {
			return err
		}
	}
	for _, child := range s.children {
		if err := x.span(ctx, inside, child); err != nil {
			return err
		}
	}
	if nests {
		return x.conclude(ctx, inside, s)
	}
	return nil
}

// step publishes a span as a thought, with the call that it explains.
func (x *export) step(ctx context.Context, path protocol.ContextPath, s *span) error {
	thought := protocol.Envelope{
		ID: x.id("thought", s.trace, s.id), Kind: protocol.KindReasoningThought, Context: path,
		Payload: object("message", s.text(), "metadata", s.metadata("")),
	}
	if s.kind != tool {
		return x.once(ctx, s, thought)
	}
	name := s.tool()
	thought.Payload = object("message", "Calls "+name+".", "tool_name", name, "metadata", s.metadata(""))
	request := x.id("request", s.trace, s.id)
	result := object("jsonrpc", "2.0", "id", string(request), "result", map[string]any{
		"content": []any{map[string]string{"type": "text", "text": messageText(cmp.Or(s.get(toolResult), s.get(output)), false)}},
	})
	if s.failed {
		result = object("jsonrpc", "2.0", "id", string(request), "error", map[string]any{"code": codeFailed, "message": s.problem()})
	}
	return x.once(ctx, s, thought,
		protocol.Envelope{
			ID: request, Kind: protocol.KindMCPRequest, Context: path, To: []protocol.ParticipantID{x.you}, Correlation: protocol.CorrelateTo(thought.ID),
			Payload: object("jsonrpc", "2.0", "id", string(request), "method", "tools/call",
				"params", map[string]any{"name": name, "arguments": argumentsOf(cmp.Or(s.get(toolArguments), s.get(input)))}),
		},
		protocol.Envelope{
			ID: x.id("response", s.trace, s.id), Kind: protocol.KindMCPResponse, Context: path, Correlation: protocol.CorrelateTo(request), Payload: result,
		})
}

// text returns the text of a step.
func (s *span) text() string {
	what := s.name
	if s.kind == call {
		what = cmp.Or(s.get(model), s.name)
	}
	if s.failed {
		return what + " failed: " + s.problem()
	}
	return cmp.Or(messageText(s.get(output), false), what)
}

// problem returns the error of a span.
func (s *span) problem() string {
	return cmp.Or(s.failure, messageText(s.get(errorMessage), false), s.get(errorType), "error")
}

// metadata describes a span: the log's own times are the ones of the export.
func (s *span) metadata(approach string) map[string]any {
	m := map[string]any{"trace_id": s.trace, "span_id": s.id, "span_name": s.name}
	for key, text := range map[string]string{
		"approach": approach, "service": s.service, "agent": s.agent(), "model": s.get(model), "provider": s.get(provider),
		"error_type": s.get(errorType),
	} {
		if text != "" {
			m[key] = messageText(text, false)
		}
	}
	if s.start > 0 && s.start < 1<<63 {
		m["started_at"] = protocol.Time{Time: time.Unix(0, int64(s.start))}
	}
	if s.end >= s.start && s.end < 1<<63 && s.start > 0 {
		m["ended_at"] = protocol.Time{Time: time.Unix(0, int64(s.end))}
		m["duration_ms"] = (s.end - s.start) / 1e6
	}
	if in, out := s.number(inputTokens), s.number(outputTokens); in+out > 0 {
		m["usage"] = map[string]int64{"input_tokens": in, "output_tokens": out}
	}
	return m
}

// once publishes envelopes about a span, unless they were.
func (x *export) once(ctx context.Context, s *span, list ...protocol.Envelope) error {
	if x.memory.isDone(string(list[0].ID)) {
		return nil
	}
	for _, e := range list {
		if err := x.send(ctx, s, e); err != nil {
			return x.skip(err)
		}
	}
	x.memory.done(string(list[0].ID))
	return nil
}

// errRejected: a span cannot be published, now or later.
var errRejected = errors.New("the span is rejected")

// skip returns nil for a rejected span: the others are published.
func (x *export) skip(err error) error {
	if errors.Is(err, errRejected) {
		return nil
	}
	return err
}

// send publishes an envelope, and waits for the participant's rate. Errors:
// errRejected; others mean that the export must be repeated.
func (x *export) send(ctx context.Context, s *span, e protocol.Envelope) error {
	for {
		_, err := x.client.Send(ctx, x.space, e)
		if err == nil {
			return nil
		}
		refused := protocol.AsError(err)
		switch status := refused.Code.HTTPStatus(); {
		case refused.Code == protocol.CodeUnauthorized, refused.Code == protocol.CodeKicked, refused.Code == protocol.CodeForbidden, status == 429, status >= 500:
		default:
			if s.trace != "" { // not the end of an earlier trace
				x.rejected[s.id] = true
			}
			if x.reason == "" {
				x.reason = fmt.Sprintf("span %s: %s", s.id, refused.Message)
			}
			return errRejected
		}
		if refused.Limit == "open_contexts" && !x.closed && x.cancelLost(ctx) == nil {
			continue
		}
		wait := time.Duration(refused.RetryAfterMS) * time.Millisecond
		if refused.Code != protocol.CodeRateLimited || wait <= 0 || x.waited+wait > maxWait {
			return err
		}
		x.waited += wait
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
}

// openContexts returns the open contexts of the participant's traces, oldest first.
func (x *export) openContexts(ctx context.Context) ([]api.Context, error) {
	list, err := x.client.Contexts(ctx, x.space, "")
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(c api.Context) bool {
		return c.Opener != x.you || c.Ended != nil || !strings.HasPrefix(string(c.Path), idPrefix+"-")
	})
	slices.SortFunc(list, func(a, b api.Context) int { return a.Started.Compare(b.Started) })
	return list, nil
}

func (x *export) cancel(ctx context.Context, key protocol.ID) error {
	return x.skip(x.send(ctx, &span{id: string(key)}, protocol.Envelope{
		ID: x.id("stale", string(key)), Kind: protocol.KindReasoningCancel, Context: protocol.ContextPath(key),
		Payload: object("reason", "The end of the trace did not arrive."),
	}))
}

// maxLost is how old a context of a trace must be that is closed by cancelLost.
const maxLost = time.Hour

// cancelLost closes the contexts of traces that are not in the memory, since another gateway
// had them. It is called when the participant has as many
// open contexts as it may, once in an export.
func (x *export) cancelLost(ctx context.Context) error {
	x.closed = true
	list, err := x.openContexts(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		key := protocol.ID(list[i].Path)
		if time.Since(list[i].Started) < maxLost || x.memory.isOpen(x.owner(), key) {
			continue
		}
		if err := x.cancel(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
