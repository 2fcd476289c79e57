package mcptools

import (
	"context"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A result with an item that the SDK does not know is a result, without another call.
func TestDoOnce_UnknownContent(t *testing.T) {
	near, far := mcp.NewInMemoryTransports()
	server := mcp.NewServer(&mcp.Implementation{Name: "films", Version: "1"}, nil)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				return &written{JSON: `{"content":[{"type":"video","data":"AAAA","n":1.0},{"type":"text","text":"\ud83d"}]}`}, nil
			}
			return next(ctx, method, req)
		}
	})
	server.AddTool(&mcp.Tool{Name: "film", InputSchema: map[string]any{"type": "object"}}, nil)
	running, err := server.Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), tapped{Transport: near}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := doOnce(t.Context(), session, func(ctx context.Context, s *mcp.ClientSession) (mcp.Result, error) {
		return s.CallTool(ctx, &mcp.CallToolParams{Name: "film"})
	})
	if want := `{"content":[{"type":"video","data":"AAAA","n":1.0},{"type":"text","text":"\ufffd"}]}`; err != nil || string(result.JSON) != want || !result.Fits {
		t.Errorf("got %s (fits: %v), %v; want %s", result.JSON, result.Fits, err, want)
	}
	_, err = doOnce(t.Context(), session, func(ctx context.Context, s *mcp.ClientSession) (mcp.Result, error) {
		return s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "x:y"})
	})
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) {
		t.Errorf("got %v, want the error of the server", err)
	}
}

// written is a result as a server wrote it.
type written struct {
	mcp.ResultBase
	JSON string
}

// MarshalJSON returns the result.
func (w *written) MarshalJSON() ([]byte, error) { return []byte(w.JSON), nil }
