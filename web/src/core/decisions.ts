/** The decisions on the calls of a space, and why each was made, as the gateway reports them. */

import { parse } from "@sdk/json.js";
import { arr, bool, count, field, isObject, obj, str } from "@sdk/read.js";
import { capability } from "./capabilities.js";
import { parseTime } from "./time.js";
import type { CapabilityRule, ID, Millis, ParticipantID, Payload } from "@sdk/types.js";

export interface Decision {
  /** Of the envelope that decided; of a proposal on which nobody did, its own. */
  readonly id: ID;
  readonly seq: number;
  readonly at: Millis;
  readonly caller: ParticipantID;
  readonly host: ParticipantID;
  readonly tool: string;
  readonly proposal: ID;
  /** The call that was made differs from the proposed one. */
  readonly edited: boolean;
  readonly outcome: string;
  readonly reason: string;
  /** rule, grant, participant, nobody, unknown */
  readonly by: string;
  /** rule, reviewer, person; "": not recorded. */
  readonly decider: string;
  readonly participant: ParticipantID;
  readonly late: boolean;
  /** The capability that allowed it, as JSON. */
  readonly rule: string;
  readonly grant: ID;
  /** What today's policy says; null: it may not be seen. */
  readonly today: { readonly verdict: string; readonly rule: string } | null;
}

export interface DecisionPage {
  readonly decisions: readonly Decision[];
  /** Where the next page begins; null: there is none. */
  readonly next: number | null;
  /** There may be older ones. */
  readonly partial: boolean;
}

/** The maximum number of decisions of a page. */
const MAX = 100;

/** Reads the response of the gateway. */
export function readDecisions(v: unknown): DecisionPage {
  const { decisions, next, has_more, partial } = obj(v);
  return { decisions: arr(decisions).slice(0, MAX).map((x) => decision(obj(x))), next: bool(has_more) === true ? count(next) : null, partial: bool(partial) === true };
}

function decision(p: Payload): Decision {
  const text = (name: string): string => str(field(p, name));
  const decided = obj(field(p, "decided"));
  const today = field(p, "today");
  return {
    id: text("id"),
    seq: count(field(p, "seq")) ?? 0,
    at: parseTime(text("at")),
    caller: text("caller"),
    host: text("host"),
    tool: text("tool"),
    proposal: text("proposal"),
    edited: bool(field(p, "edited")) === true,
    outcome: text("outcome"),
    reason: text("reason"),
    by: str(field(decided, "by")),
    decider: str(field(decided, "decider")),
    participant: str(field(decided, "participant")),
    late: field(decided, "when") === "late",
    rule: str(field(decided, "rule")),
    grant: str(field(decided, "grant")),
    today: isObject(today) ? { verdict: str(field(today, "verdict")), rule: str(field(today, "rule")) } : null,
  };
}

const VERBS: Readonly<Record<string, string>> = { made: "Approved", rejected: "Rejected", withdrawn: "Withdrawn" };

/** Says who or what decided; `name` says who a participant is. */
export function why(d: Decision, name: (id: ParticipantID) => string): string {
  switch (d.by) {
    case "rule":
      return d.decider === "rule" ? "Let through by a rule of the deciders" : "Allowed by a rule";
    case "grant":
      return "Allowed by a grant";
    case "participant":
      return `${VERBS[d.outcome] ?? "Decided"} by ${d.decider === "reviewer" ? "the reviewer " : ""}${name(d.participant)}${d.edited ? ", with other arguments" : ""}${d.late ? ", too late" : ""}`;
    case "nobody":
      return "Nobody decided in time";
    default:
      return "The reason was not recorded";
  }
}

/** Returns a capability in JSON as a sentence; the text itself if it is cut or no capability. */
export function ruleWords(rule: string): string {
  let v: unknown;
  try {
    v = parse(rule);
  } catch {
    return rule;
  }
  if (typeof v === "string") return capability(v);
  return isObject(v) && typeof field(v, "kind") === "string" ? capability(v as unknown as CapabilityRule) : rule;
}
