/** Filters of a space: contexts and authors. */

import type { Block, SpaceState } from "./state.js";
import type { ContextPath, ParticipantID } from "@sdk/types.js";

export interface Filter {
  /** Contexts with their subtrees; "" is only the main conversation; empty: all. */
  readonly contexts: readonly ContextPath[];
  /** Excluded contexts with their subtrees. */
  readonly exclude: readonly ContextPath[];
  /** Empty: all. */
  readonly from: readonly ParticipantID[];
}

export const EVERYTHING: Filter = { contexts: [], exclude: [], from: [] };

/** Reports whether a path equals or is below a prefix. */
export function within(path: ContextPath, prefix: ContextPath): boolean {
  return prefix === "" ? path === "" : path === prefix || path.startsWith(prefix + "/");
}

/** Reports whether a filter selects a context. Its parents are rendered too: see `leads`. */
export function selects(f: Filter, path: ContextPath): boolean {
  if (f.exclude.some((p) => within(path, p))) return false;
  return f.contexts.length === 0 || f.contexts.some((p) => within(path, p));
}

/** Reports whether a context is a parent of a selected one. */
export function leads(f: Filter, path: ContextPath): boolean {
  return f.contexts.some((p) => p !== path && path !== "" && within(p, path)) && !f.exclude.some((p) => within(path, p));
}

/** Returns the normalized words of a search; a quoted phrase is one word. */
export function wordsOf(text: string): readonly string[] {
  const found = text.match(/"[^"]+"|[^\s"]+/gu) ?? [];
  return found
    .slice(0, 32)
    .map((w) => fold(w.replace(/^"|"$/gu, "")))
    .filter((w) => w !== "");
}

/** Removes case and accents. */
function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** A node of the tree of contexts. */
export interface TreeNode {
  readonly path: ContextPath;
  readonly block: Block;
  readonly children: readonly TreeNode[];
  /** Number of blocks below it. */
  readonly below: number;
  /** Set while it, or a block below it, is reasoning. */
  readonly active: boolean;
}

/** Returns the tree of contexts, in order of their start. */
export function tree(state: SpaceState): readonly TreeNode[] {
  const node = (path: ContextPath): TreeNode[] => {
    const block = state.blocks.get(path);
    if (block === undefined) return [];
    const children = block.children.flatMap(node);
    const below = children.reduce((n, x) => n + 1 + x.below, 0);
    return [{ path, block, children, below, active: block.status === "reasoning" || children.some((x) => x.active) }];
  };
  return state.roots.flatMap(node);
}
