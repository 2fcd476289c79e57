/**
 * Approvals that allow more than the proposed call: a grant for the proposer that
 * goes with the approval, limited in time. The gateway derives what it may allow.
 */

import { grant } from "./panel-drafts.js";
import { parse } from "@sdk/json.js";
import { arr, field, isObject, obj, str } from "@sdk/read.js";
import type { Proposal } from "./state.js";
import type { Capability, CapabilityRule, Draft, ParticipantID } from "@sdk/types.js";

/** A capability for the proposer that the gateway derived from the call, in its words. */
export interface Scope {
  readonly id: string;
  readonly title: string;
  readonly capability: CapabilityRule;
}

/** Patterns of the user. */
export interface Patterns {
  readonly tool: string;
  /** By the name of the argument: a text pattern, or a typed one as JSON; "" is any value. */
  readonly args: Readonly<Record<string, string>>;
}

/** How long a grant lasts, in seconds; 0: an hour at most, for the outermost context of the proposal. */
export const SPANS: readonly (readonly [number, string])[] = [
  [600, "for 10 minutes"],
  [3600, "for an hour"],
  [28_800, "for 8 hours"],
  [0, "in this context"],
];

/** Maximum number of arguments that can be limited by a pattern. */
const MAX_ARGS = 8;

/** Reads the response of the gateway. */
export function readScopes(v: unknown): readonly Scope[] {
  return arr(field(obj(v), "scopes")).flatMap((x) => {
    const { id, title, capability } = obj(x);
    return isObject(capability) ? [{ id: str(id), title: str(title), capability: capability as unknown as CapabilityRule }] : [];
  });
}

/** Returns the patterns of the nearest scope of the gateway, or else patterns that match exactly the proposed call. */
export function patternsOf(p: Proposal, scopes: readonly Scope[]): Patterns {
  const near = scopes.find((s) => s.id === "similar") ?? scopes.find((s) => s.id === "same");
  const params = near && obj(obj(near.capability.payload)["params"]);
  const known = params && (p.method === "tools/call" ? obj(params["arguments"]) : params);
  const args = isObject(p.args) ? Object.entries(p.args) : [];
  const limited = args.filter((x): x is [string, string] => typeof x[1] === "string" && /^[\w-]+$/u.test(x[0])).slice(0, MAX_ARGS);
  const text = (k: string, v: string): string => {
    if (known === undefined) return exactPattern(v);
    const pattern = field(known, k) ?? "";
    return typeof pattern === "string" ? pattern : JSON.stringify(pattern);
  };
  return { tool: params ? str(params["name"]) : exactPattern(p.tool), args: Object.fromEntries(limited.map(([k, v]) => [k, text(k, v)])) };
}

/**
 * Returns a pattern that matches only this text. A name may itself have the form
 * of a pattern, and must not allow more than itself.
 */
export function exactPattern(text: string): string {
  if (/^[\p{L}\p{N}_.][^*!?[\]{}\\]*$/u.test(text)) return text;
  return `/^${text.replace(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&").replaceAll("\n", "\\n")}$/`;
}

/** Returns the capability of the user's patterns; `host` runs the tool. Throws if a typed pattern is no JSON. */
export function patternCapability(p: Proposal, host: ParticipantID, patterns: Patterns): CapabilityRule {
  const args = Object.fromEntries(Object.entries(patterns.args).flatMap(([k, x]) => (x === "" ? [] : [[k, x.startsWith('{"$') ? parse(x) : x]])));
  const isTool = p.method === "tools/call";
  const limits = Object.keys(args).length === 0 ? {} : isTool ? { arguments: args } : args;
  return { kind: "mcp.request", to: [exactPattern(host)], payload: { method: exactPattern(p.method), params: { ...(isTool && { name: patterns.tool }), ...limits } } };
}

/** Returns the grant that goes with an approval, for a span of SPANS. */
export function grantFor(p: Proposal, capability: CapabilityRule, span: number): Draft {
  const limited: Capability = span > 0 ? capability : { ...capability, context: p.context.split("/")[0] ?? "" };
  return { ...grant(p.from, [limited], span || 3600, `allowed with the approval of ${p.tool}`), correlationId: p.id };
}
