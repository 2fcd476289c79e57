package anthropic

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// FuzzEvents decodes arbitrary lines as the data of events. It checks that
// every result can be stored as JSON and sent back, and that the pieces add up.
func FuzzEvents(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		var data bytes.Buffer
		for line := range strings.Lines(string(testdata(f, filepath.Base(name)))) {
			if d, ok := strings.CutPrefix(line, "data: "); ok {
				data.WriteString(d)
			}
		}
		f.Add(data.Bytes())
	}
	f.Add(testdata(f, "whole.json"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		var text, thinking strings.Builder
		on := func(d llm.Delta) {
			if d.Kind == llm.TextDelta {
				text.WriteString(d.Text)
			} else {
				thinking.WriteString(d.Text)
			}
		}
		a := &answer{on: on}
		for line := range bytes.Lines(lines) {
			if a.applyEvent("", line) != nil {
				break
			}
		}
		check(t, a, text.String(), thinking.String())
		whole := &answer{}
		if whole.applyDocument(lines) == nil {
			check(t, whole, whole.text.out.String(), whole.thinking.out.String())
		}
	})
}

func check(t *testing.T, a *answer, text, thinking string) {
	t.Helper()
	r := a.Response()
	if r.Message.Text != text || r.Thinking != thinking {
		t.Error("the pieces do not add up to the whole")
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	req := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "?"}, r.Message}}
	for _, blocks := range []bool{true, false} {
		body := build("claude-opus-5-5", defaultMaxTokens, req, blocks)
		if _, err := json.Marshal(body); err != nil {
			t.Error(err)
		}
		for _, m := range body.Messages {
			if len(m.Content) == 0 {
				t.Error("a message without content")
			}
		}
	}
}
