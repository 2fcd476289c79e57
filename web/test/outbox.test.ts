/** What one says arrives once, whatever happens between. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { chat } from "../src/core/drafts.js";
import { Outbox, type OutboxState, type Storage } from "@sdk/outbox.js";
import type { Envelope, Payload } from "@sdk/types.js";
import { refusal } from "../src/core/sentences.js";
import { FakeClock } from "./support.js";

class MemoryStorage implements Storage {
  readonly items = new Map<string, string>();
  full = false;
  getItem(key: string): string | null {
    return this.items.get(key) ?? null;
  }
  setItem(key: string, value: string): void {
    if (this.full) throw new Error("QuotaExceededError");
    this.items.set(key, value);
  }
  removeItem(key: string): void {
    this.items.delete(key);
  }
}

let ids = 0;

class Stage {
  readonly clock = new FakeClock();
  readonly sent: Envelope[] = [];
  readonly admitted: string[] = [];
  readonly refused: (readonly [string, string])[] = [];
  up = true;
  state: OutboxState = { items: [], holdFor: 0, durable: true };
  readonly box: Outbox;

  constructor(readonly storage: MemoryStorage = new MemoryStorage(), you = "alice", bytes?: number) {
    this.box = new Outbox({
      clock: this.clock,
      storage,
      newID: () => `id-${++ids}`,
      today: () => 0,
      words: refusal,
      transmit: (frame) => {
        if (this.up) this.sent.push(JSON.parse(frame) as Envelope);
        return this.up;
      },
      onChange: (s) => {
        this.state = s;
      },
      onAdmitted: (id) => this.admitted.push(id),
      onRefused: (draft, refusal) => this.refused.push([draft.kind, refusal.error]),
    });
    this.box.open(you, "lab", bytes);
    this.box.connected(true);
  }

  say(text: string): string {
    const r = this.box.send(chat(text));
    assert.ok("id" in r);
    return r.id;
  }

  gateway(kind: string, correlationId: string, payload: Payload): void {
    this.box.receive({ id: "g", ts: "", from: "system:gateway", kind, payload, ...(correlationId !== "" && { correlationId }) });
  }

  get texts(): unknown[] {
    return this.sent.map((e) => e.payload["message"]);
  }
}

test("kept until it is acknowledged", () => {
  const s = new Stage();
  const id = s.say("hello");
  assert.deepEqual(s.state.items.map((x) => [x.id, x.status]), [[id, "sent"]]);
  s.gateway("system.ack", id, { seq: 4 });
  assert.deepEqual(s.state.items, []);
  assert.deepEqual(s.admitted, [id]);
  assert.equal(s.storage.items.size, 0);
});

test("the own envelope acknowledges itself, another participant's with the same id does not", () => {
  const s = new Stage();
  const id = s.say("hello");
  s.box.receive({ id, ts: "", from: "mallory", kind: "chat", payload: {}, seq: 3 });
  assert.equal(s.state.items.length, 1);
  s.box.receive({ id, ts: "", from: "alice", kind: "chat", payload: {}, seq: 4 });
  assert.equal(s.state.items.length, 0);
});

test("sent again under the same id after a lost connection, in order", () => {
  const s = new Stage();
  const one = s.say("one");
  s.box.connected(false);
  const two = s.say("two");
  assert.deepEqual(s.state.items.map((x) => x.status), ["waiting", "waiting"]);
  s.box.connected(true);
  assert.deepEqual(s.sent.map((e) => e.id), [one, one, two]);
  s.gateway("system.ack", one, {});
  s.gateway("system.ack", one, {});
  s.gateway("system.ack", two, {});
  assert.deepEqual(s.admitted, [one, two]);
});

test("items survive a reload, rejected ones included", () => {
  const a = new Stage();
  const flying = a.say("flying");
  const bad = a.say("bad");
  a.gateway("system.error", bad, { error: "capability_violation", message: "None of your capabilities allows this chat." });
  a.box.connected(false);
  const b = new Stage(a.storage);
  assert.deepEqual(b.sent.map((e) => e.id), [flying]);
  assert.deepEqual(b.state.items.map((x) => [x.id, x.status]), [[flying, "sent"], [bad, "refused"]]);
  assert.match(b.state.items[1]?.note ?? "", /not allowed.*None of your capabilities/);
});

test("items of one participant are not sent as another", () => {
  const a = new Stage();
  a.say("as alice");
  const b = new Stage(a.storage, "bob");
  assert.deepEqual(b.sent, []);
  b.say("as bob");
  b.box.open("alice", "lab", undefined);
  assert.deepEqual(b.texts, ["as bob", "as alice"]);
  assert.deepEqual(b.state.items.map((x) => x.draft.payload["message"]), ["as alice"]);
});

test("rejected items have a reason, and can be dismissed or sent again", () => {
  const s = new Stage();
  const id = s.say("x");
  assert.equal(s.box.dismiss(id), null, "it is on its way");
  s.gateway("system.error", id, { error: "unknown_participant", message: "zoe is not known." });
  assert.equal(s.state.items[0]?.note, "Unknown participant. zoe is not known.");
  s.box.again(id);
  assert.deepEqual(s.sent.map((e) => e.id), [id, id]);
  s.gateway("system.error", id, { error: "unknown_participant", message: "" });
  assert.equal(s.box.dismiss(id)?.payload["message"], "x");
  assert.deepEqual(s.state.items, []);
  assert.deepEqual(s.refused, [["chat", "unknown_participant"], ["chat", "unknown_participant"]]);
});

test("rate limited: the item and later ones wait for the requested time", () => {
  const s = new Stage();
  const id = s.say("one");
  s.gateway("system.error", id, { error: "rate_limited", message: "", limit: "rate", retry_after_ms: 3000 });
  s.say("two");
  assert.equal(s.state.holdFor, 3000);
  assert.match(s.state.items[0]?.note ?? "", /Try again in 3s/);
  s.clock.pass(2999);
  assert.deepEqual(s.texts, ["one"]);
  s.clock.pass(1);
  assert.deepEqual(s.texts, ["one", "one", "two"]);
});

test("unavailable: sent again under the same id", () => {
  const s = new Stage();
  const id = s.say("one");
  s.gateway("system.error", id, { error: "unavailable", message: "" });
  s.clock.pass(15_000);
  assert.deepEqual(s.sent.map((e) => e.id), [id, id]);
});

test("outcome unknown: sent again under the same id", () => {
  const s = new Stage();
  const id = s.say("one");
  s.gateway("system.error", id, { error: "outcome_unknown", message: "", id });
  s.clock.pass(15_000);
  assert.deepEqual(s.sent.map((e) => e.id), [id, id]);
});

test("too large: rejected before sending, or by a gateway that names no id", () => {
  const s = new Stage(undefined, "alice", 400);
  const r = s.box.send(chat("ü".repeat(300)));
  assert.ok("refusal" in r && r.refusal.error === "message_too_large");
  s.say("a");
  const big = s.say("b".repeat(200));
  s.gateway("system.error", "", { error: "message_too_large", message: "", limit: 100 });
  assert.deepEqual(s.state.items.filter((x) => x.status === "refused").map((x) => x.id), [big]);
});

test("bounded, and at most sixteen on their way", () => {
  const s = new Stage();
  for (let i = 0; i < 200; i++) s.say(String(i));
  assert.equal(s.sent.length, 16);
  const r = s.box.send(chat("more"));
  assert.ok("refusal" in r);
  s.gateway("system.ack", s.sent[0]?.id ?? "", {});
  assert.equal(s.sent.length, 17);
});

test("a full or corrupt storage only affects reloads", () => {
  const storage = new MemoryStorage();
  for (const rubbish of ["{", "null", '[1,{"id":"x"},{"id":"y","draft":{"kind":""}},{"id":"z","draft":[]}]', "[[]]"]) {
    storage.items.set("meup.outbox lab alice", rubbish);
    assert.deepEqual(new Stage(storage).state.items, []);
  }
  storage.full = true;
  const s = new Stage(storage);
  s.say("hello");
  assert.equal(s.state.durable, false);
  assert.equal(s.sent.length, 1);
});

test("a connection that breaks while it is written to", () => {
  const s = new Stage();
  s.up = false;
  s.say("one");
  assert.deepEqual(s.state.items.map((x) => x.status), ["waiting"]);
  s.up = true;
  s.box.connected(true);
  assert.deepEqual(s.texts, ["one"]);
});
