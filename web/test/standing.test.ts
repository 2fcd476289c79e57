/** What the gateway knows of proposals: when the page asks, and what it learns. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Proposal } from "../src/core/state.js";
import { Standing } from "../src/ui/panels/standing.js";

interface Stage {
  readonly you: string;
  past: boolean;
  rights: readonly string[];
  readonly state: { head: number };
  readonly envelopes: { readonly kind: string; readonly seq: number }[];
}

interface Gateway {
  readonly asked: string[];
  readonly settled: [string, string][];
  answer: (path: string) => unknown;
}

function stage(): { gateway: Gateway; shell: Stage; card: (more: Partial<Proposal>) => { standing: Standing; proposal: Partial<Proposal>; updates: () => number; come: () => void } } {
  const gateway: Gateway = { asked: [], settled: [], answer: () => ({ proposals: [] }) };
  const shell = {
    you: "alice",
    past: false,
    rights: [] as readonly string[],
    may: (kind: string) => shell.rights.includes(kind),
    state: { head: 0 },
    envelopes: [] as { readonly kind: string; readonly seq: number }[],
    get: (path: string) => {
      gateway.asked.push(path);
      return Promise.resolve(path).then(gateway.answer);
    },
    settled: (id: string, by: string) => gateway.settled.push([id, by]),
  };
  const card = (more: Partial<Proposal>): ReturnType<ReturnType<typeof stage>["card"]> => {
    let updates = 0;
    const listeners = new EventTarget();
    const host = { shell, proposal: { from: "coder", status: "pending", opinions: [], lapsed: false, ...more }, addController() {}, requestUpdate: () => updates++, addEventListener: listeners.addEventListener.bind(listeners), removeEventListener: listeners.removeEventListener.bind(listeners) };
    const standing = new Standing(host as never);
    standing.hostConnected();
    standing.hostUpdate();
    return { standing, proposal: host.proposal as Partial<Proposal>, updates: () => updates, come: () => listeners.dispatchEvent(new Event("pointerenter")) };
  };
  return { gateway, shell, card };
}

const answered = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
};

test("the page asks about undecided proposals of others once, and again when something has happened to one", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  t.mock.method(performance, "now", () => now);
  Object.assign(globalThis, { document: Object.assign(new EventTarget(), { visibilityState: "visible" }) });
  const { gateway, shell, card } = stage();
  const wait = async (ms: number): Promise<void> => {
    now += ms;
    t.mock.timers.tick(ms);
    await answered();
  };
  gateway.answer = () => ({ proposals: [
    { state: "pending", because: "coder has made 1 of 1 calls today", envelope: { id: "a" } },
    { state: "settled", settled_by: { from: "rev", seq: 12 }, envelope: { id: "b" } },
    { state: "settled", settled_by: { from: "rev", seq: 13 }, envelope: { id: "unasked" } },
    null,
  ] });
  const a = card({ id: "a", seq: 7 });
  card({ id: "b", seq: 5, status: "expired", lapsed: true });
  card({ id: "own", seq: 1, from: "alice" });
  card({ id: "done", seq: 1, status: "approved" });
  await wait(100);
  assert.deepEqual(gateway.asked, ["proposals?state=all&limit=100&since=4"]);
  assert.deepEqual(gateway.settled, [["b", "rev"]]);
  assert.equal(a.standing.because, "coder has made 1 of 1 calls today");
  assert.equal(a.updates(), 1);
  a.standing.hostUpdate();
  a.come();
  await wait(4000);
  assert.equal(gateway.asked.length, 1, "nothing has happened");
  Object.assign(a.proposal, { opinions: [{ id: "o", from: "rev", at: 1, verdict: "approve", reason: "" }] });
  a.standing.hostUpdate();
  await wait(1999);
  assert.equal(gateway.asked.length, 1, "the decision follows the opinion");
  await wait(1);
  assert.equal(gateway.asked.length, 2);
  await wait(6000);
  a.come();
  await wait(2000);
  assert.equal(gateway.asked.length, 3, "the user comes to it");
  gateway.answer = () => Promise.reject(new Error("The gateway is unreachable."));
  await wait(6000);
  a.come();
  await wait(2000);
  assert.equal(gateway.asked.length, 4, "a failure is quiet");
  Object.assign(shell, { past: true });
  await wait(6000);
  a.come();
  await wait(2000);
  assert.equal(gateway.asked.length, 4, "not in the past");
  Object.assign(shell, { past: false });
  a.standing.hostDisconnected();
  a.come();
  await wait(2000);
  assert.equal(gateway.asked.length, 4, "not for an element that is gone");
  document.dispatchEvent(new Event("visibilitychange"));
  await wait(2000);
  assert.equal(gateway.asked.at(-1), "proposals?state=all&limit=100&since=4", "the user comes back to the page, with the other one");
});

test("the page asks again after a budget was extended, and knows which one the user may extend", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  Object.assign(globalThis, { document: Object.assign(new EventTarget(), { visibilityState: "visible" }) });
  const { gateway, shell, card } = stage();
  const [full, loop] = ["coder has made 1 of 1 calls today", "coder has made the same call 8 times"];
  let asks = full;
  gateway.answer = (path) => path === "budgets"
    ? { budgets: [{ asks: "the space has used 5.00 of 5.00 USD today", may_extend: true }, { participant_id: "coder", asks, may_extend: true }] }
    : { proposals: [{ state: "pending", because: asks, envelope: { id: "a" } }, { state: "pending", because: loop, envelope: { id: "b" } }] };
  const cards = [card({ id: "a", seq: 7 }), card({ id: "b", seq: 8 })];
  const pass = async (): Promise<void> => {
    t.mock.timers.tick(100);
    await answered();
  };
  const told = (): unknown => cards.map(({ standing }) => [standing.because, standing.extendable]);
  const arrive = (kind: string, seq: number): void => {
    shell.envelopes.push({ kind, seq });
    shell.state.head = seq;
    for (const { standing } of cards) standing.hostUpdate();
  };
  await pass();
  assert.deepEqual([told(), gateway.asked.length], [[[full, null], [loop, null]], 1], "who may extend nothing does not ask for budgets");
  arrive("chat", 9);
  await pass();
  assert.equal(gateway.asked.length, 1);
  shell.rights = ["budget.extend"];
  arrive("budget.extend", 10);
  await pass();
  assert.deepEqual([told(), gateway.asked.length], [[[full, "coder"], [loop, null]], 3]);
  asks = "";
  arrive("budget.extend", 11);
  arrive("chat", 12);
  await pass();
  assert.deepEqual([told(), gateway.asked.length], [[["", null], [loop, null]], 5]);
  await pass();
  assert.equal(gateway.asked.length, 5);
});

test("the page reads at most five pages, and no more than it needs", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  Object.assign(globalThis, { document: Object.assign(new EventTarget(), { visibilityState: "visible" }) });
  const { gateway, card } = stage();
  gateway.answer = () => ({ proposals: [{ envelope: { id: "x" } }], next: 9, has_more: true });
  card({ id: "old", seq: 2 });
  t.mock.timers.tick(100);
  await answered();
  assert.deepEqual(gateway.asked, ["proposals?state=all&limit=100&since=1", ...Array<string>(4).fill("proposals?state=all&limit=100&since=1&before=9")]);
  gateway.answer = () => ({ proposals: [{ envelope: { id: "new" } }], next: 9, has_more: true });
  card({ id: "new", seq: 20 });
  t.mock.timers.tick(100);
  await answered();
  assert.equal(gateway.asked.length, 6);
});
