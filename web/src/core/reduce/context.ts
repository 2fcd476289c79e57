/** The context that every part of the reducer receives. */

import type { BlockStatus, Closing } from "../state.js";
import { str, field, textOf } from "@sdk/read.js";
import { parseTime } from "../time.js";
import type { Envelope, ID, Payload } from "@sdk/types.js";
import type { Live } from "./live.js";
import type { Tables, Where } from "./tables.js";

export interface Ctx {
  readonly t: Tables;
  readonly live: Live;
  /** Set if nothing older exists: blocks without a start have none. */
  fromStart: boolean;
}

/** An envelope of the log with its parsed fields. */
export interface Logged {
  readonly env: Envelope;
  readonly seq: number;
  readonly at: number;
  readonly references: readonly ID[];
}

/** Returns where an envelope or a context with this id belongs: an outermost context, or else the nested one that was written to last. */
export function find(t: Tables, id: ID): Where | undefined {
  const w = t.where.get(id);
  const path = w !== undefined ? "" : t.blocks.get(id)?.parent === null ? id : t.names.get(id);
  return path === undefined || path === "" ? w : { path, message: t.blocks.get(path.split("/", 1)[0] ?? "")?.question ?? null };
}

/** Returns the first known correlation; one that leads to a message has precedence. */
export function answered(t: Tables, references: readonly ID[]): Where | null {
  let found: Where | null = null;
  for (const id of references) {
    const w = find(t, id);
    if (w === undefined) continue;
    const message = w.message ?? t.blocks.get(w.path.split("/", 1)[0] ?? "")?.question ?? null;
    if (message !== null) return { path: w.path, message };
    found ??= w;
  }
  return found;
}

/** Returns the participant that ended something with this envelope. */
export function closing(e: Logged): Closing {
  return { id: e.env.id, by: e.env.from, at: e.at, reason: reasonOf(e.env.payload) };
}

/** Returns the reason in a payload, by any of its names. */
export function reasonOf(p: Payload): string {
  return str(field(p, "reason")) || textOf(p);
}

/** Reports whether a block is complete. */
export function ended(status: BlockStatus): boolean {
  return status === "complete" || status === "cancelled" || status === "stopped";
}

/** Returns the time of an envelope that is not in the log. */
export function timeOf(e: Envelope): number {
  return parseTime(e.ts);
}
