/** Whatever envelopes hold, nothing throws, and what was there stays readable. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { tree } from "../src/core/filter.js";
import { look, parse, stringify } from "@sdk/json.js";
import { envelope } from "@sdk/read.js";
import { weigh } from "../src/core/space.js";
import { Space } from "../src/core/space.js";
import { capability } from "../src/core/capabilities.js";
import { notice, refusal } from "../src/core/sentences.js";
import { blockTitle, elapsedSeconds } from "../src/core/time.js";
import type { Capability, Envelope, Refusal } from "@sdk/types.js";
import { dump } from "./support.js";

const KINDS = [
  "chat", "chat.acknowledge", "chat.cancel", "mcp.request", "mcp.response", "mcp.proposal", "mcp.withdraw", "mcp.reject", "reasoning.start", "reasoning.thought",
  "reasoning.question", "reasoning.hypothesis", "reasoning.conclusion", "reasoning.cancel", "reasoning.__proto__", "capability.grant", "capability.revoke", "space.invite",
  "space.kick", "participant.pause", "participant.resume", "participant.status", "stream.open", "stream.data", "stream.close", "system.welcome", "system.presence",
  "system.error", "constructor", "x.y",
];
const IDS = ["a", "b", "c", "d", "__proto__", "constructor", "toString"];
const FIELDS = [
  "message", "text", "content", "hypothesis", "questions", "confidence", "severity", "evidence", "tool_name", "parallel_group", "raw", "redacted", "metadata", "reason",
  "method", "params", "result", "error", "recipient", "capabilities", "grant_id", "ttl_seconds", "participant_id", "timeout_seconds", "stream_id", "data", "you", "space",
  "participants", "participant", "event", "seq", "format", "key_factors", "decision", "status", "__proto__", "hasOwnProperty",
];

const anything = fc.oneof(fc.constantFrom<unknown>(null, true, -1, 1e308, "", "a", "tools/call", "timeout"), fc.constantFrom(...IDS), fc.json().map((x) => JSON.parse(x) as unknown));
const payload = fc.oneof(
  fc.array(fc.tuple(fc.constantFrom(...FIELDS), anything), { maxLength: 6 }).map((pairs) => pairs.map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v) ?? "null"}`)),
  fc.constant<string[]>([]),
);
const id = fc.constantFrom(...IDS);
const context = fc.oneof(fc.array(id, { minLength: 1, maxLength: 6 }).map((x) => x.join("/")), anything);

/** The JSON text of an envelope that is right as far as the gateway checks, and wrong in all else. */
const frame = fc
  .record({ kind: fc.constantFrom(...KINDS), id, from: fc.constantFrom("alice", "planner", "system:gateway", "__proto__"), payload, context: fc.option(context), refs: fc.oneof(id, fc.array(id), anything), to: anything, seq: fc.option(fc.integer({ min: 1, max: 60 })) })
  .map((e) => `{"id":${JSON.stringify(e.id)},"ts":"2026-11-20T09:15:0${(e.seq ?? 0) % 10}Z","from":${JSON.stringify(e.from)},"kind":${JSON.stringify(e.kind)},"payload":{${[...new Map(e.payload.map((p) => [p.split(":")[0], p])).values()].join(",")}},"context":${JSON.stringify(e.context) ?? "null"},"correlationId":${JSON.stringify(e.refs) ?? "null"},"to":${JSON.stringify(e.to) ?? "null"},"seq":${e.seq ?? "null"}}`);

test("random envelopes", () => {
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 60 }), (frames) => {
      const space = new Space({ window: 5 });
      const all: Envelope[] = [];
      for (const text of frames) {
        const e = envelope(parse(text));
        if (e === null) continue;
        all.push(e);
        space.receive(e);
      }
      const state = space.state;
      dump(state);
      for (const b of state.blocks.values()) {
        assert.ok(blockTitle(b, 1e13).length > 0);
        assert.ok((elapsedSeconds(b, -1) ?? 0) >= 0);
        assert.ok(b.parent === null || state.blocks.has(b.parent));
      }
      for (const item of state.timeline) {
        const map = { message: state.messages, block: state.blocks, proposal: state.proposals, call: state.calls, notice: state.notices }[item.type];
        assert.ok(map.has(item.key), `${item.type} ${item.key} is there`);
      }
      for (const p of state.pending) assert.equal(state.proposals.get(p)?.status, "pending");
      tree(state);
      all.map(notice);
    }),
    { numRuns: 1500, seed: 20261120 },
  );
  assert.equal(({} as { message?: unknown }).message, undefined, "no prototype was changed");
});

test("random frames of any JSON at all", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 20 }), (values) => {
      const space = new Space();
      for (const v of values) {
        const e = envelope(v);
        if (e !== null) space.receive(e);
        weigh(v);
        refusal({ ...(v as object), error: "x", message: "" } as Refusal);
        if (typeof v === "object" && v !== null) capability(v as unknown as Capability);
      }
      return dump(space.state) !== undefined;
    }),
    { numRuns: 1000, seed: 20261121 },
  );
});

test("JSON is read and written as the engine does it, but for its numbers", () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      assert.deepEqual(JSON.parse(stringify(parse(text))), JSON.parse(text));
    }),
    { numRuns: 2000, seed: 1 },
  );
  const kept = '{"a":[12345678901234567890,-0.1,1e400,2.5e-8,{"b":9007199254740993}],"":0.10000000000000000001}';
  assert.equal(stringify(parse(kept)), kept.replace("2.5e-8", "2.5e-8"));
  assert.equal(stringify(parse("[1.0,100000000000000000000,1E2]")), "[1,100000000000000000000,100]");
  assert.equal(stringify(parse("12345678901234567890")), "12345678901234567890");
  assert.equal(stringify(parse('{"__proto__":[1e999]}')), '{"__proto__":[1e999]}');
  for (const bad of ["", "{", "[1,]", "01", "1e", '{"a":1e999,}', "nul", '"\\x"']) assert.throws(() => parse(bad), SyntaxError);
});

test("deep nesting is not sent, and is safe to display", () => {
  let deep: unknown = 1;
  for (let i = 0; i < 5000; i++) deep = [deep];
  assert.throws(() => stringify(deep), RangeError);
  assert.equal(look(deep), "…");
  weigh(deep);
});

test("no string of an envelope is lost on the way to the screen", () => {
  const odd = "\u202Eevil\u0000\uD800";
  const space = new Space();
  space.receive({ id: "x", ts: "never", from: "bob", kind: "chat", payload: { message: odd }, seq: 1 });
  assert.equal(space.state.messages.get("x")?.text, odd, "what is done about it is the business of who draws it");
});
