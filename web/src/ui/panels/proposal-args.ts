/** The arguments of a proposed call, or all its parameters if it has more: a difference for a file edit, JSON otherwise, and an editor for them. */

import { type TemplateResult, html, nothing } from "lit";
import { type DiffLine, type FileEdit, fileEdit } from "../../core/edits.js";
import { parse } from "@sdk/json.js";
import { shownParams } from "@sdk/proposal.js";
import type { Proposal } from "../../core/state.js";
import { pretty } from "../text.js";
import { exact } from "./parts.js";

/** Maximum characters of arguments rendered before the user asks for all. */
const MAX = 20_000;
/** Unchanged lines shown before and after a change. */
const AROUND = 3;

/** Renders the arguments. `showAll` is called when the user asks for the rest of long ones. */
export function proposedArgs(p: Proposal, all: boolean, showAll: () => void): TemplateResult {
  const shown = shownParams(p.method, p.params);
  const only = p.method === "tools/call" && shown === p.args; // nothing else is sent
  const edit = only ? fileEdit(p.tool, p.args) : null;
  const title = only ? "Arguments" : html`Parameters of <code>${exact(p.method)}</code>`;
  const text = pretty(shown ?? {});
  const cut = text.length > MAX && !all;
  const more = cut ? html`<button class="words small" @click=${showAll}>Show all ${text.length.toLocaleString()} characters</button>` : nothing;
  const code = html`<pre tabindex="0" aria-label="Arguments">${exact(cut ? text.slice(0, MAX) : text)}</pre>`;
  if (edit === null) return html`<div><h3>${title}</h3>${code}${more}</div>`;
  return html`<div class="stack">
    ${difference(edit)}
    <details><summary>Exact arguments</summary>${code}${more}</details>
  </div>`;
}

function difference(edit: FileEdit): TemplateResult {
  const count = (sign: string): number => edit.changes.flat().filter((x) => x.sign === sign).length;
  const rest = Object.keys(edit.rest).length === 0 ? nothing : html`<pre tabindex="0" aria-label="Other arguments">${exact(pretty(edit.rest))}</pre>`;
  return html`<div class="edit">
      <p class="edit-head"><code>${exact(edit.path)}</code> <span class="added">+${count("+").toLocaleString()}</span> <span class="removed">−${count("-").toLocaleString()}</span></p>
      <div class="diff" tabindex="0" role="group" aria-label=${`Changes of ${edit.path}`}>${edit.changes.map((lines, i) => html`${i === 0 ? nothing : html`<span class="line fold">⋯</span>`}${folded(lines).map(line)}`)}</div>
    </div>
    ${rest}`;
}

function line(x: DiffLine | number): TemplateResult {
  if (typeof x === "number") return html`<span class="line fold">⋯ ${x} unchanged lines</span>`;
  return html`<span class="line" data-sign=${x.sign}><span class="sign">${x.sign}</span>${exact(x.text)}</span>`;
}

/** Replaces unchanged lines that are far from a change by their number. */
function folded(lines: readonly DiffLine[]): readonly (DiffLine | number)[] {
  const near = new Set<number>();
  lines.forEach((x, i) => {
    if (x.sign !== " ") for (let k = i - AROUND; k <= i + AROUND; k++) near.add(k);
  });
  const out: (DiffLine | number)[] = [];
  lines.forEach((x, i) => {
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
