/** It does not matter in which order, how often, or over which way anything was loaded. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Space } from "../src/core/space.js";
import type { Envelope } from "@sdk/types.js";
import { babble } from "./babble.js";
import { Scribe, dump, recorded, seeded } from "./support.js";

const history = recorded("lab-history.jsonl");

function whole(log: readonly Envelope[], frames: readonly Envelope[] = []): unknown {
  const space = new Space();
  space.load([], false);
  for (const e of [...frames, ...log]) space.receive(e);
  return dump(space.state);
}

/** Cuts a log into pages at random. */
function pages(log: readonly Envelope[], random: () => number): (readonly Envelope[])[] {
  const out: (readonly Envelope[])[] = [];
  for (let i = 0; i < log.length; ) {
    const size = 1 + Math.floor(random() * 40);
    out.push(log.slice(i, i + size));
    i += size;
  }
  return out;
}

test("a page of the youngest, then live, then older pages: the recorded conversation", () => {
  const expected = whole(history);
  for (let seed = 1; seed <= 20; seed++) {
    const random = seeded(seed);
    const space = new Space();
    const cut = 1 + Math.floor(random() * (history.length - 1));
    const [old, live] = [history.slice(0, cut), history.slice(cut)];
    const back = pages(old, random).reverse();
    for (const e of live) {
      space.receive(e);
      const page = random() < 0.1 ? back.shift() : undefined;
      if (page !== undefined) space.load(page, back.length > 0);
    }
    for (const page of back.splice(0)) space.load(page, page !== back.at(-1) && page[0] !== history[0]);
    space.load([], false);
    assert.deepEqual(dump(space.state), expected, `seed ${seed}`);
  }
});

test("any permutation of pages, with doubles: random conversations", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = seeded(seed * 7919);
    const log = babble(random, 300);
    const w = new Scribe();
    const frames = [w.welcome(["alice", "planner", "files"], 100), w.presence("leave", "planner"), w.presence("join", "critic")];
    const expected = whole(log, frames);
    const all = pages(log, random);
    const mixed = [...all, ...all.filter(() => random() < 0.3)].map((p) => ({ p, at: random() })).sort((a, b) => a.at - b.at);
    const space = new Space();
    for (const f of frames) space.receive(f);
    for (const { p } of mixed) space.load([...p].reverse());
    space.load([], false);
    assert.deepEqual(dump(space.state), expected, `seed ${seed}`);
  }
});

test("dropped and reloaded envelopes give the same state", () => {
  const random = seeded(4711);
  const log = babble(random, 1500);
  const space = new Space({ window: 20 });
  for (const e of log) {
    space.receive(e);
    assert.ok(space.state.messages.size <= 25);
  }
  const { oldest, hasOlder } = space.state;
  assert.ok(oldest > 300 && hasOlder);
  space.following = false;
  space.load(log.filter((e) => (e.seq as number) < oldest), false);
  assert.deepEqual(dump(space.state), whole(log));
});

test("memory is bounded by envelopes and bytes, and open contexts are kept", () => {
  const w = new Scribe();
  const space = new Space({ envelopes: 1000, bytes: 400_000 });
  space.load([], false);
  space.receive(w.welcome(["alice", "planner"], 0));
  const grant = w.say("alice", "capability.grant", { recipient: "planner", capabilities: ["chat"] });
  const question = w.say("alice", "chat", { message: "a long one" });
  const start = w.say("planner", "reasoning.start", { message: "This takes time" }, { correlationId: question.id });
  for (const e of [grant, question, start]) space.receive(e);
  for (let i = 0; i < 5000; i++) {
    space.receive(w.say("bob", i % 3 === 0 ? "reasoning.thought" : "x.app", { message: "x".repeat(100) }, { context: `c${i % 7}` }));
    assert.ok(space.envelopes.length <= 1001);
  }
  assert.equal(space.state.blocks.get(start.id)?.message, "This takes time");
  assert.equal(space.state.blocks.get(start.id)?.question, null, "the question is not loaded any more");
  assert.ok(space.state.grants.has(grant.id));
  const big = w.say("bob", "x.app", { data: "y".repeat(150_000) });
  space.receive(big);
  space.receive(w.say("bob", "x.app", { data: "y".repeat(150_000) }));
  assert.ok(space.envelopes.length <= 250);
  assert.ok(space.envelope(start.id) !== undefined);
});

test("a state is the same object until something changes, and old ones stay as they were", () => {
  const space = new Space();
  const w = new Scribe();
  space.load([], false);
  const q = w.say("alice", "chat", { message: "?" });
  space.receive(q);
  const before = space.state;
  assert.equal(space.state, before);
  const message = before.messages.get(q.id);
  const frozen = structuredClone(message);
  space.receive(w.say("bob", "chat", { message: "!" }, { correlationId: q.id }));
  assert.notEqual(space.state, before);
  assert.notEqual(space.state.messages.get(q.id), message);
  assert.ok((space.state.messages.get(q.id)?.version ?? 0) > (message?.version ?? 0));
  assert.deepEqual(message, frozen);
  assert.equal(before.timeline.length, 1);
});

test("another log: the state is dropped with a notice", () => {
  const space = new Space();
  for (const e of history) space.receive(e);
  space.reset("gone");
  assert.equal(space.state.messages.size, 0);
  assert.equal(space.state.gap, "gone");
  space.receive({ ...(history[0] as Envelope), seq: 1 });
  assert.equal(space.state.head, 1);
});
