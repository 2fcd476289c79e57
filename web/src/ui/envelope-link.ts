/** The button that shows an envelope, and the note about redacted text. */

import { type TemplateResult, html, nothing } from "lit";
import type { SpaceShell } from "./shell.js";
import { longText } from "./format.js";

/** A button that shows an envelope. */
export function envelopeLink(shell: SpaceShell, id: string): TemplateResult {
  return html`<button class="raw-link" title="Show envelope" aria-label="Show envelope" @click=${() => shell.open("envelope", { id })}>{ }</button>`;
}

/** A note that text was redacted. */
export function redactionNote(rules: readonly string[]): TemplateResult | typeof nothing {
  if (rules.length === 0) return nothing;
  return html`<p class="faint masked">Redacted before storage: ${longText(rules.join(", "))}</p>`;
}
