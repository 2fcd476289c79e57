/**
 * Parallel calls. Thoughts may declare a batch (`parallel_group`). Other calls of
 * one agent in one context are a batch if it made them before any of them was
 * answered, without a step of its reasoning between them.
 */

import type { ContextPath, ID } from "@sdk/types.js";
import { rootOf } from "./blocks.js";
import type { Ctx } from "./context.js";
import type { Numbering } from "./tables.js";

/** Maximum number of numbered batches of an agent in an outermost context. */
const MAX_NUMBERS = 512;

const FRESH: Numbering = { used: [], given: [] };

/** The number of a call, the first call of its batch, and whether that call receives the number too. */
export interface Grouped {
  readonly group: number | null;
  readonly lead: ID;
  readonly numbersLead: boolean;
}

function strandKey(path: ContextPath, from: string): string {
  return path + "\n" + from;
}

/** Returns the number of a batch that thoughts have declared. */
export function announced(c: Ctx, path: ContextPath, from: string, value: number): number {
  const key = strandKey(rootOf(path), from);
  const n = c.t.numberings.get(key) ?? FRESH;
  const given = n.given.find(([v]) => v === value);
  if (given !== undefined) return given[1];
  const number = n.used.includes(value) ? lowest(n) : value;
  c.t.numberings.set(key, {
    used: [...n.used.slice(-MAX_NUMBERS), number],
    given: [...n.given.slice(-MAX_NUMBERS), [value, number]],
  });
  return number;
}

/** Adds a call that no thought has numbered to its batch. */
export function join(c: Ctx, path: ContextPath, from: string, id: ID): Grouped {
  const key = strandKey(path, from);
  const s = c.t.strands.get(key);
  if (s === undefined) {
    c.t.strands.set(key, { lead: id, group: null });
    return { group: null, lead: id, numbersLead: false };
  }
  const group = s.group ?? take(c, path, from);
  c.t.strands.set(key, { ...s, group });
  return { group, lead: s.lead, numbersLead: s.group === null };
}

/** Ends the batch of a call that was answered; without `lead`, the batch that a step ends. */
export function endBatch(c: Ctx, path: ContextPath, from: string, lead?: ID): void {
  const key = strandKey(path, from);
  if (lead === undefined || c.t.strands.get(key)?.lead === lead) c.t.strands.delete(key);
}

function take(c: Ctx, path: ContextPath, from: string): number {
  const key = strandKey(rootOf(path), from);
  const n = c.t.numberings.get(key) ?? FRESH;
  const number = lowest(n);
  c.t.numberings.set(key, { ...n, used: [...n.used.slice(-MAX_NUMBERS), number] });
  return number;
}

function lowest(n: Numbering): number {
  const used = new Set(n.used);
  for (let i = 0; ; i++) if (!used.has(i)) return i;
}
