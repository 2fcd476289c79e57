/** The words for results are those of the gateway: the cases of internal/outcome. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { failed, outcomeText } from "../src/core/outcome.js";
import { parse } from "@sdk/json.js";
import type { Payload } from "@sdk/types.js";

declare const REPOSITORY: string;

interface Case {
  readonly name: string;
  readonly payload: Payload;
  readonly want: string;
  readonly failed?: boolean;
}

const cases = parse(readFileSync(join(REPOSITORY, "internal", "outcome", "testdata", "cases.json"), "utf8")) as readonly Case[];

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
  assert.equal(ofText("[" + "1,".repeat(128 << 10) + "1]"), "success (262,147 chars)");
  assert.equal(ofText(`["${"é".repeat(128 << 10)}"]`), "success (131,076 chars)", "the bound is one of bytes");
});

test("a deeply nested text is not counted", () => {
  assert.equal(ofText("[".repeat(50_000) + "]".repeat(50_000)), "success (100,000 chars)");
});
