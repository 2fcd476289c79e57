/** What the participants of a space may use today, and have used, as the gateway reports it. */

import { arr, bool, count, field, isObject, num, obj, str } from "@sdk/read.js";
import { parseTime } from "./time.js";
import type { Millis, ParticipantID, Payload } from "@sdk/types.js";

export interface Budgets {
  /** The end of the day. */
  readonly until: Millis;
  /** That of the space first. */
  readonly budgets: readonly Budget[];
  /** From how many on calls count as a loop; 0: never. */
  readonly loops: { readonly identical: number; readonly hops: number };
}

export interface Budget {
  /** "" for all participants of the space together. */
  readonly id: ParticipantID;
  /** What is limited. */
  readonly limits: readonly Limit[];
  /** The number of reports that could not be counted. */
  readonly uncounted: number;
  /** Why calls have to be proposed; "": they need not be. */
  readonly asks: string;
  readonly mayExtend: boolean;
}

export interface Limit {
  /** cost, tokens, calls */
  readonly of: (typeof UNITS)[number];
  /** Of the cost: "USD". */
  readonly currency: string;
  readonly used: number;
  readonly limit: number;
  /** By which it is larger today than it is configured. */
  readonly extended: number;
}

const UNITS = ["cost", "tokens", "calls"] as const;

/** Names the budget of the space in an address; no participant. */
export const SPACE = "*";

/** The maximum number of budgets. */
const MAX = 1000;

/** Reads the response of the gateway. */
export function readBudgets(v: unknown): Budgets {
  const { until, budgets, loops } = obj(v);
  return {
    until: parseTime(str(until)),
    budgets: arr(budgets).slice(0, MAX).map((x) => budget(obj(x))),
    loops: { identical: count(field(obj(loops), "identical")) ?? 0, hops: count(field(obj(loops), "hops")) ?? 0 },
  };
}

function budget(p: Payload): Budget {
  const currency = str(field(p, "currency"));
  return {
    id: str(field(p, "participant_id")),
    limits: UNITS.flatMap((of) => {
      const q = field(p, of);
      if (!isObject(q)) return [];
      const n = (name: string): number => Math.max(0, num(field(q, name)) ?? 0);
      return [{ of, currency: of === "cost" ? currency : "", used: n("used"), limit: n("limit"), extended: n("extended") }];
    }),
    uncounted: count(field(p, "uncounted")) ?? 0,
    asks: str(field(p, "asks")),
    mayExtend: bool(field(p, "may_extend")) === true,
  };
}

/** "5.10 of 5.00 USD", "1,204,113 of 5,000,000 tokens". */
export function usedOf(l: Limit): string {
  return `${figure(l, l.used)} of ${figure(l, l.limit)} ${unitOf(l)}`;
}

/** The name of what is limited: "USD", "tokens". */
export function unitOf(l: Limit): string {
  return l.of === "cost" ? l.currency : l.of;
}

/** Formats an amount without its unit. */
export function figure(l: Limit, n: number): string {
  return n.toLocaleString(undefined, l.of === "cost" ? { minimumFractionDigits: 2, maximumFractionDigits: 4 } : { maximumFractionDigits: 0 });
}

/** Returns the part of a budget.extend that says by how much. */
export function extension(l: Limit, amount: number): Payload {
  return l.of === "cost" ? { cost: amount, currency: l.currency } : { [l.of]: amount };
}

/** Says what counts as a loop; "": nothing. */
export function loopWords({ identical, hops }: Budgets["loops"]): string {
  const calls = identical > 0 ? [`the same call was made ${identical.toLocaleString()} times without progress`] : [];
  const passed = hops > 0 ? [`work was passed on ${hops.toLocaleString()} times without a person`] : [];
  return calls.length + passed.length === 0 ? "" : `A call also has to be approved after ${[...calls, ...passed].join(", or ")}.`;
}
