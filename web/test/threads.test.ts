/** The list of conversations, what was read in them, and names of this browser. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { format, parse } from "../src/core/links.js";
import { Names, ReadState } from "../src/core/reads.js";
import { Space } from "../src/core/space.js";
import type { Message } from "../src/core/state.js";
import { excerpt, lastMessage, threadAt, threadPage, threads, titleOf } from "../src/core/threads.js";
import { EVERYTHING } from "../src/ui/panel.js";
import { rows } from "../src/ui/rows.js";
import { Scribe } from "./support.js";

/** Two conversations: one with reasoning that waits, and one that was answered. */
function stage(hasOlder = false): { space: Space; s: Scribe } {
  const s = new Scribe();
  const space = new Space();
  space.load([], hasOlder);
  space.receive(s.welcome(["alice", "bob", "planner"]));
  space.receive(s.say("alice", "chat", { message: "Deploy it?\nToday" }, { id: "a" }));
  space.receive(s.say("planner", "reasoning.start", { message: "look" }, { id: "r", correlationId: "a" }));
  space.receive(s.say("bob", "chat", { message: "Lunch?" }, { id: "b" }));
  space.receive(s.say("alice", "chat", { message: "Yes." }, { id: "b2", correlationId: "b" }));
  space.receive(s.say("planner", "mcp.proposal", { method: "tools/call", params: { name: "deploy" } }, { id: "p", context: "r" }));
  return { space, s };
}

test("conversations: title, order, unread, waiting and running", () => {
  const { space, s } = stage();
  const list = (reads = new ReadState({ all: 0 })): unknown[] => threads(space.state, reads).map((t) => [t.id, t.title, t.unread, t.waiting, t.running]);
  assert.deepEqual(list(), [
    ["a", "Deploy it?", 0, 1, true],
    ["b", "Lunch?", 1, 0, false],
  ]);
  space.receive(s.say("bob", "chat", { message: "At noon." }, { id: "b3", correlationId: "b2" }));
  assert.deepEqual(list(new ReadState({ all: 5 })).map((x) => (x as unknown[])[0]), ["b", "a"]);
  const reads = new ReadState({ all: 5 });
  assert.deepEqual(threads(space.state, reads).map((t) => [t.id, t.answeredBy]), [["b", "alice"], ["a", "planner"]]);
  assert.equal(threads(space.state, reads)[0]?.unread, 1);
  assert.equal(reads.mark("b", 6), true);
  assert.equal(reads.mark("b", 6), false);
  assert.equal(threads(space.state, reads)[0]?.unread, 0);
  assert.deepEqual([threadAt(space.state, "b3"), threadAt(space.state, "r"), threadAt(space.state, "r/x"), threadAt(space.state, "?")], ["b", "a", "a", ""]);
  assert.deepEqual([lastMessage(space.state, "b"), lastMessage(space.state, "a"), lastMessage(space.state, "?")], ["b3", "a", null]);
  space.receive(s.say("scout", "reasoning.start", { message: "look as well" }, { correlationId: "a" }));
  assert.equal(threads(space.state, reads).find((t) => t.id === "a")?.answeredBy, "planner", "it waits for a decision");
});

test("the title of a conversation is the plain text of its first sentence", () => {
  assert.deepEqual(
    ["Deploy it? Today.", "Version 2.4 is next. Then 2.5", "Run `make demo` **now**, please", "1. [The notes](https://x.org/y) of snake_case\nMore", "```sh\nls -l\n```", "- [x] _done_", "2 * 3 * 4", "", "\n\nLate"].map(titleOf),
    ["Deploy it?", "Version 2.4 is next.", "Run make demo now, please", "The notes of snake_case", "ls -l", "done", "2 * 3 * 4", "", "Late"],
  );
  const { space, s } = stage();
  space.receive(s.say("bob", "chat", { message: "## Minutes\n\n1. 2.4 is next\n\n#### Open", format: "markdown" }, { id: "minutes" }));
  assert.equal(threads(space.state, new ReadState({ all: 0 })).find((t) => t.id === "minutes")?.title, "Minutes");
});

test("the excerpt of a Markdown message is plain text, of another one its text", () => {
  const { space, s } = stage();
  const text = "`/docs` holds 2 files:\n\n- `a.md`: *First*\n- **`b_c.md`**: [Second](https://x.test/a)\n\n> ## A space\n> is a __room__";
  for (const format of ["markdown", "plain"]) space.receive(s.say("bob", "chat", { message: text, format }, { id: format }));
  const of = (id: string, most: number): string => excerpt(space.state.messages.get(id) as Message, most);
  assert.equal(of("markdown", 90), "/docs holds 2 files: a.md: First b_c.md: Second A space is a room");
  assert.equal(of("markdown", 10), "/docs hol…");
  assert.equal(of("plain", 30), "`/docs` holds 2 files: - `a.m…");
});

test("the titles of hostile messages cost little, and no more each time that the state changes", () => {
  const { space, s } = stage();
  for (let i = 0; i < 200; i++) space.receive(s.say("bob", "chat", { message: ["![", "[](", "\n", "*_ "][i % 4]?.repeat(1000) ?? "" }, { id: `hostile-${i}` }));
  const began = performance.now();
  for (let i = 0; i < 50; i++) threads(space.state, new ReadState({ all: 0 }));
  const took = performance.now() - began;
  assert.ok(took < 10_000, `200 titles, 50 times: ${Math.round(took)} ms, expected below 10 s`);
});

test("only the rows of the conversation are shown; a new one is empty", () => {
  const { space } = stage();
  const keys = (thread: string): string[] => rows(space.state, EVERYTHING, thread).map((r) => r.key).filter((k) => !k.startsWith("d "));
  assert.deepEqual(keys("a"), ["m a", "b r", "p p"]);
  assert.deepEqual(keys("b"), ["m b", "m b2"]);
  assert.deepEqual(keys("+"), []);
  assert.equal(keys("").length, 5);
});

test("an answer whose question is not loaded is no conversation yet", () => {
  const { space, s } = stage(true);
  space.receive(s.say("bob", "chat", { message: "Yes." }, { id: "late", correlationId: "unknown" }));
  assert.ok(!threads(space.state, new ReadState(null)).some((t) => t.id === "late"));
});

test("what was read is bounded, and survives", () => {
  const reads = new ReadState(null);
  assert.equal(reads.all, -1);
  reads.mark("", 10);
  for (let i = 0; i < 1000; i++) reads.mark(`t${i}`, 11 + i);
  assert.equal(reads.threads.size, 300);
  const again = new ReadState(JSON.parse(JSON.stringify(reads.save())));
  assert.deepEqual([again.all, again.threads.get("t999"), again.threads.get("t0")], [10, 1010, undefined]);
  again.mark("", 1005);
  assert.equal(again.threads.size, 5, "positions that the whole space has passed are dropped");
  for (const bad of [7, "x", { all: "1", threads: 3 }, { threads: [[1, 2], null, ["a"]] }]) assert.equal(new ReadState(bad).threads.size, 0);
});

test("names are bounded, trimmed and removable", () => {
  const names = new Names([["a", " Mine "], [1, 2], null]);
  assert.equal(names.get("a"), "Mine");
  names.set("a", "  ");
  assert.deepEqual([names.get("a"), names.save()], ["", []]);
  for (let i = 0; i < 1000; i++) names.set(`t${i}`, "n");
  assert.equal((names.save() as unknown[]).length, 300);
});

test("links to conversations", () => {
  for (const id of ["m-1", "+"]) assert.deepEqual(parse(format({ type: "thread", space: "lab", id })), { type: "thread", space: "lab", id });
  for (const bad of ["#/space/lab/t/", "#/space/lab/t/a/b", "#/space/lab/t/++", "#/space/lab/t/a b"]) assert.equal(parse(bad), null);
});

test("pages of the gateway's list", () => {
  const page = threadPage({ threads: [{ thread_id: "x", title: "T\u202e", updated_at: "2026-11-20T09:15:00Z", seq: 3 }, { thread_id: 7 }, null], next: 3, has_more: true });
  assert.deepEqual(page.threads.map((t) => [t.id, t.title, t.lastSeq]), [["x", "T", 3]]);
  assert.deepEqual([page.next, page.hasMore], [3, true]);
  for (const bad of [null, 7, {}, { threads: 3 }]) assert.deepEqual(threadPage(bad).threads, []);
});
