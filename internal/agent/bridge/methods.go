package bridge

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
)

// method carries out one call.
type method func(b *Bridge, c *call) (outcome, error)

// methods are the methods that the bridge supports in addition to ping, which
// needs no server.
var methods = map[string]method{
	"initialize": (*Bridge).initialize,

	"tools/list": list(toolsChanged, pass(shape{"cursor": nil}, (*mcp.ClientSession).ListTools)),
	"tools/call": (*Bridge).callTool,

	"resources/list":           list(resourcesChanged, pass(shape{"cursor": nil}, (*mcp.ClientSession).ListResources)),
	"resources/templates/list": list(resourcesChanged, pass(shape{"cursor": nil}, (*mcp.ClientSession).ListResourceTemplates)),
	"resources/read":           pass(shape{"uri": nil}, (*mcp.ClientSession).ReadResource),
	"resources/subscribe":      (*Bridge).subscribe,
	"resources/unsubscribe":    (*Bridge).unsubscribe,

	"prompts/list": list(promptsChanged, pass(shape{"cursor": nil}, (*mcp.ClientSession).ListPrompts)),
	"prompts/get":  pass(shape{"name": nil, "arguments": nil}, (*mcp.ClientSession).GetPrompt),

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
		params, err := decode[T](c.params, s)
		if err != nil {
			return outcome{}, err
		}
		done := b.forwardMeta(c, P(params))
		defer done()
		raw, err := b.opts.Server.Do(c.ctx, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
			return ask(session, ctx, params)
		})
		return outcome{result: raw}, err
	}
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
	params, err := decode[mcp.CallToolParams](c.params, shape{"name": nil})
	if err != nil {
		return outcome{}, err
	}
	if args := c.params.Get("arguments"); args.Exists() {
		params.Arguments = json.RawMessage(args.Raw()) // preserves numbers
	}
	done := b.forwardMeta(c, params)
	defer done()
	var res *mcp.CallToolResult
	raw, err := b.opts.Server.Do(c.ctx, func(ctx context.Context, session *mcp.ClientSession) (_ mcp.Result, err error) {
		res, err = session.CallTool(ctx, params)
		return res, err
	})
	if err != nil {
		return outcome{}, err
	}
	whole := mcptools.ResultOf(raw, res)
	return outcome{result: raw, cut: func(limit int) json.RawMessage { return mcptools.Fit(whole, limit) }}, nil
}

func (b *Bridge) setLevel(c *call) (outcome, error) {
	level := c.params.Get("level").Text()
	if level == "" || len(level) > maxLevel {
		return outcome{}, &fault{Code: codeInvalidParams, Message: "invalid params: level is missing"}
	}
	raw, err := b.setServerLevel(c.ctx, level)
	if err == nil {
		b.listeners.setLevel(level)
		b.listeners.listen(logMessage, c.asker)
	}
	return outcome{result: raw}, err
}

// maxLevel bounds the name of a log level, in bytes.
const maxLevel = 64

// setServerLevel calls a method that is deprecated from revision 2026-07-28 on
// but remains in servers for years.
func (b *Bridge) setServerLevel(ctx context.Context, level string) (json.RawMessage, error) {
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
	wanted := c.params.Get("protocolVersion").Text()
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
