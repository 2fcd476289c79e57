/** The logic of the panels. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Api } from "../src/core/api.js";
import { invite, kick } from "../src/core/panel-drafts.js";
import { Space } from "../src/core/space.js";
import type { Proposal, SpaceState } from "../src/core/state.js";
import type { Capability, Envelope } from "@sdk/types.js";
import type { Shell } from "../src/ui/panel.js";
import { OlderState } from "../src/ui/panels/older-state.js";
import { HistoryLoader } from "../src/ui/panels/history-loader.js";
import { panels } from "../src/ui/panels/index.js";
import { limitSentences } from "../src/ui/panels/limits.js";
import { exact } from "../src/ui/panels/parts.js";
import { outcomeStyle } from "../src/ui/panels/proposal-outcome.js";
import { Replay } from "../src/ui/panels/replay-session.js";
import { NO_CHOICE, capabilitiesOf } from "../src/ui/panels/right-picker.js";
import { Scribe } from "./support.js";

test("the operator panel is for operators, and its badge counts pending items", () => {
  const operator = panels.find((p) => p.id === "operator");
  const offered = (...capabilities: Capability[]): boolean => operator?.offered?.({ you: { id: "me", capabilities, limits: {} } } as unknown as SpaceState) === true;
  assert.equal(offered("chat", "mcp.*"), false);
  assert.equal(offered({ kind: "space.kick", deny: true }, "chat"), false);
  for (const c of ["*", "capability/grant", "capability.revoke", "space.*"]) assert.equal(offered(c), true, c);
  assert.equal(operator?.offered?.({ you: null } as unknown as SpaceState), false, "before the first welcome");
  const badge = panels.find((p) => p.id === "proposals")?.badge;
  assert.equal(badge?.({ pending: ["a", "b"] } as unknown as SpaceState), 2);
  assert.equal(new Set(panels.map((p) => p.id)).size, panels.length);
});

test("each outcome of a proposal looks different", () => {
  const p = (more: Partial<Proposal>): Proposal => ({ decidedBy: "alice", done: false, failed: false, ...more }) as Proposal;
  const looks = [
    p({ status: "pending" }),
    p({ status: "approved" }),
    p({ status: "approved", done: true }),
    p({ status: "approved", done: true, failed: true }),
    p({ status: "rejected" }),
    p({ status: "withdrawn" }),
    p({ status: "expired" }),
    p({ status: "settled" }),
  ].map((x) => outcomeStyle(x, "bob"));
  assert.equal(new Set(looks.map((x) => x.sign)).size, looks.length);
  assert.equal(new Set(looks.map((x) => x.words)).size, looks.length);
  assert.equal(outcomeStyle(p({ status: "rejected" }), "bob").words, "Rejected by alice");
  assert.equal(outcomeStyle(p({ status: "rejected" }), "alice").words, "Rejected by you");
});

test("invisible characters are marked", () => {
  assert.equal(exact("rm -r /tmp"), "rm -r /tmp");
  const parts = exact("a\u202Eb\u200Bc") as unknown[];
  assert.deepEqual(parts.filter((x) => typeof x === "string"), ["a", "b", "c"]);
  assert.deepEqual(exact("⟨U+202E⟩"), "⟨U+202E⟩", "whoever writes such words is not marked");
});

test("capabilities of a choice", () => {
  const own = (text: string): unknown => capabilitiesOf({ ...NO_CHOICE, usual: "own", own: text });
  assert.deepEqual(capabilitiesOf(NO_CHOICE), ["chat", "chat.*"]);
  assert.deepEqual(capabilitiesOf({ ...NO_CHOICE, usual: "tool", tool: " read_* ", owner: "files" }), [
    { kind: "mcp.request", payload: { method: "tools/call", params: { name: "read_*" } }, to: ["files"] },
  ]);
  assert.deepEqual(capabilitiesOf({ ...NO_CHOICE, usual: "tool", method: "resources/read" }), [{ kind: "mcp.request", payload: { method: "resources/read" } }]);
  assert.deepEqual(own("reasoning/*"), ["reasoning/*"]);
  assert.deepEqual(own('{"kind": "chat", "to": ["bob"]}'), [{ kind: "chat", to: ["bob"] }]);
  assert.deepEqual(own('["chat", {"kind": "mcp.*"}]'), ["chat", { kind: "mcp.*" }]);
  for (const bad of ["", "two words", "{", '{"to": ["bob"]}', "[]", "[1]"]) assert.equal(typeof own(bad), "string", bad);
  assert.equal(typeof capabilitiesOf({ ...NO_CHOICE, usual: "tool" }), "string", "which tool?");
});

test("limits as sentences; other values are left out", () => {
  assert.deepEqual(limitSentences({}), []);
  assert.deepEqual(limitSentences({ rate: 20, burst: 40, message_bytes: 1_048_576, connections: 1, kinds: [{ kind: "reasoning.*", rate: 0.1, burst: 5 }] }), [
    "20 envelopes a second, 40 at once.",
    "Of reasoning.*: an envelope every 10 seconds, 5 at once.",
    "1 MiB in one message.",
    "1 connection at the same time.",
  ]);
  assert.deepEqual(limitSentences({ rate: "many", kinds: "all" } as never), []);
});

test("kick and invite envelopes; the response to an invitation carries the token once", async () => {
  assert.deepEqual(kick("eve", "spam"), { kind: "space.kick", payload: { participant_id: "eve", reason: "spam" } });
  const draft = invite("eve", ["chat"], 60, "");
  assert.deepEqual(draft.payload, { participant_id: "eve", initial_capabilities: ["chat"], ttl_seconds: 60 });
  const answer = (body: object): Api => new Api({ fetch: () => Promise.resolve(new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } })) });
  assert.deepEqual(await answer({ id: "i", seq: 3, token: "t" }).send("lab", "i", draft), { id: "i", seq: 3, token: "t" });
  assert.deepEqual(await answer({ id: "i", seq: 3 }).send("lab", "i", draft), { id: "i", seq: 3 });
});

/** A log of chats, and a gateway that serves it in pages of two. */
function served(n: number, fails: () => boolean = () => false): { readonly log: readonly Envelope[]; readonly api: Api } {
  const w = new Scribe();
  const log = Array.from({ length: n }, (_, i) => w.say("alice", "chat", { message: `line ${i + 1}` }));
  const fetch = (url: string): Promise<Response> => {
    if (fails()) return Promise.reject(new TypeError("gone"));
    const before = Number(new URL(url, "http://x").searchParams.get("before") ?? n + 1);
    const page = log.filter((e) => (e.seq ?? 0) < before).slice(-2).reverse();
    const next = page.at(-1)?.seq ?? 0;
    return Promise.resolve(new Response(JSON.stringify({ envelopes: page, next, has_more: next > 1 }), { headers: { "Content-Type": "application/json" } }));
  };
  return { log, api: new Api({ fetch }) };
}

test("history loads back to the beginning; it stops and resumes", async () => {
  let offline = false;
  const { log, api } = served(7, () => offline);
  const seen: number[] = [];
  let most = 2;
  const loader = new HistoryLoader("lab", 8, (page) => seen.push(...page.map((e) => e.seq ?? 0)) < most, api);
  await loader.run(() => {});
  assert.deepEqual([seen.length, loader.running, loader.progress.done], [2, false, false], "stopped by the callback");
  offline = true;
  await loader.run(() => {});
  assert.notEqual(loader.error, "");
  offline = false;
  most = Infinity;
  await loader.run(() => {});
  assert.deepEqual([loader.error, loader.progress.done, loader.progress.loaded], ["", true, 7]);
  assert.deepEqual(seen.toSorted((a, b) => a - b), log.map((e) => e.seq));
  assert.equal(loader.progress.oldest, Date.parse(log[0]?.ts ?? ""));
});

/** A shell that records the shown state. */
function shell(log: readonly Envelope[], older: boolean): Shell & { shown: SpaceState | null } {
  const space = new Space();
  space.load(log, older);
  const d: Record<string, unknown> & { shown: SpaceState | null } = {
    space: "lab",
    shown: null,
    get state() {
      return space.state;
    },
    get envelopes() {
      return space.envelopes;
    },
    get past() {
      return d.shown !== null;
    },
    showPast(state: SpaceState | null) {
      d.shown = state;
    },
  };
  return d as unknown as Shell & { shown: SpaceState | null };
}

test("a replay shows past states, and ends with a return to the present", (t) => {
  const { log } = served(9);
  const d = shell(log, false);
  const r = new Replay(d);
  t.after(() => r.live());
  r.sync();
  assert.deepEqual([r.on, r.position, d.past], [false, 9, false]);
  r.seek(4);
  assert.deepEqual([r.on, r.position, d.shown?.messages.size], [true, 4, 4]);
  r.step(-1);
  assert.equal(d.shown?.messages.size, 3);
  r.setSpeed(100);
  r.setSkipIdle(false);
  assert.deepEqual([r.position, r.speed], [3, 100], "the settings keep the position");
  r.play();
  assert.equal(r.playing, true);
  d.showPast(null);
  assert.deepEqual([r.on, r.playing, r.position], [false, false, 9]);
  r.step(-1);
  assert.deepEqual([d.shown?.messages.size, r.playing], [8, false], "starts at the end again");
  r.live();
  assert.deepEqual([d.past, r.on], [false, false]);
});

test("older pages are added without moving the position", async (t) => {
  const { log, api } = served(9);
  const d = shell(log.slice(5), true);
  const r = new Replay(d, api);
  t.after(() => r.live());
  r.seek(2);
  assert.equal(r.whole, false);
  const loaded = new Promise<void>((done) => r.subscribe(() => r.loading?.running === false && r.whole && done()));
  r.loadOlder();
  await loaded;
  assert.deepEqual([r.timeline.length, r.position, r.whole], [9, 7, true]);
  r.seek(1);
  assert.equal(d.shown?.messages.get(log[0]?.id ?? "")?.text, "line 1");
});

test("pending proposals are found in long logs, and settled by later envelopes", async () => {
  const w = new Scribe();
  const proposed = [1, 2].map((n) => w.say("planner", "mcp.proposal", { method: "tools/call", params: { name: `tool-${n}`, arguments: {} } }));
  const [first, second] = proposed.map((e) => e.id) as [string, string];
  const requested: string[] = [];
  const fetch = (url: string): Promise<Response> => {
    requested.push(new URL(url, "http://x").searchParams.getAll("kinds").join());
    return Promise.resolve(new Response(JSON.stringify({ envelopes: proposed, next: 0, has_more: false }), { headers: { "Content-Type": "application/json" } }));
  };
  const older = new OlderState("lab", ["mcp.proposal", "mcp.reject"], new Api({ fetch }));
  assert.equal(older.with([]), null);
  await older.load(3, () => {});
  await older.load(3, () => {});
  assert.deepEqual(requested, ["mcp.proposal,mcp.reject"], "loaded once");
  assert.deepEqual(older.with([])?.pending, [first, second]);
  const held = [w.say("alice", "chat", { message: "hello" }), w.say("alice", "mcp.reject", { reason: "unsafe" }, { correlationId: first })];
  assert.deepEqual(older.with(held)?.pending, [second]);
});
