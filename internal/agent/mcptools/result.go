package mcptools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// ResultOf returns the result of a call from a CallToolResult. Content of unknown
// types stays in it.
func ResultOf(raw json.RawMessage) Result {
	doc, err := protocol.ParseForeignJSON(raw, protocol.MaxDepth-envelopeDepth)
	fits := err == nil
	if !fits {
		doc, err = protocol.ParseForeignJSON(raw, maxResultDepth)
	}
	if err != nil {
		return Result{JSON: raw}
	}
	res := resultOf(doc.Root())
	res.Fits = fits
	return res
}

// resultOf joins the text parts of a result; parts of other types are replaced by a label.
func resultOf(res protocol.Value) Result {
	var parts []string
	for c := range contents(res) {
		if text, ok := textIn(c); ok {
			parts = append(parts, text)
		} else {
			parts = append(parts, "["+labelOf(c)+"]")
		}
	}
	text := strings.Join(parts, "\n\n")
	if structured := res.Get("structuredContent"); len(parts) == 0 && structured.Exists() {
		text = string(structured.Raw())
	}
	return Result{JSON: res.Raw(), Text: text, IsError: res.Get("isError").Bool(), root: res}
}

// maxResultDepth is the nesting that is read of a result. Items that are nested too
// deeply for an envelope are left out of it.
const maxResultDepth = 1000

// contents yields the items of a result, of which the content of older servers is the
// only one.
func contents(res protocol.Value) iter.Seq[protocol.Value] {
	content := res.Get("content")
	if content.Type() == protocol.TypeObject {
		return func(yield func(protocol.Value) bool) { yield(content) }
	}
	return content.Elements
}

// textIn returns the text of an item that has one.
func textIn(c protocol.Value) (string, bool) {
	switch c.Get("type").Text() {
	case "text":
		return c.Get("text").Text(), true
	case "resource":
		text := c.Get("resource").Get("text").Text()
		return text, text != ""
	}
	return "", false
}

// labelOf describes an item without its content.
func labelOf(c protocol.Value) string {
	kind := c.Get("type").Text()
	if kind == "resource_link" {
		kind = "resource"
	}
	about := cmp.Or(c.Get("mimeType").Text(), c.Get("uri").Text())
	if kind == "resource" {
		about = cmp.Or(c.Get("uri").Text(), c.Get("resource").Get("uri").Text())
	}
	return strings.TrimSpace(fmt.Sprintf("%.40s %.200s", cmp.Or(kind, "content"), about))
}

// ResultIn returns the result of a call by the server of another participant; false: the
// value is not a CallToolResult.
func ResultIn(v protocol.Value) (Result, bool) {
	if !hasContent(v) && !v.Get("structuredContent").Exists() {
		return Result{}, false
	}
	return resultOf(v), true
}

// hasContent reports whether a result has a list of items.
func hasContent(res protocol.Value) bool {
	t := res.Get("content").Type()
	return t == protocol.TypeArray || t == protocol.TypeObject
}

// ParseToolList decodes the payload of a response to tools/list: at most 1,000
// tools, and the cursor of the next page, "" if there is no next page.
func ParseToolList(payload json.RawMessage) (tools []Tool, next string, err error) {
	var response struct {
		Result *mcp.ListToolsResult `json:"result"`
	}
	if err := json.Unmarshal(payload, &response); err != nil {
		return nil, "", errors.New("read list of tools: " + textutil.JSONFault(err))
	}
	if response.Result == nil {
		return nil, "", errors.New("read list of tools: there is none")
	}
	for _, t := range response.Result.Tools {
		if t == nil || t.Name == "" {
			continue
		}
		tools = append(tools, describe(t.Name, target{server: &server{}, tool: t}))
		if len(tools) == maxTools {
			break
		}
	}
	return tools, response.Result.NextCursor, nil
}

// envelopeDepth is the maximum nesting that an envelope adds to a result.
const envelopeDepth = 8
