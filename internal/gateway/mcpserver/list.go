package mcpserver

import (
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of the tools of one participant.
const (
	maxTools     = 500
	maxToolBytes = 1 << 20 // of the responses to tools/list
)

// ToolList has the tools that a participant listed.
type ToolList struct {
	Tools []*mcp.Tool
	At    time.Time // of the first response
	bytes int
}

// Add adds the tools of the payload of a response to tools/list, up to the bounds,
// and returns the cursor of the next page; "": there is none.
func (l *ToolList) Add(payload json.RawMessage) (next string) {
	var out struct {
		Result struct {
			Tools []json.RawMessage
			Next  string `json:"nextCursor"`
		}
	}
	l.bytes += len(payload)
	if l.bytes > maxToolBytes || json.Unmarshal(payload, &out) != nil {
		return ""
	}
	for _, text := range out.Result.Tools {
		tool := new(mcp.Tool)
		if len(l.Tools) == maxTools {
			return ""
		}
		if json.Unmarshal(text, tool) == nil && tool.Name != "" {
			l.Tools = append(l.Tools, tool)
		}
	}
	return out.Result.Next
}
