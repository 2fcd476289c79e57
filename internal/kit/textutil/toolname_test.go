package textutil_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

func TestToolNames(t *testing.T) {
	for _, test := range []struct {
		name  string
		tools []string
		want  map[string]string // "…" at the end: any hash
	}{
		{"legal", []string{"read", "a_b"}, map[string]string{"read": "read", "a_b": "a_b"}},
		{"a dot", []string{"context.read"}, map[string]string{"context.read": "context_read"}},
		{"two that are alike", []string{"a.b", "a b"}, map[string]string{"a.b": "a_b_…", "a b": "a_b_…"}},
		{"one that is legal", []string{"a.b", "a_b"}, map[string]string{"a.b": "a_b_…", "a_b": "a_b"}},
		{"another one that joins", []string{"a.b", "c.d", "c_d"}, map[string]string{"a.b": "a_b", "c.d": "c_d_…", "c_d": "c_d"}},
		{"long", []string{strings.Repeat("x", 65)}, map[string]string{strings.Repeat("x", 65): strings.Repeat("x", 64)}},
		{"long and alike", []string{strings.Repeat("x", 65), strings.Repeat("x", 66)}, map[string]string{strings.Repeat("x", 65): strings.Repeat("x", 51) + "_…", strings.Repeat("x", 66): strings.Repeat("x", 51) + "_…"}},
		{"no letters", []string{"é"}, map[string]string{"é": "tool"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := textutil.ToolNames(test.tools)
			slices.Reverse(test.tools)
			if again := textutil.ToolNames(test.tools); !maps.Equal(got, again) {
				t.Errorf("the order matters: %v, then %v", got, again)
			}
			for name, want := range test.want {
				prefix, hashed := strings.CutSuffix(want, "…")
				if n := got[name]; n != want && (!hashed || !strings.HasPrefix(n, prefix) || !textutil.IsHashedToolName(n)) {
					t.Errorf("%q is called %q, expected %q", name, n, want)
				}
			}
		})
	}
}

func FuzzToolNames(f *testing.F) {
	f.Add("a.b", "a_b", "a b")
	f.Add("a.b", "a_b", textutil.ToolName("a.b"))
	f.Fuzz(func(t *testing.T, a, b, c string) {
		seen, single := make(map[string]string), make(map[string]string)
		for tool, name := range textutil.ToolNames([]string{a, b, c}) {
			if other, twice := seen[name]; twice || !textutil.LegalToolName(name) {
				t.Errorf("%q and %q are called %q", tool, other, name)
			}
			seen[name] = tool
			alone := textutil.ToolName(tool)
			if other, twice := single[alone]; twice || !textutil.LegalToolName(alone) {
				t.Errorf("alone, %q and %q are called %q", tool, other, alone)
			}
			single[alone] = tool
		}
	})
}
