package textutil

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestSplitMarks(t *testing.T) {
	raw, err := os.ReadFile("testdata/marks.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Text, Rest string
		Seconds          *float64
		Steps            []string
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			want := -1.0
			if c.Seconds != nil {
				want = *c.Seconds
			}
			if got, rest := SplitMarks(c.Text); rest != c.Rest || got.Seconds != want || !slices.Equal(got.Steps, c.Steps) {
				t.Errorf("got %v, %q and %q, want %v, %q and %q", got.Seconds, got.Steps, rest, want, c.Steps, c.Rest)
			}
		})
	}
}

func TestBeginsMarks(t *testing.T) {
	for text, want := range map[string]struct{ begins, open bool }{
		"": {false, true}, " \r\n": {false, true}, "<": {false, true}, "\n<!--AGENT_": {false, true},
		"<think>": {true, false}, " <think>x": {true, false}, "<!--REASONING_BLOCK:{": {true, false},
		"<th>": {false, false}, "<thinker": {false, false}, "a": {false, false}, "x <think>": {false, false},
	} {
		if begins, open := BeginsMarks(text); begins != want.begins || open != want.open {
			t.Errorf("%q: begins %v, open %v, want %v, %v", text, begins, open, want.begins, want.open)
		}
	}
}

// The work for a marker is bounded: a long one stays text.
func TestSplitMarks_Long(t *testing.T) {
	for name, text := range map[string]string{
		"many ends":    `<!--REASONING_BLOCK:{"elapsed":1,"steps":["` + strings.Repeat("-->", 20) + `"]}-->x`,
		"a long one":   `<!--REASONING_BLOCK:{"elapsed":1,"steps":["` + strings.Repeat("x", maxMarker) + `"]}-->x`,
		"nested lists": `<!--AGENT_REASONING:complete:1:` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + `-->x`,
	} {
		t.Run(name, func(t *testing.T) {
			if got, rest := SplitMarks(text); rest != text || !got.IsEmpty() {
				t.Errorf("%d steps, and %d bytes of text, want %d", len(got.Steps), len(rest), len(text))
			}
		})
	}
}
