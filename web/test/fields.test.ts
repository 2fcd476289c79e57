/** Arguments as labeled fields. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse, stringify } from "@sdk/json.js";
import { fieldsOf } from "../src/core/fields.js";
import { expiry } from "../src/ui/format.js";

const shown = (args: unknown): readonly string[] => fieldsOf(args).map((f) => `${f.name} ${f.as}${f.as === "code" ? ` ${f.language}` : ""}`);

test("each value has a field, also in objects and lists of them", () => {
  const args = { to: "ben", options: { retries: 3, tags: ["a", "b"], empty: {} }, messages: [{ role: "user", content: "Hello\nyou" }, 7], notes: ["one", "two\nlines"] };
  assert.deepEqual(
    fieldsOf(args).map((f) => [f.name, f.value]),
    [
      ["to", "ben"],
      ["options.retries", 3],
      ["options.tags", ["a", "b"]],
      ["options.empty", {}],
      ["messages[0].role", "user"],
      ["messages[0].content", "Hello\nyou"],
      ["messages[1]", 7],
      ["notes[0]", "one"],
      ["notes[1]", "two\nlines"],
    ],
  );
});

test("a field can be read in one way only", () => {
  assert.deepEqual(shown({ a: "false", b: false, c: "12", d: 12, e: "", f: " edge", g: "edge\t", h: '"quoted"', i: "null", j: "[1]", k: " \n " }), [
    "a json", "b json", "c json", "d json", "e json", "f json", "g json", "h json", "i json", "j json", "k json",
  ]);
  assert.deepEqual(shown({ a: "falsely", b: "12 eggs", c: '"quoted" and more', d: "{curly", e: "two\nlines\n", f: "  indented\nlines" }), ["a text", "b text", "c text", "d text", "e text", "f text"]);
  assert.deepEqual(fieldsOf({ "a.b": 1, a: { b: 2 }, "": 3, "c[0]": 4, c: [{ d: 5 }], 'q"': 6 }).map((f) => f.name), ['["a.b"]', "a.b", '[""]', '["c[0]"]', "c[0].d", '["q\\""]']);
});

test("the arguments can be rebuilt from what is shown", () => {
  const token = /\.?([^\s.[\]"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gu;
  const read = (text: string): unknown => {
    try {
      return parse(text);
    } catch {
      return text;
    }
  };
  const word = fc.oneof(fc.string(), fc.constantFrom("a", "b", "a.b", "c[0]", "0", "content", "path", "x.md"));
  const args = fc.dictionary(word, fc.jsonValue({ depthSize: "medium" }));
  fc.assert(
    fc.property(args, (before) => {
      const after: { root?: unknown } = {};
      for (const f of fieldsOf(before)) {
        let at: Record<string, unknown> | unknown[] = after;
        let key: string | number = "root";
        for (const m of f.name.matchAll(token)) {
          const next: string | number = m[2] !== undefined ? Number(m[2]) : m[3] !== undefined ? (JSON.parse(m[3]) as string) : (m[1] as string);
          const holder = at as Record<string | number, unknown>;
          if (!Object.hasOwn(holder, key)) Object.defineProperty(holder, key, { value: typeof next === "number" ? [] : {}, enumerable: true, writable: true, configurable: true });
          at = holder[key] as Record<string, unknown>;
          key = next;
        }
        const value = f.as === "json" ? f.value : read(String(f.value));
        Object.defineProperty(at, key, { value, enumerable: true, writable: true, configurable: true });
      }
      assert.equal(stringify(after.root ?? {}), stringify(before));
    }),
  );
});

test("code is code, with the language of its name, of another argument or of the file", () => {
  assert.deepEqual(shown({ command: "ls -l", sql: "select 1", query: "DELETE FROM users", script: "echo" }), ["command code sh", "sql code sql", "query code sql", "script code sh"]);
  assert.deepEqual(shown({ query: "who may change it?", code: "x = 1", content: "some words", text: "words" }), ["query text", "code code ", "content text", "text text"]);
  assert.deepEqual(shown({ language: "python", code: "x = 1" }), ["language text", "code code python"]);
  assert.deepEqual(shown({ path: "src/main.go", content: "package main" }), ["path text", "content code go"]);
  assert.deepEqual(shown({ path: "notes.md", content: "words", constructor: "x" }), ["path text", "content text", "constructor text"]);
});

test("arguments that are no object, that are deep or many, and exact numbers", () => {
  assert.deepEqual(shown("words"), [" text"]);
  assert.deepEqual(shown([]), [" json"]);
  assert.deepEqual(shown({}), [" json"]);
  let deep: unknown = "end";
  for (let i = 0; i < 40; i++) deep = { x: deep };
  const [only, ...others] = fieldsOf(deep);
  assert.deepEqual([only?.name, only?.as, others.length], ["x.x.x.x.x", "json", 0]);
  assert.deepEqual(shown(Array.from({ length: 2000 }, () => ({ x: 1 }))), [" json"]);
  assert.deepEqual(shown(parse('{"n": 12345678901234567890, "t": "12345678901234567890"}')), ["n json", "t json"]);
});

test("the time that is left", () => {
  const now = Date.parse("2026-11-20T09:15:00Z");
  assert.deepEqual([-5, 0, 59.9, 119, 120, 599, 3600, 5 * 3600 + 130].map((s) => expiry(now + s * 1000, now)), [
    "Expires in 0s", "Expires in 0s", "Expires in 59s", "Expires in 1m 59s", "Expires in 2m", "Expires in 9m", "Expires in 1h", "Expires in 5h 2m",
  ]);
  assert.match(expiry(now + 48 * 3_600_000, now), /^Expires .*22/);
});
