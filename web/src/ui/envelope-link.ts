/** The button that shows an envelope, and the note about redacted text. */

import { type TemplateResult, html, nothing } from "lit";
import { oneLine } from "@sdk/read.js";
import type { ID } from "@sdk/types.js";
import { authorText } from "./author.js";
import { longText } from "./format.js";
import type { SpaceShell } from "./shell.js";
import { plain } from "./text.js";

/** A button that shows an envelope. With `tab` -1, only the arrow keys of its message reach it. */
export function envelopeLink(shell: SpaceShell, id: string, tab: 0 | -1 = 0): TemplateResult {
  return html`<button class="raw-link" tabindex=${tab === 0 ? nothing : tab} title="Show envelope" aria-label="Show envelope" @click=${() => shell.open("envelope", { id })}>{ }</button>`;
}

/** The envelopes that a step refers to; each is a button that shows it. */
export function referenceList(shell: SpaceShell, ids: readonly ID[]): TemplateResult | typeof nothing {
  if (ids.length === 0) return nothing;
  return html`<p class="step-label references">
    ${ids.length === 1 ? "Reference" : "References"}
    ${ids.map((id) => html`<button class="chip reference" aria-label=${`Show envelope ${oneLine(id, 128)}`} @click=${() => shell.open("envelope", { id })}>${plain(about(shell, id))}</button>`)}
  </p>`;
}

/** The author and the text of a loaded message; the id of any other envelope. */
function about(shell: SpaceShell, id: ID): string {
  const m = shell.shown.messages.get(id);
  return m === undefined ? oneLine(id, 40) : `${authorText(m.from)}: ${oneLine(m.text, 40)}`;
}

/** A note that text was redacted. */
export function redactionNote(rules: readonly string[]): TemplateResult | typeof nothing {
  if (rules.length === 0) return nothing;
  return html`<p class="faint masked">Redacted before storage: ${longText(rules.join(", "))}</p>`;
}
