/** Checks capabilities to decide what the page offers. The gateway enforces them. */

import { kindOf } from "@sdk/read.js";
import type { Capability } from "@sdk/types.js";

/** Reports whether the capabilities may allow a kind. A deny rule counts only if it applies to every envelope of the kind. */
export function allows(capabilities: readonly Capability[], kind: string): boolean {
  let allowed = false;
  for (const c of capabilities) {
    const rule = typeof c === "string" ? { kind: c } : c;
    if (typeof rule.kind !== "string" || !matches(kindOf(rule.kind), kind)) continue;
    if (rule.deny !== true) allowed = true;
    else if (rule.payload === undefined && rule.to === undefined && rule.context === undefined) return false;
  }
  return allowed;
}

function matches(pattern: string, kind: string): boolean {
  if (pattern.startsWith("!")) return !matches(pattern.slice(1), kind);
  if (pattern.length > 2 && pattern.startsWith("/") && pattern.endsWith("/")) return true; // the gateway's regexp syntax; assume a match
  if (pattern === "reasoning.step") return /^reasoning\.(?!(?:start|conclusion|cancel)$)/.test(kind);
  const parts = pattern.split("*").map((x) => x.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(kind);
}
