/** What becomes of proposals, and what is sent to decide on them. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { approve, reject, withdraw } from "../src/core/panel-drafts.js";
import { parse, stringify } from "@sdk/json.js";
import { answers, proposed as readProposal, settles, shownParams } from "@sdk/proposal.js";
import { candidates, undecided } from "../src/core/proposal.js";
import { envelope } from "@sdk/read.js";
import { Reducer } from "../src/core/reducer.js";
import { refusal } from "../src/core/sentences.js";
import { Timeline } from "../src/core/replay.js";
import { Space } from "../src/core/space.js";
import type { CallStep, Proposal } from "../src/core/state.js";
import type { Envelope } from "@sdk/types.js";
import { outcomeStyle } from "../src/ui/panels/proposal-outcome.js";
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
  assert.deepEqual([now().done, now().failed, now().summary], [true, false, "7 characters"]);
  r.apply(w.say("bob", "mcp.reject", { reason: "unsafe" }, { correlationId: id }));
  assert.equal(now().status, "approved", "too late");
});

test("approved, but it did not work; with other arguments than proposed", () => {
  const { r, w, id, now } = proposed();
  const params = { name: "delete_file", arguments: { path: "new.log" } };
  r.apply(w.say("alice", "mcp.request", { ...CALL, params }, { to: ["files"], correlationId: id }));
  assert.equal(now().status, "pending", "it is another call, and does not say so");
  const request = w.say("alice", "mcp.request", { ...CALL, params, edited: true }, { to: ["files"], correlationId: id });
  r.apply(request);
  for (const who of ["planner", "alice"]) r.apply(w.say(who, "mcp.response", { result: {} }, { correlationId: request.id }));
  assert.equal(now().done, false, "only the host answers");
  r.apply(w.say("files", "mcp.response", { error: { code: 1, message: "denied" } }, { correlationId: request.id }));
  assert.deepEqual([now().status, now().failed, now().summary], ["approved", true, "error: denied"]);
  assert.deepEqual(now().approvedArgs, { path: "new.log" });
});

test("arguments in another order are the ones proposed", () => {
  const proposal = { params: { name: "move", arguments: { from: "a", to: "b" } } };
  const { r, w, id, now } = proposed({}, proposal);
  r.apply(w.say("alice", "mcp.request", { method: "tools/call", params: { arguments: { to: "b", from: "a" }, name: "move" } }, { to: ["files"], correlationId: id }));
  assert.deepEqual([now().status, now().approvedArgs], ["approved", undefined]);
});

test("rejected, withdrawn and expired are three things", () => {
  const one = proposed();
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

test("a response by another participant does not count", () => {
  const { r, w, id, now } = proposed();
  const request = w.say("alice", "mcp.request", CALL, { to: ["files"], correlationId: id });
  r.apply(request);
  r.apply(w.say("mallory", "mcp.response", { result: {} }, { correlationId: request.id }));
  r.apply(w.say("mallory", "mcp.response", { result: {} }, { correlationId: id }));
  assert.equal(now().done, false);
});

test("approving sends the proposed call unchanged", () => {
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

test("with its context it expires, unless a decision follows", () => {
  const r = new Reducer({ fromStart: true });
  const w = new Scribe();
  const start = w.say("planner", "reasoning.start");
  const p = w.say("planner", "mcp.proposal", CALL, { context: start.id });
  for (const e of [start, p, w.say("planner", "reasoning.conclusion", {}, { context: start.id })]) r.apply(e);
  const outcome = (): readonly unknown[] => {
    const step = r.state.blocks.get(start.id)?.steps[0] as CallStep;
    return [r.state.proposals.get(p.id)?.status, r.state.pending, step.call.outcome, r.state.blocks.get(start.id)?.counts.pending];
  };
  assert.deepEqual(outcome(), ["expired", [], "expired", 0]);
  const request = w.say("alice", "mcp.request", CALL, { to: ["files"], correlationId: p.id });
  r.apply(request);
  assert.equal(outcome()[0], "approved");
  r.apply(w.say("files", "mcp.response", { result: {} }, { correlationId: request.id }));
  assert.deepEqual(outcome(), ["approved", [], "fulfilled", 0]);
});

test("it expires at its time, by the server's clock, unless a decision follows", () => {
  const r = new Reducer({ fromStart: true });
  const w = new Scribe();
  const start = w.say("planner", "reasoning.start");
  const p = w.say("planner", "mcp.proposal", { ...CALL, expires_at: new Date(w.at + 60_000).toISOString() }, { context: start.id });
  for (const e of [start, p]) r.apply(e);
  const end = w.at - 1000 + 60_000;
  const outcome = (): readonly unknown[] => [r.state.proposals.get(p.id)?.status, r.state.pending, r.state.blocks.get(start.id)?.counts.pending];
  r.expire(end - 1);
  assert.deepEqual(outcome(), ["pending", [p.id], 1]);
  const { version } = r.state;
  r.expire(end);
  assert.deepEqual(outcome(), ["expired", [], 0]);
  assert.equal(outcomeStyle(r.state.proposals.get(p.id) as Proposal, "bob").words, "Expired: no decision in time");
  assert.ok(r.state.version > version);
  const expired = r.state;
  r.expire(end + 1);
  assert.equal(r.state, expired, "nothing changes a second time");
  r.apply(w.say("alice", "mcp.request", CALL, { to: ["files"], correlationId: p.id }));
  assert.deepEqual(outcome(), ["approved", [], 1], "the gateway admitted it in time");
});

test("a replay shows the expiry at its time", () => {
  const w = new Scribe();
  const p = w.say("planner", "mcp.proposal", { ...CALL, expires_at: new Date(w.at + 5000).toISOString() });
  const log = [p, w.say("alice", "chat", { text: "early" }), w.say("alice", "chat", { text: "late" }, { after: 60_000 })];
  const timeline = new Timeline(true);
  timeline.add(log);
  assert.deepEqual([2, 3, 2].map((i) => timeline.seek(i).proposals.get(p.id)?.status), ["pending", "expired", "pending"]);
});

test("an approval goes to the host alone", () => {
  const { now } = proposed({ to: ["alice"], context: "c" });
  assert.deepEqual(approve(now(), "r", "files").to, ["files"]);
  assert.equal(approve(now(), "r", "files").context, "c");
  assert.deepEqual(approve(proposed({}, { participant_id: "planner" }).now(), "r").to, ["planner"]);
});

test("a host is chosen among those that are connected", () => {
  const { r, now } = proposed();
  const participants = ["planner", "zoe", "files", "alice"].map((id) => ({ id, capabilities: [] }));
  r.hint({ id: "w", ts: "", from: "system:gateway", kind: "system.welcome", payload: { you: { id: "alice" }, participants, space: { name: "lab", seq: 1 } } });
  assert.deepEqual(candidates(r.state.participants.values(), now(), "alice"), ["files", "zoe"]);
});

test("a private proposal is rejected privately", () => {
  const { now } = proposed({ to: ["alice"], context: "c" });
  assert.deepEqual(reject(now(), "unsafe", "no").to, ["planner", "alice"]);
  assert.deepEqual(withdraw(now()).to, ["alice"]);
  assert.deepEqual(reject(now(), "").payload, { reason: "other" });
  assert.deepEqual(reject(now(), "policy").payload, { reason: "policy" });
  assert.deepEqual(reject(now(), "policy", "Use read_file.").payload, { reason: "Use read_file." }, "readers of a reason read nothing else");
});

test("a decision that is not visible closes a proposal, and stays when the state is made anew", () => {
  const space = new Space();
  const w = new Scribe();
  const start = w.say("planner", "reasoning.start");
  const p = w.say("planner", "mcp.proposal", CALL, { context: start.id });
  for (const e of [start, p]) space.receive(e);
  const step = (): CallStep => space.state.blocks.get(start.id)?.steps[0] as CallStep;
  assert.equal(undecided(step().call), true);
  space.settled(p.id, "bob");
  space.settled("unknown", "bob");
  for (let i = 0; i < 2; i++) {
    const { status, decidedBy } = space.state.proposals.get(p.id) as Proposal;
    assert.deepEqual([status, decidedBy, space.state.pending, undecided(step().call)], ["settled", "bob", [], false]);
    space.load([{ ...w.say("alice", "chat", { message: "before" }), seq: 0.5 }], true);
  }
  space.receive(w.say("bob", "mcp.request", CALL, { to: ["files"], correlationId: p.id }));
  assert.equal(space.state.proposals.get(p.id)?.status, "approved");
});

test("a rejected decision is explained", () => {
  assert.equal(refusal({ error: "proposal_settled", message: "bob has decided on this proposal before." }), "This proposal was already decided. bob has decided on this proposal before.");
  const expired = "The proposal has expired; its call can no longer be made.";
  assert.equal(refusal({ error: "proposal_mismatch", message: expired }), `This does not fit the proposal. ${expired}`);
});

declare const REPOSITORY: string;

interface Cases {
  readonly shown: readonly { readonly name: string; readonly payload: { readonly method: string; readonly params: unknown }; readonly params?: unknown }[];
  readonly settles: readonly { readonly name: string; readonly proposal: unknown; readonly envelope: unknown; readonly outcome: string }[];
  readonly answers: readonly { readonly name: string; readonly request: unknown; readonly envelope: unknown; readonly counts: boolean }[];
}

const cases = parse(readFileSync(join(REPOSITORY, "internal", "exchange", "testdata", "rules.json"), "utf8")) as Cases;
const read = (v: unknown): Envelope => envelope(v) as Envelope;

test("there are cases of the rules", () => assert.ok(cases.settles.length > 50 && cases.answers.length > 5));

/** What a reducer makes of a case. */
function reduced(p: Envelope, e: Envelope): string {
  const r = new Reducer({ fromStart: true });
  r.apply({ ...p, seq: 1 });
  r.apply({ ...e, seq: 2 });
  const { status } = r.state.proposals.get(p.id) as Proposal;
  return status === "pending" ? "" : status === "approved" ? "fulfilled" : status;
}

for (const c of cases.shown) {
  test(`shown: ${c.name}`, () => assert.deepEqual(shownParams(c.payload.method, c.payload.params), c.params));
}

for (const c of cases.settles) {
  test(`settles: ${c.name}`, () => {
    const p = read(c.proposal);
    const e = read(c.envelope);
    assert.equal(settles(readProposal(p), e), c.outcome || "pending");
    assert.equal(reduced(p, e), c.outcome);
  });
}

for (const c of cases.answers) {
  test(`answers: ${c.name}`, () => {
    const request = read(c.request);
    assert.equal(answers({ id: request.id, to: request.to ?? [] }, read(c.envelope)), c.counts);
  });
}

test("a call that cannot be serialized is not the proposed one", () => {
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  const p = readProposal({ id: "p", ts: "", from: "planner", kind: "mcp.proposal", payload: { method: "m", params: deep } });
  const e = { id: "e", ts: "", from: "alice", to: ["files"], kind: "mcp.request", correlationId: "p", payload: { method: "m", params: deep } };
  assert.equal(settles(p, e), "pending");
});
