/** Proposals and their outcomes. */

import { field, recipients, str, textOf } from "@sdk/read.js";
import { canonical } from "@sdk/json.js";
import { decision, fulfills, settles, shownParams } from "@sdk/proposal.js";
import type { ProposalStatus } from "../state.js";
import type { ID, Millis, ParticipantID } from "@sdk/types.js";
import { answer } from "./answers.js";
import { settle } from "./blocks.js";
import { type Noted, begin, callOf, edit, end, quiet } from "./calls.js";
import { type Ctx, type Logged, closing } from "./context.js";
import { person } from "./people.js";

/** Handles mcp.proposal. */
export function propose(c: Ctx, e: Logged): void {
  const context = begin(c, e, true);
  const call = callOf(c, e.env.id);
  if (call === null || call.id !== e.env.id || c.t.proposals.has(e.env.id)) return;
  const params = field(e.env.payload, "params");
  c.t.add(c.t.proposals, e.env.id, {
    id: e.env.id,
    seq: e.seq,
    at: e.at,
    from: e.env.from,
    to: recipients(e.env),
    context,
    method: call.method,
    tool: call.tool,
    args: call.args,
    params,
    owner: str(field(e.env.payload, "participant_id")),
    rationale: call.rationale,
    expiresAt: Date.parse(str(field(e.env.payload, "expires_at"))) || null,
    status: "pending",
    lapsed: false,
    decidedBy: "",
    decidedAt: null,
    reason: "",
    explanation: "",
    request: "",
    decision: "",
    opinions: [],
    undone: null,
    approvedArgs: undefined,
    done: false,
    failed: false,
    result: undefined,
    summary: "",
    version: 0,
  });
  c.t.wait(e.env.id, true);
  const by = c.live.settled.get(e.env.id);
  if (by !== undefined) settledBy(c, e.env.id, by);
}

/** Reports whether a request fulfills a proposal, and records it. */
export function fulfil(c: Ctx, e: Logged): boolean {
  for (const id of e.references) {
    const p = c.t.proposals.get(id);
    const call = p === undefined || !fulfills(p, e.env) ? null : callOf(c, id);
    if (call === null || !call.proposed || call.id !== id) continue;
    if (call.asked === null && open(call)) approve(c, e, call);
    return true;
  }
  return false;
}

function approve(c: Ctx, e: Logged, call: Noted): void {
  c.t.callAt.set(e.env.id, { path: call.context, call: call.id });
  const asked = { id: e.env.id, from: e.env.from, to: recipients(e.env) };
  if (call.outcome !== "pending") reopen(c, call);
  edit(c, call, (old) => ({ ...old, asked, decidedBy: e.env.from }));
  decideOn(c, e, call.id, "approved");
  const p = c.t.edit(c.t.proposals, call.id);
  if (p === undefined) return;
  p.request = e.env.id;
  const sent = shownParams(str(field(e.env.payload, "method")), field(e.env.payload, "params"));
  if (!same(sent, shownParams(p.method, p.params))) p.approvedArgs = sent ?? null;
}

/** Undoes the expiry of a call with its context. */
function reopen(c: Ctx, call: Noted): void {
  edit(c, call, (old) => ({ ...old, outcome: "pending", assumed: false, endedAt: null, durationMs: null }));
  const b = c.t.edit(c.t.blocks, call.context);
  if (b !== undefined) b.counts = { ...b.counts, pending: b.counts.pending + 1 };
}

function same(a: unknown, b: unknown): boolean {
  try {
    return canonical(a ?? {}) === canonical(b ?? {});
  } catch {
    return false; // nested too deeply to be compared
  }
}

function decideOn(c: Ctx, e: Logged, id: ID, status: ProposalStatus): void {
  const p = c.t.edit(c.t.proposals, id);
  if (p === undefined || (p.status !== "pending" && p.status !== "settled" && !p.lapsed)) return;
  p.status = status;
  p.lapsed = false;
  p.decidedBy = e.env.from;
  p.decidedAt = e.at;
  p.decision = e.env.id;
  c.t.wait(id, false);
}

/** Handles mcp.reject and mcp.withdraw. They have no effect after the call was made. */
export function decide(c: Ctx, e: Logged): void {
  for (const id of e.references) {
    const call = callOf(c, id);
    if (call === null || call.id !== id || (call.proposed && (!open(call) || call.asked !== null))) continue;
    if (!call.proposed) {
      if (e.env.kind === "mcp.reject" && call.from !== e.env.from) answer(c, call, e);
      continue;
    }
    const status = decision(call.from, e.env);
    if (status !== "pending" && status !== "fulfilled") finish(c, e, call, status, str(field(e.env.payload, "reason")));
  }
}

/** Handles mcp.opinion. The first one of each participant counts, before the decision. */
export function judge(c: Ctx, e: Logged): void {
  const verdict = str(field(e.env.payload, "verdict"));
  if (verdict !== "approve" && verdict !== "reject" && verdict !== "abstain") return;
  person(c, e.env.from).reviewer = true;
  for (const id of e.references) {
    const old = c.t.proposals.get(id);
    if (old === undefined || (old.status !== "pending" && !old.lapsed) || old.opinions.some((x) => x.from === e.env.from)) continue;
    const p = c.t.edit(c.t.proposals, id);
    if (p !== undefined) p.opinions = [...old.opinions, { id: e.env.id, from: e.env.from, at: e.at, verdict, reason: str(field(e.env.payload, "reason")) }];
  }
}

/** Handles reviewer.promote and reviewer.demote, which may name a decision that was wrong. */
export function appoint(c: Ctx, e: Logged): void {
  const id = str(field(e.env.payload, "participant_id"));
  if (id === "") return;
  person(c, id).reviewer = true;
  if (e.env.kind !== "reviewer.demote") return;
  for (const { id, decision } of c.t.proposals.values()) {
    const wrong = decision !== "" && e.references.includes(decision);
    const p = wrong ? c.t.edit(c.t.proposals, id) : undefined;
    if (p === undefined) continue;
    p.undone = closing(e);
    const call = callOf(c, id);
    if (call !== null) edit(c, call, (old) => ({ ...old }));
  }
}

/** Reports whether a call can still be decided; the end of a context is not a decision. */
function open(call: Noted): boolean {
  return call.outcome === "pending" || (call.outcome === "expired" && call.assumed);
}

/** Expires undecided proposals with their context. */
export function lapse(c: Ctx, e: Logged): void {
  for (const id of c.t.pending) {
    const p = c.t.proposals.get(id);
    if (p !== undefined && settles(p, e.env) === "expired") expire(c, id, e.at);
  }
}

/** Expires undecided proposals whose time is over. Returns true if there was one. */
export function expireUntil(c: Ctx, now: Millis): boolean {
  const over = c.t.pending.flatMap((id) => c.t.proposals.get(id) ?? []).filter((p) => (p.expiresAt ?? Infinity) <= now);
  for (const { id, context, expiresAt } of over) {
    expire(c, id, expiresAt ?? now);
    if (context !== "") settle(c, context);
  }
  return over.length > 0;
}

function expire(c: Ctx, id: ID, at: Millis): void {
  const call = callOf(c, id);
  if (call !== null) end(c, call, { at }, "expired", { assumed: true });
  const p = c.t.edit(c.t.proposals, id);
  if (p === undefined) return;
  p.status = "expired";
  p.lapsed = true;
  p.decidedAt = at;
  c.t.wait(id, false);
}

/**
 * Records that another participant has decided a proposal, as the rejection of
 * an own decision shows. The decision itself may not be visible.
 */
export function settledBy(c: Ctx, id: ID, by: ParticipantID): void {
  const call = callOf(c, id);
  if (call?.proposed !== true || call.id !== id || !open(call) || call.decidedBy !== "") return;
  edit(c, call, (old) => ({ ...old, decidedBy: by }));
  const p = c.t.edit(c.t.proposals, id);
  if (p === undefined) return;
  p.status = "settled";
  p.lapsed = false;
  p.decidedBy = by;
  c.t.wait(id, false);
}

function finish(c: Ctx, e: Logged, call: Noted, status: "rejected" | "withdrawn" | "expired", reason: string): void {
  end(c, call, e, status, { decidedBy: e.env.from, reason });
  decideOn(c, e, call.id, status);
  const p = c.t.edit(c.t.proposals, call.id);
  if (p === undefined) return;
  p.reason = reason;
  p.explanation = textOf(e.env.payload);
}

/** Handles mcp.request: it fulfills a proposal, cancels a request, or is a call. */
export function request(c: Ctx, e: Logged): void {
  const method = str(field(e.env.payload, "method"));
  if (method === "notifications/cancelled") takeBack(c, e);
  if (fulfil(c, e)) return;
  if (!quiet(method)) begin(c, e, false);
}

function takeBack(c: Ctx, e: Logged): void {
  for (const id of e.references) {
    const call = callOf(c, id);
    if (call?.asked?.id !== id || call.asked.from !== e.env.from) continue;
    end(c, call, e, call.proposed ? "fulfilled" : "error", { failed: true, summary: "given up", reason: "cancelled" });
    if (call.context !== "") settle(c, call.context);
    const p = c.t.edit(c.t.proposals, call.id);
    if (p !== undefined) Object.assign(p, { done: true, failed: true, summary: "given up" });
  }
}
