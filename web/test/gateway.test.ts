/** The core against a real gateway. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ApiError } from "../src/core/api.js";
import { chat } from "../src/core/drafts.js";
import type { Storage } from "@sdk/outbox.js";
import type { Room } from "../src/core/room.js";
import type { SpaceState } from "../src/core/state.js";
import { Gateway, buildable, until } from "./gateway.js";
import { dump } from "./support.js";

const skip = buildable() ? false : "there is no Go on this machine to build a gateway with";
let g: Gateway;

before(async () => {
  if (skip === false) g = await Gateway.make();
}, { timeout: 900_000 });

after(async () => {
  if (skip === false) await g.end();
});

const ALICE = "alice-token-for-tests";
const BOB = "bob-token-for-tests-1";

class Memory implements Storage {
  private readonly m = new Map<string, string>();
  getItem(k: string): string | null {
    return this.m.get(k) ?? null;
  }
  setItem(k: string, v: string): void {
    this.m.set(k, v);
  }
  removeItem(k: string): void {
    this.m.delete(k);
  }
}

function texts(s: SpaceState): string[] {
  return s.timeline.flatMap((x) => (x.type === "message" ? (s.messages.get(x.key)?.text ?? "") : []));
}

async function live(r: Room): Promise<void> {
  await until("live", () => r.connectionState.phase === "live" && !r.isLoading);
}

test("a conversation: history, live, echo, acknowledgement", { skip }, async () => {
  const api = g.api(BOB);
  for (let i = 0; i < 7; i++) await api.send("lab", `old-${i}`, chat(`old ${i}`));
  const alice = g.room(ALICE, { page: 3 });
  await live(alice);
  assert.deepEqual(texts(alice.state), ["old 4", "old 5", "old 6"]);
  assert.equal(alice.state.you?.id, "alice");
  assert.ok(alice.now > Date.now() - 60_000);
  const said = alice.send(chat("hello"));
  assert.ok("id" in said);
  await until("it is acknowledged and back", () => alice.outboxState.items.length === 0 && texts(alice.state).includes("hello"));
  await api.send("lab", "new", chat("hello alice", { replyTo: said.id }));
  await until("the answer", () => alice.state.messages.get("new")?.replyTo === said.id);
  assert.equal(await alice.loadOlder(), true);
  await alice.loadOlder();
  assert.equal(alice.state.hasOlder, false);
  assert.equal(texts(alice.state).length, 9);
  alice.close();
});

test("after a restart of the gateway nothing is lost or duplicated", { skip }, async () => {
  const storage = new Memory();
  const alice = g.room(ALICE, { storage });
  await live(alice);
  const count = texts(alice.state).length;
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 20; i++) assert.ok("id" in alice.send(chat(`round ${round}, ${i}`)));
    await g.kill();
    await until("it is noticed", () => alice.connectionState.phase !== "live");
    assert.ok("id" in alice.send(chat(`round ${round}, while it was away`)));
    await g.start();
    alice.wake();
    await until("all is said", () => alice.outboxState.items.length === 0 && alice.connectionState.phase === "live");
  }
  await until("all is back", () => texts(alice.state).length === count + 63);
  assert.equal(new Set(texts(alice.state).slice(count)).size, 63);
  const fresh = g.room(ALICE);
  await live(fresh);
  while (await fresh.loadOlder());
  while (await alice.loadOlder());
  assert.deepEqual(dump({ ...fresh.state, refusals: [] }), dump({ ...alice.state, refusals: [] }));
  alice.close();
  fresh.close();
});

test("a reload before the acknowledgement sends the envelope once", { skip }, async () => {
  const storage = new Memory();
  const one = g.room(ALICE, { storage });
  await live(one);
  const said = one.send(chat("before the reload"));
  assert.ok("id" in said);
  one.close();
  const two = g.room(ALICE, { storage });
  await until("it is said", () => texts(two.state).includes("before the reload") && two.outboxState.items.length === 0);
  const page = await g.api(ALICE).envelopes("lab", { descending: true, limit: 50 });
  assert.equal(page.envelopes.filter((e) => e.id === said.id).length, 1);
  two.close();
});

test("refused, in words", { skip }, async () => {
  const bob = g.room(BOB);
  await live(bob);
  bob.send({ kind: "reasoning.start", payload: {} });
  await until("it is refused", () => bob.outboxState.items[0]?.status === "refused");
  assert.match(bob.outboxState.items[0]?.note ?? "", /not allowed/);
  bob.close();
  const stranger = g.room("nobody-has-this-token");
  await until("expired", () => stranger.connectionState.phase === "expired");
  const lost = g.room(ALICE, { space: "nowhere" });
  await until("refused", () => lost.connectionState.phase === "refused");
  assert.notEqual(lost.connectionState.reason, "");
});

test("kicked, and not coming back", { skip }, async () => {
  const mallory = g.room("mallory-token-for-tests");
  await live(mallory);
  await g.api(ALICE).send("lab", "kick-1", { kind: "space.kick", payload: { participant_id: "mallory", reason: "spam" } });
  await until("kicked", () => mallory.connectionState.phase === "kicked");
  const again = g.room("mallory-token-for-tests");
  await until("kicked", () => again.connectionState.phase === "kicked");
});

test("the other routes, and their errors", { skip }, async () => {
  const api = g.api(ALICE);
  assert.ok((await api.spaces()).some((s) => s.name === "lab"));
  assert.ok(Array.isArray(await api.participants("lab")));
  await api.send("lab", "ctx-1", { kind: "reasoning.start", correlationId: "old-1", payload: { message: "Looking" } });
  await api.send("lab", "ctx-2", { kind: "reasoning.start", context: "ctx-1", payload: {} });
  assert.ok((await api.contexts("lab")).some((c) => c.path === "ctx-1" && c.children[0]?.path === "ctx-1/ctx-2"));
  assert.equal((await api.contexts("lab", "ctx-1/ctx-2"))[0]?.path, "ctx-1/ctx-2");
  const main = await api.envelopes("lab", { main: true, kinds: ["chat"], from: ["bob"], limit: 2 });
  assert.deepEqual(main.envelopes.map((e) => e.id), ["old-0", "old-1"]);
  await assert.rejects(api.participants("nowhere"), (e) => e instanceof ApiError && e.status === 404 && !e.passing);
  await assert.rejects(g.api("nobody-has-this-token").spaces(), (e) => e instanceof ApiError && e.signedOut);
  await assert.rejects(g.api(BOB).send("lab", "x-9", { kind: "space.kick", payload: { participant_id: "alice" } }), (e) => e instanceof ApiError && e.refusal.error === "capability_violation");
});

test("threads and turns", { skip }, async () => {
  const api = g.api(ALICE);
  const { threads } = await api.threads("lab", 0, 200);
  const thread = threads.find((t) => t.thread_id === "old-1");
  assert.equal(thread?.title, "old 1");
  const { turns } = await api.turns("lab", "old-1");
  assert.equal(turns[0]?.user_input, "old 1");
  assert.equal((await api.one("lab", "ctx-1"))?.kind, "reasoning.start");
  assert.equal(await api.one("lab", "nothing"), null);
  const of = await api.turnOf("lab", "ctx-1");
  assert.deepEqual([of.thread_id, of.turn.turn_number], ["old-1", 1]);
  assert.match(api.transcript("lab", "a b"), /threads\/a%20b\.md$/);
});

test("a proposal expires at its time, without another envelope", { skip }, async () => {
  const alice = g.room(ALICE);
  await live(alice);
  const payload = { method: "tools/call", params: { name: "delete_file" }, expires_at: new Date(alice.now + 1500).toISOString() };
  const made = alice.send({ kind: "mcp.proposal", payload });
  assert.ok("id" in made);
  await until("it is shown", () => alice.state.proposals.has(made.id));
  const { head } = alice.state;
  await until("it expires", () => alice.state.proposals.get(made.id)?.status === "expired");
  assert.deepEqual([alice.state.pending, alice.state.head], [[], head]);
  alice.close();
});
