package webtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Hostile texts in the results of the search, in the raw view of an envelope, and in the
// HTML that a tool returns: no script runs, nothing is fetched, and no part of the page
// changes.
func TestHostileResults(t *testing.T) {
	s := newStage(t, hostileCast...)
	s.Join("mallory")
	tab := SharedBrowser(t).Private(t)
	tab.Do(size(1280, 900)) // panels beside the conversation
	s.Send("bob", Chat("first", "the first word"))
	s.Enter(tab, "alice")
	awaitEnvelope(tab, "first")
	before := outline(tab)
	const ctx = "trace-ctx"
	list := []Envelope{{"id": ctx, "kind": "reasoning.start", "payload": map[string]any{"message": "why", "metadata": map[string]any{"model": markup[0], "approach": markup[1]}}}}
	for i, text := range slices.Concat(markup, written, shifting[:4]) {
		found := "needle " + text + " needle" // the search shows what is around its words
		call := map[string]any{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": map[string]any{"name": text, "arguments": map[string]any{"needle": found}}}
		result := map[string]any{"jsonrpc": "2.0", "id": i, "result": map[string]any{"content": []any{
			map[string]any{"type": "text", "text": "<!doctype html><html><body>" + found + "</body></html>"},
			map[string]any{"type": "resource", "resource": map[string]any{"uri": "ui://page", "mimeType": "text/html", "text": found}},
		}, "structuredContent": map[string]any{text: found}}}
		list = append(list, Chat(fmt.Sprintf("found-%d", i), found),
			Envelope{"id": fmt.Sprintf("step-%d", i), "kind": "reasoning.thought", "context": ctx, "payload": map[string]any{"message": found, "tool_name": text, "metadata": map[string]any{"model": text, "duration_ms": text}}},
			Envelope{"id": fmt.Sprintf("call-%d", i), "kind": "mcp.request", "context": ctx, "to": []string{"mallory"}, "correlationId": fmt.Sprintf("step-%d", i), "payload": call},
			Envelope{"id": fmt.Sprintf("result-%d", i), "kind": "mcp.response", "context": ctx, "correlationId": fmt.Sprintf("call-%d", i), "payload": result})
	}
	for i, name := range []string{strings.Repeat("W", 100_000), strings.Repeat("\u202E\u200B", 50_000), strings.Repeat("[", 50_000)} {
		list = append(list, Envelope{"id": fmt.Sprintf("long-%d", i), "kind": "mcp.request", "context": ctx, "to": []string{"mallory"}, "payload": map[string]any{
			"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": map[string]any{"name": name, "arguments": map[string]any{}}}})
	}
	list = append(list, Envelope{"id": "end", "kind": "reasoning.conclusion", "context": ctx, "payload": map[string]any{"message": markup[1]}}, Chat("last", "the last word"))
	for chunk := range slices.Chunk(list, 60) {
		s.Send("mallory", chunk...)
	}
	awaitEnvelope(tab, "last")
	openAll(tab)
	unharmed(t, tab, before)

	t.Run("trace", func(t *testing.T) {
		press(t, tab, `document.querySelector('[data-context=`+quote(ctx)+`] .reasoning-trace')`)
		tab.Await(inTrace + `?.querySelectorAll(".span").length > ` + strconv.Itoa(len(markup)))
		for _, x := range Eval[[]string](tab, `(() => {
			const root = `+inTrace+`, width = root.host.getBoundingClientRect().right + 1;
			return [...root.querySelectorAll(".what, .facts, option, .title, dd")].flatMap((x) => {
				const text = x.textContent.trim(), what = x.className + " " + JSON.stringify(text.slice(0, 60));
				return [
					...(x.matches(".what") && text === "" ? ["an empty label"] : []),
					...(text.length > 600 ? [what + " has " + text.length + " characters"] : []),
					...(x.querySelector(":not(code, strong)") ? [what + " has elements of its own"] : []),
					...(x.getBoundingClientRect().right > width ? [what + " goes beyond the panel"] : []),
				];
			});
		})()`) {
			t.Error(x)
		}
		unharmed(t, tab, nil)
	})
	t.Run("raw view", func(t *testing.T) {
		for _, id := range []string{"found-0", "found-3", "found-11", "found-20"} {
			Eval[bool](tab, `(document.querySelector('.rows [data-id=`+quote(id)+`] .raw-link').click(), true)`)
			tab.Await(`document.querySelector("meup-envelope")?.shadowRoot?.textContent.includes(` + quote(id) + `)`)
			unharmed(t, tab, nil)
		}
	})
	t.Run("search", func(t *testing.T) {
		openPanel(t, tab, "search")
		searches(tab, "needle")
		enter(tab)
		tab.Await(inSearch(".count") + `.textContent.includes("result")`)
		if marks := Eval[int](tab, `document.querySelector("meup-search").shadowRoot.querySelectorAll(".excerpt em").length`); marks == 0 {
			t.Error("no words are marked in the results, want that the snippets are shown")
		}
		unharmed(t, tab, nil)
	})
}
