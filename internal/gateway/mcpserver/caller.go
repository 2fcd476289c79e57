package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/mcp/toolserver"
	"github.com/meup-protocol/meup/protocol"
)

// callerKey is the key of the caller in the context of a request.
type callerKey struct{}

// caller is the participant that sent a request, with the request's share of the
// bounds.
type caller struct {
	*SlotShare
	server *server
	door   *adapter.Request
	client *api.Client
	space  string
	you    protocol.ParticipantID
	ended  context.Context // of the request

	events    *events                // the response
	of        protocol.ParticipantID // the participant that is shown alone; "": the space
	asks      asks
	mcp       *mcp.Server           // handles the request
	listening map[string]foreign    // tools of other participants in mcp, if the request is a stream of notifications
	shown     *mcp.InitializeResult // of the participant that is shown alone, if the request is a stream of notifications
}

// id returns the id of an envelope that a tool sends: the same for the same
// arguments with the same key, so that a retry sends it once. Without a key, the
// id is generated. The secret of the log in it keeps others from using it first.
func (c *caller) id(tool, key string, in any) (protocol.ID, error) {
	if key == "" {
		return "", nil
	}
	if len(key) > maxKey {
		return "", fmt.Errorf("key: expected at most %d bytes", maxKey)
	}
	text, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	secret, err := c.door.Secret(c.ended)
	if err != nil {
		return "", err
	}
	return adapter.ID("mcp", secret, c.space, string(c.you), tool, string(text)), nil
}

const maxKey = 256 // bytes

// callerOf returns the caller of the request that a handler of the SDK handles.
func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}

// endWith returns a context that ends with the request too, which a handler of
// the SDK may survive.
func (c *caller) endWith(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ended, cancel)
	return ctx, func() { stop(); cancel() }
}

// addTool adds a tool whose result is structured.
func addTool[In, Out any](server *mcp.Server, tool *mcp.Tool, run func(*caller, context.Context, In) (Out, error)) {
	tool.InputSchema, tool.OutputSchema = toolserver.SchemaOf[In](), toolserver.SchemaOf[Out]()
	mcp.AddTool(server, tool, func(ctx context.Context, req *mcp.CallToolRequest, checked In) (*mcp.CallToolResult, Out, error) {
		in := checked // through float64, which rounds numbers
		if raw := req.Params.Arguments; len(raw) > 0 {
			in = *new(In)
			if err := json.Unmarshal(raw, &in); err != nil {
				return nil, *new(Out), err
			}
		}
		out, err := run(callerOf(ctx), ctx, in)
		return nil, out, err
	})
}

func reads() *mcp.ToolAnnotations {
	closed := false
	return &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed}
}

func writes() *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no}
}

// participants checks the names of participants.
func participants(names []string) ([]protocol.ParticipantID, error) {
	if len(names) > maxNames {
		return nil, fmt.Errorf("expected at most %d participants", maxNames)
	}
	var list []protocol.ParticipantID
	for _, name := range names {
		if !protocol.ValidParticipantID(name) {
			return nil, fmt.Errorf("%q is not the id of a participant", name)
		}
		list = append(list, protocol.ParticipantID(name))
	}
	return list, nil
}

const maxNames = 64

// oneParticipant checks the name of the participant of a call.
func oneParticipant(name string) ([]protocol.ParticipantID, error) {
	list, err := participants([]string{name})
	if err != nil {
		return nil, fmt.Errorf("participant: %w", err)
	}
	return list, nil
}

// cursor is a position in the log of a space, as a client keeps it.
type cursor struct {
	seq protocol.Seq
	log string // id of the log; "": unknown
}

// String encodes a cursor.
func (c cursor) String() string { return c.seq.String() + "." + c.log }

// parseCursor parses what String returned, or "start".
func parseCursor(text string) (cursor, error) {
	if text == "start" {
		return cursor{}, nil
	}
	number, log, ok := strings.Cut(text, ".")
	seq, err := protocol.ParseSeq(number)
	if !ok || err != nil {
		return cursor{}, fmt.Errorf("after: expected the cursor of an earlier result, or \"start\"")
	}
	return cursor{seq, log}, nil
}
