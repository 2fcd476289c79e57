/** Who decides on the proposals of a space, and how each has done, as the gateway reports it. */

import { arr, bool, correlations, field, isObject, num, obj, str, strings } from "@sdk/read.js";
import { parseTime } from "./time.js";
import type { Envelope, ID, Millis, ParticipantID, Payload } from "@sdk/types.js";

export interface Deciders {
  /** Otherwise everybody with the right to decide does. */
  readonly configured: boolean;
  /** Patterns of calls on which only people decide. */
  readonly humanOnly: readonly Payload[];
  /** In the order in which they are asked. */
  readonly deciders: readonly Decider[];
  /** The scores count from this time on. */
  readonly since: Millis;
  /** The log was not read back to that time. */
  readonly partial: boolean;
}

export interface Decider {
  readonly type: "rules" | "reviewer" | "person";
  /** "" for rules, and for people whom only a pattern names. */
  readonly id: ParticipantID;
  readonly pattern: string;
  /** How long people of a later stage wait, milliseconds. */
  readonly after: Millis;
  /** A reviewer's decisions count. Otherwise it is in shadow. */
  readonly decides: boolean;
  /** Patterns of the calls that a reviewer may decide on; empty: all. */
  readonly only: readonly Payload[];
  /** The last promotion or demotion. */
  readonly changed: Change | null;
  readonly promotion: Promotion | null;
  readonly score: Tally | null;
  /** The score by kind of call. */
  readonly kinds: readonly (Tally & { readonly kind: string })[];
}

export interface Change {
  readonly id: ID;
  readonly at: Millis;
  readonly by: ParticipantID;
  readonly decides: boolean;
  readonly reason: string;
  /** The decision that was wrong. */
  readonly undone: ID;
}

/** What a promotion needs, and what there is. */
export interface Promotion {
  readonly decisions: number;
  readonly withoutMiss: number;
  readonly compared: number;
  readonly sinceMiss: number;
  /** In words; "": nothing. */
  readonly missing: string;
  readonly mayPromote: boolean;
}

const COUNTS = ["proposals", "covered", "approved", "rejected", "abstained", "decided", "compared", "misses", "falseAlarms", "agreedRejections", "personRejections", "saved", "latencyP50", "latencyP99"] as const;

/** What a decider said of proposals, and what people did. The latencies are in seconds. */
export type Tally = Readonly<Record<(typeof COUNTS)[number], number>>;

/** The maximum number of deciders, and of kinds of calls. */
const MAX = 256;

/** Reads the response of the gateway. */
export function readDeciders(v: unknown): Deciders {
  const { configured, human_only, deciders, since, partial } = obj(v);
  return {
    configured: bool(configured) === true,
    humanOnly: arr(human_only).slice(0, MAX).map(obj),
    deciders: arr(deciders).slice(0, MAX).flatMap((x) => decider(obj(x))),
    since: parseTime(str(since)),
    partial: bool(partial) === true,
  };
}

function decider(p: Payload): Decider[] {
  const type = str(field(p, "type"));
  if (type !== "rules" && type !== "reviewer" && type !== "person") return [];
  const [changed, promotion, score] = [field(p, "changed"), field(p, "promotion"), field(p, "score")];
  return [
    {
      type,
      id: str(field(p, "id")),
      pattern: str(field(p, "pattern")),
      after: (num(field(p, "after_seconds")) ?? 0) * 1000,
      decides: field(p, "mode") === "decide",
      only: arr(field(p, "for")).slice(0, MAX).map(obj),
      changed: changed == null ? null : change(obj(changed)),
      promotion: promotion == null ? null : promotionOf(obj(promotion)),
      score: score == null ? null : tally(obj(score)),
      kinds: arr(field(obj(score), "kinds")).slice(0, MAX).map((x) => ({ kind: str(field(obj(x), "kind")), ...tally(obj(x)) })),
    },
  ];
}

function change(p: Payload): Change {
  return { id: str(field(p, "id")), at: parseTime(str(field(p, "at"))), by: str(field(p, "by")), decides: field(p, "mode") === "decide", reason: str(field(p, "reason")), undone: str(field(p, "undone")) };
}

function promotionOf(p: Payload): Promotion {
  const n = (name: string): number => num(field(p, name)) ?? 0;
  return { decisions: n("decisions"), withoutMiss: n("without_miss"), compared: n("compared"), sinceMiss: n("since_miss"), missing: str(field(p, "missing")), mayPromote: bool(field(p, "may_promote")) === true };
}

function tally(p: Payload): Tally {
  return Object.fromEntries(COUNTS.map((k) => [k, num(field(p, k.replace(/[A-Z]/gu, (c) => `_${c.toLowerCase()}`))) ?? 0])) as unknown as Tally;
}

/** Applies the promotions and demotions after an entry of the log to what was known then; what a further promotion needs is not known. */
export function withChanges(d: Deciders, envelopes: readonly Envelope[], after: number): Deciders {
  const changes = new Map<ParticipantID, Change>();
  for (let i = envelopes.length - 1; i >= 0; i--) {
    const e = envelopes[i] as Envelope;
    if ((e.seq ?? 0) <= after) break;
    const id = str(field(e.payload, "participant_id"));
    const decides = e.kind === "reviewer.promote";
    if (changes.has(id) || (!decides && e.kind !== "reviewer.demote")) continue;
    changes.set(id, { id: e.id, at: parseTime(e.ts), by: e.from, decides, reason: str(field(e.payload, "reason")), undone: decides ? "" : (correlations(e)[0] ?? "") });
  }
  const apply = (x: Decider): Decider => {
    const changed = x.type === "reviewer" ? changes.get(x.id) : undefined;
    return changed === undefined ? x : { ...x, changed, decides: changed.decides, promotion: null };
  };
  return changes.size === 0 ? d : { ...d, deciders: d.deciders.map(apply) };
}

/** Who may decide, without how each has done. */
export interface Roles {
  readonly configured: boolean;
  readonly reviewers: readonly ParticipantID[];
  /** Ids and patterns, with the time after which each decides; empty: everybody with the right. */
  readonly people: readonly (readonly [name: string, after: Millis])[];
}

/** Returns who may decide, of all that is known of the deciders. */
export function rolesOf(d: Deciders): Roles {
  const all = d.deciders.filter((x) => x.type === "person").map((x): [string, Millis] => [x.pattern || x.id, x.after]);
  return {
    configured: d.configured,
    reviewers: d.deciders.flatMap((x) => (x.type === "reviewer" ? [x.id] : [])),
    people: all.filter(([name, after], i) => all.findIndex(([n, a]) => n === name && a === after) === i),
  };
}

/** Reads who may decide in the policy of a space. */
export function readRoles(v: unknown): Roles {
  const deciders = field(obj(v), "deciders");
  const { reviewers, people } = obj(deciders);
  return {
    configured: isObject(deciders),
    reviewers: arr(reviewers).slice(0, MAX).map((x) => str(field(obj(x), "id"))),
    people: arr(people).slice(0, MAX).flatMap((x) => strings(field(obj(x), "people"), MAX).map((name): [string, Millis] => [name, (num(field(obj(x), "after_seconds")) ?? 0) * 1000])),
  };
}

/** Returns how long a participant waits until it may decide on a proposal, milliseconds; null: it does not decide here. */
export function waitOf(r: Roles, you: ParticipantID): Millis | null {
  if (!r.configured || (r.people.length === 0 && !r.reviewers.includes(you))) return 0;
  const waits = r.people.flatMap(([name, after]) => (name === you || (name.includes("*") && matches(name, you)) ? [after] : []));
  return waits.length === 0 ? null : Math.min(...waits);
}

/** Reports whether a pattern of the configuration names a participant. */
function matches(pattern: string, id: ParticipantID): boolean {
  const parts = pattern.split(/\*+/u).map((x) => x.replace(/[.+?^${}()|[\]\\]/gu, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "su").test(id);
}

/** "38 of 50 (76%)"; "none" of nothing. */
export function portion(part: number, whole: number): string {
  return whole <= 0 ? "none yet" : `${part.toLocaleString()} of ${whole.toLocaleString()} (${Math.floor((100 * part) / whole)}%)`;
}
