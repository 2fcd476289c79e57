/** Filters of a space: contexts, kinds, authors, text. */

import { correlations, textOf } from "./read.js";
import { look } from "./json.js";
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

/** Compiles a filter to a function of envelopes. */
export function compile(f: Filter): (e: Envelope) => boolean {
  const kinds = new Set(f.kinds);
  const from = new Set(f.from);
  const words = wordsOf(f.text);
  return (e) =>
    (kinds.size === 0 || kinds.has(groupOf(e.kind))) &&
    (from.size === 0 || from.has(e.from)) &&
    selects(f, contextOf(e)) &&
    (words.length === 0 || contains(textIn(e), words));
}

/** Returns the context of an envelope: a start belongs to the context that it opens. */
function contextOf(e: Envelope): ContextPath {
  const outside = e.context ?? "";
  if (e.kind !== "reasoning.start") return outside;
  return outside === "" ? e.id : `${outside}/${e.id}`;
}

/** Returns the normalized words of a search. */
export function wordsOf(text: string): readonly string[] {
  const found = text.match(/"[^"]+"|[^\s"]+/gu) ?? [];
  return found
    .slice(0, 32)
    .map((w) => fold(w.replace(/^"|"$/gu, "")))
    .filter((w) => w !== "");
}

function contains(text: string, words: readonly string[]): boolean {
  return words.every((w) => text.includes(w));
}

/** Removes case and accents. */
function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Maximum number of searched characters per envelope. */
const MAX_TEXT = 32 * 1024;
const texts = new WeakMap<Envelope, string>();

/** Returns all searchable text of an envelope. */
function textIn(e: Envelope): string {
  let text = texts.get(e);
  if (text === undefined) {
    text = fold([e.id, e.from, ...(e.to ?? []), plain(e)].join("\n"));
    texts.set(e, text);
  }
  return text;
}

/** Returns the payload's texts as plain text. */
function plain(e: Envelope): string {
  const said = textOf(e.payload);
  return (said === "" || Object.keys(e.payload).length > 2 ? said + "\n" + look(e.payload) : said).slice(0, MAX_TEXT);
}

/** A search result. */
export interface Hit {
  readonly id: ID;
  readonly seq: number;
  readonly from: ParticipantID;
  readonly kind: string;
  readonly context: ContextPath;
  /** The text around the match. */
  readonly excerpt: string;
  /** The range of the first word in the excerpt: [begin, end); [0, 0) if it is elsewhere. */
  readonly mark: readonly [number, number];
}

/** Searches the loaded envelopes that the filter selects, newest first, up to a maximum. A filter without a text matches all. */
export function search(envelopes: readonly Envelope[], f: Filter, most = 200): readonly Hit[] {
  const test = compile(f);
  const word = wordsOf(f.text)[0] ?? "";
  const hits: Hit[] = [];
  for (let i = envelopes.length - 1; i >= 0 && hits.length < most; i--) {
    const e = envelopes[i] as Envelope;
    if (test(e)) hits.push(hit(e, word));
  }
  return hits;
}

function hit(e: Envelope, word: string): Hit {
  const text = plain(e).replace(/\s+/gu, " ").trim();
  const at = word === "" ? -1 : text.toLowerCase().indexOf(word);
  const begin = Math.max(0, at - 40);
  const excerpt = (begin > 0 ? "…" : "") + text.slice(begin, begin + 160) + (begin + 160 < text.length ? "…" : "");
  const from = at < 0 ? 0 : at - begin + (begin > 0 ? 1 : 0);
  const mark: readonly [number, number] = at < 0 ? [0, 0] : [from, from + word.length];
  return { id: e.id, seq: e.seq ?? 0, from: e.from, kind: e.kind, context: e.context ?? "", excerpt, mark };
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
