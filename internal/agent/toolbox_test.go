package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/protocol"
)

func TestBox_NamesOfOthers(t *testing.T) {
	offer := func(owner protocol.ParticipantID, names ...string) (list []peerTool) {
		for _, name := range names {
			list = append(list, peerTool{Owner: owner, Tool: mcptools.Tool{Name: name}})
		}
		return list
	}
	tests := []struct {
		name    string
		own     []string
		offered [][]peerTool
		want    map[string]boxTool // expected meaning of a name
		absent  []string
	}{
		{"no clash", []string{"own"}, [][]peerTool{offer("files", "read")},
			map[string]boxTool{"own": {Name: "own"}, "read": {"files", "read"}}, nil},
		{"own name", []string{"read"}, [][]peerTool{offer("files", "read")},
			map[string]boxTool{"read": {Name: "read"}, "files__read": {"files", "read"}}, nil},
		{"a name of the planner's own tools", nil, [][]peerTool{offer("files", "share", "subproblem")},
			map[string]boxTool{"files__share": {"files", "share"}, "files__subproblem": {"files", "subproblem"}}, []string{"share", "subproblem"}},
		{"two participants", nil, [][]peerTool{offer("aaa", "read"), offer("files", "read")},
			map[string]boxTool{"aaa__read": {"aaa", "read"}, "files__read": {"files", "read"}}, []string{"read"}},
		{"the qualified name of another one's tool", nil, [][]peerTool{offer("aaa", "files__read", "read"), offer("files", "read")},
			map[string]boxTool{"aaa__read": {"aaa", "read"}, "aaa__files__read": {"aaa", "files__read"}}, []string{"read", "files__read"}},
		{"two ways to qualify", []string{"c", "b__c"}, [][]peerTool{offer("a", "b__c"), offer("a__b", "c")},
			map[string]boxTool{"c": {Name: "c"}}, []string{"a__b__c"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := toolbox{}
			for _, name := range test.own {
				b.Add(name, boxTool{Name: name}, mcptools.Tool{Name: name})
			}
			offered := slices.Concat(test.offered...)
			b.AddOffered(offered)
			for name, want := range test.want {
				if got := b.tools[name]; got != want {
					t.Errorf("%s is %+v, want %+v", name, got, want)
				}
			}
			for _, name := range test.absent {
				if got, found := b.tools[name]; found {
					t.Errorf("%s is %+v", name, got)
				}
			}
			if len(b.tools) != len(test.own)+len(offered) || len(b.Plannable) != len(b.tools) {
				t.Errorf("%d tools under %d names", len(test.own)+len(offered), len(b.tools))
			}
		})
	}
}

func TestResultIn(t *testing.T) {
	for payload, want := range map[string]contextwindow.Result{
		`{"result":{"content":[{"type":"text","text":"a cat"}],"n":1.0}}`:          {Success: true, Text: "a cat", JSON: `{"content":[{"type":"text","text":"a cat"}],"n":1.0}`},
		`{"result":{"content":[{"type":"text","text":"no file"}],"isError":true}}`: {Error: "no file"},
		`{"error":null,"result":{"structuredContent":[1]}}`:                        {Success: true, Text: "[1]", JSON: `{"structuredContent":[1]}`},
		`{"result":{"tools":[]}}`:                {Success: true, Text: `{"tools":[]}`, JSON: `{"tools":[]}`},
		`{"error":{"code":-1,"message":"busy"}}`: {Error: "busy"},
		`{"error":{"code":-1}}`:                  {Error: "the response cannot be read"},
		`{"error":"busy"}`:                       {Error: "the response cannot be read"},
		`[]`:                                     {Error: "the response cannot be read"},
	} {
		if got := envelopeResult(&protocol.Envelope{Payload: json.RawMessage(payload)}); got != want {
			t.Errorf("%s: got %+v, want %+v", payload, got, want)
		}
	}
}

func BenchmarkResultIn(b *testing.B) {
	env := &protocol.Envelope{Payload: json.RawMessage(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` +
		strings.Repeat(`a line of a file\n`, 4<<20/17) + `"}]}}`)}
	b.SetBytes(int64(len(env.Payload)))
	for b.Loop() {
		if r := envelopeResult(env); !r.Success {
			b.Fatal(r.Error)
		}
	}
}
