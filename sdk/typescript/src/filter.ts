/** Filters of a connection; section 6 of the protocol. */

import { recipients } from "./read.js";
import { type ContextPath, type Envelope, GATEWAY, type ParticipantID, type Payload } from "./types.js";

/** Selects the envelopes that a connection receives; an empty one selects all. It never hides work, nor envelopes that are addressed to the participant. */
export interface Filter {
  /** Path prefixes to include; `[""]` is the main conversation only. */
  readonly contexts?: readonly ContextPath[];
  /** Path prefixes to leave out. */
  readonly exclude_contexts?: readonly ContextPath[];
  /** Kind patterns. */
  readonly kinds?: readonly string[];
  readonly from?: readonly ParticipantID[];
  /** The number of segments below a prefix. */
  readonly depth?: number;
  /** Of each context only its start and its conclusion. */
  readonly conclusions_only?: boolean;
}

/** Returns the filter as the payload of system.subscribe. */
export function payloadOf(f: Filter): Payload {
  return Object.fromEntries(Object.entries(f).filter(([, v]) => v !== undefined));
}

/**
 * Returns the parameters of a connection with the filter. They select all
 * that the filter selects; `isExact` reports whether they select nothing else.
 */
export function parameters(f: Filter): readonly (readonly [string, string])[] {
  const list: (readonly [string, string])[] = [];
  if (f.depth === undefined) {
    for (const path of f.contexts ?? []) list.push(path === "" ? ["main", "true"] : ["context", path]);
  }
  if (!(f.kinds ?? []).some((k) => k.includes(","))) for (const kind of f.kinds ?? []) list.push(["kinds", kind]);
  for (const id of f.from ?? []) list.push(["from", id]);
  return list;
}

/** Reports whether the parameters of a connection are the whole filter. */
export function isExact(f: Filter): boolean {
  const more = (f.exclude_contexts?.length ?? 0) > 0 || f.depth !== undefined || f.conclusions_only === true;
  return !more && !(f.kinds ?? []).some((k) => k.includes(","));
}

const WORK = ["mcp.request", "mcp.proposal", "mcp.response", "mcp.withdraw", "mcp.reject"];

/**
 * Reports whether the filter selects an envelope by its context. A new
 * connection delivers more until the gateway has applied the filter.
 */
export function selects(f: Filter, e: Envelope, you: ParticipantID, observes: boolean): boolean {
  if (e.from === GATEWAY || (!observes && (WORK.includes(e.kind) || recipients(e).includes(you)))) return true;
  const path = e.context ?? "";
  if ((f.exclude_contexts ?? []).some((p) => (p === "" ? path === "" : within(path, p)))) return false;
  if (f.conclusions_only === true && path !== "" && e.kind !== "reasoning.start" && e.kind !== "reasoning.conclusion") return false;
  const include = f.contexts ?? [];
  const { depth } = f;
  if (include.length === 0) return depth === undefined || depthOf(path) <= depth;
  return include.some((p) => (depth === undefined ? (p === "" ? path === "" : within(path, p)) : within(path, p) && depthOf(path) - depthOf(p) <= depth));
}

/** Reports whether a path is a prefix, or below it. Everything is below "". */
export function within(path: ContextPath, prefix: ContextPath): boolean {
  return prefix === "" || path === prefix || path.startsWith(prefix + "/");
}

function depthOf(path: ContextPath): number {
  return path === "" ? 0 : path.split("/").length;
}
