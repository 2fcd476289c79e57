/** The reducer against what real agents said to a real gateway. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Reducer } from "../src/core/reducer.js";
import { Space } from "../src/core/space.js";
import type { Block, CallStep, NestedStep, SpaceState, ThoughtStep } from "../src/core/state.js";
import { elapsedSeconds } from "../src/core/time.js";
import type { Envelope } from "@sdk/types.js";
import { dump, recorded } from "./support.js";

const live = recorded("lab-live.jsonl");
const history = recorded("lab-history.jsonl");

function state(): SpaceState {
  const r = new Reducer({ fromStart: true });
  for (const e of history) r.apply(e);
  return r.state;
}

function blockOf(s: SpaceState, question: string, agent: string): Block {
  const path = s.messages.get(question)?.blocks.find((p) => s.blocks.get(p)?.opener === agent);
  assert.ok(path !== undefined, `${agent} has a block below ${question}`);
  return s.blocks.get(path) as Block;
}

function joined(e: Envelope, id: string): Envelope {
  return { ...e, payload: { ...e.payload, participants: [...(e.payload["participants"] as unknown[]), { id, capabilities: [] }] } };
}

function calls(b: Block): readonly CallStep[] {
  return b.steps.filter((x): x is CallStep => x.type === "call");
}

test("a question, its block and its answer", () => {
  const s = state();
  const b = blockOf(s, "q-1", "guide");
  assert.equal(b.status, "complete");
  assert.equal(b.approach, "rules");
  assert.equal(b.conclusion?.text, "`handbook` holds 2 files.");
  const answer = s.messages.get(b.answer as string);
  assert.equal(answer?.from, "guide");
  assert.equal(answer?.replyTo, "q-1");
  assert.deepEqual(answer?.answers, [b.path]);
  assert.deepEqual(s.messages.get("q-1")?.replies, [answer?.id]);
  assert.equal(b.thoughtSeconds, 1);
  assert.ok(!s.timeline.some((x) => x.key === b.path), "it is drawn below the question alone");
});

test("rationales are part of their calls, and batches are grouped", () => {
  const b = blockOf(state(), "q-1", "guide");
  const found = calls(b);
  assert.deepEqual(
    found.map((x) => [x.call.tool, x.call.outcome, x.call.group, x.call.rationale.slice(0, 12)]),
    [
      ["list_allowed_directories", "success", null, "I need to kn"],
      ["list_directory", "success", null, "I list `/srv"],
      ["read_text_file", "success", 0, "I read the b"],
      ["read_text_file", "success", 0, "I read the b"],
    ],
  );
  assert.equal(found[1]?.call.summary, "2 lines");
  assert.ok(found.every((x) => (x.call.durationMs ?? -1) >= 0 && x.call.result !== undefined));
  assert.ok(b.steps.every((x) => x.type !== "thought" || x.tool === ""), "no announced thought is left over");
  assert.equal(b.counts.pending, 0);
});

test("parts of a question are blocks within, in the place of their reasons", () => {
  const s = state();
  const b = blockOf(s, "q-2", "guide");
  assert.equal(b.children.length, 2);
  const nested = b.steps.filter((x): x is NestedStep => x.type === "block");
  assert.deepEqual(
    nested.map((x) => [x.rationale.slice(-28), x.group]),
    [
      ["ich port does the gateway listen on?".slice(-28), 0],
      ["to by itself: How do I deploy?".slice(-28), 0],
    ],
  );
  for (const path of b.children) {
    const inner = s.blocks.get(path) as Block;
    assert.equal(inner.status, "complete");
    assert.equal(inner.parent, b.path);
    assert.ok(calls(inner).length > 0);
  }
  assert.equal(s.roots.filter((p) => p === b.path).length, 1);
});

test("several agents, each in a block of its own", () => {
  const s = state();
  assert.deepEqual(s.messages.get("q-3")?.blocks.map((p) => s.blocks.get(p)?.opener).sort(), ["careful", "guide", "thinker"]);
  for (const who of ["careful", "guide", "thinker"]) assert.equal(blockOf(s, "q-3", who).status, "complete");
});

test("proposals: approved, expired, and one rejection too late", () => {
  const s = state();
  const all = [...s.proposals.values()];
  assert.deepEqual(all.map((p) => p.status).sort(), ["approved", "expired", "expired", "expired", "expired"]);
  const approved = all.find((p) => p.status === "approved");
  assert.equal(approved?.decidedBy, "alice");
  assert.equal(approved?.done, true);
  assert.equal(approved?.failed, false);
  assert.equal(approved?.approvedArgs, undefined);
  assert.match(approved?.rationale ?? "", /^I read the beginning/);
  assert.equal(s.pending.length, 0);
  const call = calls(blockOf(s, "q-3", "careful")).find((x) => x.call.id === approved?.id);
  assert.equal(call?.call.outcome, "fulfilled");
  assert.equal(call?.call.decidedBy, "alice");
});

test("canceled: the block is cancelled and the question names the participant", () => {
  const s = state();
  assert.equal(blockOf(s, "q-5", "thinker").status, "cancelled");
  assert.equal(s.messages.get("q-5")?.cancelled?.by, "alice");
});

test("implicit contexts, masked secrets, grants", () => {
  const s = state();
  const free = s.blocks.get("free-form/inner") as Block;
  assert.equal(free.implicit, true);
  assert.equal(s.blocks.get("free-form")?.status, "idle");
  assert.deepEqual((free.steps[0] as ThoughtStep).redacted, ["anthropic-api-key"]);
  assert.equal(s.grants.get("g-1")?.revoked?.by, "alice");
  const hypothesis = s.blocks.get("bob-ctx")?.steps[0] as ThoughtStep;
  assert.equal(hypothesis.type, "hypothesis");
  assert.equal(hypothesis.confidence, 0.6);
  assert.deepEqual(hypothesis.evidence, ["logs", "x"]);
  assert.deepEqual(s.messages.get("m-1")?.to, ["bob"]);
});

test("an agent that was killed in the middle: stopped, and its time is not invented", () => {
  const space = new Space();
  for (const e of live) space.receive(e);
  const b = blockOf(space.state, "q-6", "thinker");
  assert.equal(b.status, "stopped");
  assert.equal(b.endedAt, b.lastAt);
  assert.equal(elapsedSeconds(b, b.lastAt + 1e9), b.thoughtSeconds);
  const last = b.steps.at(-1) as ThoughtStep;
  assert.match(last.text, /^The folder holds /);
  assert.equal(last.growing, false);
});

test("thoughts that grow become whole in their place", () => {
  const space = new Space();
  const seen: string[] = [];
  for (const e of live) {
    space.receive(e);
    const b = [...space.state.blocks.values()].find((x) => x.question === "q-3" && x.opener === "thinker");
    const step = b?.steps.find((x): x is ThoughtStep => x.type === "thought" && x.key.startsWith("stream:"));
    if (step !== undefined) seen.push(`${step.growing ? "…" : "."} ${step.text}`);
  }
  const growing = seen.filter((x) => x.startsWith("…"));
  assert.ok(growing.length >= 8, "it was seen to grow");
  assert.ok(growing.every((x, i) => i === 0 || x.startsWith("… I do") || x.startsWith("… The")), "from the beginning");
  assert.equal(seen.at(-1), ". I do not know yet what is there, so I look at the list of folders first.");
});

test("live and loaded envelopes give the same state", () => {
  const live = recorded("lab-live.jsonl").map((e) => (e.kind === "system.welcome" ? joined(e, "bob") : e)); // who speaks over HTTP
  const one = new Space();
  for (const e of live) one.receive(e);
  const two = new Space();
  two.load(history, false);
  for (const e of live) if (e.seq === undefined && e.kind !== "stream.data") two.receive(e);
  one.load([], false);
  // the killed agent's last words were live alone; what was never whole is not in the log
  const strip = (s: SpaceState): unknown => {
    const b = blockOf(s, "q-6", "thinker");
    const rest = new Map(s.blocks);
    rest.set(b.path, { ...b, steps: b.steps.filter((x) => !x.key.startsWith("stream:") || x.type !== "thought" || x.id !== "") });
    return dump({ ...s, blocks: rest });
  };
  assert.deepEqual(strip(one.state), strip(two.state));
});
