/**
 * The result of a call in a few words: "12 files found", "42 lines" or
 * "error: no such file". The gateway and the commands use the same words
 * (internal/exchange) and the same test cases in its testdata.
 */

import { arr, bool, field, isObject, obj, str } from "@sdk/read.js";
import type { Payload } from "@sdk/types.js";

/** The maximum length of the text of an error, in characters. */
const MAX_ERROR = 200;

/** The maximum size of a text that is parsed as JSON, in bytes. */
const MAX_DOCUMENT = 256 << 10;

/** The maximum depth of a text that is parsed as JSON. */
const MAX_DEPTH = 64;

/** Reports whether a response is an error. */
export function failed(p: Payload): boolean {
  return Object.hasOwn(p, "error") || bool(field(obj(field(p, "result")), "isError")) === true;
}

/** Returns the result or the error of a response. */
export function resultOf(p: Payload): unknown {
  return Object.hasOwn(p, "error") ? field(p, "error") : field(p, "result");
}

/** Returns a response in a few words; "" for a success without countable content. */
export function outcomeText(p: Payload): string {
  const result = resultOf(p);
  if (Object.hasOwn(p, "error")) return errorText(str(result) || str(field(obj(result), "message")));
  const content = field(obj(result), "content");
  const { text, others } = contentOf(arr(content));
  if (failed(p)) return errorText(text);
  const parts = Object.keys(isObject(content) ? content : arr(content)).length;
  return text === "" && parts > 0 ? others : successText(result, text);
}

/** A longer line of a result is counted. */
const MAX_LINE = 120;

/** Returns the words for a result: a short line itself, in quotation marks, in place of the number of its characters. */
export function shownResult(result: unknown, summary: string): string {
  if (!/^[\d,]+ characters?$/u.test(summary)) return summary;
  const { text } = contentOf(arr(field(obj(result), "content")));
  const line = trimBreaks(text);
  return line.length > MAX_LINE || line.includes("\n") || line.trim() === "" ? summary : `“${line.replace(/[“”]/gu, "'")}”`;
}

/** White space as in Go's strings.Fields. */
const SPACE = /(?:[^\S\uFEFF]|\u0085)+/u;

function errorText(text: string): string {
  const chars = Array.from(text.split(SPACE).filter((s) => s !== "").join(" "));
  if (chars.length === 0) return "error";
  return "error: " + (chars.length <= MAX_ERROR ? chars.join("") : chars.slice(0, MAX_ERROR).join("") + "…");
}

/** Joins the texts of a result by line breaks, and counts its other parts: "2 images". */
function contentOf(parts: readonly unknown[]): { text: string; others: string } {
  const texts: string[] = [];
  let n = 0;
  let noun = "";
  for (const part of parts) {
    let kind = str(field(obj(part), "type"));
    if (kind === "text") {
      texts.push(str(field(obj(part), "text")));
      continue;
    }
    if (kind === "resource_link") kind = "resource";
    if (!["image", "audio", "resource"].includes(kind) || (n > 0 && kind !== noun)) kind = "item";
    noun = kind;
    n++;
  }
  return { text: texts.join("\n"), others: n === 0 ? "" : found(n, noun + "s") };
}

/** The count that a text begins with: "Found 3 documents", or "12 files matched". */
const ANNOUNCED = /^(?:found ([0-9]{1,9}) ([a-z]{2,32})\b|([0-9]{1,9}) ([a-z]{2,32}) (?:found|matched)\b)/i;

/** Counts the elements, the lines or the characters of a success. */
function successText(result: unknown, text: string): string {
  const structured = elements(field(obj(result), "structuredContent"));
  if (structured !== "") return structured;
  if (text === "") return elements(result);
  const parsed = elements(document(text));
  if (parsed !== "") return parsed;
  const announced = ANNOUNCED.exec(text);
  const n = announced?.[1] ?? announced?.[3];
  const noun = announced?.[2] ?? announced?.[4];
  if (n !== undefined && noun !== undefined) return found(Number(n), noun.toLowerCase(), " found");
  const lines = trimBreaks(text).split("\n").length;
  if (lines > 1) return found(lines, "lines");
  let chars = 0;
  for (const _ of text) chars++;
  return found(chars, "characters");
}

/** Returns a text without the line breaks at its end. */
function trimBreaks(text: string): string {
  let end = text.length;
  while (end > 0 && "\r\n".includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** Parses a text that may be a JSON object or array; undefined if it is not. */
function document(text: string): unknown {
  if (!/^[{[]/.test(text) || text.length > MAX_DOCUMENT || new TextEncoder().encode(text).length > MAX_DOCUMENT) return undefined;
  try {
    const v: unknown = JSON.parse(text);
    return within(v, MAX_DEPTH) ? v : undefined;
  } catch {
    return undefined;
  }
}

function within(v: unknown, depth: number): boolean {
  if (typeof v !== "object" || v === null) return true;
  return depth > 0 && Object.values(v).every((x) => within(x, depth - 1));
}

/** A name that can be used as a noun. */
const PLURAL = /^[A-Za-z][A-Za-z_]{0,30}[A-RT-Za-rt-z]s$/;

/** Counts the elements of an array, or of the only array of an object, which is called by its name. */
function elements(v: unknown): string {
  if (Array.isArray(v)) return found(v.length, "items", " found");
  const arrays = Object.entries(obj(v)).filter(([key, x]) => Array.isArray(x) && key !== "content");
  const [only] = arrays;
  if (only === undefined || arrays.length > 1) return "";
  const noun = PLURAL.test(only[0]) ? only[0].toLowerCase().replaceAll("_", " ") : "items";
  return found(arr(only[1]).length, noun, " found");
}

/** Counts things that a plural names: "1 match found". */
function found(n: number, plural: string, end = ""): string {
  return `${n.toLocaleString("en-US")} ${n === 1 ? singular(plural) : plural}${end}`;
}

const ENDINGS = [["ies", "y"], ["ches", "ch"], ["shes", "sh"], ["sses", "ss"], ["xes", "x"], ["s", ""]] as const;

function singular(plural: string): string {
  const ending = ENDINGS.find(([many]) => plural.endsWith(many));
  return ending === undefined ? plural : plural.slice(0, -ending[0].length) + ending[1];
}
