/**
 * Markdown, loaded with the first message that uses it. Nothing is parsed as HTML:
 * tokens become elements one by one, and HTML in the source stays text. Images
 * become links.
 */

import { type TemplateResult, html, nothing } from "lit";
import type { Token, Tokens } from "marked";
import { neutral, visible } from "../core/unicode.js";
import "./code.js";
import { lex } from "./lexer.js";
import { anchor, plain } from "./text.js";

/** Text after this many characters is rendered as plain text. */
const MAX = 20_000;
/** Maximum nesting; deeper quotations and lists are text. */
const MAX_DEPTH = 12;

/** Renders Markdown; falls back to plain text if lexing fails. With `breaks`, line breaks are kept. */
export function markdown(text: string, breaks = false): unknown {
  if (text.length <= MAX) return whole(text, breaks);
  const line = text.lastIndexOf("\n", MAX);
  const cut = line > MAX / 2 ? line + 1 : MAX;
  return html`${whole(text.slice(0, cut), breaks)}
    <p class="faint">The rest of this message is shown as plain text.</p>
    <div class="prose plain">${plain(text.slice(cut))}</div>`;
}

function whole(text: string, breaks: boolean): unknown {
  try {
    return blocks(lex(neutral(text), undefined, breaks), 0, []);
  } catch {
    return plain(text);
  }
}

/** `open` holds the depths of the enclosing headings, see heading. */
function blocks(tokens: readonly Token[], depth: number, open: number[]): unknown[] {
  return tokens.map((t) => block(t, depth, open));
}

function block(t: Token, depth: number, open: number[]): unknown {
  if (depth > MAX_DEPTH) return t.raw;
  switch (t.type) {
    case "space":
    case "def":
      return nothing;
    case "heading":
      return heading((t as Tokens.Heading).depth, inline((t as Tokens.Heading).tokens, depth), open);
    case "paragraph":
      return html`<p>${inline((t as Tokens.Paragraph).tokens, depth)}</p>`;
    case "text":
      return "tokens" in t && t.tokens !== undefined ? inline(t.tokens, depth) : plain(unescaped(t.raw));
    case "code":
      return code(t as Tokens.Code);
    case "blockquote":
      return html`<blockquote>${blocks((t as Tokens.Blockquote).tokens, depth + 1, open)}</blockquote>`;
    case "list":
      return list(t as Tokens.List, depth, open);
    case "table":
      return table(t as Tokens.Table, depth);
    case "hr":
      return html`<hr />`;
    case "html":
      return html`<p>${plain(t.raw.trimEnd())}</p>`;
    default:
      return plain(t.raw);
  }
}

/**
 * Renders a heading. Its class follows the source; its element starts at h3, below
 * the page's own headings, and no level is skipped.
 */
function heading(depth: number, words: unknown, open: number[]): TemplateResult {
  while (open.length > 0 && (open[open.length - 1] as number) >= depth) open.pop();
  open.push(depth);
  const look = `h${Math.min(depth, 3)}`;
  if (open.length === 1) return html`<h3 class=${look}>${words}</h3>`;
  return open.length === 2 ? html`<h4 class=${look}>${words}</h4>` : html`<h5 class=${look}>${words}</h5>`;
}

function code(t: Tokens.Code): TemplateResult {
  const language = /^[\w+#.-]{1,24}/.exec(t.lang ?? "")?.[0] ?? "";
  return html`<meup-code .text=${t.text} .language=${language}></meup-code>`;
}

function list(t: Tokens.List, depth: number, open: number[]): TemplateResult {
  const items = t.items.map((x) => {
    const box = x.task ? html`<input type="checkbox" disabled ?checked=${x.checked === true} aria-label=${x.checked === true ? "done" : "open"} />` : nothing;
    const inner = x.tokens.filter((y) => (y.type as string) !== "checkbox");
    return html`<li class=${x.task ? "task" : ""}>${box}${blocks(inner, depth + 1, open)}</li>`;
  });
  return t.ordered ? html`<ol start=${t.start === "" ? 1 : t.start}>${items}</ol>` : html`<ul>${items}</ul>`;
}

function table(t: Tokens.Table, depth: number): TemplateResult {
  const cell = (c: Tokens.TableCell, i: number): TemplateResult => html`<td class=${`align-${t.align[i] ?? "left"}`}>${inline(c.tokens, depth)}</td>`;
  return html`<div class="table" tabindex="0" role="group" aria-label="Table">
    <table>
      <thead>
        <tr>
          ${t.header.map((c, i) => html`<th scope="col" class=${`align-${t.align[i] ?? "left"}`}>${inline(c.tokens, depth)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${t.rows.map((r) => html`<tr>${r.map(cell)}</tr>`)}
      </tbody>
    </table>
  </div>`;
}

function inline(tokens: readonly Token[] | undefined, depth: number): unknown[] {
  return (tokens ?? []).map((t) => span(t, depth + 1));
}

function span(t: Token, depth: number): unknown {
  if (depth > 2 * MAX_DEPTH) return t.raw;
  const inner = (): unknown => inline("tokens" in t ? t.tokens : undefined, depth);
  switch (t.type) {
    case "text":
      return "tokens" in t && t.tokens !== undefined && t.tokens.length > 0 ? inner() : unescaped(t.raw);
    case "escape":
      return (t as Tokens.Escape).text;
    case "strong":
      return html`<strong>${inner()}</strong>`;
    case "em":
      return html`<em>${inner()}</em>`;
    case "del":
      return html`<del>${inner()}</del>`;
    case "codespan":
      return html`<code>${visible((t as Tokens.Codespan).text)}</code>`;
    case "br":
      return html`<br />`;
    case "link":
      return anchor((t as Tokens.Link).href, inner());
    case "image":
      return anchor((t as Tokens.Image).href, (t as Tokens.Image).text || (t as Tokens.Image).href);
    default:
      return t.raw;
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00A0", hellip: "…", mdash: "—", ndash: "–", copy: "©", rarr: "→" };

/** Replaces numeric and the most common named character references. */
function unescaped(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, dec: string, hex: string, name: string) => {
    if (name) return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] as string) : whole;
    const n = dec ? Number(dec) : Number.parseInt(hex, 16);
    return n >= 32 && n <= 0x10ffff && !(n >= 0xd800 && n <= 0xdfff) ? neutral(String.fromCodePoint(n)) : whole;
  });
}
