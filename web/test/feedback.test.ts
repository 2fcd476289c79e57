/** Feedback: which counts, and that it is no part of the reasoning that it is about. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { feedback } from "../src/core/drafts.js";
import { Space } from "../src/core/space.js";
import { Scribe, dump } from "./support.js";

function conversation(): { readonly s: Scribe; readonly space: Space } {
  const s = new Scribe();
  const space = new Space();
  space.load([], false);
  space.receive(s.welcome(["alice", "guide", "files"]));
  space.receive(s.say("alice", "chat", { message: "look" }, { id: "q" }));
  space.receive(s.say("guide", "reasoning.start", {}, { id: "c", correlationId: "q" }));
  space.receive(s.say("guide", "mcp.request", { method: "tools/call", params: { name: "read" } }, { id: "r", context: "c" }));
  space.receive(s.say("files", "mcp.response", { result: 1 }, { id: "o1", correlationId: "r" }));
  space.receive(s.say("bob", "mcp.response", { result: 2 }, { id: "o2", correlationId: "r" }));
  return { s, space };
}

test("of several by one participant about one envelope, the last one counts", () => {
  const { s, space } = conversation();
  const given = (id: string): unknown => space.state.feedback.get(id)?.given.map((x) => [x.from, x.value, x.note]);
  space.receive(s.say("alice", "feedback", { value: "up" }, { correlationId: "r" }));
  const first = space.state.feedback.get("r");
  space.receive(s.say("bob", "feedback", { value: "up", note: " right " }, { correlationId: ["r", "q"] }));
  space.receive(s.say("alice", "feedback", { value: "down", note: "the wrong file" }, { correlationId: "r" }));
  assert.deepEqual(given("r"), [["bob", "up", "right"], ["alice", "down", "the wrong file"]]);
  assert.deepEqual(given("q"), [["bob", "up", "right"]]);
  assert.equal(first?.given.length, 1, "a published feedback does not change");
  space.receive(s.say("bob", "feedback", { value: "none" }, { correlationId: "r" }));
  assert.deepEqual(given("r"), [["alice", "down", "the wrong file"]]);
  assert.equal(given("unknown"), undefined);
});

test("feedback changes nothing of the conversation", () => {
  const { s, space } = conversation();
  const rest = (): unknown => {
    const { feedback: _, participants: __, head: ___, ...state } = dump(space.state) as Record<string, unknown>;
    return state;
  };
  const before = rest();
  space.receive(s.say("guide", "feedback", { value: "up" }, { correlationId: "o1" })); // accepts no response
  space.receive(s.say("bob", "feedback", { value: "up" }, { context: "elsewhere", correlationId: "c" })); // opens no context
  space.receive(s.say("bob", "feedback", { value: "odd", note: 5 }, { context: "c", correlationId: "q" }));
  assert.deepEqual(rest(), before);
});

test("feedback goes to those that see what it is about", () => {
  const s = new Scribe();
  assert.deepEqual(feedback(s.say("guide", "chat", {}, { id: "a" }), "up", ""), { kind: "feedback", correlationId: "a", payload: { value: "up" } });
  assert.deepEqual(feedback(s.say("guide", "chat", {}, { id: "b", to: ["alice", "guide"] }), "down", "no"), {
    kind: "feedback",
    to: ["guide", "alice"],
    correlationId: "b",
    payload: { value: "down", note: "no" },
  });
});
