import assert from "node:assert/strict";
import { test } from "node:test";
import { Backlog } from "../node_modules/@meup-protocol/sdk/dist/backlog.js";

/** A log whose positions are a number apart. */
class History {
  log = [];
  read = 0;

  constructor(step) {
    this.step = step;
  }

  add(n, from, more = {}) {
    for (let i = 0; i < n; i++) this.log.push({ id: `${from}-${this.log.length}`, ts: new Date().toISOString(), from, kind: "chat", payload: { message: "?" }, seq: (this.log.length + 1) * this.step, ...more });
  }

  async envelopes(_, { since = 0, before = Infinity, limit = 100, from, descending }) {
    let list = this.log.filter((e) => e.seq > since && e.seq < before && from?.includes(e.from) !== false);
    if (descending) list.reverse();
    const page = list.slice(0, limit);
    this.read += page.length;
    return { envelopes: page.slice().sort((a, b) => a.seq - b.seq), next: page.at(-1)?.seq ?? 0, has_more: list.length > limit };
  }
}

test("the number of entries that are read does not depend on their positions", async () => {
  for (const step of [1, 1024]) {
    const h = new History(step);
    h.add(4000, "bob");
    h.add(1, "alice", { id: "asked" });
    h.add(1, "bot", { id: "attempt", kind: "reasoning.start", correlationId: "asked", payload: {} });
    h.add(2500, "bob");
    h.add(1, "alice", { id: "asked-last" });
    const b = await Backlog.read({ api: h, space: "lab", you: "bot", mode: "auto", until: h.log.at(-1).seq, observe: (e) => e.from === "alice", now: Date.now() });
    assert.deepEqual(b.questions.map((e) => e.id), ["asked", "asked-last"], `${step} apart`);
    assert.deepEqual(b.leftovers().map((x) => [x.kind, x.context]), [["reasoning.cancel", "attempt"]]);
    assert.ok(h.read < 3100, `${h.read} entries`);
  }
});

test("an attempt is interrupted if nothing ended it before a later process did", async () => {
  const h = new History(1);
  h.add(1, "alice", { id: "asked" });
  for (const [id, end] of Object.entries({
    concluded: { from: "bot", kind: "reasoning.conclusion" },
    stopped: { from: "bot", kind: "reasoning.cancel", payload: { reason: "the agent is shutting down" } },
    canceled: { from: "alice", kind: "reasoning.cancel", payload: { reason: "the agent was restarted" } },
    restarted: { from: "bot", kind: "reasoning.cancel", payload: { reason: "the agent was restarted" } },
    open: { from: "bot", kind: "reasoning.thought" },
  })) {
    h.add(1, "bot", { id, kind: "reasoning.start", correlationId: "asked", payload: {} });
    h.add(1, end.from, { context: id, payload: {}, ...end });
  }
  const b = await Backlog.read({ api: h, space: "lab", you: "bot", mode: "auto", until: h.log.at(-1).seq, observe: (e) => e.kind === "chat", now: Date.now() });
  assert.equal(b.interrupted("asked"), 2);
  assert.equal(b.interrupted("other"), 0);
});
