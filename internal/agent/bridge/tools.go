package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/protocol"
)

// accepted removes the tools that are held back from a list.
func accepted(next method) method {
	return func(b *Bridge, c *call) (outcome, error) {
		out, err := next(b, c)
		if err != nil || b.opts.Pins == nil {
			return out, err
		}
		out.result, _, err = b.checkList(c.ctx, out.result)
		return out, err
	}
}

// checkList checks a result of tools/list, and returns it without the tools that
// are held back, with the cursor of the next page.
func (b *Bridge) checkList(ctx context.Context, result json.RawMessage) (left json.RawMessage, next string, err error) {
	doc, err := protocol.ParseJSON(result, protocol.MaxDepth)
	if err != nil {
		return nil, "", fmt.Errorf("read the list of tools: %w", err)
	}
	var tools []protocol.Value
	var definitions []Definition
	for tool := range doc.Root().Get("tools").Elements {
		if d, err := readDefinition(tool); err == nil {
			tools, definitions = append(tools, tool), append(definitions, d)
		}
	}
	ok, err := b.opts.Pins.Check(ctx, definitions)
	if err != nil {
		return nil, "", fmt.Errorf("the tools cannot be checked: %w", err)
	}
	kept := [][]byte{}
	for i, tool := range tools {
		if ok[i] {
			kept = append(kept, tool.Raw())
		}
	}
	out := []byte{'{'}
	for key, value := range doc.Root().Members {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(protocol.AppendString(out, key.Text()), ':')
		if key.EqualText("tools") {
			out = append(append(append(out, '['), bytes.Join(kept, []byte{','})...), ']')
		} else {
			out = append(out, value.Raw()...)
		}
	}
	return append(out, '}'), doc.Root().Get("nextCursor").Text(), nil
}

// maxToolPages bounds the pages of a list of tools.
const maxToolPages = 100

// checkTools lists and checks all tools of the server.
func (b *Bridge) checkTools(ctx context.Context) error {
	params := &mcp.ListToolsParams{}
	for range maxToolPages {
		result, err := b.opts.Server.Do(ctx, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
			return session.ListTools(ctx, params)
		})
		var refusal *jsonrpc.Error
		if errors.As(err, &refusal) && refusal.Code == participant.CodeNoSuchMethod {
			return nil // a server without tools
		}
		if err != nil {
			return err
		}
		_, params.Cursor, err = b.checkList(ctx, result.JSON)
		if err != nil || params.Cursor == "" {
			return err
		}
	}
	return nil
}

// toolsChanged has the tools checked again, so that changed ones are proposed
// before a participant asks for them.
func (b *Bridge) toolsChanged() {
	if b.opts.Pins == nil {
		return
	}
	b.opts.Pins.Changed()
	select {
	case b.recheck <- struct{}{}:
	default:
	}
}

// checkChanges checks the tools after each change until ctx ends.
func (b *Bridge) checkChanges(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.recheck:
		}
		if err := b.checkTools(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("tools not checked; they are when they are used", "err", err)
		}
	}
}

// acceptTool accepts the changed definition of a tool. The gateway has checked
// that the sender may.
func (b *Bridge) acceptTool(c *call) (outcome, error) {
	if b.opts.Pins == nil {
		return outcome{}, &client.RPCError{Code: participant.CodeNoSuchMethod, Message: "Method not found: tools are not pinned"}
	}
	err := b.opts.Pins.Accept(c.ctx, c.Params, c.envelope)
	if errors.Is(err, errAcceptParams) {
		return outcome{}, &client.RPCError{Code: participant.CodeInvalidParams, Message: err.Error()}
	}
	if err != nil {
		return outcome{}, err
	}
	b.log.Info("changed tool accepted", "tool", c.Params.Get("name").Text(), "by", c.asker)
	b.notifyListeners(b.runtime.Work, toolsChanged, nil)
	return outcome{result: json.RawMessage(`{"accepted":true}`)}, nil
}
