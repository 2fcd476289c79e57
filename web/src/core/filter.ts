/** Filters of a space: contexts, kinds, authors, text. */

import { correlations } from "./read.js";
import type { Block, SpaceState } from "./state.js";
import type { ContextPath, Envelope, ID, ParticipantID } from "./types.js";

/** Groups of kinds in the UI. */
export type KindGroup = "chat" | "reasoning" | "calls" | "proposals" | "rights" | "people" | "streams" | "other";

export interface Filter {
  /** Contexts with their subtrees; "" is only the main conversation; empty: all. */
  readonly contexts: readonly ContextPath[];
  /** Excluded contexts with their subtrees. */
  readonly exclude: readonly ContextPath[];
  /** Empty: all. */
  readonly kinds: readonly KindGroup[];
  /** Empty: all. */
  readonly from: readonly ParticipantID[];
  /** Words that must all occur, ignoring case; a quoted phrase is one word. */
  readonly text: string;
}

export const EVERYTHING: Filter = { contexts: [], exclude: [], kinds: [], from: [], text: "" };

/** Returns the group of a kind. */
export function groupOf(kind: string): KindGroup {
  if (kind === "mcp.request" || kind === "mcp.response") return "calls";
  switch (kind.split(".", 1)[0]) {
    case "chat":
      return "chat";
    case "reasoning":
      return "reasoning";
    case "mcp":
      return "proposals";
    case "capability":
    case "space":
      return "rights";
    case "participant":
      return "people";
    case "stream":
      return "streams";
    default:
      return "other";
  }
}

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

/** Returns the normalized words of a search. */
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

/** Returns the envelopes that refer to an envelope, and the ones that it refers to. */
export function related(envelopes: readonly Envelope[], id: ID): readonly Envelope[] {
  const wanted = new Set<ID>([id]);
  for (let i = envelopes.length - 1; i >= 0; i--) {
    const e = envelopes[i] as Envelope;
    if (wanted.has(e.id)) for (const x of correlations(e)) wanted.add(x);
  }
  for (const e of envelopes) if (correlations(e).includes(id)) wanted.add(e.id);
  return envelopes.filter((e) => wanted.has(e.id));
}
