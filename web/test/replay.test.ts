/** A space as it was: the same as the reducer makes of as many envelopes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Reducer } from "../src/core/reducer.js";
import { Player, Timeline } from "../src/core/replay.js";
import type { Envelope } from "@sdk/types.js";
import { babble } from "./babble.js";
import { FakeClock, Scribe, dump, recorded, seeded } from "./support.js";

const history = recorded("lab-history.jsonl");

function reduced(log: readonly Envelope[], n: number): unknown {
  const r = new Reducer({ fromStart: true });
  for (const e of log.slice(0, n)) r.apply(e);
  return dump(r.state);
}

test("at every position of the recorded conversation, in any order of seeking", () => {
  const t = new Timeline(true);
  t.add(history.slice(60));
  t.add(history.slice(0, 80));
  assert.equal(t.length, history.length);
  const random = seeded(5);
  for (let i = 0; i < 60; i++) {
    const at = Math.floor(random() * (history.length + 1));
    assert.deepEqual(dump(t.seek(at)), reduced(history, at), `position ${at}`);
  }
});

test("long ones have snapshots, and states that were taken stay as they were", () => {
  const log = babble(seeded(99), 6000);
  const t = new Timeline(true);
  t.add(log);
  const end = t.seek(6000);
  const kept = dump({ ...end, messages: new Map(end.messages), blocks: new Map(end.blocks) });
  for (const at of [1000, 4321, 999, 5999, 0, 2500]) assert.deepEqual(dump(t.seek(at)), reduced(log, at), `position ${at}`);
  assert.deepEqual(dump(t.seek(6000)), kept);
});

test("by seq and by time, and never beyond the ends", () => {
  const w = new Scribe();
  const log = [1, 2, 3, 4].map((i) => w.say("alice", "chat", { message: String(i) }, { after: 10_000 }));
  const t = new Timeline(true);
  t.add(log);
  const [from] = t.span;
  const at = (): number => t.position;
  t.seekSeq(3);
  assert.equal(at(), 3);
  t.seekTime(from + 10_000);
  assert.equal(at(), 2);
  t.seekTime(from - 1);
  assert.equal(at(), 0);
  t.seek(99);
  assert.equal(at(), 4);
  t.seek(Number.NaN);
  assert.equal(at(), 0);
  assert.equal(t.state.messages.size, 0);
});

test("an older page does not move the position", () => {
  const t = new Timeline();
  t.add(history.slice(100));
  t.seekSeq(history[120]?.seq ?? 0);
  t.add(history.slice(0, 100), true);
  assert.equal(t.position, 121);
  assert.deepEqual(dump(t.state), reduced(history, 121));
});

test("played at any speed, paused, sought while playing", () => {
  const w = new Scribe();
  const log = [1, 2, 3, 4, 5].map((i) => w.say("alice", "chat", { message: String(i) }, { after: 10_000 }));
  const t = new Timeline(true);
  t.add(log);
  const clock = new FakeClock();
  let changes = 0;
  const p = new Player(t, { clock, onChange: () => changes++ });
  p.seek(1);
  p.play();
  clock.pass(9_999);
  assert.equal(t.position, 1);
  assert.equal(p.now, t.time + 9_999);
  clock.pass(1);
  assert.equal(t.position, 2);
  p.setSpeed(10);
  clock.pass(500);
  p.pause();
  clock.pass(60_000);
  assert.equal(t.position, 2);
  assert.equal(p.now, t.time + 5000);
  p.play();
  clock.pass(500);
  assert.equal(t.position, 3);
  p.seek(4);
  clock.pass(1000);
  assert.equal(t.position, 5);
  assert.equal(p.isPlaying, false);
  p.play();
  assert.deepEqual([p.isPlaying, t.position], [true, 0]);
  assert.ok(changes > 5);
});

test("silences are cut short if that is wanted", () => {
  const w = new Scribe();
  const t = new Timeline(true);
  t.add([w.say("a", "chat"), w.say("a", "chat", {}, { after: 3_600_000 }), w.say("a", "chat", {}, { after: 1000 })]);
  const clock = new FakeClock();
  const p = new Player(t, { clock, onChange: () => {}, longest: 2000 });
  p.seek(1);
  p.play();
  clock.pass(2000);
  assert.equal(t.position, 2);
  clock.pass(1000);
  assert.equal(t.position, 3);
});

test("no participant counts as gone in a replay", () => {
  const t = new Timeline(true);
  t.add(history);
  const state = t.seek(history.length);
  assert.ok([...state.blocks.values()].every((b) => b.status !== "stopped" || b.parent !== null || b.question !== null));
  assert.ok([...state.blocks.values()].some((b) => b.status === "reasoning"));
});
