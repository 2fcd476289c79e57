/** The small parts: what a person's hand decides, filters, addresses, words, characters. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { cancelQuestion, cancelReasoning, chat } from "../src/core/drafts.js";
import { grant, pause } from "../src/core/panel-drafts.js";
import { EVERYTHING, leads, selects, tree, within } from "../src/core/filter.js";
import { format, panelOf, parse, samePlace } from "../src/core/links.js";
import { Reducer } from "../src/core/reducer.js";
import { capabilities, capability } from "../src/core/capabilities.js";
import { notice, postponed, refusal } from "../src/core/sentences.js";
import type { Block } from "../src/core/state.js";
import { ServerClock, axisMarks, callDuration, dayOf, duration } from "../src/core/time.js";
import { Toggles } from "../src/core/toggle.js";
import { imitatesPage, lookalikes, name, neutral, suspicious, visible } from "../src/core/unicode.js";
import type { Payload } from "@sdk/types.js";
import { Scribe, recorded } from "./support.js";

const history = recorded("lab-history.jsonl");

function block(status: Block["status"], path = "c"): Block {
  return { path, status } as Block;
}

test("toggle: open while reasoning, closed by itself a second after the end, once", () => {
  const t = new Toggles();
  assert.equal(t.isOpen(block("reasoning"), 0), true);
  assert.equal(t.closesAt(block("complete"), 500), 1500);
  assert.equal(t.isOpen(block("complete"), 1499), true);
  assert.equal(t.isOpen(block("complete"), 1500), false);
  assert.equal(t.isOpen(block("complete"), 1501), false);
  assert.equal(t.closesAt(block("complete"), 1502), null);
});

test("toggle: a block that was drawn as open at the last moment is told when it closes", () => {
  const t = new Toggles();
  t.isOpen(block("reasoning"), 0);
  assert.equal(t.isOpen(block("complete"), 500), true);
  assert.equal(t.isOpen(block("complete"), 1499), true);
  assert.equal(t.closesAt(block("complete"), 1500), 1500);
  assert.equal(t.isOpen(block("complete"), 1501), false);
  assert.equal(t.closesAt(block("complete"), 1502), null);
});

test("toggle: what a person has decided about closes at no time", () => {
  const t = new Toggles();
  t.isOpen(block("reasoning"), 0);
  t.choose("c", true);
  assert.equal(t.closesAt(block("complete"), 500), null);
  assert.equal(t.isOpen(block("complete"), 9000), true);
  t.isOpen(block("reasoning", "d"), 0);
  t.preference = "open";
  assert.equal(t.closesAt(block("complete", "d"), 500), null);
});

test("toggle: a block that had ended when first seen is collapsed", () => {
  const t = new Toggles();
  assert.equal(t.isOpen(block("complete"), 0), false);
  assert.equal(t.isOpen(block("stopped"), 0), false);
});

test("toggle: a person's choice wins for ever, over states and preferences", () => {
  const t = new Toggles();
  t.choose("c", false);
  assert.equal(t.isOpen(block("reasoning"), 0), false);
  t.choose("d", true);
  assert.equal(t.isOpen(block("reasoning", "d"), 0), true);
  assert.equal(t.isOpen(block("complete", "d"), 99_999), true);
  for (const p of ["open", "closed", "automatic"] as const) {
    t.preference = p;
    assert.deepEqual([t.isOpen(block("reasoning"), 0), t.isOpen(block("complete", "d"), 0)], [false, true]);
  }
});

test("toggle: preferences, and the stored state", () => {
  const t = new Toggles("open");
  assert.equal(t.isOpen(block("complete"), 0), true);
  t.preference = "closed";
  assert.equal(t.isOpen(block("reasoning"), 0), false);
  t.choose("c", true);
  const again = new Toggles();
  again.restore(JSON.parse(JSON.stringify(t.save())));
  assert.equal(again.isOpen(block("complete"), 0), true);
  assert.equal(again.preference, "closed");
  for (const rubbish of [null, 1, "x", { preference: "loud", choices: [1, [1, true], ["a"]] }]) again.restore(rubbish);
  assert.equal(again.chosen("c"), true);
});

test("filter: contexts by whole segments, the main conversation by its name", () => {
  assert.ok(within("msg-3/a", "msg-3") && !within("msg-301", "msg-3") && within("", "") && !within("a", ""));
  const f = { ...EVERYTHING, contexts: ["a/b"], exclude: ["a/b/secret"] };
  assert.ok(selects(f, "a/b/c") && !selects(f, "a") && !selects(f, "a/b/secret/x") && !selects(f, ""));
  assert.ok(leads(f, "a") && !leads(f, "b") && !leads(f, "a/b"));
});

test("the tree of contexts", () => {
  const r = new Reducer({ fromStart: true });
  for (const e of history) r.apply(e);
  const nodes = tree(r.state);
  assert.equal(nodes.length, r.state.roots.length);
  assert.deepEqual(nodes.map((n) => n.below).sort(), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
  assert.ok(nodes.some((n) => n.active && n.path === "bob-ctx"));
});

test("addresses within the page", () => {
  const links = [
    { type: "space", space: "my lab/ä" },
    { type: "message", space: "lab", id: "m:1.2" },
    { type: "context", space: "lab", path: "a/b/c" },
  ] as const;
  for (const l of links) assert.deepEqual(parse(format(l)), l);
  assert.equal(format(links[2]), "#/space/lab/c/a/b/c");
  for (const bad of ["", "#", "#/", "#/space", "#/space/", "#/space/lab/x/1", "#/space/lab/m/", "#/space/lab/m/a/b", "#/space/lab/c/a//b", "#/space/%E0%A4%A/m/1", "#/space/lab/m/<img>", "javascript:x"]) {
    assert.equal(parse(bad), null, bad);
  }
  assert.deepEqual(parse("#/space/lab/"), { type: "space", space: "lab" });
});

test("addresses with an open panel", () => {
  const thread = { type: "thread", space: "a?b", id: "t-1" } as const;
  const open = { panel: "search", params: { text: "limits & rate? ä/#", kinds: "chat,calls" } };
  const hash = format(thread, open);
  assert.deepEqual([parse(hash), panelOf(hash)], [thread, open]);
  assert.equal(format({ type: "space", space: "lab" }, { panel: "tools", params: {} }), "#/space/lab?panel=tools");
  for (const without of ["", "#/space/lab", "#/space/lab?", "#/space/lab?panel=", "#/space/lab?text=x"]) assert.equal(panelOf(without), null, without);
  assert.deepEqual(panelOf(`#/space/lab?panel=trace&panel=tools&Id=x&__proto__=x&id=${"x".repeat(2000)}&step=s`), { panel: "trace", params: { step: "s" } });
  assert.ok(samePlace("#/space/lab/t/x?panel=tools", "#/space/lab/t/x"));
  assert.equal(samePlace("#/space/lab/t/x", "#/space/lab/t/y"), false);
  assert.equal(samePlace("#/nowhere", "#/nowhere"), false);
});

test("capabilities as sentences", () => {
  assert.equal(capability("*"), "May do everything.");
  assert.equal(capability("reasoning/*"), "May share reasoning.");
  assert.equal(capability("x.weather"), "May send “x.weather”.");
  assert.equal(
    capability({ kind: "mcp.request", payload: { method: "tools/call", params: { name: ["read_*", "list_*"], arguments: { path: "!/etc/**" } } }, to: ["files"] }),
    "May call tools, but only the tool “read_*” or “list_*”, with “path” anything but “/etc/**”, towards “files”.",
  );
  assert.equal(capability({ kind: "mcp.request", payload: { params: { name: "delete_file" } }, deny: true }), "May not call tools: the tool “delete_file”.");
  assert.deepEqual(capabilities([{ kind: "chat", deny: true }, "mcp.proposal"])[0], "May propose tool calls for approval.");
  assert.deepEqual(capabilities([]), ["May only read."]);
});

test("typed patterns in the words of the gateway", () => {
  const words = (pattern: unknown): string =>
    capability({ kind: "mcp.request", payload: { method: "tools/call", params: { arguments: { x: pattern } } } }).replace("May call tools, but only with “x”", "");
  for (const [pattern, want] of [
    [{ $shell: { commands: ["git diff **", "git log -5", "git log -**"] } }, ": `git diff` with any arguments; `git log -5`; `git log` with any arguments and options."],
    [{ $shell: { commands: "ls **", write: { below: "build" }, read: "preset", env: ["CI", "GO"] } }, ": `ls` with any arguments; commands that only read; output to paths below build; with the variables CI, GO."],
    [{ $shell: { read: { below: "a", preset: true } } }, ": commands that only read paths below a."],
    [{ $shell: { commands: ["make"], read: { below: ["a", "b"] } } }, ": `make`; input from paths below a or b."],
    [{ $path: { below: ["docs", "web"], not: ["**/.git/**", "*.pem"] } }, ": paths below docs or web, except **/.git/**, *.pem."],
    [{ $url: { scheme: "https", host: ["a.example", "*.b.example"], port: 8443, path: "/v1/**" } }, ": https URLs of a.example or *.b.example, port 8443, path /v1/**."],
    [{ $url: { host: "*" } }, ": http or https URLs of any host."],
    [{ $text: "git *" }, ": “git *”."],
    ["git *", " “git *”."],
  ] as const) {
    assert.equal(words(pattern), want);
  }
  assert.equal(
    capability({ kind: "mcp.request", payload: { method: "tools/call", params: { _meta: { "meup/cwd": { $path: { below: "/w" } } } } } }),
    "May call tools, but only in the working directory paths below /w.",
  );
});

test("refusals and notices in words", () => {
  assert.equal(refusal({ error: "rate_limited", message: "", retry_after_ms: 1200 }), "Rate limit exceeded. Try again in 2s.");
  const rate = { error: "rate_limited", message: "You are sending faster than your limit (kinds: chat) allows: send this again in 49321 ms, and slow down.", retry_after_ms: 49_321 };
  assert.equal(refusal(rate), "You are sending faster than your limit (kinds: chat) allows. Try again in 50s.");
  assert.equal(postponed(rate, 12_100), "You are sending faster than your limit (kinds: chat) allows. Sent again automatically in 13s.");
  assert.equal(postponed({ error: "rate_limited", message: "You have 5 contexts open; conclude or cancel one first." }, 0), "You have 5 contexts open; conclude or cancel one first. Sent again automatically.");
  assert.equal(refusal({ error: "paused", message: "You are paused; until you are resumed you can send participant.status alone." }), "You are paused and cannot send.");
  assert.equal(refusal({ error: "constructor", message: "No." }), "The gateway refused this. No.");
  const w = new Scribe();
  assert.equal(
    notice(w.say("alice", "capability.grant", { recipient: "bob", capabilities: ["mcp.request"], ttl_seconds: 3600, reason: "to help" })),
    "granted “bob” access for 1 hour: to help",
  );
  assert.equal(notice(w.say("alice", "space.kick", { participant_id: "mallory" })), "removed “mallory”.");
  assert.equal(notice(w.say("alice", "chat", {})), "");
});

test("grants: a revocation ends derived grants", () => {
  const r = new Reducer({ fromStart: true });
  const w = new Scribe();
  const give = (from: string, to: string, what: string): string => {
    const e = w.say(from, "capability.grant", { recipient: to, capabilities: [what] });
    r.apply(e);
    return e.id;
  };
  const one = give("alice", "bob", "reasoning/*");
  const two = give("bob", "carol", "reasoning/step");
  const three = give("carol", "dave", "reasoning.thought");
  const other = give("bob", "carol", "chat");
  assert.deepEqual(r.state.grants.get(three)?.via, [two]);
  assert.deepEqual(r.state.grants.get(one)?.derived, [two]);
  assert.deepEqual(r.state.grants.get(other)?.via, []);
  r.apply(w.say("alice", "capability.revoke", { recipient: "bob", grant_id: one }));
  assert.deepEqual([one, two, three, other].map((id) => r.state.grants.get(id)?.revoked !== null), [true, true, true, false]);
  r.apply(w.say("alice", "capability.revoke", { recipient: "carol", capabilities: ["chat"] }));
  assert.ok(r.state.grants.get(other)?.revoked !== null);
});

test("participants: tools, pauses, kicks, agents", () => {
  const r = new Reducer({ fromStart: true });
  const w = new Scribe();
  r.hint(w.welcome(["alice", "files"], 0));
  const ask = w.say("alice", "mcp.request", { method: "tools/list", params: {} }, { to: ["files"] });
  const tools = [{ name: "read", description: "Reads", annotations: { readOnlyHint: true } }, { name: 1 }, null];
  for (const e of [
    ask,
    w.say("mallory", "mcp.response", { result: { tools: [{ name: "evil" }] } }, { correlationId: ask.id }),
    w.say("files", "mcp.response", { result: { tools } }, { correlationId: ask.id }),
    w.say("alice", "participant.pause", { timeout_seconds: 60 }, { to: ["files"] }),
    w.say("alice", "space.kick", { participant_id: "mallory" }),
    w.say("planner", "reasoning.start", {}),
    w.say("files", "participant.status", { status: "busy" }),
    w.say("files", "participant.status", { status: "taken" }, { to: ["files"] }), // for its own processes
  ]) r.apply(e);
  const p = (id: string): unknown => r.state.participants.get(id);
  assert.deepEqual(r.state.participants.get("files")?.tools.map((t) => [t.name, t.readOnly]), [["read", true]]);
  assert.deepEqual(r.state.participants.get("mallory")?.tools, []);
  assert.equal((p("files") as { paused: boolean }).paused, true);
  assert.equal((p("mallory") as { kicked: boolean }).kicked, true);
  assert.equal((p("planner") as { agent: boolean }).agent, true);
  assert.equal((p("files") as { status: string }).status, "busy");
  assert.deepEqual(r.state.timeline.map((x) => x.type), ["notice", "notice", "block"]);
});

test("the description of a participant is the newest one, also of one that joins behind many others", () => {
  const w = new Scribe();
  const r = new Reducer();
  const does = (id: string): string | undefined => r.state.participants.get(id)?.description;
  const of = (id: string, description?: string): Payload => ({ id, capabilities: [], description });
  const welcome = (...participants: readonly Payload[]): void => void r.hint(w.gateway("system.welcome", { ...w.welcome([]).payload, participants }));
  const join = (p: Payload): void => void r.hint(w.gateway("system.presence", { event: "join", participant: p }));
  welcome(of("planner", "Plans."));
  assert.equal(does("planner"), "Plans.");
  for (let i = 0; i < 4096; i++) join(of(`p${i}`, "Waits."));
  join(of("late", "Is late."));
  join(of("planner", "Plans releases."));
  assert.deepEqual([does("late"), does("planner")], ["Is late.", "Plans releases."]);
  r.hint(w.presence("leave", "planner"));
  assert.equal(does("planner"), "Plans releases.", "of one that has left, the last one");
  welcome(of("late"), of("planner", "Plans again."));
  assert.deepEqual([does("late"), does("planner")], ["", "Plans again."]);
  join(of("planner"));
  assert.equal(does("planner"), "");
});

test("refusals of one's own are kept for a while, presence is not of the log", () => {
  const r = new Reducer({ fromStart: true });
  const w = new Scribe();
  r.hint(w.welcome(["alice"], 0));
  for (let i = 0; i < 60; i++) r.hint(w.gateway("system.error", { error: "paused", message: "" }, { correlationId: `x${i}` }));
  assert.equal(r.state.refusals.length, 50);
  assert.equal(r.state.refusals.at(-1)?.about, "x59");
  r.hint({ ...w.gateway("system.presence", { event: "join", participant: { id: "zoe" } }), from: "mallory" });
  assert.equal(r.state.participants.has("zoe"), false, "only the gateway says who is there");
});

test("time in words, and the server's clock", () => {
  assert.deepEqual([0, 59, 65, 3600, 7384].map(duration), ["0s", "59s", "1m 5s", "1h", "2h 3m"]);
  assert.deepEqual([3, 1400, 65_000].map(callDuration), ["3 ms", "1.4 s", "1m 5s"]);
  const marks = [1, 37, 700, 1400, 8300, 60_000, 130_000, 5_000_000, 4 * 86_400_000].map((n) => axisMarks(n).map((x) => x[1]).join(", "));
  assert.deepEqual(marks, [
    "0, 1 ms", "0, 10 ms, 20 ms, 30 ms", "0, 200 ms, 400 ms, 600 ms", "0, 0.5 s, 1 s", "0, 2.5 s, 5 s, 7.5 s", "0, 15 s, 30 s, 45 s, 1m",
    "0, 1m, 2m", "0, 30m, 1h", "0, 24h, 48h, 72h, 96h",
  ]);
  assert.equal(dayOf(Date.parse("2026-11-20T23:30:00Z"), -60), "2026-11-21");
  let mono = 100;
  const clock = new ServerClock(() => mono);
  assert.equal(clock.now(), 0);
  clock.observe(5000);
  mono = 1100;
  assert.equal(clock.now(), 6000);
  clock.observe(5500); // was long on its way
  assert.equal(clock.now(), 6000);
  clock.observe(7000);
  assert.equal(clock.now(), 7000);
});

test("characters that are not seen or turn the writing around", () => {
  const evil = "safe\u202Efdp.exe\u2066\u200B\u{E0041}";
  assert.ok(suspicious(evil));
  assert.equal(neutral(evil), "safefdp.exe");
  assert.equal(visible(evil), "safe⟨U+202E⟩fdp.exe⟨U+2066⟩⟨U+200B⟩⟨U+E0041⟩");
  for (const fine of ["Grüße 👩‍👩‍👧 ❤️", "שלום עולם", "ক্‍ষ", "a\tb\nc", "👩🏽‍🚀"]) {
    assert.equal(neutral(fine), fine);
    assert.equal(suspicious(fine), false, fine);
  }
  assert.equal(neutral("a\u0301".repeat(3) + "z" + "\u0301".repeat(100)).length, 7 + 8 - 0);
  assert.equal(name("  a\nb\u202E  "), "a b");
  assert.equal(name("\u200B"), "(no name)");
  assert.equal(Array.from(name("x".repeat(100))).length, 64);
});

test("names that imitate the page or another participant", () => {
  for (const n of ["You", "уou", "sуstem", "Gateway", "ADM1N", "e v e r y o n e", "Ｓystem", "y\u200Bou"]) assert.ok(imitatesPage(n), n);
  for (const n of ["alice", "planner", "youth", "files"]) assert.ok(!imitatesPage(n), n);
  assert.deepEqual(lookalikes("аlice", ["alice", "bob", "аlice"]), ["alice"]);
  assert.deepEqual(lookalikes("rnallory", ["mallory"]), ["mallory"]);
});

test("drafts of a user", () => {
  assert.deepEqual(chat("hi", { to: ["bob"], replyTo: "m1", format: "markdown" }), { kind: "chat", to: ["bob"], correlationId: "m1", payload: { message: "hi", format: "markdown" } });
  assert.deepEqual(cancelQuestion("q", ""), { kind: "chat.cancel", correlationId: "q", payload: {} });
  assert.deepEqual(cancelReasoning("a/b", "stop"), { kind: "reasoning.cancel", context: "a/b", payload: { reason: "stop" } });
  assert.deepEqual(grant("bob", ["chat"], 60, ""), { kind: "capability.grant", to: ["bob"], payload: { recipient: "bob", capabilities: ["chat"], ttl_seconds: 60 } });
  assert.deepEqual(pause(["bob"]), { kind: "participant.pause", to: ["bob"], payload: {} });
});
