/** The rows of the conversation, their window, and the announcements for screen readers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Space } from "../src/core/space.js";
import { Announcer } from "../src/ui/announcer.js";
import { EVERYTHING } from "../src/ui/panel.js";
import { type Row, rows } from "../src/ui/rows.js";
import { showsStep } from "../src/ui/view-filter.js";
import { RowWindow } from "../src/ui/row-window.js";
import { Scribe } from "./support.js";

function filled(write: (s: Scribe, space: Space) => void): Space {
  const space = new Space();
  const s = new Scribe();
  space.load([], false);
  space.receive(s.welcome(["alice", "bob", "guide", "scout"]));
  write(s, space);
  return space;
}

const shape = (list: readonly Row[]): string[] => list.map((r) => (r.type === "message" ? `${r.message.text}${r.joined ? "+" : ""}${r.quote === null ? "" : ` ↰${r.quote.text}`}` : r.type === "block" ? `[${r.block.path}]` : r.type));

test("a block is below its question until there is an answer, then above the answer", () => {
  const s = new Scribe();
  const space = filled(() => {});
  space.receive(s.say("alice", "chat", { message: "why?" }));
  space.receive(s.say("guide", "reasoning.start", { message: "look" }, { id: "c", correlationId: "m1" }));
  space.receive(s.say("bob", "chat", { message: "meanwhile" }));
  assert.deepEqual(shape(rows(space.state, EVERYTHING)), ["day", "why?", "[c]", "meanwhile"]);
  space.receive(s.say("guide", "reasoning.conclusion", { message: "so" }, { context: "c" }));
  space.receive(s.say("guide", "chat", { message: "because" }, { correlationId: "m1" }));
  assert.deepEqual(shape(rows(space.state, EVERYTHING)), ["day", "why?", "meanwhile", "[c]", "because+ ↰why?"]);
});

test("consecutive messages are grouped; replies show what they answer", () => {
  const space = filled((s, sp) => {
    sp.receive(s.say("bob", "chat", { message: "one" }));
    sp.receive(s.say("bob", "chat", { message: "two" }));
    sp.receive(s.say("alice", "chat", { message: "three" }, { correlationId: "m1" }));
    sp.receive(s.say("alice", "chat", { message: "four" }, { correlationId: "m3" }));
    sp.receive(s.say("alice", "chat", { message: "five" }, { after: 30 * 60_000 }));
    sp.receive(s.say("alice", "chat", { message: "six" }, { after: 48 * 3_600_000 }));
  });
  assert.deepEqual(shape(rows(space.state, EVERYTHING)), ["day", "one", "two+", "three ↰one", "four+", "five", "day", "six"]);
});

test("a view hides unselected rows, but not mentions of the user or pending items", () => {
  const space = filled((s, sp) => {
    sp.receive(s.say("bob", "chat", { message: "public" }));
    sp.receive(s.say("bob", "chat", { message: "for you" }, { to: ["alice"] }));
    sp.receive(s.say("guide", "reasoning.start", { message: "a" }, { id: "ca" }));
    sp.receive(s.say("scout", "reasoning.start", { message: "b" }, { id: "cb" }));
    sp.receive(s.say("scout", "mcp.proposal", { method: "tools/call", params: { name: "rm" } }, { context: "cb" }));
  });
  const of = (view: object): string[] => shape(rows(space.state, { ...EVERYTHING, ...view })).filter((x) => x !== "day");
  assert.deepEqual(of({}), ["public", "for you", "[ca]", "[cb]", "proposal"]);
  assert.deepEqual(of({ contexts: ["ca"] }), ["for you", "[ca]", "[cb]", "proposal"]);
  assert.deepEqual(of({ contexts: [""] }), ["public", "for you", "[cb]", "proposal"]);
  assert.deepEqual(of({ from: ["guide"] }), ["for you", "[ca]", "[cb]", "proposal"]);
  const step = space.state.blocks.get("cb")?.steps[0];
  assert.ok(step !== undefined && showsStep({ ...EVERYTHING, conclusionsOnly: true }, step));
});

const many = (n: number): Row[] => Array.from({ length: n }, (_, i) => ({ type: "day", key: `k${i}`, at: i }));

test("the number of rows in the document is bounded in both directions", () => {
  const w = new RowWindow();
  const all = many(5000);
  assert.equal(w.of(all, true).length, 250);
  assert.equal(w.atEnd, true);
  for (let i = 0; w.up(all); i++) {
    assert.ok(i < 300);
    assert.ok(w.of(all, false).length <= 500);
  }
  assert.equal(w.of(all, false)[0]?.key, "k0");
  assert.equal(w.atEnd, false);
  while (w.down(all)) assert.ok(w.of(all, false).length <= 500);
  assert.equal(w.of(all, false).at(-1)?.key, "k4999");
});

test("older rows do not move the viewport, and newer ones are bounded", () => {
  const w = new RowWindow();
  const late = many(3000).slice(2000);
  w.of(late, true);
  w.up(late);
  const first = w.of(late, false)[0]?.key;
  const before = many(3000);
  assert.equal(w.of(before, false)[0]?.key, first);
  const after = many(9000);
  assert.ok(w.of(after, false).length <= 500);
  assert.equal(w.of(after, false)[0]?.key, first);
  assert.ok(w.center(after, "k4000"));
  assert.ok(w.of(after, false).some((r) => r.key === "k4000"));
  assert.equal(w.center(after, "nowhere"), false);
  w.reset();
  assert.equal(w.of(after, true).at(-1)?.key, "k8999");
});

test("screen readers announce starts and ends, and no history", () => {
  const s = new Scribe();
  const space = filled(() => {});
  const announcer = new Announcer();
  space.receive(s.say("bob", "chat", { message: "old" }));
  assert.equal(announcer.announce(space.state, true), "");
  space.receive(s.say("guide", "reasoning.start", {}, { id: "c" }));
  assert.equal(announcer.announce(space.state, true), "guide is reasoning");
  for (let i = 0; i < 20; i++) space.receive(s.say("guide", "reasoning.thought", { message: "hm" }, { context: "c" }));
  assert.equal(announcer.announce(space.state, true), "");
  space.receive(s.say("guide", "reasoning.conclusion", {}, { context: "c" }));
  space.receive(s.say("bob", "chat", { message: "good\nindeed" }));
  space.receive(s.say("alice", "chat", { message: "mine" }));
  assert.equal(announcer.announce(space.state, true), "guide: Thought for 21s. bob: good indeed");
  for (let i = 0; i < 9; i++) space.receive(s.say("bob", "chat", { message: "more" }));
  assert.equal(announcer.announce(space.state, true), "9 new messages");
});
