package capability

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestDecide(t *testing.T) {
	planner := NewSet(all(t,
		"chat", "reasoning/*",
		`{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":"read_*"}}}`,
		`{"kind":"mcp.request","payload":{"params":{"name":"/_secret$/"}},"deny":true}`,
		`{"kind":"*","to":"root","deny":true}`,
	)...)
	for _, tt := range []struct {
		kind, payload, to string
		want              bool
		by                string
	}{
		{"chat", `{}`, "", true, `"chat"`},
		{"reasoning.thought", `{}`, "", true, `"reasoning/*"`},
		{"mcp.request", `{"method":"tools/call","params":{"name":"read_a"}}`, "", true, "read_"},
		{"mcp.request", `{"method":"tools/call","params":{"name":"read_secret"}}`, "", false, "_secret"},
		{"mcp.request", `{"method":"tools/call","params":{"name":"read_a","NAME":"x_secret"}}`, "", false, "_secret"},
		{"mcp.request", `{"method":"tools/list"}`, "", false, ""},
		{"chat", `{}`, "root", false, "root"},
		{"capability.grant", `{}`, "", false, ""},
	} {
		r := &Request{Kind: protocol.Kind(tt.kind), Payload: payload(t, tt.payload)}
		if tt.to != "" {
			r.To = []protocol.ParticipantID{protocol.ParticipantID(tt.to)}
		}
		d := planner.Decide(r)
		if d.Allowed != tt.want || (d.By == nil) != (tt.by == "") || d.By != nil && !strings.Contains(d.By.String(), tt.by) {
			t.Errorf("%s %s to %q: %v by %v", tt.kind, tt.payload, tt.to, d.Allowed, d.By)
		}
	}
}

func TestExplain(t *testing.T) {
	set := NewSet(all(t, "chat",
		`{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":"read_*"}}}`,
		`{"kind":"mcp.request","payload":{"$.params.arguments.path":"/tmp/**"},"context":"msg-1"}`,
		`{"kind":"mcp.request","to":["fs"]}`,
		`{"kind":"mcp.*","payload":{"params":{"name":"delete_*"}},"deny":true}`,
	)...)
	r := &Request{Kind: "mcp.request", Context: "msg-1",
		Payload: payload(t, `{"method":"tools/call","params":{"Name":"delete_\u0061","name":"write_file"}}`)}
	want := []string{
		`{"kind":"mcp.*","payload":{"params":{"name":"delete_*"}},"deny":true} denies it`,
		`"chat" does not apply: /kind is "mcp.request", which "chat" does not match`,
		`does not apply: /payload/params/name is "write_file", which "read_*" does not match`,
		`does not apply: there is no /payload/params/arguments for "/tmp/**" to match`,
		`does not apply: there is no /to for ["fs"] to match`,
	}
	reasons := set.Explain(r)
	if len(reasons) != len(want) {
		t.Fatalf("%d reasons, want %d", len(reasons), len(want))
	}
	for i, reason := range reasons {
		if !strings.HasSuffix(reason, want[i]) {
			t.Errorf("reason %d: %s\nwant … %s", i, reason, want[i])
		}
	}
	long := &Request{Kind: "mcp.request", Payload: payload(t, `{"method":"`+strings.Repeat("é", 500)+`"}`)}
	for _, reason := range set.Explain(long) {
		if len(reason) > 600 || strings.ContainsRune(reason, '\uFFFD') {
			t.Errorf("a sentence of %d bytes: %s", len(reason), reason)
		}
	}
}

// twenty is a set of the size that a busy agent has.
func twenty(t testing.TB) *Set {
	texts := []string{
		"chat", "chat.*", "reasoning/*", "mcp.response", "mcp.proposal", "participant.status", "stream.*",
		`{"kind":"mcp.request","payload":{"params":{"name":"delete_*"}},"deny":true}`,
		`{"kind":"mcp.request","payload":{"method":"tools/list"}}`,
		`{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/tmp/**"}}}}`,
	}
	for i := range 9 {
		texts = append(texts, fmt.Sprintf(`{"kind":"x.app%d.*","to":"agent-%d"}`, i, i))
	}
	texts = append(texts, `{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":"read_*"}}}`)
	return NewSet(all(t, texts...)...)
}

const callPayload = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/home/x/notes.txt","limit":100}}}`

func requests(t testing.TB) map[string]*Request {
	return map[string]*Request{
		"string": {Kind: "chat", Payload: payload(t, `{"message":"hello"}`)},
		"glob":   {Kind: "reasoning.thought", Payload: payload(t, `{"message":"hello"}`), Context: "msg-1"},
		"field":  {Kind: "mcp.request", Payload: payload(t, callPayload), To: []protocol.ParticipantID{"fs"}},
		"none":   {Kind: "space.kick", Payload: payload(t, `{}`)},
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	set := twenty(t)
	for name, r := range requests(t) {
		if got := set.Decide(r).Allowed; got != (name != "none") {
			t.Errorf("%s: allowed %v", name, got)
		}
		if n := testing.AllocsPerRun(200, func() { set.Decide(r) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Patterns of every class look at a text where it is.
func TestDecideDoesNotAllocate_Patterns(t *testing.T) {
	r := &Request{Kind: "mcp.request", Payload: payload(t, callPayload), To: []protocol.ParticipantID{"fs"}, Context: "msg-1/a"}
	for _, rest := range []string{
		`"payload":{"method":"tools/call"}`, `"payload":{"params":{"name":"/^read_/"}}`, `"payload":{"$.params.arguments.path":"/home/**"}`,
		`"payload":{"p*":{"n*":"!write_*"}}`, `"to":"/^f/"`, `"to":["f*"]`, `"context":"/^msg/"`, `"context":"msg-*"`,
	} {
		for _, deny := range []string{"", `,"deny":true`} {
			c := must(t, `{"kind":"mcp.*",`+rest+deny+`}`)
			if !c.Match(r) {
				t.Errorf("%s does not match", c)
			}
			if n := testing.AllocsPerRun(200, func() { c.Match(r) }); n != 0 && (deny == "" || !strings.Contains(rest, "p*")) {
				t.Errorf("%s: %v allocations", c, n)
			}
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	set := twenty(b)
	for name, r := range requests(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Decide(r)
			}
		})
	}
}
