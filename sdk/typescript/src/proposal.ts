/**
 * The rules for proposed calls: which envelope settles a proposal and how, and
 * which response counts as the answer. The gateway has the same rules
 * (internal/exchange) and the same test cases in its testdata.
 */

import { canonical } from "./json.js";
import { correlations, field, isObject, obj, recipients, str } from "./read.js";
import type { ContextPath, Envelope, ID, ParticipantID } from "./types.js";

/** The fields of a proposed call that the rules need. */
export interface Proposed {
  readonly id: ID;
  readonly from: ParticipantID;
  readonly context: ContextPath;
  readonly method: string;
  readonly params: unknown;
  /** The participant that runs the tool; "" if the proposal does not name it. */
  readonly owner: ParticipantID;
}

/** How a proposal is settled; "pending": not yet. */
export type Settled = "pending" | "fulfilled" | "rejected" | "withdrawn" | "expired";

/** Parses the call of a proposal. */
export function proposed(p: Envelope): Proposed {
  return {
    id: p.id,
    from: p.from,
    context: p.context ?? "",
    method: str(field(p.payload, "method")),
    params: field(p.payload, "params"),
    owner: str(field(p.payload, "participant_id")),
  };
}

/** Returns the parameters of a call without the metadata of their sender (_meta), which is not part of the call. */
export function withoutMeta(params: unknown): unknown {
  if (!isObject(params) || !("_meta" in params)) return params;
  const { _meta, ...rest } = params;
  return rest;
}

/**
 * Returns the parameters with which a call is shown for a decision:
 * all that an approval sends. They are the arguments of a tool if the call has
 * nothing else, and otherwise all parameters except the metadata of the sender.
 */
export function shownParams(method: string, params: unknown): unknown {
  if (method !== "tools/call" || !isObject(params) || str(params["name"]) === "") return withoutMeta(params);
  return Object.keys(params).every((k) => k === "name" || k === "arguments" || k === "_meta") ? params["arguments"] : withoutMeta(params);
}

/** Returns how an envelope after the proposal settles it. */
export function settles(p: Proposed, e: Envelope): Settled {
  if (closesContext(e.kind)) return ends(e, p.context) ? "expired" : "pending";
  if (e.kind === "mcp.request") return fulfills(p, e) ? "fulfilled" : "pending";
  return correlations(e).includes(p.id) ? decision(p.from, e) : "pending";
}

/**
 * Reports whether a request fulfills the proposal. It must come from another
 * participant, be addressed to the one that runs the tool, and be the proposed
 * call or declare that it is edited. It may be addressed to the proposer or to
 * its own sender only if the proposal names that participant as the host.
 */
export function fulfills(p: Proposed, e: Envelope): boolean {
  const [to = "", ...others] = recipients(e);
  if (e.kind !== "mcp.request" || !correlations(e).includes(p.id) || e.from === p.from) return false;
  if (to === "" || others.length > 0 || ((to === p.from || to === e.from) && p.owner !== to)) return false;
  if (field(e.payload, "edited") === true) return true;
  return (p.owner === "" || p.owner === to) && sameCall(p, str(field(e.payload, "method")), field(e.payload, "params"));
}

/** Returns how a rejection or a withdrawal settles a proposal that it names. */
export function decision(proposer: ParticipantID, e: Envelope): Settled {
  if (e.kind === "mcp.reject") return "rejected";
  if (e.kind !== "mcp.withdraw" || e.from !== proposer) return "pending";
  return str(field(e.payload, "reason")) === "timeout" ? "expired" : "withdrawn";
}

/** Reports whether a response counts as the answer to the request that fulfills a proposal: it must come from its addressee. */
export function answers(request: { readonly id: ID; readonly to: readonly ParticipantID[] }, e: Envelope): boolean {
  return e.kind === "mcp.response" && correlations(e).includes(request.id) && request.to.includes(e.from);
}

function sameCall(p: Proposed, method: string, params: unknown): boolean {
  if (method !== p.method || method === "") return false;
  try {
    return canonicalParams(method, params) === canonicalParams(method, p.params);
  } catch {
    return false; // nested more deeply than a gateway admits
  }
}

/**
 * Returns the parameters as text, equal for equal calls. Metadata of the sender
 * (_meta) is not part of the call, and missing arguments equal empty ones.
 */
function canonicalParams(method: string, params: unknown): string {
  if (params !== undefined && !isObject(params)) return canonical(params);
  const { _meta, ...rest } = obj(params);
  return canonical(method === "tools/call" ? { arguments: {}, ...rest } : rest);
}

/** Reports whether a kind ends a context. */
export function closesContext(kind: string): boolean {
  return kind === "reasoning.conclusion" || kind === "reasoning.cancel";
}

/** Reports whether an envelope closes a context or an outer one. A cancel from outside names contexts by the ids of their starts. */
function ends(e: Envelope, path: ContextPath): boolean {
  if (e.context !== undefined) return path === e.context || path.startsWith(`${e.context}/`);
  if (e.kind !== "reasoning.cancel" || path === "") return false;
  const named = correlations(e);
  return path.split("/").some((id) => named.includes(id));
}
