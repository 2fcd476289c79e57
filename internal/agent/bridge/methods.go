package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// method carries out one call.
type method func(b *Bridge, c *call) (outcome, error)

// methods are the methods that the bridge supports in addition to ping, which
// needs no server.
var methods = map[string]method{
	"initialize": (*Bridge).initialize,

	"tools/list": list(toolsChanged, accepted(pass(shape{"cursor": nil}, (*mcp.ClientSession).ListTools))),
	"tools/call": (*Bridge).callTool,
	methodAccept: (*Bridge).acceptTool,

	"resources/list":           list(resourcesChanged, pass(shape{"cursor": nil}, (*mcp.ClientSession).ListResources)),
	"resources/templates/list": list(resourcesChanged, pass(shape{"cursor": nil}, (*mcp.ClientSession).ListResourceTemplates)),
	"resources/read":           pass(withInput(shape{"uri": nil}), (*mcp.ClientSession).ReadResource),
	"resources/subscribe":      (*Bridge).subscribe,
	"resources/unsubscribe":    (*Bridge).unsubscribe,

	"prompts/list": list(promptsChanged, pass(shape{"cursor": nil}, (*mcp.ClientSession).ListPrompts)),
	"prompts/get":  pass(withInput(shape{"name": nil, "arguments": nil}), (*mcp.ClientSession).GetPrompt),

	"completion/complete": pass(shape{
		"ref":      {"type": nil, "name": nil, "uri": nil},
		"argument": {"name": nil, "value": nil},
		"context":  {"arguments": nil},
	}, (*mcp.ClientSession).Complete),

	"logging/setLevel": (*Bridge).setLevel,
}

// The notifications for which there are listeners.
const (
	toolsChanged     = "notifications/tools/list_changed"
	promptsChanged   = "notifications/prompts/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
	logMessage       = "notifications/message"
	resourceUpdated  = "notifications/resources/updated"
	progressMade     = "notifications/progress"
)

// pass calls a method of the session. It forwards the fields of the requester's
// params that s names, and the end-to-end part of _meta.
func pass[T any, P interface {
	*T
	mcp.Params
}, R mcp.Result](s shape, ask func(*mcp.ClientSession, context.Context, P) (R, error)) method {
	return func(b *Bridge, c *call) (outcome, error) {
		params, err := decode[T](c.Params, s)
		if err != nil {
			return outcome{}, err
		}
		done := b.forwardMeta(c, P(params))
		defer done()
		result, err := b.opts.Server.Do(c.operation(), func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
			return ask(session, ctx, params)
		})
		return outcomeOf(result), err
	}
}

// operation returns the context of the operation on the server.
func (c *call) operation() context.Context {
	ctx := mcptools.WithProgress(c.ctx, c.token)
	if c.Params.Get("_meta").Get(mcp.MetaKeyClientCapabilities).Exists() {
		return mcptools.ReturnInputRequired(ctx)
	}
	return ctx
}

// list registers the requester of a list for notifications about its changes.
func list(changed string, next method) method {
	return func(b *Bridge, c *call) (outcome, error) {
		out, err := next(b, c)
		if err == nil {
			b.listeners.listen(changed, c.asker)
		}
		return out, err
	}
}

func (b *Bridge) callTool(c *call) (outcome, error) {
	params, err := decode[mcp.CallToolParams](c.Params, withInput(shape{"name": nil}))
	if err != nil {
		return outcome{}, err
	}
	if b.opts.Pins != nil {
		ok, known := b.opts.Pins.Callable(params.Name)
		if !known {
			if err := b.checkTools(c.ctx); err != nil {
				return outcome{}, err
			}
			ok, known = b.opts.Pins.Callable(params.Name)
		}
		if known && !ok { // a tool that is in no list has no definition, and the server refuses it
			return outcome{}, &heldBackError{Tool: params.Name}
		}
	}
	if args := c.Params.Get("arguments"); args.Exists() {
		params.Arguments = json.RawMessage(args.Raw()) // preserves numbers
	}
	done := b.forwardMeta(c, params)
	defer done()
	whole, err := b.opts.Server.Do(c.operation(), func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return session.CallTool(ctx, params)
	})
	if err != nil {
		return outcome{}, err
	}
	out := outcomeOf(whole)
	out.cut = func(limit int) json.RawMessage { return mcptools.Fit(whole, limit) }
	return out, nil
}

func (b *Bridge) setLevel(c *call) (outcome, error) {
	level := c.Params.Get("level").Text()
	if level == "" || len(level) > maxLevel {
		return outcome{}, &client.RPCError{Code: participant.CodeInvalidParams, Message: "invalid params: level is missing"}
	}
	result, err := b.setServerLevel(c.ctx, level)
	if err == nil {
		b.logLevel.Store(level)
		b.listeners.listen(logMessage, c.asker)
	}
	return outcomeOf(result), err
}

// maxLevel bounds the name of a log level, in bytes.
const maxLevel = 64

// setServerLevel calls a method that is deprecated from revision 2026-07-28 on
// but remains in servers for years.
func (b *Bridge) setServerLevel(ctx context.Context, level string) (mcptools.Result, error) {
	return b.opts.Server.Do(ctx, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return nil, session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(level)}) //nolint:staticcheck // see above
	})
}

// newestHandshake is the last revision of MCP that starts with initialize.
const newestHandshake = "2025-11-25"

// initialize responds for the server: its name, its instructions, and the
// capabilities that the bridge passes on.
func (b *Bridge) initialize(c *call) (outcome, error) {
	var info *mcp.InitializeResult
	_, err := b.opts.Server.Do(c.ctx, func(_ context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		info = session.InitializeResult()
		return nil, nil //nolint:nilnil // an operation without a result
	})
	if err != nil {
		return outcome{}, err
	}
	answer := *info
	answer.ProtocolVersion = newestHandshake
	wanted := c.Params.Get("protocolVersion").Text()
	if slices.Contains(mcp.SupportedProtocolVersions(), wanted) && wanted < newestHandshake {
		answer.ProtocolVersion = wanted
	}
	if answer.ServerInfo == nil {
		answer.ServerInfo = &mcp.Implementation{Name: string(b.you), Version: b.opts.Version}
	}
	answer.Capabilities = &mcp.ServerCapabilities{}
	if of := info.Capabilities; of != nil {
		answer.Capabilities = &mcp.ServerCapabilities{
			Completions: of.Completions, Prompts: of.Prompts, Resources: of.Resources, Tools: of.Tools,
			Logging: of.Logging, //nolint:staticcheck // see setServerLevel
		}
	}
	return outcome{result: mustMarshal(answer)}, nil
}

// shape names the fields of an object that are forwarded, each with the shape
// of its own fields, or nil to forward all of it. The gateway has checked the
// request by exact field names; a decoder that matches "NAME" to "name" must
// not receive any other fields.
type shape map[string]shape

// withInput adds the fields that answer a result input_required.
func withInput(s shape) shape {
	s["inputResponses"], s["requestState"] = nil, nil
	return s
}

// decode decodes the forwarded fields into typed params. The error is a *client.RPCError.
func decode[P any](params protocol.Value, s shape) (*P, error) {
	p := new(P)
	switch params.Type() {
	case protocol.TypeNone:
		return p, nil
	case protocol.TypeObject:
	default:
		return nil, &client.RPCError{Code: participant.CodeInvalidParams, Message: "params must be an object"}
	}
	if err := json.Unmarshal(s.filter(params), p); err != nil {
		return nil, &client.RPCError{Code: participant.CodeInvalidParams, Message: "invalid params: " + textutil.ShortenChars(textutil.JSONFault(err), maxMessage)}
	}
	return p, nil
}

// filter returns the object reduced to the forwarded fields.
func (s shape) filter(v protocol.Value) []byte {
	out := []byte{'{'}
	for name, inner := range s {
		field := v.Get(name)
		if !field.Exists() {
			continue
		}
		raw := field.Raw()
		if inner != nil && field.Type() == protocol.TypeObject {
			raw = inner.filter(field)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = protocol.AppendString(out, name)
		out = append(append(out, ':'), raw...)
	}
	return append(out, '}')
}

// hopKeys are the keys of _meta that describe one connection: the bridge's
// connection to the server is not the requester's connection to the bridge. The
// capabilities of a requester that speaks revision 2026-07-28 are passed on: it answers a
// result input_required itself.
var hopKeys = map[string]bool{
	mcp.MetaKeyProtocolVersion: true, mcp.MetaKeyClientInfo: true, mcp.MetaKeySubscriptionID: true,
}

const progressToken = "progressToken"

// forwardMeta copies the requester's _meta to the server's params. A progress
// token is replaced by one of the bridge's own, because two requesters may use
// the same token; done removes it. A call of a tool always has one, because progress
// extends its time.
func (b *Bridge) forwardMeta(c *call, params mcp.Params) (done func()) {
	meta := make(map[string]any)
	for key, value := range c.Params.Get("_meta").Members {
		if name := key.Text(); !hopKeys[name] {
			meta[name] = json.RawMessage(value.Raw())
		}
	}
	token, asked := meta[progressToken].(json.RawMessage)
	if asked || c.Method == "tools/call" {
		c.token = strconv.FormatInt(b.token.Add(1), 10)
		meta[progressToken] = c.token
	}
	if asked {
		b.progress.Store(c.token, &progress{asker: c.asker, envelope: c.envelope, contextPath: c.contextPath, token: token})
		done = func() { b.flush(); b.progress.Delete(c.token) }
	} else if _, logs := meta[mcp.MetaKeyLogLevel]; logs || b.logLevel.Load() != nil {
		done = b.flush
	} else {
		done = func() {}
	}
	if len(meta) > 0 {
		params.SetMeta(meta)
	}
	return done
}
