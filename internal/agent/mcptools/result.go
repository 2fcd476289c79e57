package mcptools

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/protocol"
)

// ResultOf returns the result of a call whose CallToolResult was decoded as
// res.
func ResultOf(raw json.RawMessage, res *mcp.CallToolResult) Result {
	return Result{JSON: raw, Text: textOf(res), IsError: res.IsError}
}

// textOf joins the text parts of a result; parts of other types are replaced by
// a label.
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

// envelopeDepth is the maximum nesting that an envelope adds to a result.
const envelopeDepth = 8

// Fit returns a tool's result unchanged if it has at most limit bytes and is
// not nested too deeply for an envelope. Otherwise it returns only the result's
// text, truncated to limit and marked. If even the mark does not fit, the
// result is longer than limit.
func Fit(res Result, limit int) json.RawMessage {
	if len(res.JSON) <= limit {
		if _, err := protocol.ParseJSON(res.JSON, protocol.MaxDepth-envelopeDepth); err == nil {
			return res.JSON
		}
	}
	// The length of a text as JSON depends on its characters.
	most := min(len(res.Text), limit)
	tooMuch := sort.Search(most+1, func(n int) bool { return len(cutResult(res, n)) > limit })
	return cutResult(res, max(0, tooMuch-1))
}

// cutResult returns the result with the first n bytes of its text.
func cutResult(res Result, n int) json.RawMessage {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type truncated struct {
		Bytes    int `json:"bytes"`
		Text     int `json:"text_bytes"`
		TextKept int `json:"text_kept"`
	}
	kept := strings.ToValidUTF8(res.Text[:n], "")
	text := kept
	if len(kept) < len(res.Text) {
		text += fmt.Sprintf("\n[cut: the first %d of %d bytes]", len(kept), len(res.Text))
	}
	raw, err := json.Marshal(struct {
		Content []part         `json:"content"`
		IsError bool           `json:"isError"`
		Meta    map[string]any `json:"_meta"`
	}{
		[]part{{"text", text}}, res.IsError,
		map[string]any{"meup/truncated": truncated{len(res.JSON), len(res.Text), len(kept)}},
	})
	if err != nil { // impossible: only strings and numbers
		return json.RawMessage(`{"content":[]}`)
	}
	return raw
}
