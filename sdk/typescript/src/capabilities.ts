/** Checks capabilities, to warn of missing ones. The gateway enforces them. */

import { kindOf } from "./read.js";
import type { Capability } from "./types.js";

/** A capability, the kinds that it has to allow, and the effect without it. */
type Need = readonly [capability: string, kinds: readonly string[], without: string];

export const QUESTION_NEEDS: readonly Need[] = [
  ["chat", ["chat"], "questions are not answered"],
  ["reasoning/*", ["reasoning.start", "reasoning.thought", "reasoning.conclusion", "reasoning.cancel"], "reasoning is refused"],
  ["mcp.response", ["mcp.response"], "requests to this participant are not answered"],
  ["participant.status", ["participant.status"], "requests for the status are not answered, and no other process with this token takes over the questions of one that ended"],
];

export const TOOL_NEEDS: readonly Need[] = [
  ["mcp.response", ["mcp.response"], "calls are not answered"],
  ["mcp.request", ["mcp.request"], "progress is not sent"],
  ["participant.status", ["participant.status"], "calls that were sent while no process ran are not made by the next one"],
];

/** Returns the needs that capabilities do not fulfill, as messages. */
export function missing(capabilities: readonly Capability[], needs: readonly Need[]): readonly string[] {
  return needs.flatMap(([capability, kinds, without]) => (kinds.every((kind) => allows(capabilities, kind)) ? [] : [`capability missing: ${capability}: ${without}`]));
}

/** Reports whether the capabilities may allow a kind. A deny rule counts only if it applies to every envelope of the kind. */
export function allows(capabilities: readonly Capability[], kind: string): boolean {
  let allowed = false;
  for (const c of capabilities) {
    const rule = typeof c === "string" ? { kind: c } : c;
    if (typeof rule.kind !== "string") continue;
    if (/^!?\//.test(rule.kind)) {
      allowed ||= rule.deny !== true; // a regular expression is not evaluated: it may allow any kind, and denies none for certain
      continue;
    }
    if (!matches(kindOf(rule.kind), kind)) continue;
    if (rule.deny !== true) allowed = true;
    else if (rule.payload === undefined && rule.to === undefined && rule.context === undefined) return false;
  }
  return allowed;
}

function matches(pattern: string, kind: string): boolean {
  if (pattern.startsWith("!")) return !matches(pattern.slice(1), kind);
  if (pattern === "reasoning.step") return /^reasoning\.(?!(?:start|conclusion|cancel)$)/.test(kind);
  const parts = pattern.split("*").map((x) => x.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(kind);
}
