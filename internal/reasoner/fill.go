package reasoner

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/agent/planner"
)

// parameter is the part of a parameter's schema that fill uses.
type parameter struct {
	Type    any             `json:"type"`
	Const   json.RawMessage `json:"const"`
	Default json.RawMessage `json:"default"`
}

var (
	queryNames = []string{"query", "q", "question", "text", "search", "search_query", "term", "keywords", "prompt", "message", "topic", "goal", "task", "input"}
	pathNames  = []string{"path", "file", "file_path", "filepath", "filename"}
	pathInGoal = regexp.MustCompile(`[\p{L}\p{N}_\-./\\]*[\p{L}\p{N}_\-]\.[A-Za-z][A-Za-z0-9]{0,7}\b`)
)

// fill derives a tool's arguments from a goal: the goal itself for a text
// parameter, the file that the goal names for a file parameter, and values that
// the schema fixes. It returns the required parameters without a value as
// missing.
func fill(t planner.Tool, goal string) (args json.RawMessage, missing []string) {
	var schema struct {
		Properties map[string]parameter `json:"properties"`
		Required   []string             `json:"required"`
	}
	_ = json.Unmarshal(t.InputSchema, &schema) // a schema that cannot be parsed has no parameters
	values := make(map[string]any)
	for _, name := range schema.Required {
		if v := fixed(schema.Properties[name]); v != nil {
			values[name] = v
		}
	}
	for _, name := range pathNames {
		if file := pathInGoal.FindString(goal); file != "" && acceptsText(schema.Properties, name) {
			values[name] = file
			break
		}
	}
	if name := goalParameter(schema.Properties, schema.Required, values); name != "" {
		values[name] = textutil.Shorten(strings.TrimSpace(goal), maxQuery)
	}
	for _, name := range schema.Required {
		if _, ok := values[name]; !ok {
			missing = append(missing, name)
		}
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return json.RawMessage("{}"), missing // its parts were JSON
	}
	return raw, missing
}

// fixed returns the only value that a parameter may have, or its default.
func fixed(p parameter) json.RawMessage {
	if len(p.Const) > 0 {
		return p.Const
	}
	if len(p.Default) > 0 {
		return p.Default
	}
	return nil
}

// goalParameter returns the parameter that receives the goal: one with a known
// name, or else the only required text parameter without a value.
func goalParameter(properties map[string]parameter, required []string, values map[string]any) string {
	for _, name := range queryNames {
		if _, taken := values[name]; !taken && acceptsText(properties, name) {
			return name
		}
	}
	var open []string
	for _, name := range required {
		if _, taken := values[name]; !taken && acceptsText(properties, name) && !slices.Contains(pathNames, name) {
			open = append(open, name)
		}
	}
	if len(open) != 1 {
		return ""
	}
	return open[0]
}

func acceptsText(properties map[string]parameter, name string) bool {
	p, ok := properties[name]
	if !ok {
		return false
	}
	switch t := p.Type.(type) {
	case string:
		return t == "string"
	case []any:
		return slices.Contains(t, any("string"))
	}
	return p.Type == nil
}
