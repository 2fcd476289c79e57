/**
 * Which answer to a request counts. The rules are those of the gateway
 * (internal/turns/reduce/calls.go), held to the same cases in its testdata.
 */

import { failed, outcomeText, resultOf } from "../outcome.js";
import { answers } from "@sdk/proposal.js";
import { field, str } from "@sdk/read.js";
import type { ContextPath, ID, Outcome, ParticipantID } from "@sdk/types.js";
import { rootOf, settle } from "./blocks.js";
import { type Noted, callOf, edit, end } from "./calls.js";
import type { Ctx, Logged } from "./context.js";
import { endBatch } from "./groups.js";

/** A second participant that offers an answer makes it ambiguous already. */
const MAX_OFFERERS = 2;

type Source = "stranger" | "offerer" | "answerer";

/** The standing of the sender of an answer to a call. */
function sourceOf(call: Noted, e: Logged): Source {
  const { asked } = call;
  const { from } = e.env;
  if (call.proposed) return asked !== null && answers(asked, e.env) ? "answerer" : "stranger";
  if (from === call.from || from === asked?.from || asked?.to.includes(from) === true) return "answerer";
  return asked !== null && asked.to.length === 0 ? "offerer" : "stranger";
}

/** mcp.response. */
export function respond(c: Ctx, e: Logged): void {
  for (const id of e.references) {
    const call = callOf(c, id);
    if (call === null || call.asked?.id !== id || sourceOf(call, e) === "stranger") continue;
    answer(c, call, e);
    return;
  }
}

/** Adds a response to a call, or the rejection of a request. */
export function answer(c: Ctx, call: Noted, e: Logged): void {
  const source = sourceOf(call, e);
  if (source === "answerer") endBy(c, call, e, false);
  if (source !== "offerer" || (call.outcome !== "pending" && !call.assumed)) return;
  c.t.offers.set(e.env.id, { call: call.id, answer: e });
  endBatch(c, call.context, call.from, call.lead);
  if (call.outcome !== "pending" || call.assumed || call.offers.length >= MAX_OFFERERS) return;
  if (call.offers.some((id) => c.t.offers.get(id)?.answer.env.from === e.env.from)) return;
  edit(c, call, (old) => ({ ...old, offers: [...old.offers, e.env.id] }));
  if (call.offers.length === 0) c.t.offered.set(call.from, [...(c.t.offered.get(call.from) ?? []), call.id]);
}

/** Accepts the offers that an envelope of the asker correlates to. */
export function acceptNamed(c: Ctx, e: Logged): void {
  if (c.t.offers.size === 0) return;
  for (const id of e.references) {
    const offer = c.t.offers.get(id);
    const call = offer === undefined ? null : callOf(c, offer.call);
    if (offer === undefined || call === null || (e.env.from !== call.from && e.env.from !== call.asked?.from)) continue;
    c.t.offers.delete(id);
    endBy(c, call, offer.answer, false);
  }
}

/** Accepts offers because a context of the asker was closed, and with it those below that the asker has opened. */
export function acceptWithin(c: Ctx, who: ParticipantID, path: ContextPath): void {
  accept(c, who, (call) => call.context === path || (call.context.startsWith(`${path}/`) && c.t.blocks.get(call.context)?.opener === who));
}

/**
 * Accepts offers because the asker has continued in a context with a thought (of
 * a batch, if group says so). Calls of the same batch still wait, and those with
 * several offers stay as they are.
 */
export function acceptIn(c: Ctx, who: ParticipantID, path: ContextPath, group: number | null): void {
  accept(c, who, (call) => call.context === path && (group === null || call.batch !== group));
}

/** Accepts offers because the asker has sent a message in the conversation about another one. */
export function acceptBelow(c: Ctx, who: ParticipantID, message: ID): void {
  accept(c, who, (call) => {
    const question = call.context === "" ? c.t.where.get(call.id)?.message : c.t.blocks.get(rootOf(call.context))?.question;
    return question === message;
  });
}

function accept(c: Ctx, who: ParticipantID, concerns: (call: Noted) => boolean): void {
  const waiting = c.t.offered.get(who);
  if (waiting === undefined) return;
  const left = waiting.filter((id) => {
    const call = callOf(c, id);
    if (call === null || call.outcome !== "pending") return false;
    if (!concerns(call)) return true;
    const only = call.offers.length === 1 ? c.t.offers.get(call.offers[0] as ID) : undefined;
    if (only === undefined) edit(c, call, (old) => ({ ...old, assumed: true }));
    else endBy(c, call, only.answer, true);
    return false;
  });
  if (left.length > 0) c.t.offered.set(who, left);
  else c.t.offered.delete(who);
}

/** Ends a call by its answer. */
function endBy(c: Ctx, call: Noted, e: Logged, assumed: boolean): void {
  if (call.outcome !== "pending" && (assumed || !call.assumed)) return;
  if (e.env.kind === "mcp.reject") {
    const reason = str(field(e.env.payload, "reason"));
    end(c, call, e, "rejected", { assumed, decidedBy: e.env.from, reason, failed: false, result: undefined, summary: "", responseId: "", answeredBy: "" });
  } else {
    end(c, call, e, outcomeOf(call, e), {
      assumed,
      failed: failed(e.env.payload),
      result: resultOf(e.env.payload),
      summary: outcomeText(e.env.payload),
      responseId: e.env.id,
      answeredBy: e.env.from === call.from ? "" : e.env.from,
      ...(call.proposed ? {} : { decidedBy: "", reason: "" }),
    });
    resulted(c, e, call);
  }
  if (call.context !== "") settle(c, call.context);
}

function outcomeOf(call: Noted, e: Logged): Outcome {
  if (call.proposed) return "fulfilled";
  return failed(e.env.payload) ? "error" : "success";
}

/** Records the result of a call that was proposed. */
function resulted(c: Ctx, e: Logged, call: Noted): void {
  const p = call.proposed ? c.t.edit(c.t.proposals, call.id) : undefined;
  if (p === undefined) return;
  p.done = true;
  p.failed = failed(e.env.payload);
  p.result = resultOf(e.env.payload);
  p.summary = outcomeText(e.env.payload);
}
