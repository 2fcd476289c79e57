/** Completion of names, mentions, and checks of capabilities. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Participant } from "../src/core/state.js";
import { candidates, mentionAt, mentioned } from "../src/ui/completion.js";
import { allows } from "@sdk/capabilities.js";

const person = (id: string, present = true): Participant =>
  ({ id, present, kicked: false, agent: false, capabilities: [], version: 1 }) as unknown as Participant;

test("a name is completed after an @ at the start of a word", () => {
  assert.deepEqual(mentionAt("hi @gu", 6), { at: 3, word: "gu" });
  assert.deepEqual(mentionAt("@", 1), { at: 0, word: "" });
  assert.equal(mentionAt("mail me@home", 12), null);
  assert.equal(mentionAt("hi @guide there", 15), null);
});

test("connected participants with the prefix come first; the user is left out", () => {
  const all = [person("agnes", false), person("guide"), person("zagreb"), person("alice"), person("ag")];
  assert.deepEqual(candidates(all, "alice", "ag").map((p) => p.id), ["ag", "zagreb", "agnes"]);
});

test("mentions are participants only, without trailing punctuation", () => {
  const all = new Map(["guide", "bob.b", "x"].map((id) => [id, person(id)]));
  assert.deepEqual(mentioned("@guide, ask @bob.b. And @nobody, (@x) @guide", all), ["guide", "bob.b", "x"]);
});

test("the offered actions follow the user's capabilities", () => {
  assert.ok(allows(["*"], "chat"));
  assert.ok(allows(["chat"], "chat"));
  assert.ok(allows(["reasoning/*"], "reasoning.cancel"));
  assert.ok(allows([{ kind: "mcp.request", payload: { method: "tools/call" } }], "mcp.request"));
  assert.ok(!allows([], "chat"));
  assert.ok(!allows(["reasoning/thought"], "chat"));
  assert.ok(!allows(["reasoning/step"], "reasoning.cancel"));
  assert.ok(!allows(["*", { kind: "chat", deny: true }], "chat"));
  assert.ok(allows(["*", { kind: "chat", payload: { format: "markdown" }, deny: true }], "chat"));
  assert.ok(!allows(["chat.*"], "mcp.request"));
  assert.ok(allows(["/^(chat|mcp)/"], "chat"));
  assert.ok(allows(["*", { kind: "/^x/", deny: true }], "chat"));
});
