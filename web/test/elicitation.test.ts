/** Questions of tool servers: which ones are open, and which answers are sent. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Field, answer, asksSecret, formOf, valueOf } from "../src/core/elicitation.js";
import { Reducer } from "../src/core/reducer.js";
import type { Elicitation } from "../src/core/state.js";
import type { Envelope } from "@sdk/types.js";
import { rows } from "../src/ui/rows.js";
import { EVERYTHING } from "../src/ui/panel.js";
import { Scribe } from "./support.js";

const PARAMS = {
  message: "Where?",
  _meta: { "meup/server": { name: "moody" }, "meup/expires_at": "2026-11-28T10:00:00Z" },
  requestedSchema: {
    type: "object",
    required: ["host", "days"],
    properties: {
      host: { type: "string", title: "Host", minLength: 2 },
      port: { type: "integer", minimum: 1, maximum: 9, default: 2 },
      load: { type: "number" },
      sure: { type: "boolean" },
      color: { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] },
      days: { type: "array", maxItems: 1, items: { anyOf: [{ const: "mo", title: "Monday" }, { const: "tu" }] } },
    },
  },
};

function asked(params: unknown = PARAMS): { r: Reducer; w: Scribe; call: Envelope; q: Envelope; open: () => Elicitation[] } {
  const r = new Reducer({ fromStart: true });
  const w = new Scribe();
  const call = w.say("alice", "mcp.request", { id: 1, method: "tools/call", params: { name: "ask" } }, { to: ["files"] });
  const q = w.say("files", "mcp.request", { id: "q", method: "elicitation/create", params }, { to: ["alice"], correlationId: call.id });
  for (const e of [call, q]) r.apply(e);
  return { r, w, call, q, open: () => [...r.state.elicitations.values()] };
}

test("a question is open until it is answered, taken back, expired, or its call has ended", () => {
  const one = asked();
  assert.deepEqual(one.open().map((x) => [x.from, x.to, x.rpc, x.calls]), [["files", "alice", "q", [one.call.id]]]);
  one.r.apply(one.w.say("bob", "mcp.response", { result: {} }, { correlationId: one.q.id }));
  one.r.apply(one.w.say("bob", "mcp.request", { method: "notifications/cancelled" }, { to: ["alice"], correlationId: one.q.id }));
  assert.equal(one.open().length, 1, "only alice answers, and only files takes it back");
  one.r.apply(one.w.say("alice", "mcp.response", { result: { action: "decline" } }, { correlationId: one.q.id }));
  assert.equal(one.open().length, 0);
  const two = asked();
  two.r.apply(two.w.say("files", "mcp.request", { method: "notifications/cancelled" }, { to: ["alice"], correlationId: two.q.id }));
  assert.equal(two.open().length, 0);
  const three = asked();
  three.r.apply(three.w.say("files", "mcp.response", { id: 1, result: {} }, { correlationId: three.call.id }));
  assert.equal(three.open().length, 0);
  const four = asked();
  four.r.expire(Date.parse("2026-11-28T09:59:59Z"));
  assert.equal(four.open().length, 1);
  four.r.expire(Date.parse("2026-11-28T10:00:00Z"));
  assert.equal(four.open().length, 0);
});

test("only the recipient of a call without a response asks about it, up to 20 times", () => {
  const { r, w, call, open } = asked();
  const ask = (from: string, about?: string): void => void r.apply(w.say(from, "mcp.request", { id: "q", method: "elicitation/create", params: PARAMS }, { to: ["alice"], ...(about !== undefined && { correlationId: about }) }));
  const other = w.say("bob", "mcp.request", { id: 1, method: "tools/call", params: { name: "ask" } }, { to: ["files"] });
  r.apply(other);
  ask("evil", call.id);
  ask("files");
  ask("files", other.id);
  assert.equal(open().length, 1, "questions about the call of another, from another, and about none");
  for (let i = 0; i < 30; i++) ask("files", call.id);
  assert.equal(open().length, 20);
  r.apply(w.say("files", "mcp.response", { id: 1, result: {} }, { correlationId: call.id }));
  ask("files", call.id);
  assert.equal(open().length, 0, "the call has its response");
});

test("questions about a cancelled call, and about the oldest of more than 1024, are not shown", () => {
  const { r, w, call, open } = asked();
  const ask = (about: string): void => void r.apply(w.say("files", "mcp.request", { id: "q", method: "elicitation/create", params: PARAMS }, { to: ["alice"], correlationId: about }));
  r.apply(w.say("bob", "mcp.request", { method: "notifications/cancelled" }, { to: ["files"], correlationId: call.id }));
  ask(call.id);
  assert.equal(open().length, 2, "bob is not the caller");
  r.apply(w.say("alice", "mcp.request", { method: "notifications/cancelled" }, { to: ["files"], correlationId: call.id }));
  ask(call.id);
  assert.equal(open().length, 2, "the call is cancelled");
  const many = Array.from({ length: 1025 }, () => w.say("alice", "mcp.request", { id: 1, method: "tools/call", params: { name: "ask" } }, { to: ["files"] }));
  for (const e of many) r.apply(e);
  ask(many[0]?.id ?? "");
  assert.equal(open().length, 2, "the oldest of 1025 calls");
  ask(many[1]?.id ?? "");
  assert.equal(open().length, 3, "the oldest of the 1024 calls");
  for (let i = 0; i < 1025; i++) r.apply(w.say("mallory", "mcp.request", { id: 1, method: "tools/call", params: { name: "ask" } }, { to: ["files"] }));
  ask(many[2]?.id ?? "");
  assert.equal(open().length, 4, "the calls of another participant drop one of alice's at most");
});

test("only questions to the user are cards, at the end of the conversation", () => {
  const { r, w } = asked();
  r.apply(w.say("bob", "chat", { message: "hello" }));
  const last = (): string => rows(r.state, EVERYTHING).at(-1)?.type ?? "";
  assert.equal(last(), "message");
  r.hint({ kind: "system.welcome", from: "system:gateway", payload: { you: { id: "alice", capabilities: ["*"], limits: {} }, participants: [], space: { name: "lab", seq: 3 } } } as unknown as Envelope);
  assert.equal(last(), "elicitation");
  assert.equal(rows(r.state, EVERYTHING, "another thread").at(-1)?.type, "elicitation");
});

test("values are read by the types of their fields", () => {
  const form = formOf(PARAMS);
  assert.deepEqual([form.message, form.server, form.url, form.fields?.map((f) => `${f.label} ${f.type}${f.required ? "!" : ""}`)], ["Where?", "moody", "", ["Host string!", "port integer", "load number", "sure boolean", "color choice", "days choices!"]]);
  const fields = Object.fromEntries((form.fields ?? []).map((f) => [f.name, f])) as Record<string, Field>;
  const read = (name: string, ...inputs: string[]): unknown => {
    const v = valueOf(fields[name] as Field, inputs);
    return "wrong" in v ? v.wrong : v.value;
  };
  assert.deepEqual([read("host", " ab "), read("host", "a"), read("host", "")], ["ab", "Enter at least 2 characters.", "Enter a value."]);
  assert.deepEqual([read("port", "3"), read("port", "0"), read("port", "10"), read("port", "1.5"), read("port", "x"), read("port", "")], [3, "Enter at least 1.", "Enter at most 9.", "Enter a whole number.", "Enter a whole number.", undefined]);
  assert.deepEqual([read("load", "1e3"), read("load", "Infinity")], [1000, "Enter a number."]);
  assert.deepEqual([read("sure", "on"), read("sure"), read("color", "g"), read("days", "mo"), read("days", "mo", "tu"), read("days")], [true, false, "g", ["mo"], "Choose 0 to 1.", []]);
  assert.equal(formOf({ requestedSchema: { properties: { x: { type: "object" } } } }).fields, null);
  assert.deepEqual(formOf({ mode: "url", url: "https://example.org/" }).fields, []);
});

test("a form that asks for a password is noticed", () => {
  assert.equal(asksSecret(formOf(PARAMS)), false);
  assert.equal(asksSecret(formOf({ message: "x", requestedSchema: { properties: { a: { type: "string", title: "Your GitHub token" } } } })), true);
  assert.equal(asksSecret(formOf({ message: "Enter your password" })), true);
});

test("an answer goes to the host alone, in the context of the question", () => {
  const { open } = asked();
  const q = open()[0] as Elicitation;
  assert.deepEqual(answer({ ...q, context: "r" }, "accept", { host: "ab" }), { kind: "mcp.response", to: ["files"], correlationId: q.id, context: "r", payload: { jsonrpc: "2.0", id: "q", result: { action: "accept", content: { host: "ab" } } } });
  assert.deepEqual(answer(q, "cancel").payload, { jsonrpc: "2.0", id: "q", result: { action: "cancel" } });
});
