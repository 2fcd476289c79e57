/** Proposals: who asked for a call, and what became of that. */

import { field, obj, recipients, str, textOf } from "../read.js";
import { look } from "../json.js";
import type { ProposalStatus } from "../state.js";
import type { ID } from "../types.js";
import { answer } from "./answers.js";
import { settle } from "./blocks.js";
import { type Noted, begin, callOf, edit, end, quiet } from "./calls.js";
import type { Ctx, Logged } from "./context.js";

/** mcp.proposal. */
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
    status: "pending",
    decidedBy: "",
    decidedAt: null,
    reason: "",
    explanation: "",
    request: "",
    approvedArgs: undefined,
    done: false,
    failed: false,
    result: undefined,
    summary: "",
    version: 0,
  });
  c.t.wait(e.env.id, true);
}

/** Whether a request fulfils a proposal; if so, it is noted. */
export function fulfil(c: Ctx, e: Logged): boolean {
  const method = str(field(e.env.payload, "method"));
  for (const id of e.references) {
    const call = callOf(c, id);
    if (call === null || !call.proposed || call.id !== id || call.method !== method) continue;
    if (call.asked === null && call.outcome === "pending") approve(c, e, call);
    return true;
  }
  return false;
}

function approve(c: Ctx, e: Logged, call: Noted): void {
  c.t.callAt.set(e.env.id, { path: call.context, call: call.id });
  const asked = { id: e.env.id, from: e.env.from, to: recipients(e.env) };
  edit(c, call, (old) => ({ ...old, asked, decidedBy: e.env.from }));
  decideOn(c, e, call.id, "approved");
  const p = c.t.edit(c.t.proposals, call.id);
  if (p === undefined) return;
  p.request = e.env.id;
  const params = field(e.env.payload, "params");
  const args = call.method === "tools/call" ? field(obj(params), "arguments") : params;
  if (!same(args, p.args)) p.approvedArgs = args ?? null;
}

function same(a: unknown, b: unknown): boolean {
  return look(a ?? {}) === look(b ?? {});
}

function decideOn(c: Ctx, e: Logged, id: ID, status: ProposalStatus): void {
  const p = c.t.edit(c.t.proposals, id);
  if (p === undefined || p.status !== "pending") return;
  p.status = status;
  p.decidedBy = e.env.from;
  p.decidedAt = e.at;
  c.t.wait(id, false);
}

/** mcp.reject and mcp.withdraw. What comes when somebody has made the call comes too late. */
export function decide(c: Ctx, e: Logged): void {
  for (const id of e.references) {
    const call = callOf(c, id);
    if (call === null || call.id !== id || (call.proposed && (call.outcome !== "pending" || call.asked !== null))) continue;
    const own = call.from === e.env.from;
    const reason = str(field(e.env.payload, "reason"));
    if (e.env.kind === "mcp.reject" && !own && !call.proposed) answer(c, call, e);
    else if (e.env.kind === "mcp.reject" && !own) finish(c, e, call, "rejected", reason);
    else if (e.env.kind === "mcp.withdraw" && own && call.proposed) finish(c, e, call, reason === "timeout" ? "expired" : "withdrawn", reason);
  }
}

function finish(c: Ctx, e: Logged, call: Noted, status: "rejected" | "withdrawn" | "expired", reason: string): void {
  end(c, call, e, status, { decidedBy: e.env.from, reason });
  decideOn(c, e, call.id, status);
  const p = c.t.edit(c.t.proposals, call.id);
  if (p === undefined) return;
  p.reason = reason;
  p.explanation = textOf(e.env.payload);
}

/** mcp.request: fulfils a proposal, takes a request back, or is a call. */
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
