package reasoner

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/textutil"
)

// Bounds of the instructions for a model, in bytes.
const (
	maxSection = 16 << 10
	maxPrompt  = 64 << 10
)

// instructions builds a model's instructions from a request.
func instructions(r *wire.AgentIntentRequest, notes []string) string {
	var b strings.Builder
	section(&b, "Instructions", r.Instructions)
	section(&b, "Who you are", outline(r.Persona))
	section(&b, "How you work", outline(r.Driver))
	section(&b, "Rules", outline(r.Rules))
	section(&b, "The repository", outline(r.RepoContext))
	section(&b, "What you remember", outline(r.MemoryState))
	if len(notes) > 0 {
		section(&b, "What happened before", "- "+strings.Join(notes, "\n- "))
	}
	return textutil.Shorten(strings.TrimSpace(b.String()), maxPrompt)
}

func section(b *strings.Builder, title, body string) {
	if body = strings.TrimSpace(body); body != "" {
		b.WriteString("## " + title + "\n\n" + textutil.Shorten(body, maxSection) + "\n\n")
	}
}

// outline formats a JSON value as nested lists, with the keys of objects
// sorted. An empty value is "".
func outline(raw json.RawMessage) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return ""
	}
	o := outliner{limit: maxSection}
	o.value(v, 0)
	return o.b.String()
}

// outliner stops when its output exceeds limit bytes.
type outliner struct {
	b     strings.Builder
	limit int
}

func (o *outliner) value(v any, depth int) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			o.entry(k+":", v[k], depth)
		}
	case []any:
		for _, x := range v {
			o.entry("", x, depth)
		}
	default:
		o.b.WriteString(scalar(v))
	}
}

func (o *outliner) entry(key string, v any, depth int) {
	if v == nil || o.b.Len() > o.limit {
		return
	}
	o.b.WriteString(strings.Repeat("  ", depth) + "-")
	if key != "" {
		o.b.WriteString(" " + key)
	}
	switch v.(type) {
	case map[string]any, []any:
		o.b.WriteByte('\n')
		o.value(v, depth+1)
	default:
		o.b.WriteString(" " + strings.ReplaceAll(scalar(v), "\n", "\n"+strings.Repeat("  ", depth+1)) + "\n")
	}
}

// scalar formats a string without quotes and anything else as JSON.
func scalar(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "" // it came from JSON
	}
	return string(raw)
}
