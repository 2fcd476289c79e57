/**
 * Parallel calls. Thoughts may declare a batch (`parallel_group`); overlapping
 * calls of one agent in one context are a batch in any case.
 */

import type { ContextPath, ID } from "@sdk/types.js";
import { rootOf } from "./blocks.js";
import type { Ctx } from "./context.js";
import type { Numbering, Strand } from "./tables.js";

/** Maximum number of numbered batches of an agent in an outermost context. */
const MAX_NUMBERS = 512;

const NONE: Strand = { running: 0, first: "", group: null };
const FRESH: Numbering = { used: [], given: [] };

/** The number of a call, and whether the first call of its batch receives it too. */
export interface Grouped {
  readonly group: number | null;
  readonly first: ID;
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

/** Starts a call that no thought has numbered. */
export function overlap(c: Ctx, path: ContextPath, from: string, id: ID): Grouped {
  const key = strandKey(path, from);
  const s = c.t.strands.get(key) ?? NONE;
  if (s.running === 0) {
    c.t.strands.set(key, { running: 1, first: id, group: null });
    return { group: null, first: "" };
  }
  const group = s.group ?? take(c, path, from);
  c.t.strands.set(key, { ...s, running: s.running + 1, group });
  return { group, first: s.group === null ? s.first : "" };
}

/** Ends a call that no thought has numbered. */
export function over(c: Ctx, path: ContextPath, from: string): void {
  const key = strandKey(path, from);
  const s = c.t.strands.get(key);
  if (s === undefined || s.running <= 1) c.t.strands.delete(key);
  else c.t.strands.set(key, { ...s, running: s.running - 1 });
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
