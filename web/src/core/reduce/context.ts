/** What every part of the reducer is given. */

import type { BlockStatus, Closing } from "../state.js";
import { str, field, textOf } from "../read.js";
import { parseTime } from "../time.js";
import type { Envelope, ID, Payload } from "../types.js";
import type { Live } from "./live.js";
import type { Tables, Where } from "./tables.js";

export interface Ctx {
  readonly t: Tables;
  readonly live: Live;
  /** Nothing older than what was reduced exists: what has no start has none. */
  fromStart: boolean;
}

/** An envelope of the log, with what was read from it already. */
export interface Logged {
  readonly env: Envelope;
  readonly seq: number;
  readonly at: number;
  readonly references: readonly ID[];
}

/** Where the envelope with an id belongs, or the context with that name: an outermost one, else the last nested one that was written into. */
export function find(t: Tables, id: ID): Where | undefined {
  const w = t.where.get(id);
  const path = w !== undefined ? "" : t.blocks.get(id)?.parent === null ? id : t.names.get(id);
  return path === undefined || path === "" ? w : { path, message: t.blocks.get(path.split("/", 1)[0] ?? "")?.question ?? null };
}

/** The first correlation that is known here; one that leads to a message comes before others. */
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

/** Who ended something by this envelope. */
export function closing(e: Logged): Closing {
  return { by: e.env.from, at: e.at, reason: reasonOf(e.env.payload) };
}

/** The reason that a payload gives, by any of its names. */
export function reasonOf(p: Payload): string {
  return str(field(p, "reason")) || textOf(p);
}

/** Whether nothing more is to be expected of a block. */
export function ended(status: BlockStatus): boolean {
  return status === "complete" || status === "cancelled" || status === "stopped";
}

/** The time of an envelope that the log does not keep. */
export function timeOf(e: Envelope): number {
  return parseTime(e.ts);
}
