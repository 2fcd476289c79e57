/** Text of participants as Lit values. It is always rendered as text, never as markup. */

import { type TemplateResult, html } from "lit";
import { look } from "@sdk/json.js";
import { isObject } from "@sdk/read.js";
import { name, neutral, visible } from "../core/unicode.js";

/** Longer texts are not searched for addresses. */
const MAX_LINKED = 200_000;
/** Longer addresses stay text. */
export const MAX_ADDRESS = 2048;
const ADDRESS = /\bhttps?:\/\/[^\s<>"'`\u2026]+/giu;

/** Renders prose without invisible characters and with its addresses as links. */
export function plain(text: string): unknown {
  const clean = neutral(text);
  if (clean.length > MAX_LINKED || !clean.includes("://")) return clean;
  const parts: unknown[] = [];
  let at = 0;
  for (const m of clean.matchAll(ADDRESS)) {
    const url = trimmed(m[0]);
    if (url.length > MAX_ADDRESS) continue;
    const link = anchor(url, url);
    if (typeof link === "string") continue;
    parts.push(clean.slice(at, m.index), link);
    at = m.index + url.length;
  }
  parts.push(clean.slice(at));
  return parts;
}

/** Renders one line of Markdown: code and strong text; heading, list and quotation marks are removed; links only through `prose`. */
export function brief(text: string, prose: (s: string) => unknown = (s) => s): unknown {
  const line = neutral(text).replace(/^\s*(?:#{1,6}|[-*+>]|\d{1,9}[.)])\s+/u, "");
  if (!/`|\*\*/u.test(line)) return prose(line);
  return line.split(/(`[^`\n]{1,300}`|\*\*[^\s*](?:[^*\n]{0,300}[^\s*])?\*\*)/u).map((x) => {
    if (x.length > 2 && x.startsWith("`") && x.endsWith("`")) return html`<code>${visible(x.slice(1, -1))}</code>`;
    return x.length > 4 && x.startsWith("**") && x.endsWith("**") ? html`<strong>${x.slice(2, -2)}</strong>` : prose(x);
  });
}

/** Returns an address without trailing punctuation. */
function trimmed(url: string): string {
  let spare = 0;
  for (const c of url) spare += c === ")" ? 1 : c === "(" ? -1 : 0;
  let end = url.length;
  for (; end > 0; end--) {
    const c = url.charAt(end - 1);
    if (c === ")" && spare > 0) spare--;
    else if (!".,;:!?*_~".includes(c)) break;
  }
  return url.slice(0, end);
}

/** Renders a link to an external address if it is safe; otherwise its text. */
export function anchor(address: string, words: unknown): TemplateResult | string | unknown {
  const url = safeUrl(address);
  if (url === null) return words;
  return html`<a href=${url.href} title=${url.href} target="_blank" rel="noopener noreferrer nofollow">${words}</a>`;
}

/** Returns an http, https or mailto address; null for any other. */
export function safeUrl(address: string): URL | null {
  if (address.length > MAX_ADDRESS || !/^(?:https?:\/\/|mailto:)/i.test(address)) return null;
  try {
    const url = new URL(address);
    return ["http:", "https:", "mailto:"].includes(url.protocol) && url.username === "" ? url : null;
  } catch {
    return null;
  }
}

/** Text for exact inspection, such as code, arguments and proposals: invisible characters are spelled out. */
export function verbatim(text: string): string {
  return visible(text);
}

/** A participant's name. */
export function who(id: string): string {
  return name(id);
}

/** Two letters for a name. */
export function initials(id: string): string {
  const words = name(id).split(/[^\p{L}\p{N}]+/u).filter((w) => w !== "");
  const letters = words.length > 1 ? words.slice(0, 2).map((w) => Array.from(w)[0]) : Array.from(words[0] ?? "?").slice(0, 2);
  return letters.join("").toUpperCase();
}

/** Values that are nested more deeply are on one line, as the indentation would be most of the text. */
const MAX_INDENT = 24;

/** Formats a value as indented JSON. Long numbers keep their digits, and nothing is left out. */
export function pretty(value: unknown, depth = 0): string {
  if (depth > MAX_INDENT) return look(value);
  const pad = "  ".repeat(depth + 1);
  const end = "\n" + "  ".repeat(depth);
  if (Array.isArray(value)) {
    return value.length === 0 ? "[]" : "[\n" + value.map((x) => pad + pretty(x, depth + 1)).join(",\n") + end + "]";
  }
  if (!isObject(value)) return look(value);
  const entries = Object.entries(value).filter(([, x]) => x !== undefined);
  if (entries.length === 0) return "{}";
  return "{\n" + entries.map(([k, x]) => `${pad}${JSON.stringify(k)}: ${pretty(x, depth + 1)}`).join(",\n") + end + "}";
}
