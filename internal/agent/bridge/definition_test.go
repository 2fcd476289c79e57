package bridge

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestDefinition_Sum(t *testing.T) {
	const first = `{"name":"a","description":"d","inputSchema":{"type":"object","title":"x"}}`
	want, err := readDefinition(parsed(t, first))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, text string
		same       bool
	}{
		{"spaces and order", `{"inputSchema":{ "title": "x", "type": "\u006fbject"}, "description":"d","name":"a"}`, true},
		{"annotations", `{"name":"a","description":"d","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","title":"x"}}`, true},
		{"description", `{"name":"a","description":"d ","inputSchema":{"type":"object","title":"x"}}`, false},
		{"an invisible character", `{"name":"a","description":"d\u200b","inputSchema":{"type":"object","title":"x"}}`, false},
		{"schema", `{"name":"a","description":"d","inputSchema":{"type":"object","title":"y"}}`, false},
		{"no schema", `{"name":"a","description":"d"}`, false},
		{"null schema", `{"name":"a","description":"d","inputSchema":null}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readDefinition(parsed(t, test.text))
			if err != nil || (got.Sum() == want.Sum()) != test.same {
				t.Errorf("%v %v", got, err)
			}
		})
	}
	for _, name := range []string{"", strings.Repeat("a", 257)} {
		if _, err := readDefinition(parsed(t, `{"name":"`+name+`"}`)); err == nil {
			t.Errorf("a name of %d bytes", len(name))
		}
	}
}

// A pin or a proposal of any definition fits into an envelope.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"name":"a","description":"d","inputSchema":{"type":"object"}}`), 1000)
	f.Add([]byte(`{"name":"a","inputSchema":[[[[[[[[1e999]]]]]]]]}`), 16)
	f.Fuzz(func(t *testing.T, text []byte, limit int) {
		doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
		if err != nil {
			return
		}
		d, err := readDefinition(doc.Root())
		if err != nil {
			return
		}
		if len(d.Sum()) != 64 {
			t.Error(d.Sum())
		}
		limit = max(1000, min(limit, 1<<20))
		s := show(d, limit)
		if _, err := protocol.ParseJSON(mustMarshal(entry{d.Name, d.Sum(), s}), protocol.MaxDepth); err != nil {
			t.Errorf("%v", err)
		}
		if s.Description != nil && len(*s.Description) > limit/16 || len(s.Schema) > limit/8 {
			t.Errorf("%d and %d bytes of %d", len(*s.Description), len(s.Schema), limit)
		}
		if _, changed := s.without(s); len(changed) > len(s.LeftOut) {
			t.Errorf("differs from itself: %q", changed)
		}
	})
}
