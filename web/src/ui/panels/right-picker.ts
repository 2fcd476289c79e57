/** A capability choice: a common one, or a pattern in the protocol's syntax. */

import { parse } from "@sdk/json.js";
import { field, isObject, obj } from "@sdk/read.js";
import type { Capability, Payload } from "@sdk/types.js";

/** Common choices, with their labels. */
export const USUAL: readonly (readonly [string, string, readonly Capability[]])[] = [
  ["talk", "Chat", ["chat", "chat.*"]],
  ["reason", "Share reasoning", ["reasoning.*", "stream.*"]],
  ["propose", "Propose tool calls", ["mcp.proposal", "mcp.withdraw"]],
  ["tool", "Call one tool", []],
  ["call", "Call all tools", ["mcp.request", "mcp.response"]],
  ["decide", "Approve and reject proposals", ["mcp.request", "mcp.reject"]],
  ["observe", "See messages to others", ["observe"]],
  ["own", "Other…", []],
];

/** Durations in seconds; 0: until revoked. */
export const DURATIONS: readonly (readonly [number, string])[] = [
  [300, "5 minutes"],
  [600, "10 minutes"],
  [3600, "1 hour"],
  [28_800, "8 hours"],
  [86_400, "1 day"],
  [604_800, "7 days"],
  [0, "Until revoked"],
];

/** The state of the form fields. */
export interface Choice {
  readonly usual: string;
  /** The name or pattern of a tool. */
  readonly tool: string;
  /** The participant that runs the tool; "": any. */
  readonly owner: string;
  /** The method, if it is not tools/call. */
  readonly method: string;
  /** A kind, or a capability as JSON. */
  readonly own: string;
}

export const NO_CHOICE: Choice = { usual: "talk", tool: "", owner: "", method: "", own: "" };

/** Returns the capabilities of a choice, or an error message. */
export function capabilitiesOf(c: Choice): readonly Capability[] | string {
  if (c.usual === "tool") return toolRight(c);
  if (c.usual === "own") return ownRight(c.own.trim());
  return USUAL.find(([id]) => id === c.usual)?.[2] ?? [];
}

function toolRight(c: Choice): readonly Capability[] | string {
  const other = c.method !== "" && c.method !== "tools/call";
  if (!other && c.tool.trim() === "") return "Enter the name of a tool.";
  const payload: Payload = other ? { method: c.method } : { method: "tools/call", params: { name: c.tool.trim() } };
  return [{ kind: "mcp.request", payload, ...(c.owner !== "" && { to: [c.owner] }) }];
}

function ownRight(text: string): readonly Capability[] | string {
  if (text === "") return "Enter a kind, such as chat or reasoning/*, or a capability as JSON.";
  if (!/^[[{]/.test(text)) return /^\S{1,256}$/.test(text) ? [text] : "A kind contains no spaces.";
  let v: unknown;
  try {
    v = parse(text);
  } catch {
    return "Invalid JSON.";
  }
  const list = Array.isArray(v) ? v : [v];
  const good = list.every((x) => (typeof x === "string" && x !== "") || (isObject(x) && typeof field(obj(x), "kind") === "string"));
  return good && list.length > 0 && list.length <= 64 ? (list as Capability[]) : "Enter at most 64 capabilities, each a string or an object with a kind.";
}
