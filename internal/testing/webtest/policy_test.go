package webtest

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

//go:embed testdata/policy.json
var policyAnswers string

// answerPolicy lets the tab have the answers of testdata/policy.json until the page is loaded
// again. In them, +9m is a time in nine minutes.
func answerPolicy(tab *Tab) {
	Eval[bool](tab, `(() => {
		const later = (_, v) => (/^[+-]\d+m$/.test(v) ? new Date(Date.now() + 60000 * parseInt(v)).toISOString() : v);
		const answers = JSON.parse(JSON.stringify(`+policyAnswers+`), later), real = window.fetch;
		window.fetch = (url, init) => {
			const name = new URL(url, location.href).pathname.split("/")[4];
			return name in answers ? Promise.resolve(new Response(JSON.stringify(answers[name]), { headers: { "Content-Type": "application/json" } })) : real(url, init);
		};
		return true;
	})()`)
}

// inPolicy is an expression: a selector in a part of the policy panel.
func inPolicy(part, selector string) string {
	return `document.querySelector("meup-policy")?.shadowRoot?.querySelector("meup-` + part + `")?.shadowRoot?.querySelector(` + quote(selector) + `)`
}

// openPolicy opens a part of the policy panel.
func openPolicy(tab *Tab, part string) {
	Eval[bool](tab, `(document.querySelector("meup-space-page").shell.open("policy", { part: `+quote(part)+` }), true)`)
	tab.Await(inPolicy(part, "*"))
}

// TestPolicy_Looks takes pictures of the parts of the policy panel with all that they can
// have, and runs axe-core on them.
func TestPolicy_Looks(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	for _, l := range some(looks[3], looks[0], looks[1], looks[2]) {
		t.Run(l.name, func(t *testing.T) {
			s := NewStageWith(t, []string{"ada", "files", "ben"}, map[string][]string{"planner": {"chat", "mcp.proposal"}})
			s.Send("ada", Chat("q", "Please correct the notes."))
			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			answerPolicy(tab)
			picture := l.pictures(t, tab, axe, "policy-")
			unfold := func(part string) {
				Eval[bool](tab, `(document.querySelector("meup-policy").shadowRoot.querySelector("meup-`+part+`").shadowRoot.querySelectorAll("details").forEach((x) => (x.open = true)), true)`)
			}
			bottom := func(name string) {
				Eval[bool](tab, `(document.querySelector(".panel-body").scrollTop = 1e6, true)`)
				picture(name)
				Eval[bool](tab, `(document.querySelector(".panel-body").scrollTop = 0, true)`)
			}

			openPolicy(tab, "decisions")
			tab.Await(inPolicy("decisions", "li"))
			picture("decisions")

			openPolicy(tab, "reviewers")
			if got := tab.Await(`(` + inPolicy("reviewers", "li") + `)?.querySelector("dl").textContent.replace(/\s+/g, "")`); got != "Coverage9of50(18%)Misses–Agreementonrejections–Falsealarms–Saved9" {
				t.Errorf("the rules, which are not compared with people: %s", got)
			}
			picture("reviewers")
			unfold("reviewers")
			picture("kinds")
			press(t, tab, inPolicy("reviewers", "[data-reviewer=ready]"))
			tab.Await(`(` + inPolicy("reviewers", "meup-reason-form") + `)?.shadowRoot?.activeElement?.name === "reason"`)
			bottom("promote")

			openPolicy(tab, "budgets")
			tab.Await(inPolicy("budgets", "li"))
			picture("budgets")
			press(t, tab, inPolicy("budgets", "[data-budget=planner]"))
			tab.Await(`(` + inPolicy("budgets", "meup-reason-form") + `)?.shadowRoot?.activeElement?.name === "amount"`)
			picture("extend")
			if got := Eval[string](tab, `(({ unit, amount }) => [["calls", "1.5"], ["calls", "0"], ["calls", "2"], ["cost", "1.5"]].map(([of, n]) => {
				unit.value = of;
				unit.dispatchEvent(new Event("change", { bubbles: true }));
				amount.value = n;
				return unit.value + " " + n + ": " + amount.checkValidity();
			}).join(", "))(`+inPolicy("budgets", "meup-reason-form")+`.shadowRoot.querySelector("form").elements)`); got != "calls 1.5: false, calls 0: false, calls 2: true, cost 1.5: true" {
				t.Errorf("amounts: %s", got)
			}

			openPolicy(tab, "claims")
			tab.Await(inPolicy("claims", "li"))
			picture("claims")

			openPolicy(tab, "suggestions")
			tab.Await(inPolicy("suggestions", "article"))
			picture("suggestions")
			unfold("suggestions")
			press(t, tab, inPolicy("suggestions", "[data-suggestion] .button:not(.main)"))
			tab.Await(inPolicy("suggestions", "textarea"))
			picture("edit")
			bottom("left")

			openPolicy(tab, "backtest")
			press(t, tab, inPolicy("backtest", "button[type=submit]"))
			tab.Await(inPolicy("backtest", "[role=alert]"))
			Eval[bool](tab, `((x) => (x.value = "spaces: {}"))(`+inPolicy("backtest", "textarea")+`) !== ""`)
			press(t, tab, inPolicy("backtest", "button[type=submit]"))
			tab.Await(inPolicy("backtest", ".result"))
			unfold("backtest")
			picture("backtest")
			bottom("groups")
			tab.Clean()
		})
	}
}

// opinion returns what a reviewer says of a proposal.
func opinion(t *testing.T, id string, about Envelope, verdict, reason string) Envelope {
	t.Helper()
	payload, err := json.Marshal(about["payload"])
	if err != nil {
		t.Fatal(err)
	}
	e := protocol.Envelope{Payload: payload}
	return Envelope{"id": id, "kind": "mcp.opinion", "context": about["context"], "correlationId": about["id"], "payload": map[string]any{
		"verdict": verdict, "reason": reason, "call": exchange.ReadCall(e.ParsePayload()).Digest()}}
}

// judged is an expression: what the conversation says about reviewers below a call.
const judged = `document.querySelector(".rows meup-judgment")?.shadowRoot`

// TestPolicy_Judgment shows opinions once people have decided, and lets a person say that an
// approval of a reviewer was wrong; who decides later is told from when on.
func TestPolicy_Judgment(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	for _, l := range some(looks[3], looks[0], looks[1]) {
		t.Run(l.name, func(t *testing.T) {
			s := newStageThatDecides(t, []string{"files"}, map[string][]string{
				"ada": {"*", "observe"}, "ben": {"*"}, "planner": {"chat", "reasoning.*", "mcp.proposal"}, "rev": {"mcp.opinion", "decide"},
			}, map[string]any{"deciders": []any{
				map[string]any{"reviewer": "rev", "mode": "decide"}, map[string]any{"people": []string{"ada"}}, map[string]any{"people": []string{"ben"}, "after": "1h"},
			}})
			s.Join("files", "planner", "rev")
			s.Send("ada", Chat("q", "Please correct the notes."))
			s.Send("planner",
				Envelope{"id": "r", "kind": "reasoning.start", "correlationId": "q", "payload": map[string]any{"message": "Correct the number in the notes"}},
				reasons("why", "thought", "r", map[string]any{"message": "The notes have the old number."}))
			edit, tag := propose("edit", "r", "edit_file", map[string]any{"path": "docs/notes.md"}), propose("tag", "r", "push_tag", map[string]any{"tag": "v1"})
			s.Send("planner", edit)
			s.Send("rev", opinion(t, "says-edit", edit, "approve", "It changes <b>one</b> line of the notes."))
			tab, later := b.Private(t), b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			preferOpen(tab)
			s.Enter(later, "ben")
			if text := later.Await(`(` + card("edit") + `)?.querySelector(".quiet")?.textContent.startsWith("You can decide this from ") && ` + card("edit") + `.textContent`); !strings.Contains(text, "Until then ada can.") || strings.Contains(text, "Reject") {
				t.Errorf("the card of who decides later: %q", text)
			}
			tab.Await(inForm("edit", "button[type=submit]"))
			if Eval[bool](tab, `document.querySelector("meup-judgment") !== null`) {
				t.Error("an opinion is shown before the decision")
			}
			picture := l.pictures(t, tab, axe, "judgment-")
			picture("pending")
			press(t, tab, inForm("edit", ".button.bad"))
			decide(t, tab, card("edit")+`?.querySelector("meup-reject-form")?.shadowRoot?.querySelector(".button.bad")`)
			tab.Await(`(` + judged + `)?.querySelector(".opinion")?.textContent.includes("would have approved this: It changes <b>one</b> line of the notes.")`)

			s.Send("planner", tag)
			s.Send("rev", opinion(t, "says-tag", tag, "approve", "The tag is asked for."), Envelope{"id": "run-tag", "kind": "mcp.request", "context": "r", "to": []string{"files"}, "correlationId": "tag", "payload": map[string]any{
				"jsonrpc": "2.0", "id": "run-tag", "method": "tools/call", "params": map[string]any{"name": "push_tag", "arguments": map[string]any{"tag": "v1"}}}})
			s.Send("files", toolResult("run-tag", "r", "Pushed."))
			wrong := `[...document.querySelectorAll(".rows meup-judgment")].map((x) => x.shadowRoot).find((x) => x?.querySelector(".wrong, meup-reason-form, .undone"))`
			press(t, tab, `(`+wrong+`)?.querySelector(".wrong")`)
			form := `(` + wrong + `)?.querySelector("meup-reason-form")?.shadowRoot`
			tab.Await(`(` + form + `)?.activeElement?.name === "reason"`)
			picture("wrong")
			Eval[bool](tab, `((`+form+`).activeElement.value = "Nobody asked for it.", true)`)
			press(t, tab, `(`+form+`)?.querySelector(".button.bad")`)
			tab.Await(`(` + wrong + `)?.textContent.includes("said that this approval was wrong: Nobody asked for it.")`)
			tab.Await(`[...document.querySelectorAll(".rows .notice")].some((x) => x.textContent.includes("put “rev” back into shadow: Nobody asked for it."))`)
			picture("undone")
			if got := s.history("reviewer.demote"); len(got) != 1 || got[0]["correlationId"] != "run-tag" {
				t.Errorf("the demotion: %v", got)
			}
			tab.Clean()
		})
	}
}

// TestPolicy_WrongRejection lets a person say that a rejection of a reviewer was wrong.
func TestPolicy_WrongRejection(t *testing.T) {
	s := newStageThatDecides(t, []string{"files"}, map[string][]string{"ada": {"*"}, "planner": {"reasoning.*", "mcp.proposal"}, "rev": {"mcp.opinion", "decide"}},
		map[string]any{"deciders": []any{map[string]any{"reviewer": "rev", "mode": "decide"}, map[string]any{"people": []string{"ada"}}}})
	edit := propose("edit", "r", "edit_file", map[string]any{"path": "docs/notes.md"})
	s.Send("planner", Envelope{"id": "r", "kind": "reasoning.start", "payload": map[string]any{"message": "Correct the notes"}}, edit)
	s.Send("rev", opinion(t, "says-edit", edit, "reject", "Notes are not for editing."), Envelope{"id": "no-edit", "kind": "mcp.reject", "context": "r", "correlationId": "edit", "payload": map[string]any{"reason": "policy"}})
	tab := SharedBrowser(t).Private(t)
	looks[0].with(tab, 1)
	s.Enter(tab, "ada")
	preferOpen(tab)
	tab.Await(`(` + judged + `)?.querySelector(".opinion .wrong") !== null && ` + judged + `?.textContent.includes("rev gave its grounds: Notes are not for editing.")`)
	press(t, tab, `(`+judged+`)?.querySelector(".wrong")`)
	form := `(` + judged + `)?.querySelector("meup-reason-form")?.shadowRoot`
	tab.Await(`(` + form + `)?.textContent.includes("The call stays rejected.") && (` + form + `)?.activeElement?.name === "reason"`)
	Eval[bool](tab, `((`+form+`).activeElement.value = "Planners edit notes.", true)`)
	press(t, tab, `(`+form+`)?.querySelector(".button.bad")`)
	if Eval[bool](tab, `(`+judged+`).querySelector("div.let-through") !== null`) {
		t.Error("the decision of the reviewer is told twice")
	}
	tab.Await(`(` + judged + `)?.textContent.includes("said that this rejection was wrong: Planners edit notes.")`)
	if got := s.history("reviewer.demote"); len(got) != 1 || got[0]["correlationId"] != "no-edit" {
		t.Errorf("the demotion: %v", got)
	}
	tab.Clean()
}

// TestPolicy_Suggestions accepts a rule that the log suggests, sees who approved what, and asks
// what another configuration would have decided.
func TestPolicy_Suggestions(t *testing.T) {
	s := NewStageWith(t, []string{"files"}, map[string][]string{"ada": {"*", "observe"}, "planner": {"chat", "mcp.proposal"}})
	for _, file := range []string{"a.go", "b.go", "c.go", "d.go"} {
		call := map[string]any{"method": "tools/call", "params": map[string]any{"name": "Bash", "arguments": map[string]any{"command": "git diff " + file}}}
		s.Send("planner", Envelope{"id": "ask-" + file, "kind": "mcp.proposal", "payload": map[string]any{"method": call["method"], "params": call["params"], "participant_id": "files"}})
		s.Send("ada", Envelope{"id": "run-" + file, "kind": "mcp.request", "to": []string{"files"}, "correlationId": "ask-" + file, "payload": map[string]any{"jsonrpc": "2.0", "id": "run-" + file, "method": call["method"], "params": call["params"]}})
	}
	tab := SharedBrowser(t).Private(t)
	looks[0].with(tab, 1)
	s.Enter(tab, "ada")
	openPolicy(tab, "decisions")
	tab.Await(`(` + inPolicy("decisions", "li") + `)?.textContent.includes("command: git diff d.go") && ` + inPolicy("decisions", "li") + `.textContent.includes("Approved by you")`)
	openPolicy(tab, "suggestions")
	if got := tab.Await(`(` + inPolicy("suggestions", ".words-of") + `)?.textContent`); !strings.HasPrefix(got, "Allow planner: Bash: git diff") || strings.Count(got, "Bash") != 1 {
		t.Errorf("the title: %s", got)
	}
	if got := Eval[string](tab, inPolicy("suggestions", "summary")+`.textContent`); got != "Supporting: 3 of 4 calls shown" {
		t.Errorf("what supports it: %s", got)
	}
	press(t, tab, inPolicy("suggestions", ".button.main"))
	choose(t, tab, inPolicy("suggestions", "form select"), "3600")
	press(t, tab, inPolicy("suggestions", "form .button.main"))
	if got := tab.Await(`(` + inPolicy("suggestions", ".done p") + `)?.textContent`); !strings.HasPrefix(got, "Granted to planner for 1 hour: Bash: git diff") {
		t.Errorf("the panel says %s", got)
	}
	tab.Await(`(` + inPolicy("suggestions", "article") + `) === null && (` + inPolicy("suggestions", ".empty") + `).textContent.startsWith("No further rule")`)
	grants := s.history("capability.grant")
	if len(grants) != 1 || grants[0]["payload"].(map[string]any)["ttl_seconds"] != 3600.0 {
		t.Errorf("the grants: %v", grants)
	}
	openPolicy(tab, "backtest")
	tab.Await(inPolicy("backtest", "textarea"))
	Eval[bool](tab, `((x) => (x.value = "spaces: {lab: {participants: {ada: {token: ada-token-of-the-test, capabilities: ['*', observe]}, files: {token: files-token-of-the-test, capabilities: ['*']}, planner: {token: planner-token-of-the-test, capabilities: ['*']}}}}"))(`+inPolicy("backtest", "textarea")+`) !== ""`)
	press(t, tab, inPolicy("backtest", "button[type=submit]"))
	if got := tab.Await(`(` + inPolicy("backtest", ".result, [role=alert]") + `)?.textContent`); !strings.Contains(got, "asked 4 times fewer") {
		t.Errorf("the backtest: %s", got)
	}
	press(t, tab, inPolicy("backtest", ".examples button"))
	tab.Await(inPanel("envelope", "pre") + `?.textContent.includes("git diff")`)
	tab.Clean()
}
