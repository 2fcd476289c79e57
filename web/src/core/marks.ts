/**
 * Reasoning that an agent wrote into the text of a message:
 *
 *     <!--REASONING_BLOCK:{"elapsed":SECONDS,"steps":["…"]}-->
 *     <!--AGENT_REASONING:STATUS:SECONDS:["…"]-->
 *     <think>…</think>
 *
 * The terminal has the same rules (internal/kit/textutil/marks.go), held to
 * the same cases in its testdata.
 */

import { isObject } from "@sdk/read.js";

export interface Marks {
  /** null: unknown. */
  readonly seconds: number | null;
  readonly steps: readonly string[];
}

/** Maximum length of a marker. */
const MAX_MARKER = 64 << 10;
/** Occurrences of a marker's end that are tried: a step may contain it. */
const MAX_ENDS = 16;
const MAX_ELAPSED = 1e8;

const THINK = "<think>";
const THINK_END = "</think>";
const BLOCK = "<!--REASONING_BLOCK:";
const AGENT = /^<!--AGENT_REASONING:(?:idle|reasoning|collapsed|complete):([0-9]{1,9}):/;

/**
 * Splits the markers from the beginning of a text; null: there is nothing to show.
 * Anything else, and a marker that is not complete, stays text.
 */
export function splitMarks(text: string): { readonly marks: Marks | null; readonly text: string } {
  let rest = text;
  let seconds: number | null = null;
  const steps: string[] = [];
  for (;;) {
    const next = trimStart(rest);
    const found = marker(next);
    if (found === null) break;
    seconds = found.seconds ?? seconds;
    steps.push(...found.steps.map(trim).filter((s) => s !== ""));
    rest = next.slice(found.length);
  }
  const marks = (seconds ?? 0) > 0 || steps.length > 0 ? { seconds, steps } : null;
  return { marks, text: rest.length === text.length ? text : trimStart(rest) };
}

function trimStart(text: string): string {
  return text.replace(/^[ \t\r\n]+/, "");
}

/** Trims both ends, in linear time: an expression for the end would be quadratic on long blanks. */
function trim(text: string): string {
  const start = trimStart(text);
  let end = start.length;
  while (end > 0 && " \t\r\n".includes(start.charAt(end - 1))) end--;
  return start.slice(0, end);
}

/** Reads the marker at the beginning of a text. */
function marker(text: string): (Marks & { readonly length: number }) | null {
  if (text.startsWith(THINK)) {
    const end = text.indexOf(THINK_END);
    return end < 0 ? null : { seconds: null, steps: [text.slice(THINK.length, end)], length: end + THINK_END.length };
  }
  const head = text.startsWith(BLOCK) ? BLOCK : (AGENT.exec(text)?.[0] ?? "");
  const found = head === "" ? null : jsonBefore(text, head.length, head === BLOCK ? isObject : Array.isArray);
  if (found === null) return null;
  const { value, length } = found;
  const seconds = isObject(value) ? value["elapsed"] : Number(AGENT.exec(head)?.[1]);
  const steps: unknown = isObject(value) ? value["steps"] : value;
  if (typeof seconds !== "number" || seconds < 0 || seconds > MAX_ELAPSED) return null;
  if (!Array.isArray(steps) || !steps.every((s): s is string => typeof s === "string")) return null;
  return { seconds, steps, length };
}

/** Reads the JSON before the end of a marker, and returns their length from the beginning of the text. */
function jsonBefore(text: string, start: number, is: (v: unknown) => boolean): { readonly value: unknown; readonly length: number } | null {
  const within = text.slice(0, start + MAX_MARKER);
  let end = start;
  for (let i = 0; i < MAX_ENDS; i++) {
    end = within.indexOf("-->", end);
    if (end < 0) return null;
    try {
      const value: unknown = JSON.parse(within.slice(start, end));
      if (is(value)) return { value, length: end + "-->".length };
    } catch {
      // the end is inside of a step
    }
    end += "-->".length;
  }
  return null;
}
