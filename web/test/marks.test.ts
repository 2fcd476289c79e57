/** Reasoning in the text of a message is that of the terminal: the cases of internal/terminal/block. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { splitMarks } from "../src/core/marks.js";
import { Reducer } from "../src/core/reducer.js";

declare const REPOSITORY: string;

interface Case {
  readonly name: string;
  readonly text: string;
  readonly seconds?: number;
  readonly steps?: readonly string[];
  readonly rest: string;
}

const file = join(REPOSITORY, "internal", "kit", "textutil", "testdata", "marks.json");
const cases = JSON.parse(readFileSync(file, "utf8")) as readonly Case[];

test("there are cases of markers", () => assert.ok(cases.length > 25));

for (const c of cases) {
  test(`marks: ${c.name}`, () => {
    const { marks, text } = splitMarks(c.text);
    const steps = c.steps ?? [];
    assert.equal(text, c.rest);
    assert.deepEqual(marks, steps.length === 0 && c.seconds === undefined ? null : { seconds: c.seconds ?? null, steps });
  });
}

test("the work for a marker is bounded", () => {
  for (const text of [
    `<!--REASONING_BLOCK:{"elapsed":1,"steps":["${"-->".repeat(20)}"]}-->x`,
    `<!--REASONING_BLOCK:{"elapsed":1,"steps":["${"x".repeat(64 << 10)}"]}-->x`,
    `<!--AGENT_REASONING:complete:1:${"[".repeat(30_000)}${"]".repeat(30_000)}-->x`,
  ]) {
    assert.deepEqual(splitMarks(text), { marks: null, text });
  }
  const blanks = " ".repeat(1_000_000); // quadratic work would take hours
  assert.equal(splitMarks(`<think>a${blanks}b</think>x`).text, "x");
});

test("a message has its markers apart from its text", () => {
  const r = new Reducer({ fromStart: true });
  r.apply({ protocol: "meup/v0.1", id: "m", seq: 1, ts: "2026-11-20T09:15:00Z", from: "bot", kind: "chat", payload: { message: "<think>why</think>\n\nbecause" } });
  const m = r.state.messages.get("m");
  assert.equal(m?.text, "because");
  assert.deepEqual(m?.marks, { seconds: null, steps: ["why"] });
});
