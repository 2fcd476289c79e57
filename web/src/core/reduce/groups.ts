/**
 * Which calls ran together. Thoughts may say so (`parallel_group`); calls of
 * one agent in one context that overlap ran together in any case.
 */

import type { ContextPath, ID } from "../types.js";
import { rootOf } from "./blocks.js";
import type { Ctx } from "./context.js";
import type { Numbering, Strand } from "./tables.js";

/** Batches of an agent in an outermost context that are told apart by number. */
const MAX_NUMBERS = 512;

const NONE: Strand = { running: 0, first: "", group: null };
const FRESH: Numbering = { used: [], given: [] };

/** What a call's number is, and whether the first of its batch has just got it too. */
export interface Grouped {
  readonly group: number | null;
  readonly first: ID;
}

function strandKey(path: ContextPath, from: string): string {
  return path + "\n" + from;
}

/** The number of a batch that thoughts have given one. */
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

/** Begins a call to which no thought gives a number. */
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

/** Ends such a call. */
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
