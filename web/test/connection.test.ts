/** The connection against a gateway that a test plays. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Connection, type ConnectionState, type Gap } from "@sdk/connection.js";
import type { Envelope, Refusal } from "@sdk/types.js";
import { refusal } from "../src/core/sentences.js";
import { FakeClock, FakeSocket, Scribe, settled } from "./support.js";

class Stage {
  readonly clock = new FakeClock();
  readonly w = new Scribe();
  readonly sockets: FakeSocket[] = [];
  readonly frames: Envelope[] = [];
  readonly states: ConnectionState[] = [];
  readonly gaps: Gap[] = [];
  readonly ready: boolean[] = [];
  refusal: Refusal | null = null;
  readonly c: Connection;

  constructor(since?: number) {
    this.c = new Connection({
      base: "ws://gateway",
      space: "my lab",
      ...(since !== undefined && { since }),
      clock: this.clock,
      open: (url, protocols) => {
        const socket = new FakeSocket(url, protocols);
        this.sockets.push(socket);
        return socket;
      },
      why: () => Promise.resolve(this.refusal),
      words: refusal,
      onFrame: (e) => this.frames.push(e),
      onState: (s) => this.states.push(s),
      onGap: (g) => this.gaps.push(g),
      onReady: (r) => this.ready.push(r),
    });
    this.c.start();
  }

  get socket(): FakeSocket {
    return this.sockets.at(-1) as FakeSocket;
  }

  get phase(): string {
    return this.states.at(-1)?.phase ?? "";
  }

  get seqs(): readonly number[] {
    return this.frames.flatMap((e) => e.seq ?? []);
  }

  /** Connects, with the log at a head. */
  welcome(head: number, log?: string): void {
    this.socket.deliver(this.w.welcome(["alice"], head, "alice", log));
  }

  /** Waits for the next attempt. */
  redial(): void {
    for (let n = this.sockets.length; n === this.sockets.length; ) this.clock.pass(100);
  }

  chat(seq: number): Envelope {
    return { id: `m${seq}`, ts: "2026-11-20T09:15:00Z", from: "bob", kind: "chat", payload: { message: "" }, seq };
  }
}

test("the upgrade has the space, acks and subprotocol, and no token", () => {
  const s = new Stage();
  const url = new URL(s.socket.url);
  assert.equal(url.pathname, "/ws");
  assert.deepEqual([...url.searchParams], [["space", "my lab"], ["ack", "true"]]);
  assert.deepEqual(s.socket.protocols, ["meup.v0.1"]);
  assert.equal(s.phase, "connecting");
});

test("a reconnect resumes without loss or duplicates", () => {
  const s = new Stage(0);
  s.welcome(3);
  assert.equal(s.phase, "catching up");
  for (const seq of [1, 2, 3]) s.socket.deliver(s.chat(seq));
  assert.equal(s.phase, "live");
  s.socket.deliver(s.chat(5));
  s.socket.end(1006);
  assert.equal(s.phase, "lost");
  assert.ok((s.states.at(-1)?.retryIn ?? 0) > 0);
  s.redial();
  assert.equal(s.sockets.length, 2);
  assert.equal(s.socket.since, "5");
  s.welcome(8);
  for (const seq of [5, 6, 6, 8]) s.socket.deliver(s.chat(seq));
  assert.deepEqual(s.seqs, [1, 2, 3, 5, 6, 8]);
  assert.deepEqual(s.ready, [true, false, true]);
});

test("another user's session does not send queued envelopes", () => {
  const s = new Stage(0);
  s.welcome(0);
  s.socket.end(1006);
  s.redial();
  const welcome = s.w.welcome(["alice"], 0);
  s.socket.deliver({ ...welcome, payload: { ...welcome.payload, you: { id: "mallory", capabilities: ["*"], limits: {} } } });
  assert.equal(s.phase, "refused");
  assert.match(s.states.at(-1)?.reason ?? "", /mallory/);
  assert.deepEqual(s.ready, [true, false]);
});

test("without a position it starts at the welcome", () => {
  const s = new Stage();
  s.welcome(41);
  assert.equal(s.phase, "live");
  s.socket.end(1011);
  s.redial();
  assert.equal(s.socket.since, "41");
});

test("caught up when nothing more comes, though the head is not to be seen", () => {
  const s = new Stage(0);
  s.welcome(100);
  s.socket.deliver(s.chat(7));
  s.clock.pass(200);
  assert.equal(s.phase, "catching up");
  s.clock.pass(100);
  assert.equal(s.phase, "live");
});

test("the pauses grow, are drawn at random, and begin anew behind a steady connection", () => {
  const s = new Stage(0);
  s.clock.chance = 0.999;
  const waits: number[] = [];
  s.welcome(0);
  for (let i = 0; i < 8; i++) {
    s.socket.end(1006);
    waits.push(Math.round(s.states.at(-1)?.retryIn ?? 0));
    s.redial();
    s.welcome(0);
  }
  assert.deepEqual(waits, [250, 500, 999, 1998, 3996, 7992, 14985, 14985]);
  s.clock.pass(10_001);
  s.socket.deliver(s.chat(1));
  s.socket.end(1006);
  assert.equal(Math.round(s.states.at(-1)?.retryIn ?? 0), 250);
});

test("close codes determine whether to reconnect", () => {
  const cases: readonly [number, string][] = [[4001, "expired"], [4003, "kicked"], [1008, "refused"], [1001, "lost"], [1009, "lost"], [4008, "lost"], [1000, "lost"]];
  for (const [code, phase] of cases) {
    const s = new Stage(0);
    s.welcome(0);
    s.socket.end(code, "said bob");
    assert.equal(s.phase, phase, String(code));
    assert.match(s.states.at(-1)?.reason ?? "", /said bob/);
    s.clock.pass(60_000);
    assert.equal(s.sockets.length > 1, phase === "lost", String(code));
    if (phase !== "lost") assert.equal(s.clock.waiting, 0);
  }
});

test("a rejection before the welcome is read over HTTP", async () => {
  const cases: readonly [string, string, RegExp][] = [
    ["unauthorized", "expired", /not signed in/],
    ["kicked", "kicked", /removed/],
    ["forbidden", "refused", /no access/],
    ["not_found", "refused", /Not found/],
    ["too_many_requests", "lost", /Too many/],
    ["unavailable", "lost", /cannot store/],
  ];
  for (const [error, phase, words] of cases) {
    const s = new Stage(0);
    s.refusal = { error, message: "", retry_after_ms: 7000 };
    s.socket.end(1006);
    await settled();
    assert.equal(s.phase, phase, error);
    assert.match(s.states.at(-1)?.reason ?? "", words);
    if (phase === "lost") assert.equal(s.states.at(-1)?.retryIn, 7000);
  }
  const s = new Stage(0);
  s.socket.end(1006);
  await settled();
  assert.equal(s.phase, "lost");
});

test("a WebSocket that fails without a word is lost, too", async () => {
  const s = new Stage(0);
  s.socket.onerror?.(undefined as never);
  s.clock.pass(200);
  await settled();
  assert.equal(s.phase, "lost");
});

test("a silent gateway is disconnected", async () => {
  const s = new Stage(0);
  s.clock.pass(10_000);
  await settled();
  assert.equal(s.phase, "lost");
  assert.equal(s.socket.closed, 4000);
  s.redial();
  s.welcome(0);
  s.clock.pass(45_000);
  assert.equal(s.socket.sent.length, 1);
  assert.equal((JSON.parse(s.socket.sent[0] as string) as Envelope).kind, "system.subscribe");
  s.socket.deliver(s.w.gateway("system.subscribed", {}));
  s.clock.pass(44_000);
  assert.equal(s.phase, "live");
  s.clock.pass(10_900);
  assert.equal(s.phase, "live");
  s.clock.pass(100);
  assert.equal(s.phase, "lost");
});

test("woken: an attempt is made at once, a connection has to show itself", () => {
  const s = new Stage(0);
  s.welcome(0);
  s.socket.end(1006);
  s.c.wake();
  assert.equal(s.sockets.length, 2);
  s.welcome(0);
  s.c.wake();
  assert.equal(s.socket.sent.length, 1);
});

test("frames of a connection that was given up are not looked at", async () => {
  const s = new Stage(0);
  const old = s.socket;
  s.clock.pass(10_000);
  await settled();
  s.redial();
  old.deliver(s.w.welcome([], 5));
  old.deliver(s.chat(1));
  old.end(4003);
  assert.equal(s.frames.length, 0);
  assert.equal(s.phase, "connecting");
});

test("a log that ends before the position counts as replaced the third time", () => {
  const s = new Stage(50);
  for (let i = 0; i < 3; i++) {
    assert.equal(s.socket.since, "50");
    s.welcome(20);
    assert.equal(s.phase, "lost");
    s.redial();
  }
  assert.deepEqual(s.gaps, [{ after: 50, oldest: 0, reset: true }]);
  assert.equal(s.socket.since, "0");
  s.welcome(20);
  s.socket.deliver(s.chat(1));
  assert.deepEqual(s.seqs, [1]);
});

test("another log, even a longer one, is read from its beginning", () => {
  const s = new Stage(0);
  s.welcome(2, "a");
  for (const seq of [1, 2]) s.socket.deliver(s.chat(seq));
  s.socket.end(1001);
  s.redial();
  assert.equal(new URL(s.socket.url).searchParams.get("log"), "a");
  assert.equal(s.socket.since, "2");
  s.welcome(4, "b");
  s.socket.deliver(s.w.gateway("system.error", { error: "cursor_expired", message: "another log", oldest_seq: 1 }));
  for (const seq of [1, 2, 3, 4]) s.socket.deliver(s.chat(seq));
  assert.deepEqual(s.gaps, [{ after: 2, oldest: 0, reset: true }]);
  assert.deepEqual(s.seqs, [1, 2, 1, 2, 3, 4]);
  s.socket.end(1006);
  s.redial();
  assert.equal(new URL(s.socket.url).searchParams.get("log"), "b");
});

test("a gateway that is behind the same log is never believed to have lost it", () => {
  const s = new Stage(0);
  s.welcome(5, "a");
  s.socket.deliver(s.chat(5));
  s.socket.end(1006);
  for (let i = 0; i < 5; i++) {
    s.redial();
    s.welcome(3, "a");
  }
  assert.deepEqual(s.gaps, []);
  assert.equal(s.socket.since, "5");
});

test("a gap is reported before the next envelope", () => {
  const s = new Stage(5);
  s.welcome(90);
  s.socket.deliver(s.w.gateway("system.error", { error: "cursor_expired", message: "gone", oldest_seq: 80 }));
  s.socket.deliver(s.chat(80));
  assert.deepEqual(s.gaps, [{ after: 5, oldest: 80, reset: false }]);
  assert.deepEqual(s.seqs, [80]);
});

test("frames that are none do no harm", () => {
  const s = new Stage(0);
  s.welcome(0);
  for (const x of ["", "{", "[]", "null", "1e999", '{"kind":1}', '{"id":"a","from":"b","kind":"chat","payload":[]}']) s.socket.deliver(x);
  s.socket.onmessage?.({ data: new ArrayBuffer(8) });
  assert.equal(s.phase, "live");
});

test("closed, it stays closed", () => {
  const s = new Stage(0);
  s.welcome(0);
  s.c.close();
  assert.equal(s.phase, "closed");
  assert.equal(s.socket.closed, 1000);
  s.clock.pass(600_000);
  assert.equal(s.sockets.length, 1);
  assert.equal(s.c.transmit("x"), false);
});

test("cut off at any moment, any number of times: every envelope once and in order", () => {
  for (let cut = 0; cut < 60; cut++) {
    const s = new Stage(0);
    const log = Array.from({ length: 40 }, (_, i) => s.chat(2 * i + 1));
    let budget = cut;
    for (let life = 0; life < 200 && s.seqs.length < log.length; life++) {
      const since = Number(s.socket.since);
      s.welcome(79);
      const rest = log.filter((e) => (e.seq as number) > since);
      for (const e of rest.slice(0, 1 + (budget = (budget * 7 + 3) % 11))) s.socket.deliver(e);
      s.socket.end(1006);
      s.redial();
    }
    assert.deepEqual(s.seqs, log.map((e) => e.seq));
  }
});
