/** Names of authors. A name that imitates a label of the page is marked as a participant's. */

import { type TemplateResult, html, nothing } from "lit";
import { GATEWAY } from "@sdk/types.js";
import { imitatesPage } from "../core/unicode.js";
import { who } from "./text.js";

/** The mark for a name that imitates the page. */
export function mark(id: string): TemplateResult | typeof nothing {
  return imitates(id) ? html`<span class="chip wait" title="This name looks like one of the page's own words">a participant</span>` : nothing;
}

/** A name in a heading or a sentence, marked if it imitates the page. */
export function author(id: string): TemplateResult {
  return html`<b>${who(id)}</b> ${mark(id)}`;
}

/** The same as plain text. */
export function authorText(id: string): string {
  return imitates(id) ? `${who(id)} (a participant)` : who(id);
}

/** The same, with the user as "you". */
export function personText(id: string, you: string): string {
  return id === you ? "you" : authorText(id);
}

function imitates(id: string): boolean {
  return id !== GATEWAY && imitatesPage(id);
}
