package mcptools

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

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
