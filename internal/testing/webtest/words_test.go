package webtest

import (
	"strings"
	"testing"
	"time"
)

// TestWords checks the words of the page: who decided is "you", results are shown or
// counted, calls name their host, and kinds and participants are described.
func TestWords(t *testing.T) {
	s := performDemo(t, time.Millisecond)
	tab := SharedBrowser(t).Private(t)
	looks[0].with(tab, 1)
	s.Enter(tab, "ada")
	awaitEnvelope(tab, "q-rollout")
	text := func(element string) string {
		t.Helper()
		return strings.Join(strings.Fields(tab.Await(element+`?.textContent`)), " ")
	}
	has := func(what, got string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q lacks %q", what, got, w)
			}
		}
	}
	has("a proposal", text(`document.querySelector('.row.decide[data-id="`+decided+`"]')`), "planner proposes push_tag", "approved by you", "“v2.4.0 is pushed”")
	s.Send("planner", outside("delete"), withdrawal("delete"))
	has("a proposal with a host", text(`document.querySelector('.row.decide[data-id="delete"] .chip:not(.wait)')?.closest(".row")`), "planner proposes delete_file on files", "withdrawn by planner")
	openBlock(tab, openProposal)
	has("a hypothesis", text(`document.querySelector('[data-step="h-1"]')`), "For412 checks passed", "Againsttwo weeks without a canary")
	has("a call", text(`document.querySelector('[data-step="t-2"]')`), "“412 passed, 0 failed, 3 skipped”")
	s.Send("ada", Envelope{"id": "c-rollout", "kind": "mcp.request", "to": []string{"files"}, "context": "r-order", "correlationId": waiting, "payload": map[string]any{
		"id": 9, "method": "tools/call", "params": map[string]any{"name": "start_rollout", "arguments": map[string]any{
			"version": "v2.4.0", "regions": []string{"eu-north", "ap-south"}, "stop_at_error_rate": 0.01}}}})
	s.Send("files", toolResult("c-rollout", "r-order", "The rollout has begun"))
	s.Send("planner", reasons("t-begun", "conclusion", "r-order", map[string]any{"message": "It runs."}))
	openBlock(tab, "r-order")
	press(t, tab, `document.querySelector('[data-context="r-order"] .reasoning-trace')`)
	press(t, tab, step("start_rollout")+`?.querySelector(".label")`)
	tab.Await(inTrace + `?.querySelector(".inspector")?.textContent.includes("The rollout has begun")`)
	has("an approved call in the trace", text(inTrace+`.querySelector(".inspector")`), "approved by you, done by files")

	openPanel(t, tab, "participants")
	has("a host of tools", text(`document.querySelector("meup-participants")?.shadowRoot?.querySelector('[data-id="files"] .does')`), "Runs read_file, list_tags, run_checks, push_tag.")
	has("an agent", text(`document.querySelector("meup-participants")?.shadowRoot?.querySelector('[data-id="scout"] .does')`), "Reasons about questions and answers them.")
	has("an agent with a description", text(`document.querySelector("meup-participants")?.shadowRoot?.querySelector('[data-id="planner"] .does')`), "Prepares releases.")
	openPanel(t, tab, "contexts")
	has("the filter", text(`document.querySelector("meup-contexts")?.shadowRoot?.querySelector("section")`), "Filter of the conversation", "Main conversation only")
	openPanel(t, tab, "search")
	tab.Await(`(() => { const x = document.querySelector("meup-search")?.shadowRoot?.querySelector("#words"); if (!x) return false; x.value = "announcement"; x.dispatchEvent(new Event("input")); return true; })()`)
	kinds := tab.Await(`[...document.querySelector("meup-search").shadowRoot.querySelectorAll(".hit .kind")].map((x) => x.textContent).join("|")`)
	if strings.ContainsAny(kinds, ".") || !strings.Contains(kinds, "Message") {
		t.Errorf("the kinds of the results: %q, want words", kinds)
	}
	tab.Clean()
}
