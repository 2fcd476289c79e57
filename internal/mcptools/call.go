package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// await returns the session, waiting for a server that is being restarted. A
// session that is known to have ended can be named: it is not returned.
func (s *server) await(ctx context.Context, ended *mcp.ClientSession) (*mcp.ClientSession, error) {
	for {
		s.mu.Lock()
		session, back := s.session, s.back
		s.mu.Unlock()
		if session != nil && session != ended {
			return session, nil
		}
		if session != nil { // the keeper has not noticed its end yet
			back = s.gone(session)
		}
		select {
		case <-back:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrServerGone, ctx.Err())
		}
	}
}

// gone marks the session as ended and returns what is closed when there is
// another one.
func (s *server) gone(session *mcp.ClientSession) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session {
		s.session, s.back = nil, make(chan struct{})
	}
	return s.back
}

func (s *server) call(ctx context.Context, tool string, args json.RawMessage) (Result, error) {
	params := &mcp.CallToolParams{Name: tool}
	if len(args) > 0 {
		params.Arguments = args
	}
	res, err := s.callOnce(ctx, params)
	if err != nil {
		return Result{}, callError(ctx, err)
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return Result{}, fmt.Errorf("marshal result: %w", err)
	}
	return Result{JSON: raw, Text: textOf(res), IsError: res.IsError}, nil
}

// callOnce has the tool called by a living server; only a call that has not
// left is tried with the next one.
func (s *server) callOnce(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	var ended *mcp.ClientSession
	for {
		session, err := s.await(ctx, ended)
		if err != nil {
			return nil, err
		}
		res, err := session.CallTool(ctx, params)
		if !errors.Is(err, mcp.ErrConnectionClosed) {
			return res, err
		}
		ended = session
	}
}

// callError tells a server that is gone from one that refuses.
func callError(ctx context.Context, err error) error {
	var refusal *jsonrpc.Error
	if ctx.Err() != nil || errors.As(err, &refusal) || errors.Is(err, ErrServerGone) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrServerGone, err)
}

// textOf joins the text parts of a result; parts of other types are named.
func textOf(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, "[image "+c.MIMEType+"]")
		case *mcp.AudioContent:
			parts = append(parts, "[audio "+c.MIMEType+"]")
		case *mcp.ResourceLink:
			parts = append(parts, "[resource "+c.URI+"]")
		case *mcp.EmbeddedResource:
			parts = append(parts, embedded(c))
		}
	}
	if len(parts) == 0 && res.StructuredContent != nil {
		if raw, err := json.Marshal(res.StructuredContent); err == nil {
			return string(raw)
		}
	}
	return strings.Join(parts, "\n\n")
}

func embedded(c *mcp.EmbeddedResource) string {
	switch {
	case c.Resource == nil:
		return "[resource]"
	case c.Resource.Text != "":
		return c.Resource.Text
	}
	return "[resource " + c.Resource.URI + "]"
}
