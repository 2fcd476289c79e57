/** What becomes of proposals, and what is sent to decide on them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { approve, reject, withdraw } from "../src/core/drafts.js";
import { parse, stringify } from "../src/core/json.js";
import { envelope } from "../src/core/read.js";
import { Reducer } from "../src/core/reducer.js";
import type { CallStep, Proposal } from "../src/core/state.js";
import type { Envelope } from "../src/core/types.js";
import { Scribe } from "./support.js";

const CALL = { method: "tools/call", params: { name: "delete_file", arguments: { path: "old.log" } } };

function proposed(more: Partial<Envelope> = {}, payload = {}): { r: Reducer; w: Scribe; id: string; now: () => Proposal } {
  const r = new Reducer({ fromStart: true });
  const w = new Scribe();
  const e = w.say("planner", "mcp.proposal", { ...CALL, ...payload }, more);
  r.apply(e);
  return { r, w, id: e.id, now: () => r.state.proposals.get(e.id) as Proposal };
}

test("pending, then approved, then done", () => {
  const { r, w, id, now } = proposed();
  assert.equal(now().status, "pending");
  assert.deepEqual(r.state.pending, [id]);
  const request = w.say("alice", "mcp.request", CALL, { to: ["files"], correlationId: id });
  r.apply(request);
  assert.deepEqual([now().status, now().decidedBy, now().request, now().done], ["approved", "alice", request.id, false]);
  assert.deepEqual(r.state.pending, []);
  r.apply(w.say("files", "mcp.response", { result: { content: [{ type: "text", text: "deleted" }] } }, { correlationId: request.id }));
  assert.deepEqual([now().done, now().failed, now().summary], [true, false, "deleted"]);
  r.apply(w.say("bob", "mcp.reject", { reason: "unsafe" }, { correlationId: id }));
  assert.equal(now().status, "approved", "too late");
});

test("approved, but it did not work; with other arguments than proposed", () => {
  const { r, w, id, now } = proposed();
  const params = { name: "delete_file", arguments: { path: "new.log" } };
  const request = w.say("alice", "mcp.request", { ...CALL, params }, { correlationId: id });
  r.apply(request);
  r.apply(w.say("planner", "mcp.response", { error: { code: 1, message: "denied" } }, { correlationId: request.id }));
  assert.deepEqual([now().status, now().failed, now().summary], ["approved", true, "denied"]);
  assert.deepEqual(now().approvedArgs, { path: "new.log" });
});

test("rejected, withdrawn and expired are three things", () => {
  const one = proposed();
  one.r.apply(one.w.say("planner", "mcp.reject", { reason: "disagree" }, { correlationId: one.id }));
  assert.equal(one.now().status, "pending", "one cannot reject one's own");
  one.r.apply(one.w.say("bob", "mcp.reject", { reason: "unsafe", message: "not on Friday" }, { correlationId: one.id }));
  assert.deepEqual([one.now().status, one.now().decidedBy, one.now().reason, one.now().explanation], ["rejected", "bob", "unsafe", "not on Friday"]);
  const two = proposed();
  two.r.apply(two.w.say("bob", "mcp.withdraw", { reason: "other" }, { correlationId: two.id }));
  assert.equal(two.now().status, "pending", "it is not bob's");
  two.r.apply(two.w.say("planner", "mcp.withdraw", { reason: "no_longer_needed" }, { correlationId: two.id }));
  assert.equal(two.now().status, "withdrawn");
  const three = proposed();
  three.r.apply(three.w.say("planner", "mcp.withdraw", { reason: "timeout" }, { correlationId: three.id }));
  assert.equal(three.now().status, "expired");
  assert.deepEqual(three.r.state.pending, []);
});

test("in a context it is a step, too, with its rationale", () => {
  const r = new Reducer({ fromStart: true });
  const w = new Scribe();
  const start = w.say("planner", "reasoning.start");
  const why = w.say("planner", "reasoning.thought", { message: "it is old", tool_name: "delete_file" }, { context: start.id });
  const p = w.say("planner", "mcp.proposal", CALL, { context: start.id, correlationId: why.id });
  for (const e of [start, why, p]) r.apply(e);
  assert.equal(r.state.proposals.get(p.id)?.rationale, "it is old");
  r.apply(w.say("bob", "mcp.reject", { reason: "unsafe" }, { correlationId: p.id }));
  const step = r.state.blocks.get(start.id)?.steps[0] as CallStep;
  assert.deepEqual([step.key, step.call.outcome, step.call.decidedBy, step.call.reason], [why.id, "rejected", "bob", "unsafe"]);
});

test("a response by somebody else does not count", () => {
  const { r, w, id, now } = proposed();
  const request = w.say("alice", "mcp.request", CALL, { to: ["files"], correlationId: id });
  r.apply(request);
  r.apply(w.say("mallory", "mcp.response", { result: {} }, { correlationId: request.id }));
  r.apply(w.say("mallory", "mcp.response", { result: {} }, { correlationId: id }));
  assert.equal(now().done, false);
});

test("approving sends exactly what was proposed", () => {
  const text = '{"id":"p","ts":"2026-11-20T09:15:00Z","from":"planner","kind":"mcp.proposal","seq":1,"payload":{"method":"tools/call","participant_id":"files","params":{"name":"pay","arguments":{"account":12345678901234567890,"sum":1e400,"part":0.10000000000000000001}}}}';
  const r = new Reducer();
  r.apply(envelope(parse(text)) as Envelope);
  const draft = approve(r.state.proposals.get("p") as Proposal, "r-1");
  assert.deepEqual(draft.to, ["files"]);
  assert.equal(draft.correlationId, "p");
  assert.equal(
    stringify(draft.payload),
    '{"jsonrpc":"2.0","id":"r-1","method":"tools/call","params":{"name":"pay","arguments":{"account":12345678901234567890,"sum":1e400,"part":0.10000000000000000001}}}',
  );
});

test("what was proposed in private is decided in private", () => {
  const { now } = proposed({ to: ["alice"], context: "c" });
  assert.deepEqual(approve(now(), "r").to, ["planner", "alice"]);
  assert.deepEqual(reject(now(), "unsafe", "no").to, ["planner", "alice"]);
  assert.deepEqual(withdraw(now()).to, ["alice"]);
  assert.equal(approve(now(), "r").context, "c");
  assert.deepEqual(reject(now(), "").payload, { reason: "other" });
  const edited = approve(now(), "r", { path: "x" });
  assert.deepEqual(edited.payload["params"], { name: "delete_file", arguments: { path: "x" } });
});
