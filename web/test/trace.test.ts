/** The trace of a turn: spans, waiting, and what agents reported. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Space } from "../src/core/space.js";
import { type Trace, scale, trace, turnsOf, usageOf } from "../src/core/trace.js";
import { Scribe } from "./support.js";

const CALL = { method: "tools/call", params: { name: "read", arguments: {} } };

function turn(): { space: Space; s: Scribe; read: (now?: number) => Trace } {
  const s = new Scribe();
  const space = new Space();
  space.load([], false);
  space.receive(s.welcome(["alice", "planner", "files"]));
  const say = (from: string, kind: string, payload: object, more: object = {}): void => void space.receive(s.say(from, kind, payload as never, more));
  say("alice", "chat", { message: "Deploy?" }, { id: "q" });
  say("planner", "reasoning.start", { message: "Look", metadata: { model: "m-1", usage: { input_tokens: 100, output_tokens: 20 } } }, { id: "r", correlationId: "q" });
  say("planner", "reasoning.thought", { message: "Read it", metadata: { started_at: "2026-11-20T08:00:00Z", ended_at: "2026-11-20T08:01:00Z" } }, { id: "t", context: "r" });
  say("planner", "mcp.request", CALL, { id: "c", context: "r", to: ["files"], correlationId: "t" });
  say("files", "mcp.response", { error: { code: 1, message: "no" } }, { context: "r", correlationId: "c", after: 2500 });
  say("planner", "reasoning.start", { message: "Part", metadata: { started_at: "2026-11-20T09:15:01Z", ended_at: "2026-11-20T09:15:04Z" } }, { id: "n", context: "r" });
  say("planner", "reasoning.thought", { message: "Exported", metadata: { started_at: "2026-11-20T09:15:01Z", ended_at: "2026-11-20T09:15:03Z", model: "m-2", cost: 0.5 } }, { context: "r/n" });
  say("planner", "reasoning.conclusion", { message: "ok" }, { context: "r/n" });
  say("planner", "mcp.proposal", CALL, { id: "p", context: "r" });
  return { space, s, read: (now = s.at) => trace(space.state, "q", now, (id) => space.envelope(id)) as Trace };
}

test("steps are spans; reported times count only if the context reports its own", () => {
  const { read, s, space } = turn();
  const t = read(s.at + 4000);
  assert.equal(t.title, "Deploy?");
  assert.deepEqual(t.spans.map((x) => [x.type, x.depth, x.label, x.end - x.start, x.state]), [
    ["context", 0, "Look", 12_500, "running"],
    ["call", 1, "read", 2500, "failed"],
    ["context", 1, "Part", 3000, "done"],
    ["thought", 2, "Exported", 2000, "done"],
    ["call", 1, "read", 4000, "running"],
  ]);
  const last = t.spans.at(-1);
  assert.equal(last?.waitedUntil, last?.end, "it waits, and did not run");
  assert.deepEqual([t.calls, t.failed, t.waited], [2, 1, 4000]);
  assert.deepEqual([t.usage.model, t.usage.input, t.usage.output, t.usage.tokens, t.usage.cost, t.usage.currency], ["m-1, m-2", 100, 20, 120, 0.5, "USD"]);
  assert.deepEqual(turnsOf(space.state).map((x) => [x.id, x.title]), [["q", "Deploy?"]]);
});

test("waiting and running are parts of an approved call; the usage of the conclusion counts", () => {
  const { read, s, space } = turn();
  space.receive(s.say("alice", "mcp.request", CALL, { id: "go", to: ["files"], correlationId: "p", context: "r", after: 5000 }));
  space.receive(s.say("files", "mcp.response", { result: {} }, { correlationId: "go", context: "r", after: 700 }));
  space.receive(s.say("planner", "reasoning.conclusion", { message: "ok", metadata: { tokens: 30, cost: 1, currency: "EUR" } }, { context: "r" }));
  space.receive(s.say("planner", "chat", { message: "Done." }, { id: "a", correlationId: "q" }));
  const t = read(s.at + 1e9);
  const call = t.spans.find((x) => x.label === "read" && x.state === "done");
  assert.deepEqual([(call?.waitedUntil ?? 0) - (call?.start ?? 0), (call?.end ?? 0) - (call?.waitedUntil ?? 0)], [5000, 700]);
  assert.equal(t.spans.at(-1)?.label, "Answer");
  assert.equal(t.end, s.at);
  assert.deepEqual([t.usage.tokens, t.usage.cost, t.usage.currency], [150, 1, "EUR"], "other currencies are not added");
});

test("labels are one bounded line, whatever the names and texts are, and never empty", () => {
  const hostile = [
    "<img src=x onerror=alert(1)>".repeat(4000), "\u202E\u200B\u0000".repeat(30_000), "line\nline\u2028line\r".repeat(10_000), "W".repeat(100_000),
    "[".repeat(50_000) + "]".repeat(50_000), "\u0300".repeat(100_000), "`<b>`** **".repeat(10_000), "",
  ];
  for (const text of hostile) {
    const s = new Scribe();
    const space = new Space();
    space.load([], false);
    const say = (from: string, kind: string, payload: object, more: object = {}): void => void space.receive(s.say(from, kind, payload as never, more));
    say("alice", "chat", { message: text }, { id: "q" });
    say("planner", "reasoning.start", { message: text, metadata: { model: text, currency: text, cost: 1 } }, { id: "r", correlationId: "q" });
    say("planner", "reasoning.thought", { message: text, metadata: { model: text } }, { id: "t", context: "r" });
    say("planner", "reasoning.question", { questions: [text] }, { context: "r" });
    say("planner", "mcp.request", { method: "tools/call", params: { name: text, arguments: {} } }, { id: "c", context: "r", to: ["files"], correlationId: "t" });
    say("planner", "mcp.request", { method: text }, { context: "r", to: ["files"] });
    say("bob", "chat", { message: text }, { context: "r" });
    const t = trace(space.state, "q", s.at, (id) => space.envelope(id)) as Trace;
    assert.ok(t.spans.length >= 5, `${t.spans.length} spans`);
    for (const label of [t.title, ...turnsOf(space.state).map((x) => x.title), ...t.spans.map((x) => x.label), t.usage.model || "-", t.usage.currency]) {
      assert.ok(label.length > 0 && label.length <= 260, `a label of ${label.length} characters: ${JSON.stringify(label.slice(0, 40))}`);
      assert.equal(/[\r\n\u2028\u0000\u202E\u200B]/u.test(label), false, `characters that hide or break: ${JSON.stringify(label.slice(0, 40))}`);
    }
  }
});

test("a canceled part has a usage of its own, and a cancellation from outside has none", () => {
  const { read, s, space } = turn();
  const say = (from: string, kind: string, payload: object, more: object): void => void space.receive(s.say(from, kind, payload as never, more));
  const metadata = (n: number): object => ({ model: "m-3", usage: { input_tokens: n, output_tokens: 1, cached_tokens: n } });
  say("planner", "reasoning.start", { message: "Failing" }, { id: "f", context: "r" });
  say("planner", "reasoning.cancel", { reason: "no credit", metadata: metadata(40) }, { context: "r/f" });
  say("planner", "reasoning.start", { message: "Stopped" }, { id: "o", context: "r" });
  say("alice", "reasoning.cancel", { reason: "stop", metadata: metadata(1000) }, { correlationId: "o" });
  say("planner", "reasoning.conclusion", { message: "ok", metadata: metadata(3) }, { context: "r" });
  const t = read();
  const usage = (label: string): unknown[] => t.spans.filter((x) => x.label === label).map((x) => [x.usage.input, x.usage.output, x.state]);
  assert.deepEqual(usage("Failing"), [[40, 1, "ended"]]);
  assert.deepEqual(usage("Stopped"), [[null, null, "ended"]]);
  assert.deepEqual([t.usage.input, t.usage.output, t.usage.model], [143, 22, "m-1, m-3, m-2"], "each once");
});

test("usage of any shape is read or ignored", () => {
  for (const bad of [{}, { usage: 3 }, { usage: { input_tokens: -1, output_tokens: "7" } }, { cost: Number.NaN }, { tokens: "many" }]) {
    const u = usageOf(bad as never);
    assert.deepEqual([u.tokens, u.cost], [null, null]);
  }
});

test("calls of one tool are told apart by the first argument that differs", () => {
  const { read, s, space } = turn();
  const call = (name: string, args: unknown): void => void space.receive(s.say("planner", "mcp.request", { method: "tools/call", params: { name, arguments: args } } as never, { context: "r", to: ["files"] }));
  call("grep", { folder: "docs", words: ["limits", "rate"] });
  call("grep", { folder: "docs", words: ["burst"], deep: true });
  call("grep", { folder: "docs", words: { all: "burst" } });
  call("count", { what: { kind: "line" }, limit: 7 });
  call("list", "\u202Eno object");
  call("write", { text: "line\nline\u202E" + "x".repeat(500) });
  const args = read().spans.filter((x) => ["grep", "count", "list", "write"].includes(x.label)).map((x) => x.argument);
  assert.deepEqual(args.slice(0, 5), ["limits, rate", "burst", "docs", "7", ""]);
  assert.match(args[5] ?? "", /^line line ?x+…$/);
  assert.ok((args[5] ?? "").length <= 80, "bounded");
});

test("a step has its whole text and its envelopes", () => {
  const { read, s, space } = turn();
  space.receive(s.say("alice", "mcp.request", CALL, { id: "go", to: ["files"], correlationId: "p", context: "r" }));
  space.receive(s.say("files", "mcp.response", { result: {} }, { id: "went", correlationId: "go", context: "r" }));
  space.receive(s.say("planner", "reasoning.conclusion", { message: "All is well" }, { id: "e", context: "r" }));
  space.receive(s.say("planner", "chat", { message: "Done." }, { id: "a", correlationId: "q" }));
  assert.deepEqual(
    read().spans.map((x) => [x.text, x.conclusion, x.envelopes.map((e) => e.join(" ")).join(", ")]),
    [
      ["Look", "All is well", "Start r, Conclusion e"],
      ["Read it", "", "Reason t, Request c, Response m5"],
      ["Part", "ok", "Start n, Conclusion m8"],
      ["Exported", "", "Thought m7"],
      ["Read it", "", "Reason t, Proposal p, Request go, Response went"],
      ["Done.", "", "Message a"],
    ],
  );
});

test("the usage of a thought with several calls counts once", () => {
  const { read, s, space } = turn();
  space.receive(s.say("planner", "reasoning.thought", { message: "Read both", metadata: { usage: { input_tokens: 1000, output_tokens: 1 } } }, { id: "both", context: "r" }));
  for (const path of ["a", "b"]) space.receive(s.say("planner", "mcp.request", { method: "tools/call", params: { name: "read", arguments: { path } } }, { context: "r", to: ["files"], correlationId: "both" }));
  assert.deepEqual(read().spans.filter((x) => x.text === "Read both").map((x) => [x.argument, x.usage.input]), [["a", 1000], ["b", null]]);
  assert.equal(read().usage.input, 1100);
});

/** A turn that works for 10 s, waits for 190 s, and works for 10 s. */
function waiting(meanwhile: (say: (from: string, kind: string, payload: object, more: object) => void) => void = () => undefined): Trace {
  const s = new Scribe();
  const space = new Space();
  space.load([], false);
  space.receive(s.welcome(["alice", "planner", "scout", "files"]));
  const say = (from: string, kind: string, payload: object, more: object): void => void space.receive(s.say(from, kind, payload as never, more));
  say("alice", "chat", { message: "Deploy?" }, { id: "q" });
  say("planner", "reasoning.start", { message: "Look" }, { id: "r", correlationId: "q", after: 0 });
  say("planner", "mcp.proposal", CALL, { id: "p", context: "r", after: 10_000 });
  const until = s.at + 190_000;
  meanwhile(say);
  say("alice", "mcp.request", CALL, { id: "go", to: ["files"], correlationId: "p", context: "r", after: until - s.at });
  say("files", "mcp.response", { result: {} }, { correlationId: "go", context: "r", after: 10_000 });
  say("planner", "reasoning.conclusion", { message: "ok" }, { context: "r", after: 0 });
  return trace(space.state, "q", s.at, (id) => space.envelope(id)) as Trace;
}

test("a long wait is folded, and the rest keeps its proportions", () => {
  const t = waiting();
  const folded = scale(t, true);
  const at = (seconds: number): number => folded.at(t.start + seconds * 1000);
  assert.deepEqual(folded.folds.map((f) => [f.from - t.start, f.to - t.start, f.at, f.length]), [[10_000, 200_000, 10_000, 3000]]);
  assert.deepEqual([folded.length, at(0), at(5), at(10), at(200), at(205), at(210)], [23_000, 0, 5000, 10_000, 13_000, 18_000, 23_000]);
  assert.deepEqual(folded.marks(folded.length), [[0, "0"], [5000, "5 s"], [10_000, "10 s"], [18_000, "15 s"], [23_000, "20 s"]], "marks count the time that is not folded");
  const whole = scale(t, false);
  assert.deepEqual([whole.length, whole.folds.length, whole.at(t.start + 205_000)], [210_000, 0, 205_000]);
});

test("a wait during which something else happens is not folded there", () => {
  const t = waiting((say) => {
    say("scout", "reasoning.start", { message: "Meanwhile" }, { id: "m", correlationId: "q", after: 50_000 });
    say("scout", "reasoning.conclusion", { message: "ok" }, { context: "m", after: 40_000 });
  });
  assert.deepEqual(scale(t, true).folds.map((f) => [f.from - t.start, f.to - t.start]), [[10_000, 60_000], [100_000, 200_000]]);
  assert.equal(scale(t, true).at(t.start + 100_000) - scale(t, true).at(t.start + 60_000), 40_000, "the other reasoning is to scale");
});

test("a short wait, and a turn that only waits, keep a visible length", () => {
  const { read, s } = turn();
  assert.deepEqual(scale(read(s.at + 500), true).folds, [], "half a second of 13 s");
  const long = read(s.at + 86_400_000);
  const axis = scale(long, true);
  assert.ok(axis.folds.length === 1 && axis.length < 20_000, `a day of waiting after 13 s: ${axis.length} ms`);
  assert.equal(axis.at(long.end), axis.length, "the end of the trace is the end of the axis");
});

test("there is no trace without reasoning", () => {
  const { space } = turn();
  assert.equal(trace(space.state, "nothing", 0, () => undefined), null);
});
