/** Envelopes that a user sends on cards and in panels: decisions, and changes of participants and their access. */

import { obj } from "@sdk/read.js";
import { withoutMeta } from "@sdk/proposal.js";
import { addressed, circle } from "./drafts.js";
import type { Proposal } from "./state.js";
import type { Capability, Draft, ID, ParticipantID, Payload } from "@sdk/types.js";

/** Reasons for rejecting a proposal that the protocol defines, most common first. */
export const REJECT_REASONS = ["disagree", "unsafe", "inappropriate", "policy", "duplicate", "invalid", "no_longer_needed", "busy", "other"] as const;

/**
 * Makes a proposed call, unchanged, without the metadata of the proposer. It is addressed only to the participant
 * that runs the tool: the one in the proposal, or the given host.
 */
export function approve(p: Proposal, id: ID, host = p.owner): Draft {
  return {
    kind: "mcp.request",
    to: [host],
    correlationId: p.id,
    ...(p.context !== "" && { context: p.context }),
    payload: { jsonrpc: "2.0", id, method: p.method, ...(p.params !== undefined && { params: withoutMeta(p.params) }) },
  };
}

/** Makes a proposed tool call with other arguments. */
export function approveEdited(p: Proposal, id: ID, args: unknown, host = p.owner): Draft {
  const draft = approve(p, id, host);
  const params = p.method === "tools/call" ? { ...obj(withoutMeta(p.params)), arguments: args } : args;
  return { ...draft, payload: { ...draft.payload, params, edited: true } };
}

/** Rejects a proposal. The words of the user are the reason if there are some: agents read nothing else. */
export function reject(p: Proposal, reason: string, words = ""): Draft {
  return {
    kind: "mcp.reject",
    ...addressed(circle(p)),
    correlationId: p.id,
    ...(p.context !== "" && { context: p.context }),
    payload: { reason: words || reason || "other" },
  };
}

/** Withdraws an own proposal. */
export function withdraw(p: Proposal, reason = "no_longer_needed"): Draft {
  return { kind: "mcp.withdraw", ...addressed(p.to), correlationId: p.id, ...(p.context !== "" && { context: p.context }), payload: { reason } };
}

/** Requests the tools of a participant. */
export function askTools(who: ParticipantID, id: ID): Draft {
  return { kind: "mcp.request", to: [who], payload: { jsonrpc: "2.0", id, method: "tools/list", params: {} } };
}

/** Grants capabilities; `seconds` 0: until revoked. MEW clients apply a grant without addressees to themselves. */
export function grant(recipient: ParticipantID, capabilities: readonly Capability[], seconds: number, reason: string): Draft {
  return {
    kind: "capability.grant",
    to: [recipient],
    payload: { recipient, capabilities, ...(seconds > 0 && { ttl_seconds: seconds }), ...(reason !== "" && { reason }) },
  };
}

/** Revokes a grant, and all that derive from it. */
export function revoke(recipient: ParticipantID, id: ID, reason: string): Draft {
  return { kind: "capability.revoke", payload: { recipient, grant_id: id, ...(reason !== "" && { reason }) } };
}

/** Lets a reviewer decide on proposals. */
export function promote(reviewer: ParticipantID, reason: string): Draft {
  return { kind: "reviewer.promote", payload: { participant_id: reviewer, ...(reason !== "" && { reason }) } };
}

/** Puts a reviewer back into shadow; `decision` is the one that was wrong, if there is one. */
export function demote(reviewer: ParticipantID, reason: string, decision: ID = ""): Draft {
  return { kind: "reviewer.demote", ...(decision !== "" && { correlationId: decision }), payload: { participant_id: reviewer, ...(reason !== "" && { reason }) } };
}

/** Makes a budget larger until the end of the day; "" is that of the space. */
export function extendBudget(of: ParticipantID, by: Payload, reason: string): Draft {
  return { kind: "budget.extend", payload: { ...(of !== "" && { participant_id: of }), ...by, ...(reason !== "" && { reason }) } };
}

/** Ends a claim. */
export function release(claim: ID): Draft {
  return { kind: "release", correlationId: claim, payload: {} };
}

/** Removes a participant until it is invited again. */
export function kick(who: ParticipantID, reason: string): Draft {
  return { kind: "space.kick", payload: { participant_id: who, ...(reason !== "" && { reason }) } };
}

/** Invites a participant. Over HTTP the response contains the token; see Api.send. `seconds` 0: it does not expire. */
export function invite(who: ParticipantID, capabilities: readonly Capability[], seconds: number, reason: string): Draft {
  return {
    kind: "space.invite",
    payload: { participant_id: who, initial_capabilities: capabilities, ...(seconds > 0 && { ttl_seconds: seconds }), ...(reason !== "" && { reason }) },
  };
}

/** Pauses participants until they are resumed, or for a number of seconds. */
export function pause(who: readonly ParticipantID[], seconds = 0): Draft {
  return { kind: "participant.pause", to: who, payload: seconds > 0 ? { timeout_seconds: seconds } : {} };
}

/** Resumes participants. */
export function resume(who: readonly ParticipantID[]): Draft {
  return { kind: "participant.resume", to: who, payload: {} };
}
