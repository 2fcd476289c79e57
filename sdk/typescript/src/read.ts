/** Accessors for untrusted values. They never throw: a value of another type reads as empty. */

import { ExactNumber } from "./json.js";
import type { Envelope, ID, Payload } from "./types.js";

const NOTHING: Payload = Object.freeze({});
const NO_IDS: readonly ID[] = Object.freeze([]);

/** A string, or "". */
export function str(v: unknown): string {
  return typeof v === "string" ? v : "";
}

/** A finite number, or null. */
export function num(v: unknown): number | null {
  if (v instanceof ExactNumber) v = Number(v.text);
  return typeof v === "number" && Number.isFinite(v) ? v : null;
}

/** A non-negative integer, or null. */
export function count(v: unknown): number | null {
  const n = num(v);
  return n !== null && n >= 0 && Number.isSafeInteger(n) ? n : null;
}

/** A number from 0 to 1, or null. */
export function share(v: unknown): number | null {
  const n = num(v);
  return n !== null && n >= 0 && n <= 1 ? n : null;
}

/** A boolean, or null. */
export function bool(v: unknown): boolean | null {
  return typeof v === "boolean" ? v : null;
}

/** A plain object, or an empty one. */
export function obj(v: unknown): Payload {
  return isObject(v) ? v : NOTHING;
}

/** Reports whether it is a JSON object. */
export function isObject(v: unknown): v is Payload {
  return typeof v === "object" && v !== null && !Array.isArray(v) && !(v instanceof ExactNumber);
}

/** An array, or an empty one. */
export function arr(v: unknown): readonly unknown[] {
  return Array.isArray(v) ? v : [];
}

/** The strings of an array; a single string is an array of one. */
export function strings(v: unknown, most = 256): readonly string[] {
  if (typeof v === "string") return v === "" ? NO_IDS : [v];
  const list = arr(v);
  if (list.length === 0) return NO_IDS;
  return list.filter((x): x is string => typeof x === "string" && x !== "").slice(0, most);
}

/** An own field, never an inherited one. */
export function field(p: Payload, name: string): unknown {
  return Object.hasOwn(p, name) ? p[name] : undefined;
}

/** The ids that an envelope correlates to. */
export function correlations(e: Envelope): readonly ID[] {
  return strings(e.correlationId, 64);
}

/** The addressees; empty: all. */
export function recipients(e: Envelope): readonly string[] {
  return e.to ?? NO_IDS;
}

/** Normalizes a kind: the first separator is a dot. */
export function kindOf(kind: string): string {
  const slash = kind.indexOf("/");
  if (slash < 0) return kind;
  const dot = kind.indexOf(".");
  return dot >= 0 && dot < slash ? kind : kind.slice(0, slash) + "." + kind.slice(slash + 1);
}

/** Parses an envelope; null if it is invalid. It has the fields of the protocol, and other ones if they are to be kept. */
export function envelope(v: unknown, keepUnknown = false): Envelope | null {
  if (!isObject(v)) return null;
  const { id, from, kind, ts, payload, seq: _seq, to: _to, correlationId: _correlationId, context: _context, ...unknown } = v;
  if (typeof id !== "string" || id === "" || typeof from !== "string" || typeof kind !== "string" || kind === "") return null;
  const seq = count(v["seq"]);
  const to = strings(v["to"]);
  const correlation = v["correlationId"];
  const context = contextPath(v["context"]);
  return {
    ...(keepUnknown && unknown),
    id,
    ts: str(ts),
    from,
    kind: kindOf(kind),
    payload: obj(payload),
    ...(seq !== null && { seq }),
    ...(to.length > 0 && { to }),
    ...(typeof correlation === "string" && correlation !== "" && { correlationId: correlation }),
    ...(Array.isArray(correlation) && { correlationId: strings(correlation, 64) }),
    ...(context !== "" && { context }),
  };
}

/** A context path, or "" if invalid. At most 64 segments are accepted. */
export function contextPath(v: unknown): string {
  if (typeof v !== "string" || v === "" || v.length > 4096) return "";
  const segments = v.split("/");
  return segments.length <= 64 && segments.every((s) => s !== "") ? v : "";
}

/** The text of a payload, by any of its names. */
export function textOf(p: Payload): string {
  for (const name of ["message", "text", "content", "hypothesis", "question"]) {
    const s = str(field(p, name));
    if (s !== "") return s;
  }
  return "";
}

/** The first line of a text, up to a maximum number of characters. */
export function oneLine(text: string, most = 120): string {
  const line = text.slice(0, 4 * most + 64).replace(/\s+/gu, " ").trim();
  const chars = Array.from(line);
  return chars.length <= most ? line : chars.slice(0, most - 1).join("") + "…";
}
