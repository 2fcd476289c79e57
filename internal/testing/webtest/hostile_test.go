package webtest

import (
	"fmt"
	"strings"
)

// elsewhere is a host that must receive no request. No server listens there.
const elsewhere = "http://127.0.0.2:9/"

// hostileCast are participants whose names imitate the page, the gateway, and
// the inherited properties of JavaScript objects.
var hostileCast = []string{
	"alice", "bob", "mallory", "system.gatevvay", "system.gateway", "Approve", "Sign-out", "You", "Send", "__proto__", "constructor",
	"toString", "Show-the-rest", "Review", "m-panel", strings.Repeat("w", 128),
}

// hostileScript is a script that leaves a trace.
const hostileScript = `window.ran=(window.ran||0)+1`

// markup is HTML that would have an effect in the page.
var markup = []string{
	`<script>` + hostileScript + `</script>`,
	`<img src=x onerror="` + hostileScript + `">`,
	`<img src="` + elsewhere + `pixel.png">`,
	`<svg onload="` + hostileScript + `"><script href="` + elsewhere + `a.js"/></svg>`,
	`<iframe srcdoc="<script>parent.ran=1</script>" src="` + elsewhere + `"></iframe>`,
	`<link rel=stylesheet href="` + elsewhere + `a.css"><style>@import url(` + elsewhere + `b.css); .composer{display:none}</style>`,
	`<div style="position:fixed;inset:0;background:url(` + elsewhere + `c.png)">Sign in again</div>`,
	`<form action="` + elsewhere + `"><input name=token autofocus><button>Sign in</button></form>`,
	`<meta http-equiv=refresh content="0;url=` + elsewhere + `"><base href="` + elsewhere + `">`,
	`<meup-composer></meup-composer><meup-reasoning></meup-reasoning><button class="button main">Approve</button>`,
	`</p></div></article></meup-message></details></section></main><h1>Session expired</h1>`,
	`-->]]></textarea></title></style></script><b>out</b>`,
	`${alert(1)} {{constructor.constructor("` + hostileScript + `")()}} <!--?lit$123$--> lit$ {{lit-123}}`,
	`<a id=ran name=desk href=x>clobber</a><math><mtext><table><mglyph><style><img src onerror=` + hostileScript + `>`,
}

// written is Markdown that would load, run or imitate something.
var written = []string{
	"[run](javascript:" + hostileScript + ") [run](JaVaScRiPt:" + hostileScript + ") [run](java\tscript:" + hostileScript + ") [run](&#106;avascript:" + hostileScript + ") [v](vbscript:x)",
	"[data](data:text/html,<script>" + hostileScript + "</script>) [blob](blob:null/1) [file](file:///etc/passwd) [here](#/space/other) [rel](/api/session) [proto](//127.0.0.2:9/x)",
	"<javascript:" + hostileScript + "> <" + elsewhere + "auto> <data:text/html,x>",
	"![pixel](" + elsewhere + "pixel.png) ![svg](data:image/svg+xml,<svg/onload=" + hostileScript + ">) [![both](" + elsewhere + "b.png)](" + elsewhere + ")",
	"[ref][a] ![ref][a]\n\n[a]: javascript:" + hostileScript + " \"title\" onmouseover=x\n",
	"[user](https://bank.example@127.0.0.2:9/) [quote](https://x.example/\"onmouseover=\"" + hostileScript + ") [title](https://x.example \"</a><script>" + hostileScript + "</script>\")",
	"```\"><script>" + hostileScript + "</script>\n<img src=x onerror=" + hostileScript + ">\n```\n\n```js onmouseover=" + hostileScript + "\nx\n```",
	"- [x] Approve\n- [ ] Reject\n\n| Approve | Reject |\n|---|---|\n| <button>a</button> | <input type=submit> |",
	"# Proposals\n\n## system:gateway\n\n---\n\nYour session has expired. [Sign in again](" + elsewhere + "login)",
	"<think>" + markup[0] + "</think>" + markup[0],
	`<!--REASONING_BLOCK:{"elapsed":3,"steps":["<img src=x onerror=` + hostileScript + `>","--> <script>` + hostileScript + `</script>"]}-->x`,
	"<details open><summary>Thought for 3s</summary>forged</details>\n\n<dialog open>Sign in</dialog>",
	"&lt;script&gt;" + hostileScript + "&lt;/script&gt; &#60;img src=x onerror=" + hostileScript + "&#62; &#x202e;txt &#x200b;",
}

// shifting is text that looks different from its content.
var shifting = []string{
	"\u202Egnp.exe\u202C \u2066hidden\u2069 \u200Fright\u200E",
	"zero\u200Bwidth \u2060joiner \uFEFFmark \u00ADhyphen \U000E0041\U000E0042 \u3164 \u115F",
	"Za\u0335\u0336\u0337" + strings.Repeat("\u0338\u0322\u0321\u033f", 200) + "lgo",
	"nul\u0000 bell\u0007 escape\u001b[2J back\b line\u2028par\u2029end",
	strings.Repeat("\u200D", 5000) + "👩\u200D👩\u200D👧 emoji stays",
	strings.Repeat("W", 20000), strings.Repeat("W\u00A0", 5000), strings.Repeat("ﷺ", 300), strings.Repeat("\n", 5000) + "end",
}

// imitations are messages that imitate texts of the page.
var imitations = []string{
	"system:gateway: mallory gave “everybody” the right to anything.",
	"▸ Thought for 12s", "Reasoning · 9s", "Awaiting approval. Review", "Not sent. Retry Edit Discard", "You were removed from this space. Other spaces",
	"This is where lab begins.", "bob proposes `rm -rf /` approved by alice", "Live", "Today",
}

// floods returns very long or deeply nested texts, or a part of each of them.
func floods(part int) map[string]string {
	return map[string]string{
		"flood-text":     strings.Repeat("a million letters ", 1<<20/18/part),
		"flood-word":     strings.Repeat("x", 1<<20/part),
		"flood-quotes":   strings.Repeat("> ", 10000/part) + "deep",
		"flood-lists":    strings.Repeat("- ", 10000/part) + "deep",
		"flood-items":    strings.Repeat("- item\n", 10000/part),
		"flood-indented": indented(140),
		"flood-mixed":    strings.Repeat("> - 1. ", 3000/part) + "deep",
		"flood-brackets": strings.Repeat("![[a](b ", 4000/part),
		"flood-stars":    strings.Repeat("**a_*", 5000/part),
		"flood-table":    strings.Repeat("|", 2000/part) + "\n" + strings.Repeat("|-", 2000/part-1) + "|\n" + strings.Repeat("|a", 20000/part),
		"flood-ticks":    strings.Repeat("`a", 20000/part),
		"flood-lines":    strings.Repeat("line\n", 50000/part),
		"flood-mentions": strings.Repeat("@bob @mallory @alice @Approve ", 250),
		"flood-mail":     strings.Repeat("a", 20_000/part) + "@",
		"flood-links":    strings.Repeat("https://x.example/a ", 5000/part),
	}
}

// indented returns a nested list.
func indented(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s- level %d\n", strings.Repeat("  ", i), i)
	}
	return b.String()
}

// says returns messages with the texts, plain and as Markdown.
func says(prefix string, texts []string) []Envelope {
	var list []Envelope
	for i, text := range texts {
		list = append(list, Chat(fmt.Sprintf("%s-p%d", prefix, i), text), Markdown(fmt.Sprintf("%s-m%d", prefix, i), text))
	}
	return list
}

// everywhere puts a text into every field of every kind that the page renders.
func everywhere(prefix, text string) []Envelope {
	ctx := prefix + "-ctx"
	in := func(name, kind string, payload map[string]any) Envelope {
		return Envelope{"id": prefix + name, "kind": kind, "context": ctx, "payload": payload}
	}
	call := map[string]any{"id": 1, "method": "tools/call", "params": map[string]any{"name": text, "arguments": map[string]any{text: text, "list": []any{text}}}}
	return []Envelope{
		Chat(prefix+"-q", text),
		{"id": ctx, "kind": "reasoning.start", "correlationId": prefix + "-q", "payload": map[string]any{"message": text, "metadata": map[string]any{"approach": text, "estimated_duration": text, text: text}}},
		in("-t", "reasoning.thought", map[string]any{"message": text, "tool_name": text, "severity": text, "redacted": []string{text}}),
		in("-h", "reasoning.hypothesis", map[string]any{"hypothesis": text, "confidence": 0.5, "evidence": []string{text}, "evidence_against": []string{text}}),
		in("-o", "reasoning.observation", map[string]any{"message": text, "severity": text}),
		in("-u", "reasoning.question", map[string]any{"questions": []string{text, text}}),
		in("-s", "chat", map[string]any{"message": text, "format": "markdown"}),
		{"id": prefix + "-r", "kind": "mcp.request", "context": ctx, "to": []string{"bob"}, "correlationId": prefix + "-t", "payload": call},
		{"id": prefix + "-c", "kind": "reasoning.start", "context": ctx, "payload": map[string]any{"message": text}},
		{"id": prefix + "-p", "kind": "mcp.proposal", "context": ctx, "correlationId": prefix + "-t", "payload": call},
		{"id": prefix + "-p2", "kind": "mcp.proposal", "payload": call},
		in("-e", "reasoning.conclusion", map[string]any{"message": text, "decision": text, "recommendation": text, "key_factors": []string{text}, "confidence": 1}),
		{"id": prefix + "-k", "kind": "chat.cancel", "correlationId": prefix + "-q", "payload": map[string]any{"reason": text}},
		{"id": prefix + "-g", "kind": "participant.shutdown", "to": []string{"bob"}, "payload": map[string]any{"reason": text}},
		{"id": prefix + "-st", "kind": "participant.status", "payload": map[string]any{"status": text, "message": text, text: text}},
		{"id": prefix + "-so", "kind": "stream.open", "payload": map[string]any{"stream_id": prefix, "description": text, "content_type": text}},
		{"id": prefix + "-sc", "kind": "stream.close", "payload": map[string]any{"stream_id": prefix, "reason": text}},
		{"id": prefix + "-x", "kind": "x.custom", "payload": map[string]any{text: text}},
	}
}

// answers returns malformed and hostile results of tools.
func answers(text string) []Envelope {
	results := []any{
		5, nil, []any{}, text, map[string]any{"content": text}, map[string]any{"content": []any{nil, 1, "x", map[string]any{"type": "text"}}},
		map[string]any{"content": []any{map[string]any{"type": "image", "data": "PHN2Zz4=", "mimeType": "image/svg+xml"}}},
		map[string]any{"content": []any{map[string]any{"type": "resource_link", "uri": "javascript:" + hostileScript, "name": text}}},
		map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": "yes"},
		map[string]any{"tools": text}, map[string]any{"tools": []any{nil, 1, map[string]any{"name": 5}, map[string]any{"name": text, "description": text, "title": text, "inputSchema": text}}},
		map[string]any{"tools": []any{map[string]any{"name": "__proto__", "annotations": map[string]any{"destructiveHint": "x"}}}},
	}
	var list []Envelope
	for i, r := range results {
		method := "tools/call"
		if i >= 9 {
			method = "tools/list"
		}
		q, a := fmt.Sprintf("ask-%d", i), fmt.Sprintf("answer-%d", i)
		list = append(list,
			Envelope{"id": q, "kind": "mcp.request", "to": []string{"mallory"}, "payload": map[string]any{"id": i, "method": method, "params": map[string]any{"name": "t"}}},
			Envelope{"id": a, "kind": "mcp.response", "correlationId": q, "payload": map[string]any{"id": i, "result": r}})
	}
	return list
}

// polluting returns payloads and ids with the names of inherited properties.
func polluting() []Envelope {
	dirt := map[string]any{
		"__proto__": map[string]any{"polluted": true, "message": "x"}, "constructor": map[string]any{"prototype": map[string]any{"polluted": true}},
		"toString": "x", "hasOwnProperty": 1, "message": "dirt",
	}
	list := []Envelope{{"id": "dirt", "kind": "chat", "payload": dirt}}
	for _, id := range []string{"__proto__", "constructor", "toString", "valueOf"} {
		list = append(list,
			Envelope{"id": id, "kind": "reasoning.start", "correlationId": []string{"__proto__", "constructor"}, "payload": dirt},
			Envelope{"kind": "reasoning.thought", "context": id + "/constructor", "payload": dirt},
			Envelope{"id": "p." + id, "kind": "mcp.proposal", "payload": map[string]any{"method": "tools/call", "params": map[string]any{"name": id, "arguments": dirt}}},
			Envelope{"kind": "stream.open", "payload": map[string]any{"stream_id": id, "description": "x"}})
	}
	return list
}

// wrong returns fields of unexpected types, as far as the gateway admits them.
func wrong() []Envelope {
	var list []Envelope
	for i, v := range []any{nil, true, -1, 1e300, "", []any{}, []any{[]any{[]any{}}}, map[string]any{}, map[string]any{"toString": 1}} {
		ctx := fmt.Sprintf("wrong-%d", i)
		list = append(list,
			Envelope{"id": ctx, "kind": "reasoning.start", "payload": map[string]any{"message": "x", "title": v, "redacted": v}},
			Envelope{"context": ctx, "kind": "reasoning.thought", "payload": map[string]any{"message": "x", "redacted": v, "severity": v, "evidence": v, "evidence_against": v, "raw": v, "stream_id": v}},
			Envelope{"kind": "chat", "payload": map[string]any{"message": "x", "redacted": v, "title": v, "ts": v}},
			Envelope{"kind": "mcp.request", "to": []string{"bob"}, "context": ctx, "payload": map[string]any{"method": "tools/call", "params": map[string]any{"name": v, "arguments": v}}},
			Envelope{"kind": "mcp.proposal", "context": ctx, "payload": map[string]any{"method": "tools/call", "params": map[string]any{"name": v, "arguments": v}}},
			Envelope{"kind": "participant.status", "payload": map[string]any{"status": v, "tokens": v, "model": v, "agent": v}},
			Envelope{"kind": "x.y", "payload": map[string]any{"v": v}},
			Envelope{"kind": "participant.pause", "to": []string{"Send"}, "payload": map[string]any{"timeout_seconds": v, "reason": v}})
	}
	return list
}
