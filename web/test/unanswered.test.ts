/** Messages that begin with a mention of a participant that is not connected. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Participant, SpaceState } from "../src/core/state.js";
import { unanswered } from "../src/core/unanswered.js";

const people = [
  { id: "alice", present: true, agent: false },
  { id: "guide", present: true, agent: true },
  { id: "Dora", present: false, agent: true },
] as unknown as Participant[];
const state = { you: { id: "alice" }, participants: new Map(people.map((p) => [p.id, p])) } as unknown as SpaceState;

for (const [text, want] of [
  ["hello", ""],
  ["hello @giude", ""],
  ["@Guide hello", ""],
  ["@types/node is old", ""],
  ["@giude hello", "No participant @giude is connected, and nobody was asked. Did you mean @guide?"],
  ["@nobody, hello", "No participant @nobody is connected, and nobody was asked."],
  ["@jürgen hello", "No participant @jürgen is connected, and nobody was asked."],
  ["@nobody and @guide, hello", "No participant @nobody is connected."],
  ["@nobody and @guide2, hello", "No participant @nobody is connected, and nobody was asked."],
  ["@alic hello", "No participant @alic is connected, and nobody was asked."],
  ["@dora hello", "No participant @dora is connected, and nobody was asked. A message “Only to Dora” reaches it when it connects."],
] as const)
  test(`the sender of "${text}" is told ${want === "" ? "nothing" : "that nobody answers"}`, () => {
    assert.equal(unanswered(state, text), want);
  });
