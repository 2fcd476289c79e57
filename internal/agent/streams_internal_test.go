package agent

import "testing"

// Of an answer, the closing lines and the space at its ends are not streamed, wherever the
// pieces are cut.
func TestVisible(t *testing.T) {
	for name, test := range map[string]struct{ answer, want string }{
		"plain":                   {"It is fine.\n\n- a\n- b", "It is fine.\n\n- a\n- b"},
		"a confidence":            {"\nIt is fine.\n\n**Confidence:** 0.8\n", "It is fine."},
		"a level":                 {"It is fine.\nConfidence level = high", "It is fine."},
		"a list of factors":       {"It is fine.\n\n## Key factors\n- a", "It is fine."},
		"a reply":                 {"Reply to e3: yes\nIt is fine.", ""},
		"a word":                  {"It is fine.\nConfidence is a word.\nReferences help.", "It is fine.\nConfidence is a word.\nReferences help."},
		"the beginning of a word": {"It is fine.\nConf", "It is fine."},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 1; n <= len(test.answer); n++ {
				var v visible
				got := ""
				for rest := test.answer; rest != ""; {
					piece := rest[:min(n, len(rest))]
					got += v.add(piece)
					rest = rest[len(piece):]
				}
				if got != test.want {
					t.Fatalf("in pieces of %d: %q, want %q", n, got, test.want)
				}
			}
		})
	}
}
