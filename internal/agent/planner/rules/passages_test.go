package rules_test

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Twenty questions about the documents of this repository are answered by passages, with few
// calls. A question without a subject follows the one above it.
func TestRules_AnswersFromPassages(t *testing.T) {
	server := servers(t, "../../../../docs")["docserver"]
	var history []llm.Message
	for _, test := range []struct{ question, want string }{
		{"What is a space?", "a named room with one ordered log"},
		{"and who may change it?", "its participants change spaces, participants and tokens"},
		{"What is a capability?", "a pattern of envelopes that a participant may send"},
		{"and who may grant it?", "cannot grant a capability that it does not hold"},
		{"What is a proposal?", "a tool call that waits for a decision"},
		{"and who may approve it?", "Another participant approves it by making the proposed call"},
		{"When does a proposal expire?", "A proposal expires at its `expires_at`"},
		{"What does redaction mean?", "replacing secrets in text by a mark"},
		{"Why does seq have gaps?", "strictly increasing, with gaps"},
		{"Which kinds are not stored?", "delivered live, **not** stored in the log"},
		{"What happens to a slow reader?", "it reads the log later"},
		{"How does the gateway survive a power cut?", "survives `kill -9` and a power cut"},
		{"How do I rotate a token?", "To rotate a token, change the hash"},
		{"How do I restore a backup?", "verifies the backup and opens its log"},
		{"Which database stores the log?", "The embedded log is one Pebble database"},
		{"What does a bridge do?", "connects an MCP server to a space"},
		{"How is a secret masked in a stream?", "a secret is replaced by a mark"},
		{"What is reasoning.cancel?", "closes its context without a conclusion"},
		{"How do I connect an MCP client?", "takes part in a space through the gateway's `/mcp`"},
		{"How many moons does Jupiter have?", "The folder says nothing about “moons jupiter”."},
	} {
		t.Run(test.question, func(t *testing.T) {
			steps, d := session(t, server, test.question, 0, history...)
			if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(d.Answer, "> ", "")), " "), test.want) {
				t.Errorf("no %q in the answer\n%s\n%s", test.want, d.Answer, trace(steps))
			}
			calls := 0
			for _, s := range steps {
				calls += len(s.Calls)
			}
			quotes := strings.Count(d.Answer, "From `")
			if nothing := strings.Contains(test.want, "says nothing"); calls > 4 || quotes > 3 || (quotes == 0) != nothing || strings.Contains(d.Answer, "From `/") {
				t.Errorf("%d calls, %d quotations; want at most 4, and 1 to 3 with relative paths\n%s\n%s", calls, quotes, d.Answer, trace(steps))
			}
			history = append(history, llm.Message{Role: llm.User, Text: "alice: " + test.question}, llm.Message{Role: llm.Assistant, Text: d.Answer})
		})
	}
}

// Questions about files, and follow-ups whose own words are not in what was answered before.
func TestRules_AnswersAboutFiles(t *testing.T) {
	server := servers(t, "../../../../docs")["docserver"]
	var history []llm.Message
	for _, test := range []struct {
		question string
		want     []string
		not      string
	}{
		{"which files speak of capabilities?", []string{"\n- `protocol/7-capabilities.md`", "\n- `glossary.md`"}, "From `"},
		{"which file formats does a backup have?", []string{"From `"}, "These files speak"},
		{"list the files", []string{" files and 4 folders", "- `agent.md`: The agent\n", "- `glossary.md`: Glossary\n", "- `transcripts.md`: Transcripts"}, "From `"},
		{"list the protocol folder", []string{"- `2-kinds.md`: The protocol: kinds\n"}, "glossary"},
		{"who wrote this?", []string{"wrote"}, "install"},
		{"How do I install it?", []string{"install"}, "wrote"},
		{"How many moons does Jupiter have?", []string{"nothing about “moons jupiter”"}, "From `"},
		{"and who may change them?", []string{"nothing about “moons jupiter change”"}, "From `"},
		{"What is an envelope?", []string{"one message, as JSON"}, ""},
		{"where is it stored?", []string{"stored"}, "one message, as JSON"},
		{"and what is it?", []string{"one message, as JSON"}, ""}, // the envelope, and not what is stored
		{"what happens when the disk is full?", []string{"a full disk"}, ""},
		{"what does operate.md say about a backup?", []string{"From `operate.md`", "backup"}, "From `security.md`"},
		{"and about tokens?", []string{"From `operate.md`", "token"}, "From `security.md`"},
		{"How do I invite someone?", []string{"Invitations"}, ""},
	} {
		t.Run(test.question, func(t *testing.T) {
			steps, d := session(t, server, test.question, 0, history...)
			for _, want := range test.want {
				if !strings.Contains(d.Answer, want) {
					t.Errorf("no %q in the answer\n%s", want, d.Answer)
				}
			}
			if test.not != "" && strings.Contains(d.Answer, test.not) {
				t.Errorf("%q in the answer\n%s", test.not, d.Answer)
			}
			calls := 0
			for _, s := range steps {
				calls += len(s.Calls)
			}
			if calls > 4 {
				t.Errorf("%d calls; want at most 4\n%s", calls, trace(steps))
			}
			history = append(history, llm.Message{Role: llm.User, Text: "alice: " + test.question}, llm.Message{Role: llm.Assistant, Text: d.Answer})
		})
	}
}
