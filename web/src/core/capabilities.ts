/** Capabilities as sentences. */

import { isObject, obj, oneLine, str } from "@sdk/read.js";
import { look } from "@sdk/json.js";
import { inForce } from "./reduce/rights.js";
import { quoted } from "./sentences.js";
import type { Grant, Participant } from "./state.js";
import type { Capability, CapabilityRule, Millis, Payload } from "@sdk/types.js";

const KINDS: Readonly<Record<string, string>> = {
  "*": "do everything",
  observe: "see messages addressed to others",
  chat: "send chat messages",
  "chat.*": "chat, and acknowledge or cancel questions",
  "chat.acknowledge": "acknowledge messages",
  "chat.cancel": "cancel questions",
  feedback: "rate answers and steps",
  "mcp.*": "call, answer and propose tool calls",
  "mcp.request": "call tools",
  "mcp.response": "answer tool calls",
  "mcp.proposal": "propose tool calls for approval",
  "mcp.withdraw": "withdraw proposals",
  "mcp.reject": "reject proposals",
  "mcp.opinion": "say what it thinks of proposals",
  "reasoning.*": "share reasoning",
  "reasoning.start": "start reasoning",
  "reasoning.step": "add reasoning steps",
  "reasoning.thought": "share thoughts",
  "reasoning.conclusion": "conclude reasoning",
  "reasoning.cancel": "cancel reasoning",
  "stream.*": "stream text while it is written",
  "capability.*": "grant and revoke access",
  "capability.grant": "grant its own access to others",
  "capability.revoke": "revoke access",
  "space.*": "invite participants and remove them",
  "space.invite": "invite participants",
  "space.kick": "remove participants",
  decide: "approve and reject proposals",
  "policy.dismiss": "dismiss suggested rules",
  "budget.extend": "extend budgets",
  claim: "claim files",
  release: "release what it has claimed",
  "reviewer.*": "promote and demote reviewers",
  "reviewer.promote": "let reviewers decide",
  "reviewer.demote": "put reviewers back into shadow",
  "participant.*": "pause, resume and query participants",
  "participant.pause": "pause participants",
  "participant.resume": "resume participants",
  "participant.status": "report its status",
  "participant.request-status": "request the status of participants",
  "participant.restart": "restart participants",
  "participant.shutdown": "shut participants down",
  "x.*": "send application kinds",
};

/** Describes what a kind allows: "call tools". */
export function activity(kind: string): string {
  const dotted = kind.replace("/", ".");
  if (Object.hasOwn(KINDS, dotted)) return KINDS[dotted] as string;
  if (dotted.startsWith("!")) return `do everything but ${quoted(dotted.slice(1))}`;
  if (/^\/.*\/$/.test(kind)) return `send kinds that match ${kind}`;
  if (dotted.includes("*")) return `send everything like ${quoted(dotted)}`;
  return `send ${quoted(dotted)}`;
}

/** Returns a capability as a sentence: "May call tools, but only read_*." */
export function capability(c: Capability): string {
  const rule: CapabilityRule = typeof c === "string" ? { kind: c } : c;
  const what = activity(str(rule.kind));
  const limits = [payloadLimit(obj(rule.payload)), toLimit(rule.to), contextLimit(rule.context), claimsLimit(rule.claims)].filter((s) => s !== "");
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

/** Returns the capabilities of a participant now: those that the gateway named, without grants that have ended since, and with newer ones. */
export function heldNow(p: Participant, grants: Iterable<Grant>, now: Millis): readonly Capability[] {
  const held = [...p.capabilities];
  for (const g of grants) {
    if (g.recipient !== p.id) continue;
    const named = Math.min(g.revoked?.at ?? Infinity, g.expiresAt ?? Infinity) > p.knownAt;
    if (g.at > p.knownAt && inForce(g, now)) held.push(...g.capabilities);
    else if (g.at <= p.knownAt && named && !inForce(g, now)) for (const x of g.capabilities) remove(held, x);
  }
  return held;
}

function remove(from: Capability[], x: Capability): void {
  const at = from.findLastIndex((y) => look(y) === look(x));
  if (at >= 0) from.splice(at, 1);
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
  const entries = Object.entries(p);
  return [...entries.filter(([key]) => key === "name"), ...entries.filter(([key]) => key !== "name")].flatMap(([key, v]) => {
    if (key === "name") return [`the tool ${pattern(v)}`];
    if (key === "arguments" && isObject(v)) return Object.entries(v).map(([name, x]) => `with ${quoted(name)}${typed(x) === "" ? "" : ":"} ${pattern(x)}`);
    if (key === "_meta" && isObject(v) && "meup/cwd" in v) return [`in the working directory ${pattern(v["meup/cwd"])}`];
    return [`with ${quoted(key)} ${pattern(v)}`];
  });
}

function toLimit(v: unknown): string {
  return v === undefined ? "" : `towards ${pattern(v)}`;
}

function contextLimit(v: unknown): string {
  return v === undefined ? "" : `in the context ${pattern(v)}`;
}

function claimsLimit(v: unknown): string {
  return v === "require" ? "for files that it has claimed" : v === "respect" ? "for files that nobody else has claimed" : "";
}

/** Describes a typed pattern, as the gateway does; "" for any other. */
function typed(v: unknown): string {
  const [[key = "", x] = []] = isObject(v) ? Object.entries(v) : [];
  const o = obj(x);
  const or = (y: unknown): string => listed(y).join(" or ");
  if (key === "$text") return pattern(x);
  if (key === "$path") return `paths below ${or(o["below"])}${"not" in o ? `, except ${listed(o["not"]).join(", ")}` : ""}`;
  if (key === "$url") {
    const parts = Object.entries({ host: " of ", port: ", port ", path: ", path " }).map(([k, before]) => (k in o ? before + or(o[k]).replace(/^\*$/u, "any host") : ""));
    return `${or(o["scheme"] ?? ["http", "https"])} URLs${parts.join("")}`;
  }
  if (key !== "$shell") return "";
  const read = o["read"];
  const files = isObject(read) && "below" in read ? typed({ $path: read }) : "";
  const preset = read === "preset" || obj(read)["preset"] === true;
  return [
    ...listed(o["commands"]).map((c) => {
      const [, name = c, rest] = /^(.*?)\s+(-?)\*\*$/u.exec(c) ?? [];
      return `\`${name}\`${rest === undefined ? "" : ` with any arguments${rest && " and options"}`}`;
    }),
    ...(preset ? [`commands that only read${files && " "}${files}`] : files ? [`input from ${files}`] : []),
    ...("write" in o ? [`output to ${typed({ $path: o["write"] })}`] : []),
    ...("env" in o ? [`with the variables ${listed(o["env"]).join(", ")}`] : []),
  ].join("; ");
}

function listed(v: unknown): readonly string[] {
  return (Array.isArray(v) ? v : v === undefined ? [] : [v]).map((x) => oneLine(String(x), 120));
}

/** Describes a field pattern. */
function pattern(v: unknown): string {
  const words = typed(v);
  if (words !== "") return words;
  if (Array.isArray(v)) return v.slice(0, 12).map(pattern).join(" or ");
  if (typeof v !== "string") return oneLine(look(v), 80);
  if (v === "*" || v === "**") return "anything";
  if (v.startsWith("!")) return `anything but ${pattern(v.slice(1))}`;
  if (/^\/.*\/$/.test(v)) return `what matches ${oneLine(v, 80)}`;
  return quoted(v);
}
