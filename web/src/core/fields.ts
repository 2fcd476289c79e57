/**
 * The arguments of a call as labeled fields, for a decision. Nothing is left out, and
 * each field can be read in one way only: a text is shown as it is unless it could be
 * taken for another JSON value, and then in quotation marks.
 */

import { isObject } from "@sdk/read.js";
import { parse } from "@sdk/json.js";
import type { Payload } from "@sdk/types.js";
import { PATHS } from "./edits.js";
import { isLanguage } from "./highlight.js";

/** One argument, or one value in it. */
export interface Field {
  /** Its path: `to`, `options.retries`, `messages[0].content`; "" for arguments that are no object. */
  readonly name: string;
  readonly value: unknown;
  /** How it is shown; "json" is the value as JSON, the others are the text itself. */
  readonly as: "text" | "code" | "json";
  /** The language of code; "" if unknown. */
  readonly language: string;
}

/** Values that are nested more deeply are JSON. */
const MAX_DEPTH = 4;
/** More fields than this are one value. */
const MAX_FIELDS = 1000;

/** Names of arguments that are code, with their language; "" is the language of the call or of the file. */
const CODE: Readonly<Record<string, string>> = {
  command: "sh", cmd: "sh", bash: "sh", shell: "sh", script: "sh", sql: "sql", python: "python", javascript: "javascript", patch: "diff", diff: "diff",
  code: "", source: "", source_code: "", snippet: "", content: "", contents: "", file_text: "", body: "", text: "",
};
/** Arguments of these names are code only if a language is known. */
const MAYBE_CODE = /^(?:content|contents|file_text|body|text)$/u;
const SQL = /^\s*(?:select|insert\s+into|update|delete\s+from|with|create|alter|drop)\s/iu;

/** Returns the fields of arguments, in their order. */
export function fieldsOf(args: unknown): readonly Field[] {
  const out: Field[] = [];
  collect(out, "", args, 0, {});
  return out.length > MAX_FIELDS ? [json("", args)] : out;
}

function collect(out: Field[], name: string, value: unknown, depth: number, siblings: Payload): void {
  if (out.length > MAX_FIELDS) return;
  if (depth <= MAX_DEPTH && isObject(value) && Object.keys(value).length > 0) {
    for (const [key, x] of Object.entries(value)) if (x !== undefined) collect(out, joined(name, key), x, depth + 1, value);
  } else if (depth <= MAX_DEPTH && Array.isArray(value) && value.some((x) => (isObject(x) && Object.keys(x).length > 0) || (typeof x === "string" && x.includes("\n")))) {
    value.forEach((x, i) => collect(out, `${name}[${i}]`, x, depth + 1, {}));
  } else if (typeof value === "string" && !ambiguous(value)) {
    out.push({ name, value, ...textStyle(name, value, siblings) });
  } else {
    out.push(json(name, value));
  }
}

function json(name: string, value: unknown): Field {
  return { name, value, as: "json", language: "json" };
}

/** Appends a key to a path; one that could be taken for a path is in quotation marks. */
function joined(path: string, key: string): string {
  if (!/^[^\s.[\]"]+$/u.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

/** Reports whether a text could be taken for another JSON value, or has white space that cannot be seen. */
function ambiguous(text: string): boolean {
  if (text === "" || (!text.includes("\n") && text !== text.trim()) || text.trim() === "") return true;
  if (!/^\s*(?:[-0-9"{[]|true|false|null)/u.test(text)) return false;
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

function textStyle(name: string, text: string, siblings: Payload): { readonly as: "text" | "code"; readonly language: string } {
  const key = name.slice(name.lastIndexOf(".") + 1);
  if (key === "query" && SQL.test(text)) return { as: "code", language: "sql" };
  const own = Object.hasOwn(CODE, key) ? CODE[key] : undefined;
  if (own === undefined) return { as: "text", language: "" };
  const language = own || languageOf(siblings);
  return language === "" && MAYBE_CODE.test(key) ? { as: "text", language } : { as: "code", language };
}

/** Returns the language that the other arguments name, or the ending of the path of a file. */
function languageOf(args: Payload): string {
  const named = args["language"] ?? args["lang"];
  if (typeof named === "string" && isLanguage(named)) return named;
  const path = PATHS.map((k) => args[k]).find((x) => typeof x === "string");
  const ending = /\.([a-z0-9]+)$/iu.exec(typeof path === "string" ? path : "")?.[1] ?? "";
  return isLanguage(ending) ? ending : "";
}
