package mcptools

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/protocol"
)

// ParseResult decodes a CallToolResult from the server of another participant.
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

// ParseToolList decodes the payload of a response to tools/list: at most 1,000
// tools, and the cursor of the next page, "" if there is no next page.
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
