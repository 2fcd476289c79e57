/** What a person can say, as envelopes to be sent. */

import type { Proposal } from "./state.js";
import type { Capability, ContextPath, Draft, ID, ParticipantID, Payload } from "./types.js";

/** Reasons for rejecting a proposal that the protocol knows, most usual first. */
export const REJECT_REASONS = ["disagree", "unsafe", "inappropriate", "policy", "duplicate", "invalid", "no_longer_needed", "busy", "other"] as const;

/** A chat; `to` empty: to everybody. */
export function chat(text: string, options: { to?: readonly ParticipantID[]; replyTo?: ID; format?: "plain" | "markdown" } = {}): Draft {
  return {
    kind: "chat",
    ...addressed(options.to),
    ...(options.replyTo !== undefined && { correlationId: options.replyTo }),
    payload: { message: text, ...(options.format !== undefined && { format: options.format }) },
  };
}

/** Calls a question off. */
export function cancelQuestion(message: ID, reason: string): Draft {
  return { kind: "chat.cancel", correlationId: message, payload: reason === "" ? {} : { reason } };
}

/** Stops a line of reasoning. */
export function cancelReasoning(path: ContextPath, reason: string): Draft {
  return { kind: "reasoning.cancel", context: path, payload: reason === "" ? {} : { reason } };
}

/** Says something inside a line of reasoning. */
export function thoughtInside(path: ContextPath, text: string): Draft {
  return { kind: "reasoning.thought", context: path, payload: { message: text } };
}

/**
 * Makes the call that was proposed, exactly as it was proposed. It goes to the
 * participant that runs the tool alone: the one that the proposal names, or the
 * host that is given.
 */
export function approve(p: Proposal, id: ID, host = p.owner): Draft {
  return {
    kind: "mcp.request",
    to: [host],
    correlationId: p.id,
    ...(p.context !== "" && { context: p.context }),
    payload: { jsonrpc: "2.0", id, method: p.method, ...(p.params !== undefined && { params: p.params }) },
  };
}

/** Says no. `words` may say more than the reason does. */
export function reject(p: Proposal, reason: string, words = ""): Draft {
  return {
    kind: "mcp.reject",
    ...addressed(circle(p)),
    correlationId: p.id,
    ...(p.context !== "" && { context: p.context }),
    payload: { reason: reason === "" ? "other" : reason, ...(words !== "" && { message: words }) },
  };
}

/** Between whom something was proposed in private, so that all of them see what becomes of it; empty: everybody. */
function circle(p: Proposal): readonly ParticipantID[] {
  return p.to.length === 0 ? [] : [...new Set([p.from, ...p.to])];
}

/** Takes one's own proposal back. */
export function withdraw(p: Proposal, reason = "no_longer_needed"): Draft {
  return { kind: "mcp.withdraw", ...addressed(p.to), correlationId: p.id, ...(p.context !== "" && { context: p.context }), payload: { reason } };
}

/** Asks a participant for the tools that it offers. */
export function askTools(who: ParticipantID, id: ID): Draft {
  return { kind: "mcp.request", to: [who], payload: { jsonrpc: "2.0", id, method: "tools/list", params: {} } };
}

/** Calls a tool of a participant. */
export function callTool(who: ParticipantID, id: ID, name: string, args: Payload): Draft {
  return { kind: "mcp.request", to: [who], payload: { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } } };
}

/** Gives rights; `seconds` 0: until they are taken back. Clients of MEW take a grant without addressees for their own. */
export function grant(recipient: ParticipantID, capabilities: readonly Capability[], seconds: number, reason: string): Draft {
  return {
    kind: "capability.grant",
    to: [recipient],
    payload: { recipient, capabilities, ...(seconds > 0 && { ttl_seconds: seconds }), ...(reason !== "" && { reason }) },
  };
}

/** Takes a grant back, and what was derived from it. */
export function revoke(recipient: ParticipantID, id: ID, reason: string): Draft {
  return { kind: "capability.revoke", payload: { recipient, grant_id: id, ...(reason !== "" && { reason }) } };
}

/** Removes a participant, until it is invited again. */
export function kick(who: ParticipantID, reason: string): Draft {
  return { kind: "space.kick", payload: { participant_id: who, ...(reason !== "" && { reason }) } };
}

/** Invites a participant. Over HTTP the answer has the token; see Api.send. `seconds` 0: it does not end. */
export function invite(who: ParticipantID, capabilities: readonly Capability[], seconds: number, reason: string): Draft {
  return {
    kind: "space.invite",
    payload: { participant_id: who, initial_capabilities: capabilities, ...(seconds > 0 && { ttl_seconds: seconds }), ...(reason !== "" && { reason }) },
  };
}

/** Lets participants be silent, until they are resumed or for so many seconds. */
export function pause(who: readonly ParticipantID[], seconds = 0): Draft {
  return { kind: "participant.pause", to: who, payload: seconds > 0 ? { timeout_seconds: seconds } : {} };
}

/** Lets them go on. */
export function resume(who: readonly ParticipantID[]): Draft {
  return { kind: "participant.resume", to: who, payload: {} };
}

function addressed(to: readonly ParticipantID[] | undefined): { readonly to?: readonly ParticipantID[] } {
  return to !== undefined && to.length > 0 ? { to } : {};
}
