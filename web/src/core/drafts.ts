/** Envelopes that a user sends in the conversation. Those of the panels are in panel-drafts.ts, which is loaded later. */

import { recipients } from "@sdk/read.js";
import type { Proposal } from "./state.js";
import type { ContextPath, Draft, Envelope, ID, ParticipantID } from "@sdk/types.js";

/** A chat; without `to` it is to all. */
export function chat(text: string, options: { to?: readonly ParticipantID[]; replyTo?: ID; format?: "plain" | "markdown" } = {}): Draft {
  return {
    kind: "chat",
    ...addressed(options.to),
    ...(options.replyTo !== undefined && { correlationId: options.replyTo }),
    payload: { message: text, ...(options.format !== undefined && { format: options.format }) },
  };
}

/** Cancels a question. */
export function cancelQuestion(message: ID, reason: string): Draft {
  return { kind: "chat.cancel", correlationId: message, payload: reason === "" ? {} : { reason } };
}

/** Says what the user thinks of an envelope, to those that see it. */
export function feedback(about: Envelope, value: "up" | "down" | "none", note: string): Draft {
  return { kind: "feedback", ...addressed(circle({ from: about.from, to: recipients(about) })), correlationId: about.id, payload: { value, ...(note !== "" && { note }) } };
}

/** Cancels a reasoning context. */
export function cancelReasoning(path: ContextPath, reason: string): Draft {
  return { kind: "reasoning.cancel", context: path, payload: reason === "" ? {} : { reason } };
}

/** Adds a thought to a reasoning context. */
export function thoughtInside(path: ContextPath, text: string): Draft {
  return { kind: "reasoning.thought", context: path, payload: { message: text } };
}

/** Returns the participants that see a private envelope; empty: all. */
export function circle(p: Pick<Proposal, "from" | "to">): readonly ParticipantID[] {
  return p.to.length === 0 ? [] : [...new Set([p.from, ...p.to])];
}

/** The addressees of a draft; none: all. */
export function addressed(to: readonly ParticipantID[] | undefined): { readonly to?: readonly ParticipantID[] } {
  return to !== undefined && to.length > 0 ? { to } : {};
}
