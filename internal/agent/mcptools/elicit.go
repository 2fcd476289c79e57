package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/mcp/elicit"
)

// Question is an elicitation/create of a server.
type Question struct {
	// Params are the params, as the server wrote them if that is known.
	Params json.RawMessage
	// Server is the name that the server claims; nil: none.
	Server *mcp.Implementation
	// Calls are the contexts of the operations that the server may ask about, oldest first.
	// Over pipes a server that sends a request does not tell which one it is, so these are all that
	// are in progress.
	Calls []context.Context
}

// Bounds of the questions over pipes whose params are kept until they are handled.
const (
	maxQuestions = 64
	maxQuestion  = 64 << 10 // bytes
)

// operations are the operations in progress on one server, and the params of its questions.
type operations struct {
	mu     sync.Mutex
	list   []*operation // oldest first
	params []json.RawMessage
}

// operation is one operation in progress.
type operation struct {
	ctx    context.Context
	bodies []*tee // of HTTP responses
}

type operationKey struct{}

// begin adds an operation; done removes it.
func (o *operations) begin(ctx context.Context) (_ context.Context, done func()) {
	op := new(operation)
	op.ctx = context.WithValue(ctx, operationKey{}, func(t *tee) {
		o.mu.Lock()
		defer o.mu.Unlock()
		op.bodies = append(op.bodies, t)
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, op)
	return op.ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.list = slices.DeleteFunc(o.list, func(x *operation) bool { return x == op })
	}
}

// keep keeps the params of a question that arrived over pipes: the SDK loses the order of
// the fields of a form.
func (o *operations) keep(params json.RawMessage) {
	if len(params) > maxQuestion {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.params = append(o.params, params)
	if len(o.params) > maxQuestions {
		o.params = slices.Delete(o.params, 0, 1)
	}
}

// question completes a question that the SDK has decoded. If a response over HTTP carries
// it, the question is about that operation.
func (o *operations) question(p *mcp.ElicitParams) Question {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := Question{}
	for _, op := range o.list {
		for _, body := range op.bodies {
			if raw := body.question(p); raw != nil {
				q.Params, q.Calls = raw, append(q.Calls, op.ctx)
				break
			}
		}
	}
	if q.Params != nil {
		return q
	}
	for _, op := range o.list {
		q.Calls = append(q.Calls, op.ctx)
	}
	for i, raw := range o.params {
		if sameQuestion(raw, p) {
			q.Params, o.params = raw, slices.Delete(o.params, i, i+1)
			return q
		}
	}
	if raw, err := json.Marshal(p); err == nil {
		q.Params = raw
	}
	return q
}

// question returns the params of a question in the events read so far, or nil.
func (t *tee) question(p *mcp.ElicitParams) json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.events || !bytes.Contains(t.kept, []byte(elicit.Method)) {
		return nil
	}
	for data := range eventData(t.kept) {
		msg, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			continue
		}
		if req, ok := msg.(*jsonrpc.Request); ok && req.Method == elicit.Method && sameQuestion(req.Params, p) {
			return req.Params
		}
	}
	return nil
}

func sameQuestion(raw json.RawMessage, p *mcp.ElicitParams) bool {
	var q mcp.ElicitParams
	return json.Unmarshal(raw, &q) == nil && q.Message == p.Message && q.URL == p.URL && q.ElicitationID == p.ElicitationID &&
		reflect.DeepEqual(q.RequestedSchema, p.RequestedSchema)
}

// elicit handles a question of the server.
func (s *server) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	q := s.operations.question(r.Params)
	if init := r.Session.InitializeResult(); init != nil {
		q.Server = init.ServerInfo
	}
	return s.opts.OnElicit(ctx, q)
}
