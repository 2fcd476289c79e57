package mcptools

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/protocol"
)

// ParseResult reads a CallToolResult that somebody else's server returned.
func ParseResult(raw json.RawMessage) (Result, error) {
	doc, err := protocol.ParseJSON(raw, protocol.MaxDepth)
	if err != nil {
		return Result{}, fmt.Errorf("read tool result: %w", err)
	}
	if root := doc.Root(); !root.Get("content").Exists() && !root.Get("structuredContent").Exists() {
		return Result{}, errors.New("read tool result: it has no content")
	}
	var res mcp.CallToolResult
	if err := json.Unmarshal(raw, &res); err != nil {
		return Result{}, fmt.Errorf("read tool result: %w", err)
	}
	return Result{JSON: raw, Text: textOf(&res), IsError: res.IsError}, nil
}

// ParseToolList reads the payload of a response to tools/list: the tools, at
// most 1,000 of them, and the cursor of the next page, "" if there is none.
func ParseToolList(payload json.RawMessage) (tools []Tool, next string, err error) {
	var response struct {
		Result *mcp.ListToolsResult `json:"result"`
	}
	if err := json.Unmarshal(payload, &response); err != nil {
		return nil, "", fmt.Errorf("read list of tools: %w", err)
	}
	if response.Result == nil {
		return nil, "", errors.New("read list of tools: there is none")
	}
	for _, t := range response.Result.Tools {
		if t == nil || t.Name == "" {
			continue
		}
		if tools = append(tools, describe(t.Name, target{server: &server{}, tool: t})); len(tools) == maxTools {
			break
		}
	}
	return tools, response.Result.NextCursor, nil
}
