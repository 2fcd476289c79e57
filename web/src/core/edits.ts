/**
 * File edits among the arguments of a call, as line differences. Arguments that
 * do not have exactly one of the known shapes are no edit: they are shown as JSON,
 * so that nothing of a call is left out.
 */

import { isObject } from "@sdk/read.js";
import type { Payload } from "@sdk/types.js";

/** A line of a difference. `" "` is unchanged; `"@"` is another line of a patch. */
export interface DiffLine {
  readonly sign: " " | "+" | "-" | "@";
  readonly text: string;
}

/** An edit of one file. */
export interface FileEdit {
  readonly path: string;
  /** The differences, in the order of the arguments. */
  readonly changes: readonly (readonly DiffLine[])[];
  /** The arguments that are neither the path nor a change. */
  readonly rest: Payload;
}

/** Names of the argument that is the path of a file. */
export const PATHS = ["path", "file_path", "filePath", "filename", "file"];
/** Names of the old and the new text of a replacement. */
const PAIRS: readonly (readonly [string, string])[] = [
  ["old_string", "new_string"],
  ["old_str", "new_str"],
  ["oldText", "newText"],
  ["old_text", "new_text"],
];
const CONTENTS = ["content", "contents", "file_text", "text"];
const PATCHES = ["patch", "diff"];
/** Tools that write the text of a file. */
const WRITES = /write|create|save|append|put_file/iu;

/** Maximum number of lines of one text; longer ones are shown as JSON. */
const MAX_LINES = 5000;
/** Maximum number of pairs of lines that are compared; larger changes are shown as removed and added. */
const MAX_PAIRS = 1_000_000;

/** Returns the edit that the arguments of a tool describe; null if they describe none. */
export function fileEdit(tool: string, args: unknown): FileEdit | null {
  if (!isObject(args)) return null;
  const name = PATHS.find((k) => typeof args[k] === "string" && args[k] !== "");
  const found = name === undefined ? null : changesOf(tool, args);
  if (name === undefined || found === null || found.changes.length === 0) return null;
  if (found.changes.some((lines) => lines.length > 2 * MAX_LINES)) return null;
  const used = new Set([name, ...found.keys]);
  return { path: String(args[name]), changes: found.changes, rest: Object.fromEntries(Object.entries(args).filter(([k]) => !used.has(k))) };
}

interface Found {
  readonly changes: readonly (readonly DiffLine[])[];
  readonly keys: readonly string[];
}

function changesOf(tool: string, args: Payload): Found | null {
  for (const [before, after] of PAIRS) {
    const lines = replacement(args, before, after);
    if (lines !== null) return { changes: [lines], keys: [before, after] };
  }
  const edits = args["edits"];
  if (Array.isArray(edits)) {
    const changes = edits.map((x) => (isObject(x) && Object.keys(x).length === 2 ? (PAIRS.map(([a, b]) => replacement(x, a, b)).find((y) => y !== null) ?? null) : null));
    return changes.every((x) => x !== null) ? { changes, keys: ["edits"] } : null;
  }
  const patch = PATCHES.find((k) => typeof args[k] === "string" && /^@@ /mu.test(String(args[k])));
  if (patch !== undefined) return { changes: [patchLines(String(args[patch]))], keys: [patch] };
  const content = WRITES.test(tool) ? CONTENTS.find((k) => typeof args[k] === "string") : undefined;
  return content === undefined ? null : { changes: [lines(String(args[content])).map((text) => ({ sign: "+", text }))], keys: [content] };
}

function replacement(v: Payload, before: string, after: string): readonly DiffLine[] | null {
  const a = v[before];
  const b = v[after];
  return typeof a === "string" && typeof b === "string" ? difference(a, b) : null;
}

/**
 * Returns the lines of a patch. Lines are unchanged only in a strict unified
 * difference, whose hunks have as many lines as they announce. In any other patch
 * a tool may read them as commands: no line of it is unchanged.
 */
function patchLines(text: string): readonly DiffLine[] {
  const all = lines(text);
  return unified(all.at(-1) === "" ? all.slice(0, -1) : all) ?? all.map(changed);
}

function changed(text: string): DiffLine {
  const sign = text.charAt(0);
  return (sign === "+" || sign === "-") && !HEAD.test(text) ? { sign, text: text.slice(1) } : { sign: "@", text };
}

/** Lines between the hunks of a unified difference. */
const HEAD = /^(?:--- |\+\+\+ |diff --git |index [0-9a-f]+\.\.[0-9a-f]+)/u;
const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/u;

/** Returns the lines of a strict unified difference; null for another text. */
function unified(all: readonly string[]): readonly DiffLine[] | null {
  const out: DiffLine[] = [];
  let before = 0;
  let after = 0;
  for (const text of all) {
    const sign = text.charAt(0);
    const inside = before > 0 || after > 0;
    const hunk = inside ? null : HUNK.exec(text);
    if (hunk !== null) {
      before = Number(hunk[1] ?? "1");
      after = Number(hunk[2] ?? "1");
    }
    if (hunk !== null || (!inside && HEAD.test(text)) || text === "\\ No newline at end of file") {
      out.push({ sign: "@", text });
      continue;
    }
    if (!inside || (sign !== " " && sign !== "+" && sign !== "-")) return null;
    if (sign !== "+") before--;
    if (sign !== "-") after--;
    if (before < 0 || after < 0) return null;
    out.push({ sign, text: text.slice(1) });
  }
  return before > 0 || after > 0 ? null : out;
}

function lines(text: string): readonly string[] {
  return text === "" ? [] : text.split("\n");
}

/** Returns the difference of two texts, by lines. A final line break is a line of its own. */
export function difference(before: string, after: string): readonly DiffLine[] {
  const a = lines(before);
  const b = lines(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const middle = compare(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  return [...a.slice(0, head).map(same), ...middle, ...a.slice(a.length - tail).map(same)];
}

function same(text: string): DiffLine {
  return { sign: " ", text };
}

/** Returns a shortest difference, by the lengths of the longest common subsequences of all suffixes. */
function compare(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  const removed = (text: string): DiffLine => ({ sign: "-", text });
  const added = (text: string): DiffLine => ({ sign: "+", text });
  if (a.length * b.length > MAX_PAIRS || a.length === 0 || b.length === 0) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) longest[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const out: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      out.push(same(a[i++] as string));
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1)) out.push(removed(a[i++] as string));
    else out.push(added(b[j++] as string));
  }
  return [...out, ...a.slice(i).map(removed), ...b.slice(j).map(added)];
}
