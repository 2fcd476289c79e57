/** One-line summaries of responses. */

import { arr, bool, field, isObject, obj, oneLine, str } from "../read.js";
import { ExactNumber, look } from "../json.js";
import type { Payload } from "../types.js";

/** Reports whether a response is an error. */
export function failed(p: Payload): boolean {
  return Object.hasOwn(p, "error") || bool(field(obj(field(p, "result")), "isError")) === true;
}

/** Returns the result or the error of a response. */
export function resultOf(p: Payload): unknown {
  return Object.hasOwn(p, "error") ? field(p, "error") : field(p, "result");
}

/** Returns a response in one line. */
export function summarize(p: Payload): string {
  if (Object.hasOwn(p, "error")) return aboutError(field(p, "error"));
  const result = field(p, "result");
  const parts = arr(field(obj(result), "content"));
  if (parts.length > 0) return aboutContent(parts);
  const structured = field(obj(result), "structuredContent");
  return aboutValue(structured === undefined ? result : structured);
}

function aboutError(error: unknown): string {
  if (typeof error === "string") return oneLine(error);
  const message = oneLine(str(field(obj(error), "message")));
  if (message !== "") return message;
  const code = field(obj(error), "code");
  return typeof code === "number" ? `error ${code}` : "an error without a word";
}

function aboutContent(parts: readonly unknown[]): string {
  const text = parts
    .slice(0, 16)
    .map((x) => aboutPart(obj(x)))
    .filter((s) => s !== "")
    .join("\n")
    .trim();
  if (text === "") return "nothing";
  const lines = text.split("\n").filter((l) => l.trim() !== "");
  const more = lines.length - 1;
  return oneLine(lines[0] ?? "", 100) + (more > 0 ? ` (+ ${more} ${more === 1 ? "line" : "lines"})` : "");
}

function aboutPart(part: Payload): string {
  switch (str(field(part, "type"))) {
    case "text":
      return str(field(part, "text"));
    case "image":
    case "audio":
      return `${str(field(part, "type"))} (${str(field(part, "mimeType")) || "of unknown type"})`;
    case "resource_link":
      return str(field(part, "uri"));
    case "resource":
      return str(field(obj(field(part, "resource")), "uri"));
    default:
      return "";
  }
}

function aboutValue(v: unknown): string {
  if (v === undefined || v === null) return "nothing";
  if (typeof v === "string") return oneLine(v) || "nothing";
  if (Array.isArray(v)) return `${v.length} ${v.length === 1 ? "item" : "items"}`;
  if (!isObject(v)) return v instanceof ExactNumber ? v.text : String(v);
  const keys = Object.keys(v);
  return keys.length === 0 ? "nothing" : oneLine(look(v));
}
