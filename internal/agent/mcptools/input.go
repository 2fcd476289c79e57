package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/mcp/elicit"
	"github.com/meup-protocol/meup/protocol"
)

// errInput: the server asks for input that it does not get.
var errInput = errors.New("input not given")

// maxRounds bounds the results of one request that ask for input.
const maxRounds = 10

// The other requests of servers, which MCP deprecates from revision 2026-07-28 on (SEP-2577).
const (
	sampling = "sampling/createMessage"
	roots    = "roots/list"
)

// refusals tell the author of a server why a request is refused.
var refusals = map[string]string{
	sampling: sampling + " is refused: this client offers no sampling, which MCP deprecates (SEP-2577); let the server call the API of a model itself",
	roots:    roots + " is refused: this client offers no roots, which MCP deprecates (SEP-2577); take folders from the arguments of tools or the configuration of the server",
}

// input is the input that the server has got for one operation. It is kept for the next
// session if a repeated request was not sent.
type input struct {
	rounds  int
	answers mcp.InputResponseMap
	state   string
}

type inputKey struct{}

type returnKey struct{}

// ReturnInputRequired returns the context of an operation whose result is returned also if it asks
// for input.
func ReturnInputRequired(ctx context.Context) context.Context {
	return context.WithValue(ctx, returnKey{}, true)
}

// multiRoundTrip repeats a request whose result is input_required with the answers, until it
// has another result: the multi round-trip requests of MCP 2026-07-28. The SDK's own
// implementation loses the order of the fields of a form, tells servers that there are no roots, and
// returns results that have only a requestState.
func (s *server) multiRoundTrip(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		in, ok := ctx.Value(inputKey{}).(*input)
		session, isClient := req.GetSession().(*mcp.ClientSession)
		if !ok || !isClient || ctx.Value(returnKey{}) != nil {
			return next(ctx, method, req)
		}
		for {
			res, err := next(ctx, method, in.addTo(session, req))
			required := inputRequired(ctx, res, err)
			if !required.Exists() {
				return res, err
			}
			captureOf(ctx).clear() // it is not the result of the operation
			if err := s.answer(ctx, session, in, required); err != nil {
				return nil, err
			}
		}
	}
}

// addTo returns a request with the input.
func (in *input) addTo(session *mcp.ClientSession, req mcp.Request) mcp.Request {
	if in.rounds == 0 {
		return req
	}
	var params mcp.Params
	switch p := req.GetParams().(type) {
	case *mcp.CallToolParams:
		again := *p
		again.InputResponses, again.RequestState, params = in.answers, in.state, &again
	case *mcp.GetPromptParams:
		again := *p
		again.InputResponses, again.RequestState, params = in.answers, in.state, &again
	case *mcp.ReadResourceParams:
		again := *p
		again.InputResponses, again.RequestState, params = in.answers, in.state, &again
	default:
		return req
	}
	return &mcp.ClientRequest[mcp.Params]{Session: session, Params: params}
}

// inputRequired returns the result of a request if it asks for input, as the server wrote it,
// also if the SDK cannot decode it.
func inputRequired(ctx context.Context, res mcp.Result, err error) protocol.Value {
	asks, ok := res.(interface{ NeedsInput() bool })
	keep := captureOf(ctx)
	if keep == nil || err == nil && (!ok || !asks.NeedsInput()) {
		return protocol.Value{}
	}
	doc, err := protocol.ParseForeignJSON(keep.raw(), maxResultDepth)
	if err != nil || !doc.Root().Get("resultType").EqualText("input_required") {
		return protocol.Value{}
	}
	return doc.Root()
}

// answer gets the input that a result asks for, in the order of its requests.
func (s *server) answer(ctx context.Context, session *mcp.ClientSession, in *input, required protocol.Value) error {
	requests := required.Get("inputRequests")
	for _, r := range requests.Members {
		method := r.Get("method").Text()
		if why, refused := refusals[method]; refused {
			return fmt.Errorf("%w: %s", errInput, why)
		}
		if method != elicit.Method || s.opts.OnElicit == nil {
			return fmt.Errorf("%w: %.200q is refused: this client does not offer it", errInput, method)
		}
	}
	in.rounds++
	if in.rounds > maxRounds {
		return fmt.Errorf("%w: the server asked %d times without a result; start again, or ask its author", errInput, maxRounds)
	}
	in.state, in.answers = required.Get("requestState").Text(), nil
	if requests.Len() == 0 { // the server wants the request later
		if in.state == "" {
			return fmt.Errorf("%w: the server does not say which; ask its author", errInput)
		}
		if !sleep(ctx, jitter(min(s.opts.MinBackoff<<in.rounds, s.opts.MaxBackoff))) {
			return context.Cause(ctx)
		}
		return nil
	}
	answers := make(mcp.InputResponseMap)
	for name, r := range requests.Members {
		q := Question{Params: json.RawMessage(r.Get("params").Raw()), Calls: []context.Context{ctx}}
		if init := session.InitializeResult(); init != nil {
			q.Server = init.ServerInfo
		}
		answered, err := s.opts.OnElicit(ctx, q)
		if err != nil {
			return fmt.Errorf("%w: %s", errInput, err.Error())
		}
		answers[name.Text()] = answered
	}
	in.answers = answers
	return nil
}

// refuse refuses the sampling of servers of earlier revisions, which send a request.
func refuse(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == sampling {
			return nil, &serverError{&jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: refusals[method]}} // else the SDK replaces the message
		}
		return next(ctx, method, req)
	}
}
