/**
 * How long the reducer takes: envelopes one by one, each followed by a look at
 * the state, as a page under load has it; loading pages; seeking.
 */

import { Reducer } from "../src/core/reducer.js";
import { Timeline } from "../src/core/replay.js";
import { Space } from "../src/core/space.js";
import type { Envelope } from "@sdk/types.js";
import { babble } from "./babble.js";
import { recorded, seeded } from "./support.js";

/** The recorded conversation over and over, with ids of its own each time. */
function repeated(length: number): readonly Envelope[] {
  const log = recorded("lab-history.jsonl");
  const out: Envelope[] = [];
  for (let round = 0; out.length < length; round++) {
    const rename = (id: string): string => `${id}.${round}`;
    for (const e of log) {
      const refs = e.correlationId;
      out.push({
        ...e,
        id: rename(e.id),
        seq: out.length + 1,
        ...(e.context !== undefined && { context: e.context.split("/").map(rename).join("/") }),
        ...(refs !== undefined && { correlationId: typeof refs === "string" ? rename(refs) : refs.map(rename) }),
      });
      if (out.length === length) break;
    }
  }
  return out;
}

function measure(what: string, count: number, f: () => void): void {
  const times: number[] = [];
  for (let i = 0; i < 7; i++) {
    const start = performance.now();
    f();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const best = times[0] as number;
  console.log(`${what.padEnd(66)} ${best.toFixed(1).padStart(8)} ms   ${((1000 * best) / count).toFixed(1).padStart(7)} µs each`);
}

const log = repeated(10_000);
const long = repeated(100_000);
const wild = babble(seeded(1), 10_000);

function reduce(list: readonly Envelope[], look: boolean): Reducer {
  const r = new Reducer({ fromStart: true });
  for (const e of list) {
    r.apply(e);
    if (look) void r.state.timeline.length;
  }
  void r.state;
  return r;
}

measure("10,000 recorded envelopes through the reducer", 10_000, () => void reduce(log, false));
measure("the same, with a state taken after each", 10_000, () => void reduce(log, true));
measure("10,000 random envelopes through the reducer", 10_000, () => void reduce(wild, false));
measure("10,000 envelopes through a space, a window of 2,000 messages", 10_000, () => {
  const space = new Space();
  space.load([], false);
  for (const e of log) {
    space.receive(e);
    void space.state;
  }
});
measure("100,000 envelopes, bounds reached again and again", 100_000, () => {
  const space = new Space({ envelopes: 20_000 });
  space.load([], false);
  for (const e of long) space.receive(e);
});
measure("20 older pages of 500, each making the state anew", 20, () => {
  const space = new Space();
  space.following = false;
  for (let i = 19; i >= 0; i--) {
    space.load(log.slice(i * 500, i * 500 + 500), i > 0);
    void space.state;
  }
});
const timeline = new Timeline(true);
timeline.add(log);
timeline.seek(10_000);
const random = seeded(3);
measure("100 seeks to anywhere in 10,000 envelopes, with snapshots", 100, () => {
  for (let i = 0; i < 100; i++) void timeline.seek(Math.floor(random() * 10_001)).version;
});
