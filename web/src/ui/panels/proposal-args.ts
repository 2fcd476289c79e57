/**
 * The arguments of a proposed call, or all its parameters if it has more: as labeled
 * fields, with the changes of a file as a difference, or as JSON.
 */

import { type TemplateResult, html, nothing } from "lit";
import { type DiffLine, type FileEdit, difference, fileEdit } from "../../core/edits.js";
import { type Field, fieldsOf } from "../../core/fields.js";
import { highlight } from "../../core/highlight.js";
import { look, parse } from "@sdk/json.js";
import { shownParams } from "@sdk/proposal.js";
import type { Proposal } from "../../core/state.js";
import { pretty } from "../text.js";
import { amount, exact } from "./parts.js";

/** Maximum characters of arguments rendered before the user asks for all. */
const MAX = 20_000;
/** Unchanged lines shown before and after a change. */
const AROUND = 3;
/** Longer values are below their labels. */
const BESIDE = 60;

/** The rendered arguments. */
export interface ArgsView {
  readonly view: TemplateResult;
  /** The number of all characters if some are not rendered; 0 if all are. */
  readonly cut: number;
}

/** Reports whether an approval sends nothing but the arguments of a tool. */
export function sendsArgumentsOnly(p: Proposal): boolean {
  return p.method === "tools/call" && shownParams(p.method, p.params) === p.args;
}

/** Renders the arguments; `whole` renders all of long ones, `raw` the exact JSON. */
export function proposedArgs(p: Proposal, whole: boolean, raw: boolean): ArgsView {
  const value = shownParams(p.method, p.params) ?? {};
  const only = sendsArgumentsOnly(p);
  const title = only ? nothing : html`<h3>Parameters of <code>${exact(p.method)}</code></h3>`;
  if (raw) {
    const text = pretty(value);
    const cut = whole || text.length <= MAX ? 0 : text.length;
    return { view: html`${title}<pre class="value">${code(cut === 0 ? text : text.slice(0, MAX), "json")}</pre>`, cut };
  }
  const edit = only ? fileEdit(p.tool, p.args) : null;
  const fields = fieldsOf(edit === null ? value : edit.rest).map((f) => ({ ...f, text: f.as === "json" ? jsonOf(f.value) : String(f.value) }));
  const empty = fields.length === 1 && fields[0]?.name === "" && fields[0].text === "{}";
  const length = fields.reduce((n, f) => n + f.name.length + f.text.length, 0);
  const cut = whole || length <= MAX ? 0 : length;
  const list = empty ? (edit === null ? html`<p class="quiet">No arguments</p>` : nothing) : html`<dl class="fields">${fieldList(fields, cut === 0 ? Infinity : MAX)}</dl>`;
  return { view: html`${title}${edit === null ? nothing : fileDifference(edit)}${list}`, cut };
}

function fieldList(fields: readonly (Field & { readonly text: string })[], most: number): TemplateResult[] {
  const out: TemplateResult[] = [];
  let left = most;
  for (const f of fields) {
    if (left <= 0) break;
    const long = f.text.length > BESIDE || f.text.includes("\n");
    out.push(html`<div class="arg" ?data-long=${long} data-as=${f.as}>${f.name === "" ? nothing : html`<dt>${exact(f.name)}</dt>`}<dd>${argValue(f, f.text.slice(0, left))}</dd></div>`);
    left -= f.name.length + f.text.length;
  }
  return out;
}

/** A value as JSON, on one line if it is short. */
function jsonOf(value: unknown): string {
  const line = look(value);
  return line.length <= BESIDE ? line : pretty(value);
}

function argValue(f: Field, text: string): TemplateResult {
  const end = text.endsWith("\n") ? "\n" : ""; // a final line break is seen as an empty line
  if (f.as === "text") return html`<div class="value">${lines(text)}${end}</div>`;
  return html`<pre class="value">${code(text, f.language)}${end}</pre>`;
}

function code(text: string, language: string): unknown {
  return highlight(text, language).map((x) => (x.type === "" ? lines(x.text) : html`<span class=${`code-${x.type}`}>${lines(x.text)}</span>`));
}

/** The same as exact, without taking line breaks of other systems for the usual ones. */
function lines(text: string): unknown {
  return text.includes("\r") ? text.split("\n").map((x, i) => [i === 0 ? "" : "\n", exact(x)]) : exact(text);
}

function fileDifference(edit: FileEdit): TemplateResult {
  return differenceBox(html`<code>${exact(edit.path)}</code>`, `Changes of ${edit.path}`, edit.changes);
}

/** Renders how changed arguments differ from the proposed ones. */
export function argsDifference(before: unknown, after: unknown): TemplateResult {
  return differenceBox("Changed arguments", "Changed arguments", [difference(pretty(before), pretty(after))]);
}

function differenceBox(title: unknown, label: string, changes: FileEdit["changes"]): TemplateResult {
  const count = (sign: string): number => changes.flat().filter((x) => x.sign === sign).length;
  return html`<div class="edit">
    <p class="edit-head">${title} <span class="added">+${count("+").toLocaleString()}</span> <span class="removed">−${count("-").toLocaleString()}</span></p>
    <div class="diff" role="group" aria-label=${label}>${changes.map((x, i) => html`${i === 0 ? nothing : html`<span class="line fold">⋯</span>`}${folded(x).map(line)}`)}</div>
  </div>`;
}

function line(x: DiffLine | number): TemplateResult {
  if (typeof x === "number") return html`<span class="line fold">⋯ ${amount(x, "unchanged line")}</span>`;
  return html`<span class="line" data-sign=${x.sign}><span class="sign">${x.sign}</span>${exact(x.text)}</span>`;
}

/** Replaces unchanged lines that are far from a change by their number. */
function folded(all: readonly DiffLine[]): readonly (DiffLine | number)[] {
  const near = new Set<number>();
  all.forEach((x, i) => {
    if (x.sign !== " ") for (let k = i - AROUND; k <= i + AROUND; k++) near.add(k);
  });
  const out: (DiffLine | number)[] = [];
  all.forEach((x, i) => {
    const last = out.at(-1);
    if (near.has(i)) out.push(x);
    else if (typeof last === "number") out[out.length - 1] = last + 1;
    else out.push(1);
  });
  return out;
}

/** Parses edited arguments; a string is an error message. */
export function editedArgs(p: Proposal, text: string): { readonly args: unknown } | string {
  let args: unknown;
  try {
    args = parse(text);
  } catch (err) {
    return `Invalid JSON: ${err instanceof Error ? err.message : String(err)}`;
  }
  const isObject = typeof args === "object" && args !== null && !Array.isArray(args);
  return p.method === "tools/call" && !isObject ? "Arguments are a JSON object." : { args };
}
