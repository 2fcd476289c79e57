/** What the log says about rules: suggested ones, and what another configuration would have decided. */

import { arr, bool, count, field, isObject, obj, str, strings } from "@sdk/read.js";
import { parseTime } from "./time.js";
import type { Capability, CapabilityRule, Draft, ID, Millis, ParticipantID, Payload } from "@sdk/types.js";

/** A decided call, or an envelope that would have been decided otherwise. */
export interface Example {
  readonly id: ID;
  readonly at: Millis;
  readonly what: string;
  /** approved, edited, rejected; "": rejected, if somebody decided. */
  readonly outcome: string;
  /** Who decided or rejected; "": nobody. */
  readonly by: ParticipantID;
  readonly reason: string;
}

export interface Suggestions {
  readonly proposals: number;
  readonly approved: number;
  readonly rejected: number;
  readonly from: Millis;
  readonly to: Millis;
  readonly suggestions: readonly Suggestion[];
  /** How many are left out because somebody dismissed them. */
  readonly dismissed: number;
  readonly fewer: number;
  readonly letThrough: number;
  readonly left: readonly Left[];
  readonly unused: readonly Unused[];
  /** Why it is not known what nobody used. */
  readonly unusedUnknown: string;
  readonly unseen: number;
  /** The decisions from this time on count; `partial`: it is later than the one asked for. */
  readonly since: Millis;
  readonly partial: boolean;
}

export interface Suggestion {
  readonly id: string;
  readonly denies: boolean;
  readonly participant: ParticipantID;
  readonly host: ParticipantID;
  readonly tool: string;
  readonly words: string;
  readonly capabilities: readonly CapabilityRule[];
  readonly approved: number;
  readonly rejected: number;
  readonly by: readonly ParticipantID[];
  readonly days: number;
  readonly fewer: number;
  readonly letThrough: number;
  readonly supporting: readonly Example[];
  readonly contradicting: readonly Example[];
  /** Where the configuration file has the participant; "": it does not. */
  readonly configuredIn: string;
  /** YAML for the configuration file. */
  readonly patch: string;
  /** The payload of the capability.grant that makes the rule; null: a denial cannot be granted. */
  readonly grant: Payload | null;
  /** The user may send this grant. */
  readonly grantable: boolean;
  /** The payload of the policy.dismiss that dismisses it. */
  readonly dismissal: Payload;
}

/** Calls that were approved often, for which no rule is suggested. */
export type Left = Pick<Suggestion, "participant" | "host" | "tool" | "words" | "approved" | "supporting" | "contradicting"> & { readonly why: string };

/** Whose calls a deny rule is about: those to one host, or with "" to any. */
export function deniesWhom(host: string): string {
  return host === "" ? "Deny everybody" : `Deny everybody at ${host}`;
}

/** A right that nobody used. */
export interface Unused {
  readonly participant: ParticipantID;
  readonly capabilities: readonly CapabilityRule[];
  readonly grant: ID;
  /** 0: never in this log. */
  readonly last: Millis;
}

export interface Backtest {
  readonly from: Millis;
  readonly to: Millis;
  readonly envelopes: number;
  /** Compared with what happened alone. */
  readonly record: boolean;
  readonly different: number;
  readonly allowed: number;
  readonly refused: number;
  readonly asked: number;
  readonly masked: number;
  readonly unmasked: number;
  readonly letThrough: number;
  readonly unjudged: number;
  readonly unseen: number;
  readonly groups: readonly Group[];
  /** How many groups are left out. */
  readonly moreGroups: number;
  /** What it would have changed, as a sentence. */
  readonly summary: string;
  /** The envelopes from this time on were decided; `partial`: it is later than the one asked for. */
  readonly since: Millis;
  readonly partial: boolean;
  /** Warnings about the configuration, with line and column. */
  readonly warnings: readonly string[];
}

/** The envelopes of one participant and kind that one rule decides otherwise. */
export interface Group {
  readonly outcome: string;
  readonly rejectedBy: readonly ParticipantID[];
  /** Who approved the calls that would be refused. */
  readonly approvedBy: readonly ParticipantID[];
  readonly participant: ParticipantID;
  readonly kind: string;
  readonly rule: string;
  readonly why: string;
  readonly before: string;
  readonly count: number;
  readonly examples: readonly Example[];
}

/** The maximum number of items of a list. */
const MAX = 500;

const number = (p: Payload, name: string): number => count(field(p, name)) ?? 0;
const time = (p: Payload, name: string): Millis => parseTime(str(field(p, name)));
const list = (p: Payload, name: string): readonly Payload[] => arr(field(p, name)).slice(0, MAX).map(obj);
const rules = (p: Payload): readonly CapabilityRule[] => arr(field(p, "capabilities")).slice(0, MAX).flatMap((x) => (typeof x === "string" ? [{ kind: x }] : isObject(x) ? [x as unknown as CapabilityRule] : []));

/** Reads suggestions. */
export function readSuggestions(v: unknown): Suggestions {
  const p = obj(v);
  return {
    proposals: number(p, "proposals"),
    approved: number(p, "approved"),
    rejected: number(p, "rejected"),
    from: time(p, "from"),
    to: time(p, "to"),
    suggestions: list(p, "suggestions").map(suggestion),
    dismissed: number(p, "dismissed"),
    fewer: number(p, "asked_fewer"),
    letThrough: number(p, "let_through_rejected"),
    left: list(p, "left_to_people").map((x) => ({ ...suggestion(x), why: str(field(x, "why")) })),
    unused: list(p, "unused").map((x) => ({ participant: str(field(x, "participant")), capabilities: rules(x), grant: str(field(x, "grant")), last: time(x, "last_use") })),
    unusedUnknown: str(field(p, "unused_unknown")),
    unseen: number(p, "unseen"),
    since: time(p, "since"),
    partial: bool(field(p, "partial")) === true,
  };
}

function suggestion(p: Payload): Suggestion {
  const text = (name: string): string => str(field(p, name));
  return {
    id: text("id"),
    denies: text("does") === "deny",
    participant: text("participant"),
    host: text("host"),
    tool: text("tool"),
    words: text("words"),
    capabilities: rules(p),
    approved: number(p, "approved"),
    rejected: number(p, "rejected"),
    by: strings(field(p, "by")),
    days: number(p, "days"),
    fewer: number(p, "asked_fewer"),
    letThrough: number(p, "let_through_rejected"),
    supporting: list(p, "for").map(example),
    contradicting: list(p, "against").map(example),
    configuredIn: text("configured_in"),
    patch: text("patch"),
    grant: isObject(field(p, "grant")) ? obj(field(p, "grant")) : null,
    grantable: bool(field(p, "grantable")) === true,
    dismissal: obj(field(p, "dismissal")),
  };
}

function example(p: Payload): Example {
  const text = (name: string): string => str(field(p, name));
  const approver = text("approved_by");
  return { id: text("id"), at: time(p, "ts"), what: text("what"), outcome: text("outcome") || (approver === "" ? "" : "approved"), by: text("by") || text("rejected_by") || approver, reason: text("reason") };
}

/** Reads the result of a backtest. */
export function readBacktest(v: unknown): Backtest {
  const p = obj(v);
  return {
    from: time(p, "from"),
    to: time(p, "to"),
    envelopes: number(p, "envelopes"),
    record: field(p, "baseline") === "record",
    different: number(p, "different"),
    allowed: number(p, "allowed"),
    refused: number(p, "refused"),
    asked: number(p, "asked"),
    masked: number(p, "masked"),
    unmasked: number(p, "unmasked"),
    letThrough: number(p, "let_through_rejected"),
    unjudged: number(p, "unjudged"),
    unseen: number(p, "unseen"),
    groups: list(p, "groups").map((x) => ({
      outcome: str(field(x, "outcome")),
      rejectedBy: strings(field(x, "rejected_by")),
      approvedBy: strings(field(x, "approved_by")),
      participant: str(field(x, "participant")),
      kind: str(field(x, "kind")),
      rule: str(field(x, "rule")),
      why: str(field(x, "why")),
      before: str(field(x, "before")),
      count: number(x, "count"),
      examples: list(x, "examples").map(example),
    })),
    moreGroups: number(p, "more_groups"),
    summary: str(field(p, "summary")),
    since: time(p, "since"),
    partial: bool(field(p, "partial")) === true,
    warnings: strings(field(p, "warnings")),
  };
}

/** "1 call", "2,345 calls". */
function amount(n: number, one: string): string {
  return `${n.toLocaleString("en-US")} ${one}${n === 1 ? "" : "s"}`;
}

/** Whether people have decided otherwise. */
export function contradicted(g: Group): boolean {
  return g.approvedBy.length > 0 || (g.outcome === "allowed" && g.rejectedBy.length > 0);
}

/** What becomes of the envelopes of a group. */
export function groupTitle(g: Group): string {
  if (contradicted(g)) return g.outcome === "allowed" ? "Let through although rejected" : "Refused although approved";
  return { allowed: "No question any more", asked: "Asked", refused: "Refused", masked: "Masked", unmasked: "No longer masked" }[g.outcome] ?? g.outcome;
}

/** The grant of a suggested rule, with the user's capabilities and duration in seconds; 0: until revoked. */
export function acceptance(suggested: Payload, recipient: ParticipantID, capabilities: readonly Capability[], seconds: number): Draft {
  const { ttl_seconds: _, ...payload } = suggested;
  return { kind: "capability.grant", to: [recipient], payload: { ...payload, capabilities, ...(seconds > 0 && { ttl_seconds: seconds }) } };
}

/** Says what supports a suggestion: "approved 31 times by alice and bob on 9 days". */
export function support(s: Suggestion, name: (id: ParticipantID) => string): string {
  const n = s.denies ? s.rejected : s.approved;
  const by = s.by.map(name);
  const who = by.length > 3 ? `${by.slice(0, 2).join(", ")} and ${by.length - 2} others` : by.join(" and ");
  return `${s.denies ? "Rejected" : "Approved"} ${amount(n, "time")}${who === "" ? "" : ` by ${who}`} on ${amount(s.days, "day")}`;
}

/** The result of the backtest of a suggestion, as a sentence. */
export function proof(s: Pick<Suggestion, "fewer" | "letThrough">): string {
  return `Would have asked ${amount(s.fewer, "time")} fewer and let through ${amount(s.letThrough, "call")} that ${s.letThrough === 1 ? "was" : "were"} rejected.`;
}

/** Words of the gateway with a capital. */
export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Words of the gateway with its times as `show` says them. */
export function withTimes(words: string, show: (at: Millis) => string): string {
  return words.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/gu, (x) => (parseTime(x) === 0 ? x : show(parseTime(x))));
}
