package webtest

import (
	"testing"
	"time"
)

// performDemo starts a gateway with the cast of a scene and plays it. The viewers
// are ada, who also sees envelopes addressed to others, and guest, who may only
// read.
func performDemo(t testing.TB, pace time.Duration) *Stage {
	t.Helper()
	s := NewStageWith(t, []string{"ben", "planner", "scout", "files"}, map[string][]string{"ada": {"*", "observe"}, "guest": {"observe"}, "lena": {"chat"}})
	s.play(pace)
	return s
}

// play sends a conversation with everything that the page renders: a question
// with nested reasoning and an answer, two agents in parallel of which one
// continues to reason, and proposals with every outcome. Thoughts have a
// duration; pace is the shortest duration.
func (s *Stage) play(pace time.Duration) {
	s.t.Helper()
	s.Join("ben", "planner", "scout", "files")
	schema := map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}, "required": []string{"path"}}
	list := []any{
		map[string]any{"name": "read_file", "description": "Reads a file of the repository.", "inputSchema": schema, "annotations": map[string]any{"readOnlyHint": true}},
		map[string]any{"name": "list_tags", "description": "Lists the tags, the youngest first.", "annotations": map[string]any{"readOnlyHint": true}},
		map[string]any{"name": "run_checks", "title": "Run the checks", "description": "Runs the checks of a branch and waits for them."},
		map[string]any{"name": "push_tag", "description": "Creates a tag and pushes it.", "annotations": map[string]any{"destructiveHint": true}},
	}
	s.Send("planner", Envelope{"id": "list", "kind": "mcp.request", "to": []string{"files"}, "payload": map[string]any{"id": 1, "method": "tools/list"}})
	s.Send("files", Envelope{"id": "listed", "kind": "mcp.response", "correlationId": "list", "payload": map[string]any{"id": 1, "result": map[string]any{"tools": list}}})

	// A message with headings that skip levels, from a participant that is not connected.
	s.Send("lena", Markdown("minutes", "## Minutes\n\n1. 2.4 is next\n\n#### Open\n\n- limits\n\n# Next week\n\nNo meeting."))
	s.release(pace)

	// Proposals and their outcomes.
	s.Send("planner", proposal(decided, "The announcement is out, so 2.4 can be tagged.", "push_tag", map[string]any{"tag": "v2.4.0", "branch": "release/2.4"})[1:]...)
	s.Send("planner", proposal("p-delete", "The branch is not needed any more.", "delete_branch", map[string]any{"branch": "release/2.4"})[1:]...)
	s.Send("planner", proposal("p-mail", "Tell everybody.", "send_mail", map[string]any{"to": "everybody@example.org", "subject": "2.4"})[1:]...)
	pause(pace)
	s.Send("ada", Envelope{"id": "c-tag", "kind": "mcp.request", "to": []string{"files"}, "correlationId": decided, "payload": map[string]any{
		"id": 7, "method": "tools/call", "params": map[string]any{"name": "push_tag", "arguments": map[string]any{"tag": "v2.4.0", "branch": "release/2.4"}}}})
	s.Send("files", toolResult("c-tag", "", "v2.4.0 is pushed"))
	s.Send("ben", Envelope{"kind": "mcp.reject", "correlationId": "p-delete", "payload": map[string]any{"reason": "policy", "message": "We keep release branches for a year."}})
	s.Send("planner", Envelope{"kind": "mcp.withdraw", "correlationId": "p-mail", "payload": map[string]any{"reason": "no_longer_needed"}})
	s.Send("planner", Chat("tagged", "v2.4.0 is tagged."))

	// Unfinished work: one agent waits for a decision, another one reasons.
	s.Send("ada", Chat("q-rollout", "Then let us roll it out. @planner in which order, and @scout is anything odd on the dashboards?"))
	s.Send("planner",
		Envelope{"id": "r-order", "kind": "reasoning.start", "correlationId": "q-rollout", "payload": map[string]any{"message": "Find an order that can be stopped"}},
		reasons("t-4", "thought", "r-order", map[string]any{"message": "Two small regions first, the rest an hour later: what goes wrong shows early."}),
		Envelope{"id": waiting, "kind": "mcp.proposal", "context": "r-order", "correlationId": "t-4", "payload": map[string]any{
			"id": 9, "method": "tools/call", "params": map[string]any{"name": "start_rollout", "arguments": map[string]any{
				"version": "v2.4.0", "regions": []string{"eu-north", "ap-south"}, "stop_at_error_rate": 0.01}}}})
	s.Send("scout",
		Envelope{"id": "r-odd", "kind": "reasoning.start", "correlationId": "q-rollout", "payload": map[string]any{"message": "Look at the last hour of all regions"}},
		reasons("t-5", "thought", "r-odd", map[string]any{"message": "Error rates are flat everywhere. `ap-south` answers 40 ms later than yesterday, which began before the tag."}),
		toolCall("c-5", "r-odd", "t-5", "read_file", map[string]any{"path": "dashboards/ap-south.json"}))
	pause(pace)
}

// openProposal, decided and waiting are ids of the scene: the context of the first
// question, an approved proposal, and a pending one.
const (
	openProposal = "r-release"
	decided      = "p-tag"
	waiting      = "p-rollout"
)

func reasons(id, kind, context string, payload map[string]any) Envelope {
	return Envelope{"id": id, "kind": "reasoning." + kind, "context": context, "payload": payload}
}

func toolCall(id, context, why, name string, arguments map[string]any) Envelope {
	e := Envelope{"id": id, "kind": "mcp.request", "to": []string{"files"}, "correlationId": why, "payload": map[string]any{
		"id": id, "method": "tools/call", "params": map[string]any{"name": name, "arguments": arguments},
	}}
	if context != "" {
		e["context"] = context
	}
	return e
}

func toolResult(of, context, text string) Envelope {
	e := Envelope{"id": of + "-done", "kind": "mcp.response", "correlationId": of, "payload": map[string]any{
		"id": of, "result": map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}},
	}}
	if context != "" {
		e["context"] = context
	}
	return e
}

// release sends a question, planner's reasoning, and the answer.
func (s *Stage) release(pace time.Duration) {
	const in, inner = openProposal, openProposal + "/r-notes"
	s.Send("ada", Chat("q-release", "Can we release 2.4 today? @planner please look at the open points and the notes."))
	s.Send("planner",
		Envelope{"id": in, "kind": "reasoning.start", "correlationId": "q-release", "payload": map[string]any{
			"message": "Check what blocks 2.4, then whether the notes say what changed", "metadata": map[string]any{"approach": "checklist", "estimated_duration": "20s"}}},
		reasons("t-1", "thought", in, map[string]any{"message": "The list of open points is in `docs/release-2.4.md`.", "parallel_group": 0}),
		reasons("t-2", "thought", in, map[string]any{"message": "The checks need no list, so they run meanwhile.", "parallel_group": 0}),
		toolCall("c-1", in, "t-1", "read_file", map[string]any{"path": "docs/release-2.4.md"}),
		toolCall("c-2", in, "t-2", "run_checks", map[string]any{"branch": "release/2.4"}))
	pause(pace)
	s.Send("files", toolResult("c-1", in, "3 of 4 points are done. Open: announce the new limits."))
	pause(2 * pace)
	s.Send("files", toolResult("c-2", in, "412 passed, 0 failed, 3 skipped"))
	s.Send("planner",
		reasons("o-1", "observation", in, map[string]any{"message": "All checks pass. **One point is open**, and it is about words:\n\n1. announce the new limits\n2. point to `docs/protocol.md`"}),
		Envelope{"id": "r-notes", "kind": "reasoning.start", "context": in, "payload": map[string]any{"message": "Do the notes mention the limits?"}},
		reasons("t-3", "thought", inner, map[string]any{"message": "If the notes have a section about limits, nothing is missing."}),
		toolCall("c-3", inner, "t-3", "read_file", map[string]any{"path": "CHANGELOG.md"}))
	pause(pace)
	s.Send("files", toolResult("c-3", inner, "## 2.4\n- Limits are per kind now: see docs/protocol.md, section 7"))
	s.Send("planner",
		reasons("n-end", "conclusion", inner, map[string]any{"message": "They do, in the first line.", "confidence": 0.95}),
		reasons("h-1", "hypothesis", in, map[string]any{"hypothesis": "2.4 can go out as soon as the announcement is sent.", "confidence": 0.9, "evidence": []string{"412 checks passed", "the notes name the new limits"}, "evidence_against": []string{"two weeks without a canary"}}))
	pause(pace)
	s.Send("planner",
		Envelope{"id": "a-release", "kind": "chat", "correlationId": []string{"q-release", in}, "payload": map[string]any{"format": "markdown", "message": "Yes, once **one thing** is done: the new limits are not announced yet.\n\n| point | state |\n|---|---|\n| checks on `release/2.4` | 412 passed |\n| notes name the new limits | done |\n| announcement | *open* |\n\nI can propose the tag as soon as somebody has sent it."}},
		reasons("e-1", "conclusion", in, map[string]any{"message": "2.4 can be released after the announcement.", "confidence": 0.9, "decision": "Release after the announcement", "key_factors": []string{"all checks pass", "one point open"}}))
	s.Send("ben", Envelope{"id": "sent", "kind": "chat", "correlationId": "a-release", "payload": map[string]any{"message": "The announcement is out: https://status.example.org/limits. Go ahead."}})
}

// proposal returns a call that planner may only propose.
func proposal(id, why, name string, arguments map[string]any) []Envelope {
	return []Envelope{
		{"id": id + "-why", "kind": "reasoning.thought", "payload": map[string]any{"message": why}},
		{"id": id, "kind": "mcp.proposal", "correlationId": id + "-why", "payload": map[string]any{
			"id": id, "method": "tools/call", "rationale": why, "params": map[string]any{"name": name, "arguments": arguments}}},
	}
}
