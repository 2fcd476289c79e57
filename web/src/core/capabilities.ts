/** Capabilities as sentences. */

import { isObject, obj, oneLine, str } from "@sdk/read.js";
import { look } from "@sdk/json.js";
import { activity, quoted } from "./sentences.js";
import type { Capability, CapabilityRule, Payload } from "@sdk/types.js";

/** Returns a capability as a sentence: "May call tools, but only read_*." */
export function capability(c: Capability): string {
  const rule: CapabilityRule = typeof c === "string" ? { kind: c } : c;
  const what = activity(str(rule.kind));
  const limits = [payloadLimit(obj(rule.payload)), toLimit(rule.to), contextLimit(rule.context)].filter((s) => s !== "");
  const only = limits.length > 0 ? `, but only ${limits.join(", ")}` : "";
  if (rule.deny === true) return `May not ${what}${limits.length > 0 ? `: ${limits.join(", ")}` : ""}.`;
  return `May ${what}${only}.`;
}

/** Returns the capabilities as sentences, deny rules last. */
export function capabilities(list: readonly Capability[]): readonly string[] {
  if (list.length === 0) return ["May only read."];
  const denied = (c: Capability): boolean => typeof c !== "string" && c.deny === true;
  return [...list.filter((c) => !denied(c)), ...list.filter(denied)].map(capability);
}

function payloadLimit(p: Payload): string {
  const parts: string[] = [];
  for (const [key, v] of Object.entries(p)) {
    if (key === "method" && v === "tools/call" && isObject(p["params"])) continue; // "call tools" says it
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

/** Describes a field pattern. */
function pattern(v: unknown): string {
  if (Array.isArray(v)) return v.slice(0, 12).map(pattern).join(" or ");
  if (typeof v !== "string") return oneLine(look(v), 80);
  if (v === "*" || v === "**") return "anything";
  if (v.startsWith("!")) return `anything but ${pattern(v.slice(1))}`;
  if (/^\/.*\/$/.test(v)) return `what matches ${oneLine(v, 80)}`;
  return quoted(v);
}
