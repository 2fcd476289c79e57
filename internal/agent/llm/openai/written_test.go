package openai

import (
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// The calls in a text do not depend on where its pieces are cut.
func TestWrittenCalls_Pieces(t *testing.T) {
	for _, text := range []string{
		`<tool_call>{"name":"list","arguments":{"a":"</tool_call>"}}</tool_call>`,
		"<tool_call>\n<function=list>\n<parameter=a>\nb\n</parameter>\n</function>\n</tool_call>",
		"<function=list></function>",
		"<tool_call>list\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n</tool_call>",
		`[TOOL_CALLS]list{"a":1}`,
		`[TOOL_CALLS][{"name":"list","arguments":{}}]`,
		`<|tool_calls_section_begin|><|tool_call_begin|>functions.list:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`,
		`<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>list<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
		`<tool_call>{"name":"list","arguments":{"a`,
	} {
		text = "I look.\n" + text
		for at := range text {
			said, found := "", calls{}
			w := writtenCalls{text: func(s string) { said += s }, tools: []llm.Tool{{Name: "list"}}}
			w.write(text[:at])
			w.write(text[at:])
			w.end(&found)
			if said != "I look.\n" || len(found.list) != 1 || found.list[0].name != "list" {
				t.Errorf("%q and %q: text %q, %d calls; want the text before the call and one call of list", text[:at], text[at:], said, len(found.list))
			}
		}
	}
}

// The time to read calls does not grow with the square of their number, as make slow measures.
func TestReadCalls_Many(t *testing.T) {
	const n = 100_000
	text := "<|tool_calls_section_begin|>" + strings.Repeat("<|tool_call_begin|>functions.list:0<|tool_call_argument_begin|>{}<|tool_call_end|>", n) + "<|tool_calls_section_end|>"
	began := time.Now()
	found := readCalls(text, []llm.Tool{{Name: "list"}})
	if took := time.Since(began); len(found) != n || testkit.IsSlow() && took > 20*time.Second {
		t.Errorf("%d calls in %s, want %d below 20 s", len(found), took, n)
	}
}
