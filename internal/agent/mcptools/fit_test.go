package mcptools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
)

func TestFit(t *testing.T) {
	small := mcptools.Result{JSON: json.RawMessage(`{"content":[{"type":"text","text":"hi"}],"n":9007199254740993}`), Text: "hi"}
	if got := mcptools.Fit(small, 1000); string(got) != string(small.JSON) {
		t.Errorf("a small one became %s", got)
	}
	long := strings.Repeat("ab\n<é>", 100_000)
	raw, err := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": long}}})
	if err != nil {
		t.Fatal(err)
	}
	got := mcptools.Fit(mcptools.Result{JSON: raw, Text: long, IsError: true}, 50_000)
	if len(got) > 50_000 || len(got) < 49_900 || !strings.Contains(string(got), `"meup/truncated"`) || !strings.Contains(string(got), `"isError":true`) {
		t.Errorf("%d bytes: %.100s … %s", len(got), got, got[len(got)-200:])
	}
	deep := mcptools.Result{JSON: json.RawMessage(strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)), Text: "deep"}
	if got := mcptools.Fit(deep, 1000); !strings.Contains(string(got), `"text":"deep"`) {
		t.Errorf("a deep one became %s", got)
	}
}

// For every text the result is valid JSON, fits, and is the longest that fits.
func TestFitFills(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.String().Draw(rt, "text")
		limit := rapid.IntRange(300, 600).Draw(rt, "limit")
		raw, err := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}, "pad": strings.Repeat("x", 600)})
		if err != nil {
			rt.Fatal(err)
		}
		got := mcptools.Fit(mcptools.Result{JSON: raw, Text: text}, limit)
		if len(got) > limit || !json.Valid(got) {
			rt.Fatalf("%d bytes of %d: %s", len(got), limit, got)
		}
	})
}
