/** Policy: opinions and mistakes of reviewers, who decides and when, decisions in words, suggested rules and backtests. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { extension, figure, loopWords, readBudgets, unitOf, usedOf } from "../src/core/budgets.js";
import { activity, capability, heldNow } from "../src/core/capabilities.js";
import { readClaims } from "../src/core/claims.js";
import { portion, readDeciders, readRoles, rolesOf, waitOf, withChanges } from "../src/core/deciders.js";
import { readDecisions, ruleWords, why } from "../src/core/decisions.js";
import { kindWords } from "../src/core/kind-words.js";
import { demote, extendBudget, promote, release } from "../src/core/panel-drafts.js";
import { acceptance, deniesWhom, groupTitle, proof, readBacktest, readSuggestions, sentence, support, withTimes } from "../src/core/policy.js";
import { Reducer } from "../src/core/reducer.js";
import { notice, refusal } from "../src/core/sentences.js";
import { Space } from "../src/core/space.js";
import type { CallStep, Proposal } from "../src/core/state.js";
import type { Envelope } from "@sdk/types.js";
import type { ReactiveControllerHost } from "lit";
import { Arrivals } from "../src/ui/panels/arrivals.js";
import { Loaded } from "../src/ui/panels/loaded.js";
import { since } from "../src/ui/panels/span.js";
import { Scribe, settled } from "./support.js";

const CALL = { method: "tools/call", params: { name: "Bash", arguments: { command: "git diff" } } };
const DIGEST = "0".repeat(64);

function proposed(more: Partial<Envelope> = {}): { r: Reducer; w: Scribe; id: string; now: () => Proposal } {
  const r = new Reducer({ fromStart: true });
  const w = new Scribe();
  const e = w.say("coder", "mcp.proposal", CALL, more);
  r.apply(e);
  return { r, w, id: e.id, now: () => r.state.proposals.get(e.id) as Proposal };
}

test("opinions: the first of each participant, before the decision", () => {
  const { r, w, id, now } = proposed();
  const say = (from: string, verdict: unknown, reason = ""): void => {
    r.apply(w.say(from, "mcp.opinion", { verdict, call: DIGEST, reason }, { correlationId: id }));
  };
  say("rev", "approve", "it only reads");
  say("rev", "reject", "another thought");
  say("second", "abstain");
  say("third", "perhaps");
  say("fourth", { deep: true });
  assert.deepEqual(now().opinions.map((o) => [o.from, o.verdict, o.reason]), [["rev", "approve", "it only reads"], ["second", "abstain", ""]]);
  assert.equal(now().status, "pending", "an opinion decides nothing");
  r.apply(w.say("alice", "mcp.reject", { reason: "unsafe" }, { correlationId: id }));
  say("late", "reject");
  assert.equal(now().opinions.length, 2, "an opinion after the decision");
  assert.deepEqual(["rev", "second", "third", "alice"].map((x) => r.state.participants.get(x)?.reviewer), [true, true, false, false]);
});

test("an opinion on what expired with its context counts, since a decision may follow", () => {
  const r = new Reducer({ fromStart: true });
  const w = new Scribe();
  const start = w.say("coder", "reasoning.start");
  const p = w.say("coder", "mcp.proposal", CALL, { context: start.id });
  for (const e of [start, p, w.say("coder", "reasoning.conclusion", {}, { context: start.id })]) r.apply(e);
  r.apply(w.say("rev", "mcp.opinion", { verdict: "approve", call: DIGEST }, { correlationId: p.id, context: start.id }));
  assert.equal(r.state.proposals.get(p.id)?.opinions.length, 1);
  assert.equal(r.state.blocks.get(start.id)?.steps.length, 1, "it is no step");
});

test("a demotion that names a decision marks it as wrong, and its step is rendered again", () => {
  const r = new Reducer({ fromStart: true });
  const w = new Scribe();
  const start = w.say("coder", "reasoning.start");
  const p = w.say("coder", "mcp.proposal", CALL, { context: start.id });
  const request = w.say("rev", "mcp.request", CALL, { to: ["shell"], correlationId: p.id, context: start.id });
  for (const e of [start, p, request]) r.apply(e);
  const step = (): CallStep => r.state.blocks.get(start.id)?.steps[0] as CallStep;
  const before = step();
  r.apply(w.say("alice", "reviewer.demote", { participant_id: "rev", reason: "it deletes" }, { correlationId: "unknown" }));
  r.apply(w.say("alice", "reviewer.promote", { participant_id: "rev" }, { correlationId: request.id }));
  assert.equal(r.state.proposals.get(p.id)?.undone, null);
  assert.equal(r.state.participants.get("rev")?.reviewer, true);
  const demotion = w.say("alice", "reviewer.demote", { participant_id: "rev", reason: "it deletes" }, { correlationId: request.id });
  r.apply(demotion);
  assert.deepEqual(r.state.proposals.get(p.id)?.undone, { id: demotion.id, by: "alice", at: w.at, reason: "it deletes" });
  assert.notEqual(step(), before);
  assert.equal(r.state.proposals.get(p.id)?.status, "approved", "the call was made");
});

test("a demotion that names a rejection marks it as wrong", () => {
  const { r, w, id, now } = proposed();
  const rejection = w.say("rev", "mcp.reject", { reason: "unsafe" }, { correlationId: id });
  r.apply(rejection);
  assert.deepEqual([now().decision, now().request, now().undone], [rejection.id, "", null]);
  r.apply(w.say("alice", "reviewer.demote", { participant_id: "rev", reason: "it only reads" }, { correlationId: rejection.id }));
  assert.deepEqual([now().undone?.by, now().undone?.reason, now().status], ["alice", "it only reads", "rejected"]);
});

test("a decision that is not visible settles what looked pending or expired, and no demotion without a decision undoes it", () => {
  const space = new Space();
  const w = new Scribe();
  const start = w.say("coder", "reasoning.start");
  const [shown, ended] = [w.say("coder", "mcp.proposal", CALL), w.say("coder", "mcp.proposal", CALL, { context: start.id })];
  space.load([start, shown, ended, w.say("coder", "reasoning.conclusion", {}, { context: start.id })], false);
  const states = (): unknown[] => [shown, ended].map((e) => [space.state.proposals.get(e.id)?.status, space.state.proposals.get(e.id)?.decidedBy]);
  assert.deepEqual(states(), [["pending", ""], ["expired", ""]]);
  for (const e of [shown, ended]) space.settled(e.id, "rev");
  assert.deepEqual(states(), [["settled", "rev"], ["settled", "rev"]]);
  assert.deepEqual(space.state.pending, []);
  space.receive(w.say("alice", "reviewer.demote", { participant_id: "rev" }, { correlationId: [""] }));
  assert.equal(space.state.proposals.get(shown.id)?.undone, null);
  space.load([], true);
  assert.deepEqual(states(), [["settled", "rev"], ["settled", "rev"]], "also after the state was made again");
});

test("hostile opinions and demotions change nothing", () => {
  const { r, w, id, now } = proposed();
  for (const payload of [{}, { verdict: null }, { verdict: ["approve"] }, { participant_id: 7 }, { participant_id: "" }, { participant_id: "__proto__" }]) {
    for (const kind of ["mcp.opinion", "reviewer.demote", "reviewer.promote"]) r.apply(w.say("mallory", kind, payload, { correlationId: [id, id, "constructor"] }));
  }
  assert.deepEqual([now().opinions, now().undone, now().status], [[], null, "pending"]);
});

test("in words: kinds, rights and notices", () => {
  const w = new Scribe();
  assert.deepEqual(["mcp.opinion", "reviewer.promote", "reviewer.demote", "policy.dismiss"].map(kindWords), ["Opinion", "Promotion of a reviewer", "Demotion of a reviewer", "Dismissed suggestion"]);
  assert.deepEqual(["mcp.opinion", "reviewer.*", "reviewer.demote"].map(activity), ["say what it thinks of proposals", "promote and demote reviewers", "put reviewers back into shadow"]);
  assert.equal(notice(w.say("alice", "reviewer.promote", { participant_id: "rev" })), "let “rev” decide on proposals.");
  assert.equal(notice(w.say("alice", "reviewer.demote", { participant_id: "rev", reason: "it deletes" })), "put “rev” back into shadow: it deletes");
  const about = [{ kind: "mcp.request", payload: { params: { name: "Bash" } } }];
  const grant = w.say("alice", "capability.grant", { recipient: "coder", capabilities: about, ttl_seconds: 604_800 });
  const revocations = [w.say("alice", "capability.revoke", { recipient: "coder", grant_id: grant.id, reason: "done" }), w.say("alice", "capability.revoke", { recipient: "coder", grant_id: "older" }), w.say("alice", "capability.revoke", { recipient: "coder", capabilities: ["chat"] })];
  assert.deepEqual([grant, ...revocations].map(notice), ["granted “coder” access for 7 days.", "revoked a grant of “coder”: done", "revoked a grant of “coder”.", "revoked access of “coder”."]);
  const lasts = (ttl_seconds: number): string => notice(w.say("alice", "capability.grant", { recipient: "coder", ttl_seconds }));
  assert.deepEqual([60, 600, 3600, 7200, 86_400, 5, 5400, 0].map(lasts).map((x) => x.slice("granted “coder” access".length)), [" for 1 minute.", " for 10 minutes.", " for 1 hour.", " for 2 hours.", " for 1 day.", " for 5s.", " for 90 minutes.", "."]);
  const told = new Space();
  told.load([grant, ...revocations, w.say("alice", "participant.pause", { capabilities: ["chat"] }, { to: ["coder"] })], false);
  assert.deepEqual([...told.state.notices.values()].map((n) => n.rights), [about, about, [], ["chat"], []]);
  const space = new Space();
  space.load([w.say("alice", "reviewer.promote", { participant_id: "rev" }), w.say("rev", "mcp.opinion", { verdict: "approve" }, { correlationId: "x" })], false);
  assert.deepEqual(space.state.timeline.map((x) => x.type), ["notice"], "an opinion is no line of the conversation");
});

test("drafts of a promotion and of a demotion with its decision", () => {
  assert.deepEqual(promote("rev", ""), { kind: "reviewer.promote", payload: { participant_id: "rev" } });
  assert.deepEqual(demote("rev", "wrong", "req-1"), { kind: "reviewer.demote", correlationId: "req-1", payload: { participant_id: "rev", reason: "wrong" } });
  assert.deepEqual(demote("rev", ""), { kind: "reviewer.demote", payload: { participant_id: "rev" } });
});

const DECIDERS = {
  configured: true,
  human_only: [{ payload: { params: { name: "delete_*" } } }],
  deciders: [
    { type: "rules", score: { proposals: 3, covered: 1, saved: 1 } },
    {
      type: "reviewer",
      id: "rev",
      mode: "shadow",
      for: [{ payload: { params: { name: "Bash" } } }],
      promotion: { decisions: 50, without_miss: 50, compared: 12, since_miss: 3, missing: "38 more decisions of people", may_promote: true },
      score: { proposals: 50, covered: 38, misses: 1, false_alarms: 2, agreed_rejections: 4, person_rejections: 5, saved: 30, latency_p50: 0.4, latency_p99: 2, kinds: [{ kind: "Bash git", proposals: 20, covered: 20 }] },
    },
    { type: "person", id: "alice" },
    { type: "person", pattern: "ops:*" },
    { type: "person", id: "ops:eve", pattern: "ops:*" },
    { type: "person", id: "carol", after_seconds: 600 },
    { type: "oracle", id: "delphi" },
  ],
  since: "2026-11-01T00:00:00Z",
  partial: true,
};

test("deciders: who decides, and from when", () => {
  const d = readDeciders(DECIDERS);
  assert.deepEqual([d.configured, d.partial, d.deciders.length, d.humanOnly.length], [true, true, 6, 1]);
  const r = rolesOf(d);
  for (const [who, wait] of [["alice", 0], ["ops:dora", 0], ["carol", 600_000], ["rev", null], ["bob", null], ["xops:a", null], ["ops", null]] as const) assert.equal(waitOf(r, who), wait, who);
  assert.deepEqual(r, { configured: true, reviewers: ["rev"], people: [["alice", 0], ["ops:*", 0], ["carol", 600_000]] });
  const policy = { deciders: { human_only: [], reviewers: [{ id: "rev", mode: "shadow" }], people: [{ people: ["alice", "ops:*"] }, { people: ["carol"], after_seconds: 600 }] } };
  assert.deepEqual(readRoles(policy), r, "the policy says the same");
  assert.equal(waitOf(readRoles({ participants: {} }), "bob"), 0, "without deciders: everybody with the right");
  assert.equal(waitOf(readRoles({ deciders: { rules: [{}] } }), "bob"), 0, "without people, too");
  for (const odd of [null, 7, { deciders: [] }, { deciders: { people: [7, { people: 7 }], reviewers: "all" } }]) assert.equal(waitOf(readRoles(odd), "bob"), 0);
});

test("deciders: a promotion or demotion that has arrived shows at once", () => {
  const w = new Scribe();
  const d = readDeciders(DECIDERS);
  const log = [w.say("alice", "reviewer.promote", { participant_id: "rev" }), w.say("alice", "chat", { text: "x" })];
  assert.equal(withChanges(d, log, 2), d, "the report is newer");
  const rev = (after: number): unknown => {
    const x = withChanges(d, log, after).deciders[1];
    return [x?.decides, x?.promotion === null, x?.changed, x?.score?.covered];
  };
  assert.deepEqual(rev(0), [true, true, { id: "m1", at: Date.parse(log[0]?.ts ?? ""), by: "alice", decides: true, reason: "", undone: "" }, 38]);
  const demotion = w.say("bob", "reviewer.demote", { participant_id: "rev", reason: "it deletes" }, { correlationId: "req" });
  log.push(demotion, w.say("alice", "reviewer.promote", { participant_id: "alice" }), w.say("alice", "reviewer.promote", { participant_id: 7 }));
  assert.deepEqual(rev(1), [false, true, { id: demotion.id, at: Date.parse(demotion.ts), by: "bob", decides: false, reason: "it deletes", undone: "req" }, 38]);
  assert.deepEqual(withChanges(d, log, 0).deciders.filter((x) => x.type !== "reviewer"), d.deciders.filter((x) => x.type !== "reviewer"), "no person is promoted");
});

test("grants: what a participant holds now, of what the gateway named", () => {
  const w = new Scribe();
  const space = new Space();
  const give = (capability: unknown, more: object = {}): Envelope => w.say("alice", "capability.grant", { recipient: "coder", capabilities: [capability], ...more });
  const [hour, short] = [give("chat", { ttl_seconds: 3600 }), give({ kind: "claim" }, { ttl_seconds: 10 })];
  const ended = give("feedback");
  space.load([hour, short, ended, w.say("alice", "capability.revoke", { recipient: "coder", grant_id: ended.id })], false);
  const welcome = w.welcome(["coder"]);
  const named = ["feedback", { kind: "claim" }, "chat", { kind: "claim" }]; // feedback and a claim are configured
  space.receive({ ...welcome, payload: { ...welcome.payload, participants: [{ id: "coder", capabilities: named }] } });
  const held = (after = 0): unknown => heldNow(space.state.participants.get("coder") as never, space.state.grants.values(), w.at + after);
  assert.deepEqual(held(), named);
  assert.deepEqual(held(10_000), ["feedback", { kind: "claim" }, "chat"], "the time of one is over");
  space.receive(give("observe"));
  assert.deepEqual(held(10_000), ["feedback", { kind: "claim" }, "chat", "observe"]);
  space.receive(w.say("alice", "capability.revoke", { recipient: "coder", grant_id: hour.id }));
  assert.deepEqual(held(10_000), ["feedback", { kind: "claim" }, "observe"]);
});

test("deciders: scores, what a promotion needs, and other values", () => {
  const rev = readDeciders(DECIDERS).deciders[1];
  assert.deepEqual([rev?.score?.covered, rev?.score?.falseAlarms, rev?.score?.agreedRejections, rev?.score?.latencyP50, rev?.kinds[0]?.kind, rev?.kinds[0]?.covered], [38, 2, 4, 0.4, "Bash git", 20]);
  assert.deepEqual(rev?.promotion, { decisions: 50, withoutMiss: 50, compared: 12, sinceMiss: 3, missing: "38 more decisions of people", mayPromote: true });
  assert.deepEqual([rev?.decides, rev?.changed], [false, null]);
  const changed = readDeciders({ deciders: [{ type: "reviewer", id: "rev", mode: "decide", changed: { id: "e", at: "2026-11-01T00:00:00Z", by: "alice", mode: "shadow", undone: "req" } }] }).deciders[0]?.changed;
  assert.deepEqual(changed, { id: "e", at: Date.parse("2026-11-01T00:00:00Z"), by: "alice", decides: false, reason: "", undone: "req" });
  for (const odd of [null, 7, "x", [], { deciders: "all" }, { deciders: [null, 1, { type: "reviewer", score: 3, promotion: "soon", changed: [] }] }]) {
    for (const x of readDeciders(odd).deciders) assert.equal(x.score?.covered, 0);
  }
  assert.deepEqual([portion(38, 50), portion(0, 0), portion(999, 1000)], ["38 of 50 (76%)", "none yet", "999 of 1,000 (99%)"]);
});

test("decisions: why, in words", () => {
  const of = (outcome: string, decided: object, more: object = {}): string =>
    why(readDecisions({ decisions: [{ id: "d", outcome, decided, ...more }] }).decisions[0] as never, (id) => (id === "alice" ? "you" : id));
  assert.equal(of("made", { by: "rule" }), "Allowed by a rule");
  assert.equal(of("made", { by: "rule", decider: "rule" }), "Let through by a rule of the deciders");
  assert.equal(of("made", { by: "grant" }), "Allowed by a grant");
  assert.equal(of("made", { by: "participant", participant: "alice", decider: "person", when: "in_time" }), "Approved by you");
  assert.equal(of("made", { by: "participant", participant: "rev", decider: "reviewer" }), "Approved by the reviewer rev");
  assert.equal(of("made", { by: "participant", participant: "bob", when: "late" }, { edited: true }), "Approved by bob, with other arguments, too late");
  assert.equal(of("rejected", { by: "participant", participant: "bob" }), "Rejected by bob");
  assert.equal(of("rejected", { by: "participant", participant: "bob", when: "late" }), "Rejected by bob, too late");
  assert.equal(of("withdrawn", { by: "participant", participant: "coder" }), "Withdrawn by coder");
  assert.equal(of("expired", { by: "nobody" }), "Nobody decided in time");
  assert.equal(of("made", { by: "unknown" }), "The reason was not recorded");
  assert.equal(of("made", {}), "The reason was not recorded");
});

test("decisions: pages, and rules as sentences", () => {
  const page = readDecisions({ decisions: [{ id: "d", seq: 9, at: "2026-11-01T00:00:00Z", today: { verdict: "asked" } }, null, 7], next: 9, has_more: true, partial: true });
  assert.deepEqual([page.decisions.length, page.next, page.partial, page.decisions[0]?.today, page.decisions[1]?.id], [3, 9, true, { verdict: "asked", rule: "" }, ""]);
  assert.equal(readDecisions({ next: 9, has_more: false }).next, null);
  assert.equal(ruleWords('"mcp.request"'), "May call tools.");
  assert.equal(ruleWords('{"kind":"mcp.request","payload":{"params":{"name":"Bash"}}}'), "May call tools, but only the tool “Bash”.");
  for (const rule of ['{"kind":"mcp.request","payl…', "7", "null", "[]", "{}", ""]) assert.equal(ruleWords(rule), rule);
});

test("budgets: what is used of what, and other values", () => {
  const b = readBudgets({
    day: "2026-11-30",
    until: "2026-12-01T00:00:00Z",
    budgets: [
      { cost: { used: 12.5, limit: 50 }, currency: "USD", may_extend: true },
      { participant_id: "coder", calls: { used: 3, limit: 2 }, tokens: { used: 1204113, limit: 5000000, extended: 10 }, uncounted: 2, asks: "coder has made 3 of 2 calls today", may_extend: false },
    ],
    loops: { identical: 8, hops: 12 },
  });
  assert.equal(b.until, Date.parse("2026-12-01T00:00:00Z"));
  assert.deepEqual(b.budgets.map((x) => [x.id, x.limits.map(usedOf), x.uncounted, x.asks, x.mayExtend]), [
    ["", ["12.50 of 50.00 USD"], 0, "", true],
    ["coder", ["1,204,113 of 5,000,000 tokens", "3 of 2 calls"], 2, "coder has made 3 of 2 calls today", false],
  ]);
  const [cost, tokens] = b.budgets.flatMap((x) => x.limits);
  assert.ok(cost && tokens);
  assert.deepEqual([unitOf(cost), unitOf(tokens), figure(cost, 0.0042), figure(tokens, tokens.extended)], ["USD", "tokens", "0.0042", "10"]);
  assert.deepEqual(extendBudget("", extension(cost, 1.5), ""), { kind: "budget.extend", payload: { cost: 1.5, currency: "USD" } });
  assert.deepEqual(extendBudget("coder", extension(tokens, 100), "go on"), { kind: "budget.extend", payload: { participant_id: "coder", tokens: 100, reason: "go on" } });
  assert.equal(loopWords(b.loops), "A call also has to be approved after the same call was made 8 times without progress, or work was passed on 12 times without a person.");
  assert.deepEqual([loopWords({ identical: 0, hops: 2 }), loopWords({ identical: 0, hops: 0 })], ["A call also has to be approved after work was passed on 2 times without a person.", ""]);
  for (const odd of [null, 7, { budgets: "all", loops: [] }, { until: 3, budgets: [null, 7, { tokens: 5, cost: { used: -1, limit: "x" }, currency: 7 }] }]) readBudgets(odd);
});

test("claims: one entry per envelope, those that end first are first", () => {
  const item = (id: string, at: string, more: object): object => ({ id, by: "coder", at: "2026-11-30T10:00:00Z", expires_at: at, ...more });
  const list = readClaims({ claims: [item("b", "2026-11-30T12:00:00Z", { path: "/b" }), item("a", "2026-11-30T11:00:00Z", { path: "/a", reason: "mine" }), item("b", "2026-11-30T12:00:00Z", { name: "release" }), null, 7] });
  assert.deepEqual(list.filter((c) => c.id !== "").map((c) => [c.id, c.by, c.paths, c.names, c.reason]), [["a", "coder", ["/a"], [], "mine"], ["b", "coder", ["/b"], ["release"], ""]]);
  assert.deepEqual(release("b"), { kind: "release", correlationId: "b", payload: {} });
  for (const odd of [null, [], { claims: {} }]) assert.deepEqual(readClaims(odd), []);
});

test("in words: budgets and claims", () => {
  const w = new Scribe();
  assert.equal(notice(w.say("alice", "budget.extend", { participant_id: "coder", cost: 1, currency: "USD", reason: "go on" })), "extended the budget of “coder” by 1 USD: go on");
  assert.equal(notice(w.say("alice", "budget.extend", { tokens: 5000, calls: 2 })), "extended the budget of the space by 5,000 tokens, 2 calls.");
  assert.equal(refusal({ error: "claimed", message: "bob holds /a until noon." }), "Somebody else has claimed this. bob holds /a until noon.");
  const write = { kind: "mcp.request", payload: { params: { arguments: { path: "a" }, name: "Write" } } };
  assert.equal(capability({ ...write, claims: "require" }), "May call tools, but only the tool “Write”, with “path” “a”, for files that it has claimed.");
  assert.equal(capability({ kind: "mcp.request", claims: "respect" }), "May call tools, but only for files that nobody else has claimed.");
  assert.equal(capability({ kind: "mcp.request", claims: "constructor" }), "May call tools.");
});

test("what is loaded is loaded again after the envelopes that change it, once for many", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const w = new Scribe();
  const log: Envelope[] = [w.say("coder", "claim", {})];
  let loads = 0;
  const host = { addController() {}, shell: { state: { head: log[0]?.seq }, envelopes: log } };
  const arrivals = new Arrivals(host as never, () => loads++, ["claim"], ["mcp.request"]);
  const arrive = (...kinds: string[]): void => {
    for (const kind of kinds) host.shell.state.head = log[log.push(w.say("coder", kind, {})) - 1]?.seq;
    arrivals.hostUpdate();
  };
  arrivals.hostUpdate();
  t.mock.timers.tick(10_000);
  assert.equal(loads, 0, "the envelopes before it was shown");
  arrive("chat", "release");
  t.mock.timers.tick(10_000);
  assert.equal(loads, 0, "of other kinds");
  arrive("mcp.request", "chat");
  t.mock.timers.tick(1000);
  arrive("mcp.request");
  t.mock.timers.tick(1999);
  assert.equal(loads, 0);
  t.mock.timers.tick(1);
  assert.equal(loads, 1, "three seconds after the first of many");
  arrive("mcp.request");
  arrive("claim", "claim", "chat");
  t.mock.timers.tick(100);
  assert.equal(loads, 2, "soon");
  t.mock.timers.tick(10_000);
  assert.equal(loads, 2);
  arrive("claim");
  arrivals.hostDisconnected();
  t.mock.timers.tick(10_000);
  assert.equal(loads, 2, "not for an element that is gone");
});

const SUGGESTED = {
  proposals: 60,
  approved: 52,
  rejected: 8,
  suggestions: [
    {
      id: "s1",
      does: "allow",
      participant: "coder",
      host: "shell",
      tool: "Bash",
      words: "`git diff` with any arguments",
      capabilities: [{ kind: "mcp.request", to: "shell" }, "chat", 7],
      approved: 31,
      by: ["alice", "bob"],
      days: 9,
      asked_fewer: 31,
      for: [{ id: "p1", ts: "2026-11-01T00:00:00Z", what: "Bash {}", outcome: "approved", by: "alice", decision: "r1" }],
      against: [],
      configured_in: "lab",
      patch: "lab: {}",
      grant: { recipient: "coder", capabilities: [{ kind: "mcp.request", to: "shell" }], reason: "suggested", ttl_seconds: 60 },
      grantable: true,
      dismissal: { recipient: "coder", capabilities: [{ kind: "mcp.request", to: "shell" }], decisions: 31 },
    },
    { id: "s2", does: "deny", participant: "coder", tool: "Bash", rejected: 1, by: ["a", "b", "c", "d"], days: 1 },
  ],
  dismissed: 2,
  asked_fewer: 31,
  let_through_rejected: 0,
  left_to_people: [{ participant: "coder", tool: "Bash", words: "rm", why: "it may destroy", approved: 5 }],
  unused: [{ participant: "bob", capabilities: ["chat"], grant: "g" }],
};

test("suggestions: what supports them, and their proof", () => {
  const s = readSuggestions(SUGGESTED);
  const [allow, deny] = s.suggestions as [(typeof s.suggestions)[0], (typeof s.suggestions)[0]];
  const name = (id: string): string => (id === "alice" ? "you" : id);
  assert.equal(deny.host, "");
  assert.equal(deniesWhom(deny.host), "Deny everybody");
  assert.equal(deniesWhom("files"), "Deny everybody at files");
  assert.equal(support(allow, name), "Approved 31 times by you and bob on 9 days");
  assert.equal(support(deny, name), "Rejected 1 time by a, b and 2 others on 1 day");
  assert.equal(proof(s), "Would have asked 31 times fewer and let through 0 calls that were rejected.");
  assert.equal(sentence("a rule for it would also allow what alice rejected"), "A rule for it would also allow what alice rejected");
  const times = (words: string): string => withTimes(words, (at) => `<${at}>`);
  assert.deepEqual(["the log begins after 2026-10-31T06:23:09Z", "2026-99-99T99:99Z", ""].map(times), [`the log begins after <${Date.UTC(2026, 9, 31, 6, 23, 9)}>`, "2026-99-99T99:99Z", ""]);
  assert.equal(proof({ fewer: 1, letThrough: 1 }), "Would have asked 1 time fewer and let through 1 call that was rejected.");
  assert.deepEqual([allow.capabilities, allow.grantable, deny.grant, deny.denies], [[{ kind: "mcp.request", to: "shell" }, { kind: "chat" }], true, null, true]);
  assert.deepEqual([s.dismissed, s.left[0]?.why, s.unused[0]?.last, allow.supporting[0]?.outcome], [2, "it may destroy", 0, "approved"]);
  for (const odd of [null, [], "x", { suggestions: [null, { capabilities: "*", by: 7, for: {}, grant: [] }] }]) readSuggestions(odd);
});

test("an accepted suggestion is the gateway's grant with the user's patterns and time", () => {
  const [s] = readSuggestions(SUGGESTED).suggestions;
  assert.ok(s?.grant);
  assert.deepEqual(acceptance(s.grant, "coder", s.capabilities.slice(0, 1), 3600), {
    kind: "capability.grant",
    to: ["coder"],
    payload: { recipient: "coder", capabilities: [{ kind: "mcp.request", to: "shell" }], reason: "suggested", ttl_seconds: 3600 },
  });
  assert.equal("ttl_seconds" in acceptance(s.grant, "coder", ["chat"], 0).payload, false, "until revoked");
});

test("backtest: groups with what becomes of them", () => {
  const b = readBacktest({
    envelopes: 12345,
    baseline: "current",
    let_through_rejected: 2,
    summary: "This configuration would have asked 41 times fewer.",
    warnings: ["configuration:3:1: text glob"],
    groups: [
      { outcome: "allowed", rejected_by: ["alice"], participant: "coder", kind: "mcp.proposal", count: 2, examples: [{ id: "p", what: "delete_file", rejected_by: "alice", reason: "not that one" }] },
      { outcome: "asked", participant: "coder", kind: "mcp.request", count: 1 },
      { outcome: "unheard_of" },
      { outcome: "refused", approved_by: ["bob"], examples: [{ id: "q", approved_by: "bob" }] },
      { outcome: "refused", rejected_by: ["bob"] },
    ],
    more_groups: 3,
  });
  assert.deepEqual(b.groups.map(groupTitle), ["Let through although rejected", "Asked", "unheard_of", "Refused although approved", "Refused"]);
  assert.deepEqual([b.groups[3]?.examples[0]?.by, b.groups[3]?.examples[0]?.outcome, b.groups[4]?.rejectedBy], ["bob", "approved", ["bob"]]);
  assert.deepEqual([b.record, b.moreGroups, b.warnings.length, b.groups[0]?.examples[0]?.by, b.groups[1]?.examples], [false, 3, 1, "alice", []]);
  for (const odd of [null, 7, { groups: "all" }, { groups: [null], warnings: [7] }]) readBacktest(odd);
});

test("the part of the log that a report is about", () => {
  assert.equal(since(0), "since=1970-01-01T00%3A00%3A00.000Z");
  const days = (Date.now() - Date.parse(decodeURIComponent(since(7).slice("since=".length)))) / 86_400_000;
  assert.ok(days >= 7 && days < 7.1);
});

test("only the last of several requests counts; a failure keeps the last response", async () => {
  let updates = 0;
  const host = { addController() {}, removeController() {}, requestUpdate: () => updates++, updateComplete: Promise.resolve(true) } as unknown as ReactiveControllerHost;
  const x = new Loaded(host, (v) => String(v));
  const waiting: ((v: unknown) => void)[] = [];
  const slow = x.load(() => new Promise((done) => waiting.push(done)));
  assert.equal(x.loading, true);
  assert.equal(await x.load(() => Promise.resolve("second")), "second");
  waiting[0]?.("first");
  assert.equal(await slow, null);
  assert.deepEqual([x.value, x.error, x.loading], ["second", "", false]);
  assert.equal(await x.load(() => Promise.reject(new Error("The gateway is unreachable."))), null);
  assert.deepEqual([x.value, x.error, x.loading], ["second", "The gateway is unreachable.", false]);
  await settled();
  assert.ok(updates >= 4);
});
