package webtest

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// question returns a question of the server at files about a call.
func question(id, call string, params map[string]any) Envelope {
	params["_meta"] = map[string]any{"meup/server": map[string]any{"name": "deployer", "title": "Deploy server"}, "meup/expires_at": "2200-01-01T14:03:00Z"}
	return Envelope{"id": id, "kind": "mcp.request", "to": []string{"ada"}, "correlationId": call, "payload": map[string]any{"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params}}
}

// asked is an expression: the card of a question in the conversation.
func asked(id string) string {
	return `document.querySelector(".rows .decide[data-id=` + id + `] meup-elicitation-card")?.shadowRoot`
}

// elicitStage is a space in which ada has made the calls c and d.
func elicitStage(t *testing.T) *Stage {
	t.Helper()
	s := NewStageWith(t, []string{"files"}, map[string][]string{"ada": {"*", "observe"}, "ben": {"chat", "observe"}})
	s.Join("files")
	s.Send("ada", Chat("m", "I deploy the release now."))
	for _, id := range []string{"c", "d"} {
		s.Send("ada", toolCall(id, "", "m", "deploy", map[string]any{"version": "2.4"}))
	}
	return s
}

// deployForm has a field of each type.
func deployForm() map[string]any {
	return map[string]any{
		"mode": "form", "message": "Which environment should version 2.4 be deployed to?",
		"requestedSchema": map[string]any{"type": "object", "required": []string{"environment", "replicas"}, "properties": map[string]any{
			"environment": map[string]any{"type": "string", "title": "Environment", "oneOf": []any{map[string]any{"const": "stage", "title": "Staging"}, map[string]any{"const": "prod", "title": "Production"}}},
			"replicas":    map[string]any{"type": "integer", "title": "Replicas", "description": "One for each zone is usual.", "minimum": 1, "maximum": 9, "default": 3},
			"notify":      map[string]any{"type": "boolean", "title": "Notify the channel", "default": true},
			"regions":     map[string]any{"type": "array", "title": "Regions", "items": map[string]any{"type": "string", "enum": []string{"eu", "us", "asia"}}},
			"note":        map[string]any{"type": "string", "title": "Note", "maxLength": 20},
		}},
	}
}

// answerTo returns the result that ada has sent to a question.
func (s *Stage) answerTo(id string) string {
	s.t.Helper()
	for _, e := range s.history("mcp.response") {
		if e["correlationId"] == id {
			payload, ok := e["payload"].(map[string]any)
			to, err := json.Marshal(e["to"])
			if raw, failed := json.Marshal(payload["result"]); ok && err == nil && failed == nil && string(to) == `["files"]` {
				return string(raw)
			}
		}
	}
	return ""
}

// fill writes into an input of a card.
func fill(t *testing.T, tab *Tab, id, field, value string) {
	t.Helper()
	tab.Await(`(() => { const x = ` + asked(id) + `?.querySelector("[data-field=` + field + `] input"); if (!x) return false; x.value = ` + quote(value) + `; return true; })()`)
}

func TestElicit_Form(t *testing.T) {
	b := SharedBrowser(t)
	s := elicitStage(t)
	tab := b.Private(t)
	s.Enter(tab, "ada")
	s.Send("files", question("q", "c", deployForm()))
	tab.Await(asked("q") + `?.querySelector("form")`)
	if got := Eval[string](tab, asked("q")+`.textContent.replace(/\s+/g, " ")`); !strings.Contains(got, "files asks you, for a server that it calls “Deploy server”") ||
		!strings.Contains(got, "Your answer goes to files and stays in the log of this space") || strings.Contains(got, "secret") {
		t.Errorf("the card does not tell who asks and where the answer goes: %s", got)
	}
	tab.Await(`document.title.startsWith("(1) ")`)
	fill(t, tab, "q", "replicas", "12")
	decide(t, tab, asked("q")+`?.querySelector("button[type=submit]")`)
	tab.Await(asked("q") + `?.querySelector("[data-field=replicas] [role=alert]")?.textContent === "Enter at most 9."`)
	tab.Await(asked("q") + `?.querySelector("[data-field=environment] [role=alert]")?.textContent === "Enter a value."`)
	fill(t, tab, "q", "replicas", "5")
	choose(t, tab, asked("q")+`?.querySelector("[data-field=environment] select")`, "prod")
	press(t, tab, asked("q")+`?.querySelector("[data-field=regions] input[value=us]")`)
	decide(t, tab, asked("q")+`?.querySelector("button[type=submit]")`)
	tab.Await(asked("q") + ` === undefined && document.activeElement?.className === "talk"`)
	if got, want := s.answerTo("q"), `{"action":"accept","content":{"environment":"prod","notify":true,"regions":["us"],"replicas":5}}`; got != want {
		t.Errorf("the answer is %s; expected %s", got, want)
	}

	secret := map[string]any{"message": "Sign in to go on", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"password": map[string]any{"type": "string"}}}}
	s.Send("files", question("q2", "d", secret))
	tab.Await(asked("q2") + `?.querySelector(".warning")?.textContent.includes("Do not enter passwords")`)
	decide(t, tab, asked("q2")+`?.querySelectorAll("button[type=button]")[0]`)
	tab.Await(asked("q2") + ` === undefined`)
	if got := s.answerTo("q2"); got != `{"action":"decline"}` {
		t.Errorf("declined: %s", got)
	}
	tab.Await(`!document.title.startsWith("(")`)
	tab.Clean()
}

func TestElicit_LinkAndEnd(t *testing.T) {
	b := SharedBrowser(t)
	s := elicitStage(t)
	s.Send("files", question("q", "c", map[string]any{"mode": "url", "message": "Sign in at the provider", "url": "https://login.example.org/start?x=1", "elicitationId": "e"}))
	s.Send("files", question("bad", "c", map[string]any{"mode": "url", "message": "Sign in", "url": "javascript:alert(1)", "elicitationId": "f"}))
	tab := b.Private(t)
	s.Enter(tab, "ada")
	tab.Await(asked("q") + `?.querySelector(".address")?.textContent === "Opens login.example.org: https://login.example.org/start?x=1"`)
	tab.Await(asked("q") + `?.querySelector(".address a")?.rel.includes("noopener")`)
	tab.Await(asked("bad") + `?.querySelector(".address")?.textContent.startsWith("The address is not safe to open") && ` + asked("bad") + `.querySelector("a") === null`)
	// Only the participant that is asked has a card.
	other := b.Private(t)
	s.Enter(other, "ben")
	awaitEnvelope(other, "m")
	if n := Eval[int](other, `document.querySelectorAll("meup-elicitation").length`); n != 0 {
		t.Errorf("ben has %d cards of questions to ada", n)
	}
	decide(t, tab, asked("q")+`?.querySelector("button[type=submit]")`)
	tab.Await(asked("q") + ` === undefined`)
	if got := s.answerTo("q"); got != `{"action":"accept"}` {
		t.Errorf("the answer is %s", got)
	}
	s.Send("files", Envelope{"kind": "mcp.request", "to": []string{"ada"}, "correlationId": "bad", "payload": map[string]any{"method": "notifications/cancelled", "params": map[string]any{"requestId": "bad"}}})
	tab.Await(asked("bad") + ` === undefined`)
	tab.Clean()
}

// TestElicit_Looks runs axe-core on the card, and with make slow in each look.
func TestElicit_Looks(t *testing.T) {
	b := SharedBrowser(t)
	axe := needsAxe(t)
	s := elicitStage(t)
	secret := deployForm()
	secret["message"] = "Which environment should version 2.4 be deployed to? Enter the API key of the registry."
	s.Send("files", question("q", "c", secret))
	for _, l := range some(looks[:4]...) {
		tab := b.Private(t)
		l.with(tab, 1)
		s.Enter(tab, "ada")
		tab.Await(asked("q") + `?.querySelector("form")`)
		l.pictures(t, tab, axe, "elicit-")("form")
		if *everyLook {
			Eval[bool](tab, `(`+asked("q")+`.querySelector("header").scrollIntoView(), true)`)
			shoot(t, tab, filepath.Join(screenshotDir, l.name+"-elicit-top.png"))
		}
	}
}
