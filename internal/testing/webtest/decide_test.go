package webtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// propose returns a proposed call in a context, whose host is files.
func propose(id, context, tool string, arguments map[string]any) Envelope {
	return Envelope{"id": id, "kind": "mcp.proposal", "context": context, "correlationId": "why", "payload": map[string]any{
		"method": "tools/call", "participant_id": "files", "expires_at": "2200-01-01T14:03:00Z", "params": map[string]any{"name": tool, "arguments": arguments}}}
}

// card is an expression: the card of a proposal in the conversation.
func card(id string) string {
	return `document.querySelector(".rows .decide[data-id=` + id + `] meup-proposal-card")?.shadowRoot`
}

// inForm is an expression: a selector in the approval form of a card.
func inForm(id, selector string) string {
	return card(id) + `?.querySelector("meup-approve-form")?.shadowRoot?.querySelector(` + quote(selector) + `)`
}

func press(t *testing.T, tab *Tab, element string) {
	t.Helper()
	tab.Await(`(() => { const x = ` + element + `; if (!x || x.disabled) return false; x.click(); return true; })()`)
}

// decide presses a button of a card that has kept its place.
func decide(t *testing.T, tab *Tab, element string) {
	t.Helper()
	tab.Steady(element)
	press(t, tab, element)
}

// choose selects an option of a select element.
func choose(t *testing.T, tab *Tab, element, value string) {
	t.Helper()
	tab.Await(`(() => { const x = ` + element + `; if (!x) return false; x.value = ` + quote(value) + `; x.dispatchEvent(new Event("change", { bubbles: true })); return x.value === ` + quote(value) + `; })()`)
}

// history returns the envelopes of a kind.
func (s *Stage) history(kind string) []Envelope {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.Gateway.HTTP()+"/api/spaces/"+StageSpace+"/envelopes?kinds="+kind, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer ada-token")
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var page struct{ Envelopes []Envelope }
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		s.t.Fatal(err)
	}
	return page.Envelopes
}

func decideStage(t *testing.T) *Stage {
	t.Helper()
	s := NewStageWith(t, []string{"files"}, map[string][]string{
		"ada": {"*", "observe"}, "planner": {"chat", "reasoning.*", "mcp.proposal", "mcp.withdraw"}, "ben": {"chat", "mcp.request", "mcp.reject"}, "guest": {"observe"},
	})
	s.Join("files", "planner")
	s.Send("ada", Chat("q", "Please correct the notes."))
	s.Send("planner",
		Envelope{"id": "r", "kind": "reasoning.start", "correlationId": "q", "payload": map[string]any{"message": "Correct the number in the notes"}},
		Envelope{"id": "inner", "kind": "reasoning.start", "context": "r", "payload": map[string]any{"message": "The first file"}},
		reasons("why", "thought", "r/inner", map[string]any{"message": "The notes have the **old** number."}),
		propose("edit", "r/inner", "edit_file", map[string]any{"path": "docs/notes.md", "dry_run": false, "edits": []any{
			map[string]any{"oldText": "# 2.4\n\nLimit: 50 per second\nSee protocol.md", "newText": "# 2.4\n\nLimit: 100 per second\nSee protocol.md"}}}))
	return s
}

// title is an expression: the heading of the block r.
const title = `document.querySelector('[data-context="r"] .reasoning-title')?.textContent ?? ""`

// TestDecide_InConversation decides proposals where they were made: with a
// difference, for ten minutes, with other arguments, and by a rejection.
func TestDecide_InConversation(t *testing.T) {
	b := SharedBrowser(t)
	s := decideStage(t)
	tab := b.Private(t)
	s.Enter(tab, "ada")
	tab.Await(card("edit") + `?.querySelector(".diff")`)
	tab.Await(card("edit") + `?.textContent.includes("Expires ")`)
	tab.Await(title + `.startsWith("Waiting for you · ")`)
	openPanel(t, tab, "contexts")
	tab.Await(`document.querySelector("meup-contexts").shadowRoot.querySelector(".chip.wait")?.textContent.startsWith("Waiting for you · ")`)
	closePanel(tab)
	if got := Eval[string](tab, `[...`+card("edit")+`.querySelectorAll(".diff .line")].map((x) => x.textContent).join("|")`); got != " # 2.4| |-Limit: 50 per second|+Limit: 100 per second| See protocol.md" {
		t.Errorf("difference: %q", got)
	}
	if got := fields(tab, "edit"); got != "dry_run=false" {
		t.Errorf("the fields beside the difference: %q, want dry_run=false", got)
	}
	press(t, tab, card("edit")+`?.querySelector(".under [name=raw]")`)
	if got := tab.Await(card("edit") + `?.querySelector(".args > div > pre")?.textContent`); !strings.Contains(got, `"dry_run": false`) || !strings.Contains(got, `"oldText"`) {
		t.Errorf("the JSON lacks arguments: %s", got)
	}

	choose(t, tab, inForm("edit", "select[name=scope]"), "similar")
	told := tab.Watch(`document.querySelector(".toast")?.textContent.includes("access granted to planner")`)
	decide(t, tab, inForm("edit", "button[type=submit]"))
	tab.Await(card("edit") + ` === undefined`)
	tab.Await(told)
	if grant, request := s.history("capability.grant")[0], s.history("mcp.request")[0]; grant["seq"].(float64) > request["seq"].(float64) {
		t.Errorf("the grant is entry %v, the approval %v: an agent that goes on at once is asked again", grant["seq"], request["seq"])
	}
	s.Send("files", Envelope{"kind": "mcp.response", "context": "r/inner", "correlationId": s.history("mcp.request")[0]["id"], "payload": map[string]any{"result": map[string]any{}}})
	// The proposer may now edit files of this folder itself, at this host and with this tool.
	direct := func(id, tool, path string, to ...string) int {
		return s.trySend("planner", Envelope{"id": id, "kind": "mcp.request", "to": to, "payload": map[string]any{"method": "tools/call", "params": map[string]any{"name": tool, "arguments": map[string]any{"path": path, "dry_run": false}}}})
	}
	if status := direct("direct", "edit_file", "docs/x.md", "files"); status != http.StatusOK {
		t.Errorf("the granted call: status %d", status)
	}
	for id, status := range map[string]int{
		"other-tool": direct("other-tool", "delete_file", "docs/x.md", "files"), "other-host": direct("other-host", "edit_file", "docs/x.md", "ben"),
		"other-folder": direct("other-folder", "edit_file", "x.md", "files"), "parent": direct("parent", "edit_file", "docs/../x.md", "files"),
	} {
		if status != http.StatusForbidden {
			t.Errorf("%s: status %d", id, status)
		}
	}

	s.Send("planner", propose("tag", "r", "push_tag", map[string]any{"tag": "v1"}))
	press(t, tab, inForm("tag", "button[type=button]")) // Edit
	tab.Await(`(() => { const x = ` + inForm("tag", "textarea") + `; if (!x) return false; x.value = "{"; return true; })()`)
	press(t, tab, inForm("tag", "button[type=submit]"))
	tab.Await(inForm("tag", "[role=alert]") + `?.textContent.startsWith("Invalid JSON")`)
	if Eval[bool](tab, card("tag")+`.querySelector(".args") !== null`) {
		t.Error("the arguments are shown beside the editor that has them")
	}
	Eval[bool](tab, `((x) => { x.value = '{"tag": 12345678901234567890}'; x.dispatchEvent(new Event("input")); return true; })(`+inForm("tag", "textarea")+`)`)
	if got := tab.Await(`[...` + inForm("tag", ".diff") + `?.querySelectorAll(".line") ?? []].map((x) => x.textContent.trim()).join("|")`); got != `{|-  "tag": "v1"|+  "tag": 12345678901234567890|}` {
		t.Errorf("the difference of the edited arguments: %q", got)
	}
	decide(t, tab, inForm("tag", "button[type=submit]"))
	tab.Await(card("tag") + ` === undefined`)
	requests := s.history("mcp.request")
	sent, err := json.Marshal(requests[len(requests)-1]["payload"])
	if err != nil || !strings.Contains(string(sent), `"edited":true`) {
		t.Errorf("the edited call: %s (%v)", sent, err)
	}

	s.Send("planner", propose("remove", "r", "delete_file", map[string]any{"path": "a"}))
	press(t, tab, inForm("remove", ".button.bad"))
	decide(t, tab, card("remove")+`?.querySelector("meup-reject-form")?.shadowRoot?.querySelector(".button.bad")`)
	tab.Await(card("remove") + ` === undefined && document.activeElement?.className === "talk"`)
	tab.Await(title + `.startsWith("Reasoning · ")`)
	s.Send("planner", Envelope{"kind": "reasoning.conclusion", "context": "r", "payload": map[string]any{"message": "Done."}})
	tab.Await(title + `.startsWith("Thought for ")`)
	tab.Clean()
}

// TestDecide_ApprovalRefused checks that nothing stays of an approval for ten minutes whose call
// the gateway refuses, and that the refusal is in view.
func TestDecide_ApprovalRefused(t *testing.T) {
	s := decideStage(t)
	tab := SharedBrowser(t).Private(t)
	looks[2].with(tab, 1)
	s.Enter(tab, "ada")
	choose(t, tab, inForm("edit", "select[name=scope]"), "similar")
	Eval[bool](tab, `((shell) => {
		const send = shell.send.bind(shell);
		shell.send = (d) => d.kind === "mcp.request" ? Promise.resolve({ ok: false, id: "", refusal: "This proposal was already decided." }) : send(d);
		return true;
	})(document.querySelector("meup-space-page").shell)`)
	decide(t, tab, inForm("edit", "button[type=submit]"))
	alert := card("edit") + `?.querySelector("[role=alert]")`
	tab.Await(alert + `?.textContent === "This proposal was already decided."`)
	tab.Await(`((x) => x.top >= 0 && x.bottom <= document.querySelector(".talk").getBoundingClientRect().bottom)(` + alert + `.getBoundingClientRect())`)
	tab.Await(`[...document.querySelectorAll(".rows .notice")].some((x) => x.textContent.includes("revoked a grant of “planner”: the approval was refused"))`)
	tab.Await(`[...document.querySelectorAll(".rows .notice meup-rights")].at(-1)?.shadowRoot?.textContent.startsWith("Until now: may call tools, but only the tool “edit_file”")`)
	if grants, revoked := s.history("capability.grant"), s.history("capability.revoke"); len(grants) != 1 || len(revoked) != 1 || revoked[0]["payload"].(map[string]any)["grant_id"] != grants[0]["id"] {
		t.Errorf("granted %v, revoked %v", grants, revoked)
	}
	tab.Clean()
}

// fields returns the labeled arguments of a card: "name=text" with a line for each.
func fields(tab *Tab, id string) string {
	return Eval[string](tab, `[...`+card(id)+`.querySelectorAll(".arg")].map((x) => (x.querySelector("dt")?.textContent ?? "") + "=" + x.querySelector("dd").textContent).join("\n")`)
}

const mail = "Hello all,\n\nthe limits are \"per kind\" now.\n"

// mailCall returns a proposed call with arguments of all sorts, which expires in nine minutes.
func mailCall(id string) Envelope {
	e := propose(id, "r", "send_mail", map[string]any{"to": "all@example.org", "text": mail, "copies": "2", "tries": 2, "options": map[string]any{"sign": false}, "script": "if true; then\n  echo done\nfi"})
	e["payload"].(map[string]any)["expires_at"] = time.Now().Add(9*time.Minute + 30*time.Second).UTC().Format(time.RFC3339)
	return e
}

// TestDecide_Card checks that a card says in a sentence who asks whom for what and why, and
// the time that is left, and has each argument once, with texts and code as such.
func TestDecide_Card(t *testing.T) {
	s := decideStage(t)
	tab := SharedBrowser(t).Private(t)
	looks[0].with(tab, 1)
	s.Enter(tab, "ada")
	s.Send("planner", mailCall("mail"))
	tab.Await(card("mail") + `?.querySelector(".arg")`)
	const text = `.textContent.replace(/\s+/g, " ").trim()`
	if got := Eval[string](tab, card("mail")+`.querySelector("header p")`+text); got != "planner wants to call send_mail on files, because:" {
		t.Errorf("the sentence of the card: %q", got)
	}
	if got := Eval[string](tab, card("mail")+`.querySelector(".why")`+text); got != "The notes have the old number." {
		t.Errorf("the reason: %q", got)
	}
	tab.Await(`["Expires in 9m", "Expires in 8m"].includes(` + card("mail") + `.querySelector("meup-time-left")?.textContent)`)
	want := "copies=\"2\"\noptions.sign=false\nscript=if true; then\n  echo done\nfi\ntext=" + mail + "\n\nto=all@example.org\ntries=2"
	if got := fields(tab, "mail"); got != want {
		t.Errorf("the fields: %q, want %q", got, want)
	}
	if got := Eval[string](tab, `[...`+card("mail")+`.querySelectorAll(".arg[data-as=code] .code-word")].map((x) => x.textContent).join(" ")`); got != "if true then echo done fi" {
		t.Errorf("the highlighted words of the code: %q", got)
	}
	if got := Eval[int](tab, card("mail")+`.textContent.split("all@example.org").length - 1`); got != 1 {
		t.Errorf("an argument is shown %d times, want once", got)
	}
	tab.Clean()
}

// TestDecide_Narrow checks that a card leaves the reasoning above it visible on a narrow
// page, and that long arguments have a button that shows all of them.
func TestDecide_Narrow(t *testing.T) {
	s := decideStage(t)
	tab := SharedBrowser(t).Private(t)
	looks[2].with(tab, 1)
	s.Enter(tab, "ada")
	tab.Await(inForm("edit", "button[type=submit]"))
	tab.Steady(card("edit") + `?.querySelector("header")`)
	if hidden := Eval[string](tab, `(() => {
		const box = document.querySelector(".talk").getBoundingClientRect();
		const inside = (x) => x.getBoundingClientRect().top >= box.top && x.getBoundingClientRect().bottom <= box.bottom;
		return [document.querySelector('[data-context="r"] .reasoning-title'), `+inForm("edit", "form")+`].filter((x) => !inside(x)).map((x) => x.localName + "." + x.className).join(" ");
	})()`); hidden != "" {
		t.Errorf("not visible with a card that is %v px high: %s", Eval[float64](tab, card("edit")+`.querySelector(".card").offsetHeight`), hidden)
	}

	s.Send("planner", withdrawal("edit"), propose("high", "r", "write_file", map[string]any{"path": "a.txt", "content": repeat("a line\n", 40)}))
	const args = `?.querySelector(".args")`
	const below = `?.querySelector(".under button")`
	tab.Await(card("high") + below + `?.textContent === "Show all"`)
	press(t, tab, card("high")+below)
	tab.Await(`((x) => x.scrollHeight <= x.clientHeight + 1)(` + card("high") + args + `)`)

	s.Send("planner", withdrawal("high"), propose("long", "r", "send_mail", map[string]any{"text": repeat("word ", 9000) + "end", "to": "all@example.org"}))
	tab.Await(card("long") + below + `?.textContent === "Show all 45,024 characters"`)
	press(t, tab, card("long")+below)
	tab.Await(card("long") + args + `.textContent.includes("word end") && ` + card("long") + args + `.textContent.includes("all@example.org")`)
	tab.Clean()
}

// TestDecide_OnlyOfferedRights checks that only participants with the right to grant
// are offered access, and only participants with the right to decide a decision.
func TestDecide_OnlyOfferedRights(t *testing.T) {
	b := SharedBrowser(t)
	s := decideStage(t)
	ben, guest := b.Private(t), b.Private(t)
	s.Enter(ben, "ben")
	ben.Await(inForm("edit", "button[type=submit]") + `?.textContent === "Approve"`)
	if Eval[bool](ben, inForm("edit", "select[name=scope]")+` !== null`) {
		t.Error("access is offered without the right to grant it")
	}
	s.Enter(guest, "guest")
	guest.Await(card("edit") + `?.textContent.includes("You cannot decide this")`)
	guest.Await(title + `.startsWith("Waiting for approval · ")`)
	ben.Clean()
	guest.Clean()
}

// TestDecide_Looks takes screenshots of the cards, and runs axe-core on them.
func TestDecide_Looks(t *testing.T) {
	axe := needsAxe(t)
	b := SharedBrowser(t)
	s := decideStage(t)
	for _, l := range some(looks[3], looks[0]) {
		t.Run(l.name, func(t *testing.T) {
			tab := b.Private(t)
			l.with(tab, 1)
			s.Enter(tab, "ada")
			tab.Await(card("edit") + `?.querySelector(".diff")`)
			picture := l.pictures(t, tab, axe, "decide-")
			picture("diff")
			choose(t, tab, inForm("edit", "select[name=scope]"), "pattern")
			tab.Await(inForm("edit", "fieldset"))
			picture("pattern")
			choose(t, tab, inForm("edit", "select[name=scope]"), "similar")
			choose(t, tab, inForm("edit", "select[name=span]"), "0")
			picture("context")
			press(t, tab, inForm("edit", "button[type=button]"))
			tab.Await(`(() => { const x = ` + inForm("edit", "textarea") + `; if (!x) return false; x.value = x.value.replace("100", "200"); x.dispatchEvent(new Event("input")); return true; })()`)
			tab.Await(inForm("edit", ".diff"))
			picture("edit")
			s.Send("planner", mailCall("mail-"+l.name))
			tab.Await(card("mail-"+l.name) + `?.querySelector(".arg")`)
			picture("fields")
			press(t, tab, card("mail-"+l.name)+`?.querySelector(".under [name=raw]")`)
			picture("json")
			openPanel(t, tab, "proposals")
			tab.Await(approveIn(inList("edit")))
			picture("panel")
			s.Send("planner", withdrawal("mail-"+l.name))
			tab.Clean()
		})
	}
}
