/** The words for results are those of the gateway: the cases of internal/exchange. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { kindWords } from "../src/core/kind-words.js";
import { failed, outcomeText, shownResult } from "../src/core/outcome.js";
import { parse } from "@sdk/json.js";
import type { Payload } from "@sdk/types.js";

declare const REPOSITORY: string;

interface Case {
  readonly name: string;
  readonly payload: Payload;
  readonly want: string;
  readonly failed?: boolean;
}

const cases = parse(readFileSync(join(REPOSITORY, "internal", "exchange", "testdata", "cases.json"), "utf8")) as readonly Case[];

test("there are cases of outcomes", () => assert.ok(cases.length > 30));

for (const c of cases) {
  test(`outcome: ${c.name}`, () => {
    assert.equal(outcomeText(c.payload), c.want);
    assert.equal(failed(c.payload), c.failed ?? false);
  });
}

const ofText = (text: string): string => outcomeText({ result: { content: [{ type: "text", text }] } });

test("a long error is shortened, between characters", () => {
  assert.equal(outcomeText({ error: { message: "😀".repeat(1000) } }), "error: " + "😀".repeat(200) + "…");
});

test("a text above the bound is not parsed", () => {
  assert.equal(ofText("[" + "1,".repeat(128 << 10) + "1]"), "262,147 characters");
  assert.equal(ofText(`["${"é".repeat(128 << 10)}"]`), "131,076 characters", "the bound is one of bytes");
});

test("a deeply nested text is not counted", () => {
  assert.equal(ofText("[".repeat(50_000) + "]".repeat(50_000)), "100,000 characters");
});

test("a short line is shown itself, in quotation marks, in place of its length", () => {
  const shown = (text: string): string => {
    const result = { content: [{ type: "text", text }] };
    return shownResult(result, outcomeText({ result }));
  };
  assert.equal(shown("v2.4.0 is pushed\n"), "“v2.4.0 is pushed”");
  assert.equal(shown("he said “yes”"), "“he said 'yes'”");
  assert.equal(shown("x".repeat(121)), "121 characters");
  assert.equal(shown("one\ntwo"), "2 lines");
  assert.equal(shown("12 files matched"), "12 files found");
  assert.equal(shownResult(undefined, "error: no such file"), "error: no such file");
});

test("kinds in words", () => {
  const words = ["chat", "mcp.request", "mcp/response", "reasoning.hypothesis", "participant.request-status", "x.feedback", "constructor", "", "a.\u202e"].map(kindWords);
  assert.deepEqual(words, ["Message", "Call", "Result", "Hypothesis", "Request status", "Feedback", "Constructor", "Other", "Other"]);
});
