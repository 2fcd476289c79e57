/** Highlighting, suggestions, and colors of participants. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { highlight } from "../src/core/highlight.js";
import { HUES, hueOf } from "../src/core/hue.js";
import { Space } from "../src/core/space.js";
import { suggestions } from "../src/core/suggest.js";
import { Scribe } from "./support.js";

const marked = (code: string, language: string): string => highlight(code, language).map((x) => (x.type === "" ? x.text : `<${x.type}:${x.text}>`)).join("");

test("keywords, texts, numbers and comments", () => {
  assert.equal(marked('if x := f("a\\"b", 0x1F); ok { // note', "go"), '<word:if> x := f(<text:"a\\"b">, <number:0x1F>); ok { <note:// note>');
  assert.equal(marked("def f(): # note\n  return 'x'", "python"), "<word:def> f(): <note:# note>\n  <word:return> <text:'x'>");
  assert.equal(marked('{"a": true, "b": 1.5}', "json"), '{<text:"a">: <word:true>, <text:"b">: <number:1.5>}');
  assert.equal(marked("SELECT 1 -- one", "SQL"), "<word:SELECT> <number:1> <note:-- one>");
  assert.equal(marked("-a\n+b\n c", "diff"), "<removed:-a\n><added:+b\n> c");
  assert.equal(marked("ifx /* open", "c"), "ifx <note:/* open>");
  assert.equal(marked('say "open', "js"), 'say "open', "a text without an end is none");
  for (const language of ["", "klingon", "constructor", "__proto__"]) assert.equal(marked("if 1", language), "if 1");
});

test("highlighting never changes the code", () => {
  const chars = fc.string({ unit: fc.constantFrom(..."ab1.\"'`\\/*#-+@\n \u202e"), maxLength: 200 });
  fc.assert(
    fc.property(fc.oneof(chars, fc.string({ unit: "binary" })), fc.constantFrom("go", "py", "json", "yaml", "sql", "diff", "x"), (code, language) => {
      assert.equal(highlight(code, language).map((x) => x.text).join(""), code);
    }),
    { numRuns: 2000, seed: 20261122 },
  );
});

test("long code is not highlighted", () => {
  assert.equal(highlight("if ".repeat(20_000), "go").length, 1);
});

test("suggestions name agents that are online, and tools that need nothing", () => {
  const s = new Scribe();
  const space = new Space();
  space.load([], false);
  space.receive(s.welcome(["alice", "guide", "files"]));
  assert.deepEqual(suggestions(space.state), [], "no agent is known");
  space.receive(s.say("guide", "reasoning.start", { message: "x" }));
  assert.deepEqual(suggestions(space.state), ["@guide What can you help me with?"]);
  space.receive(s.say("alice", "mcp.request", { method: "tools/list", id: 1 }, { id: "l", to: ["files"] }));
  const tools = [{ name: "wipe", annotations: { readOnlyHint: false } }, { name: "find", annotations: { readOnlyHint: true }, inputSchema: { required: ["q"] } }, { name: "list_tags", annotations: { readOnlyHint: true }, inputSchema: {} }];
  space.receive(s.say("files", "mcp.response", { id: 1, result: { tools } }, { correlationId: "l" }));
  assert.deepEqual(suggestions(space.state), ["@guide What can you help me with?", "@guide Which tools are here, and which of them need my approval?", "@guide Use list_tags and summarize what you find."]);
  space.receive(s.presence("leave", "guide"));
  assert.deepEqual(suggestions(space.state), []);
});

test("a participant always has the same color, and all colors are used", () => {
  const used = new Set(Array.from({ length: 300 }, (_, i) => hueOf(`agent-${i}`)));
  assert.equal(used.size, HUES.length);
  assert.equal(hueOf("planner"), hueOf("planner"));
  assert.ok(hueOf("") < HUES.length);
});
