/**
 * Approvals that allow more than the proposed call: a grant for the proposer that
 * goes with the approval, limited in time and to the tool.
 */

import { grant } from "./panel-drafts.js";
import { isObject } from "@sdk/read.js";
import type { Proposal } from "./state.js";
import type { Capability, Draft, ParticipantID } from "@sdk/types.js";

/**
 * What an approval allows.
 *
 *   once     this call
 *   context  calls of the same tool in the same outermost context, for at most an hour
 *   minutes  calls of the same tool, for ten minutes; of one that runs commands, both are
 *            for the same command
 *   pattern  calls that match patterns of the user
 */
export type Scope = "once" | "context" | "minutes" | "pattern";

/** Patterns of the user. */
export interface Patterns {
  readonly tool: string;
  /** By the name of the argument; "" is any value. */
  readonly args: Readonly<Record<string, string>>;
  readonly seconds: number;
}

/** Maximum number of arguments that can be limited by a pattern. */
const MAX_ARGS = 8;
const CONTEXT_SECONDS = 3600;
const MINUTES_SECONDS = 600;
/** Maximum size of a regular expression in a capability, in bytes. */
const MAX_REGEXP = 256;

/** Returns the scopes that a proposal can be approved for. */
export function scopesOf(p: Proposal): readonly Scope[] {
  if (commandOf(p) === null) return ["once", "pattern"];
  return ["once", ...(p.context === "" ? [] : (["context"] as const)), "minutes", "pattern"];
}

/** Returns the patterns that match exactly the proposed call. */
export function patternsOf(p: Proposal): Patterns {
  const args = isObject(p.args) ? Object.entries(p.args) : [];
  const limited = args.filter((x): x is [string, string] => typeof x[1] === "string" && /^[\w-]+$/u.test(x[0])).slice(0, MAX_ARGS);
  return { tool: exactPattern(p.tool), args: Object.fromEntries(limited.map(([k, v]) => [k, exactPattern(v)])), seconds: MINUTES_SECONDS };
}

/**
 * Returns a pattern that matches only this text. A name may itself have the form
 * of a pattern, and must not allow more than itself.
 */
export function exactPattern(text: string): string {
  if (/^[\p{L}\p{N}_.][^*!?[\]{}\\]*$/u.test(text)) return text;
  return `/^${text.replace(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&").replaceAll("\n", "\\n")}$/`;
}

/** Returns the capabilities that an approval adds; `host` runs the tool. Null: none. */
export function capabilityFor(p: Proposal, scope: Scope, host: ParticipantID, patterns: Patterns): Capability | null {
  if (scope === "once") return null;
  const base = { kind: "mcp.request", to: [exactPattern(host)] };
  const isTool = p.method === "tools/call";
  if (scope !== "pattern") {
    const limits = commandOf(p);
    if (limits === null) return null;
    const payload = { method: exactPattern(p.method), ...(isTool && { params: { name: exactPattern(p.tool), ...limits } }) };
    return { ...base, payload, ...(scope === "context" && { context: exactPattern(outermost(p)) }) };
  }
  const args = Object.fromEntries(Object.entries(patterns.args).filter(([, x]) => x !== ""));
  const limits = Object.keys(args).length === 0 ? {} : isTool ? { arguments: args } : args;
  return { ...base, payload: { method: exactPattern(p.method), params: { ...(isTool && { name: patterns.tool }), ...limits } } };
}

/** Returns the grant that goes with an approval; null for none. */
export function grantFor(p: Proposal, scope: Scope, host: ParticipantID, patterns: Patterns): Draft | null {
  const capability = capabilityFor(p, scope, host, patterns);
  if (capability === null) return null;
  const seconds = scope === "context" ? CONTEXT_SECONDS : scope === "minutes" ? MINUTES_SECONDS : patterns.seconds;
  const draft = grant(p.from, [capability], seconds, `allowed with the approval of ${p.tool}`);
  return { ...draft, correlationId: p.id };
}

/** Returns the pattern of the command of a call; {} for a call without one, null if no pattern matches only this command. */
function commandOf(p: Proposal): { arguments?: { command: string } } | null {
  if (p.method !== "tools/call" || !isObject(p.args) || !("command" in p.args)) return {};
  const command = p.args["command"];
  if (typeof command !== "string") return null;
  const pattern = exactPattern(command);
  return pattern !== command && new TextEncoder().encode(pattern).length > MAX_REGEXP ? null : { arguments: { command: pattern } };
}

function outermost(p: Proposal): string {
  return p.context.split("/")[0] ?? "";
}
