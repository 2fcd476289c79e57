/** Things of the protocol as sentences: capabilities, refusals, notices. */

import { arr, field, isObject, num, obj, oneLine, str } from "./read.js";
import { look } from "./json.js";
import { duration } from "./time.js";
import type { Capability, CapabilityRule, Envelope, Payload, Refusal } from "./types.js";

const KINDS: Readonly<Record<string, string>> = {
  "*": "do everything",
  observe: "see what is addressed to others",
  chat: "say something in the conversation",
  "chat.*": "talk, and acknowledge or call off questions",
  "chat.acknowledge": "acknowledge messages",
  "chat.cancel": "call off questions",
  "mcp.*": "call, answer and propose tool calls",
  "mcp.request": "call tools",
  "mcp.response": "answer tool calls",
  "mcp.proposal": "propose tool calls that others have to approve",
  "mcp.withdraw": "take proposals back",
  "mcp.reject": "reject proposals",
  "reasoning.*": "reason for everybody to see",
  "reasoning.start": "begin to reason",
  "reasoning.step": "think within a line of reasoning",
  "reasoning.thought": "share thoughts",
  "reasoning.conclusion": "conclude a line of reasoning",
  "reasoning.cancel": "stop a line of reasoning",
  "stream.*": "show thoughts while they grow",
  "capability.*": "give rights to others and take them back",
  "capability.grant": "give others rights that one holds",
  "capability.revoke": "take rights back",
  "space.*": "invite participants and remove them",
  "space.invite": "invite participants",
  "space.kick": "remove participants",
  decide: "decide on proposals",
  "participant.*": "pause, resume and ask participants",
  "participant.pause": "pause participants",
  "participant.resume": "let paused participants go on",
  "participant.status": "tell its status",
  "participant.request-status": "ask participants for their status",
  "participant.restart": "restart participants",
  "participant.shutdown": "shut participants down",
  "x.*": "use the kinds of applications",
};

/** A capability as a sentence: "May call tools, but only read_*." */
export function capability(c: Capability): string {
  const rule: CapabilityRule = typeof c === "string" ? { kind: c } : c;
  const what = activity(str(rule.kind));
  const limits = [payloadLimit(obj(rule.payload)), toLimit(rule.to), contextLimit(rule.context)].filter((s) => s !== "");
  const only = limits.length > 0 ? `, but only ${limits.join(", ")}` : "";
  if (rule.deny === true) return `May not ${what}${limits.length > 0 ? `: ${limits.join(", ")}` : ""}.`;
  return `May ${what}${only}.`;
}

/** The capabilities as sentences, what is forbidden last. */
export function capabilities(list: readonly Capability[]): readonly string[] {
  if (list.length === 0) return ["May do nothing but look."];
  const denied = (c: Capability): boolean => typeof c !== "string" && c.deny === true;
  return [...list.filter((c) => !denied(c)), ...list.filter(denied)].map(capability);
}

function activity(kind: string): string {
  const dotted = kind.replace("/", ".");
  if (Object.hasOwn(KINDS, dotted)) return KINDS[dotted] as string;
  if (dotted.startsWith("!")) return `do everything but ${quoted(dotted.slice(1))}`;
  if (/^\/.*\/$/.test(kind)) return `send kinds that match ${kind}`;
  if (dotted.includes("*")) return `send everything like ${quoted(dotted)}`;
  return `send ${quoted(dotted)}`;
}

function payloadLimit(p: Payload): string {
  const parts: string[] = [];
  for (const [key, v] of Object.entries(p)) {
    if (key === "method") parts.push(`the method ${pattern(v)}`);
    else if (key === "params" && isObject(v)) parts.push(...paramsLimit(v));
    else parts.push(`${quoted(key)} is ${pattern(v)}`);
  }
  return parts.join(", ");
}

function paramsLimit(p: Payload): string[] {
  return Object.entries(p).flatMap(([key, v]) => {
    if (key === "name") return [`the tool ${pattern(v)}`];
    if (key === "arguments" && isObject(v)) return Object.entries(v).map(([name, x]) => `with ${quoted(name)} ${pattern(x)}`);
    return [`with ${quoted(key)} ${pattern(v)}`];
  });
}

function toLimit(v: unknown): string {
  return v === undefined ? "" : `towards ${pattern(v)}`;
}

function contextLimit(v: unknown): string {
  return v === undefined ? "" : `in the context ${pattern(v)}`;
}

/** A field pattern in words. */
function pattern(v: unknown): string {
  if (Array.isArray(v)) return v.slice(0, 12).map(pattern).join(" or ");
  if (typeof v !== "string") return oneLine(look(v), 80);
  if (v === "*" || v === "**") return "anything";
  if (v.startsWith("!")) return `anything but ${pattern(v.slice(1))}`;
  if (/^\/.*\/$/.test(v)) return `what matches ${oneLine(v, 80)}`;
  return quoted(v);
}

function quoted(s: string): string {
  return `“${oneLine(s, 80)}”`;
}

const REFUSALS: Readonly<Record<string, string>> = {
  invalid_json: "This could not be read.",
  invalid_envelope: "This has not the form of an envelope.",
  invalid_payload: "What this kind requires is missing or wrong.",
  message_too_large: "This is too long to be sent.",
  unsupported_protocol: "The gateway speaks another version of the protocol.",
  invalid_context: "There can be no such context.",
  identity_mismatch: "This would have been in somebody else's name.",
  reserved_kind: "Only the gateway may say that.",
  unknown_participant: "Nobody of that name is known here.",
  duplicate_id: "Somebody else has used this id already.",
  capability_violation: "You are not allowed to do that here.",
  rate_limited: "That was too much at once.",
  cannot_delegate: "You cannot give what you do not hold yourself.",
  not_proposer: "Only who proposed something can take it back.",
  proposal_mismatch: "This is not the call that was proposed, or it does not go to the participant that runs the tool.",
  proposal_settled: "This proposal was decided already.",
  paused: "You are paused, and cannot send until somebody lets you go on.",
  cursor_expired: "Older messages are no longer kept.",
  unavailable: "The gateway cannot keep anything at this moment.",
  outcome_unknown: "It is not known whether this was sent. It is sent again.",
  bad_request: "The gateway did not understand the request.",
  unauthorized: "You are not signed in, or no longer.",
  forbidden: "You may not enter this space.",
  kicked: "You were removed from this space.",
  not_found: "There is no such thing here.",
  method_not_allowed: "The gateway does not take this here.",
  too_many_requests: "Too many connections or attempts.",
  shutting_down: "The gateway is going down.",
  offline: "The gateway cannot be reached.",
  bad_answer: "The answer could not be read. Something between you and the gateway may have changed it.",
};

/** A refusal in words: what it is, what the gateway says about it, when to try again. */
export function refusal(r: Refusal): string {
  const known = Object.hasOwn(REFUSALS, r.error) ? (REFUSALS[r.error] as string) : "The gateway refused this.";
  const said = oneLine(str(r.message), 300);
  const wait = num(r.retry_after_ms);
  const again = wait !== null && wait > 0 ? ` Again possible in ${duration(Math.ceil(wait / 1000))}.` : "";
  return known + (said === "" || said === known ? "" : " " + said) + again;
}

/** What a notice of the main conversation says; "" for what is none. */
export function notice(e: Envelope): string {
  const p = e.payload;
  const whom = quoted(str(field(p, "recipient")) || str(field(p, "participant_id")) || (e.to ?? []).join(", ") || "nobody");
  const reason = oneLine(str(field(p, "reason")), 200);
  const why = reason === "" ? "." : `: ${reason}`;
  switch (e.kind) {
    case "capability.grant":
      return `gave ${whom} ${rights(field(p, "capabilities"))}${ttl(p)}${why}`;
    case "capability.revoke":
      return `took rights back from ${whom}${why}`;
    case "space.invite":
      return `invited ${whom}${why}`;
    case "space.kick":
      return `removed ${whom}${why}`;
    case "participant.pause":
      return `paused ${whom}${why}`;
    case "participant.resume":
      return `let ${whom} go on${why}`;
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

function rights(v: unknown): string {
  const n = arr(v).length;
  const first = arr(v)[0];
  if (n === 1) return `the right to ${activity(str(isObject(first) ? field(first, "kind") : first))}`;
  return `${n} rights`;
}

function ttl(p: Payload): string {
  const seconds = num(field(p, "ttl_seconds"));
  return seconds !== null && seconds > 0 ? ` for ${duration(seconds)}` : "";
}
