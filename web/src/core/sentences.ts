/** Protocol elements as sentences: rejections, notices. Capabilities are in capabilities.ts, which is loaded later. */

import { field, num, oneLine, str } from "@sdk/read.js";
import { duration } from "./time.js";
import type { Envelope, Millis, Payload, Refusal } from "@sdk/types.js";

export function quoted(s: string): string {
  return `“${oneLine(s, 80)}”`;
}

const REFUSALS: Readonly<Record<string, string>> = {
  invalid_json: "Invalid JSON.",
  invalid_envelope: "Invalid envelope.",
  invalid_payload: "Invalid payload: a required field is missing or wrong.",
  message_too_large: "The message is too large.",
  unsupported_protocol: "The gateway uses another protocol version.",
  invalid_context: "Invalid context.",
  identity_mismatch: "The sender is not the signed-in participant.",
  reserved_kind: "Only the gateway may send this kind.",
  unknown_participant: "Unknown participant.",
  duplicate_id: "This id is already in use.",
  capability_violation: "You are not allowed to do this.",
  rate_limited: "Rate limit exceeded.",
  cannot_delegate: "You cannot grant access that you do not have.",
  not_proposer: "Only the proposer can withdraw a proposal.",
  proposal_mismatch: "This does not fit the proposal.",
  claimed: "Somebody else has claimed this.",
  proposal_settled: "This proposal was already decided.",
  paused: "You are paused and cannot send.",
  cursor_expired: "Older messages are no longer available.",
  unavailable: "The gateway cannot store messages at the moment.",
  outcome_unknown: "It is unknown whether this was sent.",
  bad_request: "Invalid request.",
  unauthorized: "You are not signed in.",
  forbidden: "You have no access to this space.",
  kicked: "You were removed from this space.",
  not_found: "Not found.",
  method_not_allowed: "Method not allowed.",
  too_many_requests: "Too many requests or connections.",
  shutting_down: "The gateway is shutting down.",
  offline: "The gateway is unreachable.",
  bad_answer: "The response could not be read. A proxy may have changed it.",
};

/** Rejections that are described completely: the gateway's message would repeat it. */
const COMPLETE: ReadonlySet<string> = new Set(["paused", "kicked"]);

/** The advice in a gateway's message to wait; the page has its own. */
const ADVICE = /[:;] (?:send this|try) again in \d+ ms(?:, and slow down)?/u;

/** Describes a rejection: the code, the gateway's message, and when to retry. */
export function refusal(r: Refusal): string {
  const wait = num(r.retry_after_ms);
  return reasonFor(r) + (wait !== null && wait > 0 ? ` Try again in ${seconds(wait)}.` : "");
}

/** Describes a rejection after which the page sends the envelope again, `wait` milliseconds from now. */
export function postponed(r: Refusal, wait: Millis): string {
  return `${reasonFor(r)} Sent again automatically${wait > 0 ? ` in ${seconds(wait)}` : ""}.`;
}

function reasonFor(r: Refusal): string {
  const known = Object.hasOwn(REFUSALS, r.error) ? (REFUSALS[r.error] as string) : "The gateway refused this.";
  const said = COMPLETE.has(r.error) ? "" : oneLine(str(r.message).replace(ADVICE, ""), 300);
  if (said === "" || said === known) return known;
  return r.error === "rate_limited" ? said : `${known} ${said}`; // there are many limits, and the message names the one
}

/** Formats a wait, in whole seconds. */
export function seconds(wait: Millis): string {
  return duration(Math.ceil(wait / 1000));
}

/** Returns the text of a notice in the main conversation; "" if the envelope is none. */
export function notice(e: Envelope): string {
  const p = e.payload;
  const whom = quoted(str(field(p, "recipient")) || str(field(p, "participant_id")) || (e.to ?? []).join(", ") || "nobody");
  const reason = oneLine(str(field(p, "reason")), 200);
  const why = reason === "" ? "." : `: ${reason}`;
  switch (e.kind) {
    case "capability.grant":
      return `granted ${whom} access${ttl(p)}${why}`;
    case "capability.revoke":
      return `revoked ${str(field(p, "grant_id")) === "" ? "access" : "a grant"} of ${whom}${why}`;
    case "space.invite":
      return `invited ${whom}${why}`;
    case "space.kick":
      return `removed ${whom}${why}`;
    case "reviewer.promote":
      return `let ${whom} decide on proposals${why}`;
    case "budget.extend":
      return `extended the budget of ${str(field(p, "participant_id")) === "" ? "the space" : whom} by ${more(p)}${why}`;
    case "reviewer.demote":
      return `put ${whom} back into shadow${why}`;
    case "participant.pause":
      return `paused ${whom}${why}`;
    case "participant.resume":
      return `resumed ${whom}${why}`;
    case "participant.shutdown":
      return `shut ${whom} down${why}`;
    case "participant.restart":
      return `restarted ${whom}${why}`;
    case "participant.clear":
    case "participant.forget":
    case "participant.compact":
      return `asked ${whom} to ${e.kind.slice("participant.".length)} what it remembers${why}`;
    default:
      return "";
  }
}

function more(p: Payload): string {
  const cost = num(field(p, "cost"));
  const limits = ["tokens", "calls"].flatMap((of) => (num(field(p, of)) === null ? [] : [`${num(field(p, of))?.toLocaleString()} ${of}`]));
  return [...(cost === null ? [] : [`${cost.toLocaleString()} ${oneLine(str(field(p, "currency")), 8)}`]), ...limits].join(", ");
}

function ttl(p: Payload): string {
  const seconds = num(field(p, "ttl_seconds")) ?? 0;
  return seconds > 0 ? ` for ${longDuration(seconds)}` : "";
}

/** "7 days", "1 hour", "10 minutes"; the short form if more than one unit is needed. */
function longDuration(seconds: number): string {
  const [n = 0, unit] = ([[86_400, "day"], [3600, "hour"], [60, "minute"]] as const).find(([n]) => seconds % n === 0) ?? [];
  return n === 0 ? duration(seconds) : `${(seconds / n).toLocaleString()} ${unit}${seconds === n ? "" : "s"}`;
}
