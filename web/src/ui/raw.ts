/** The button that shows an envelope, and the note about redacted text. */

import { type TemplateResult, html, nothing } from "lit";
import type { SpaceDesk } from "./desk.js";
import { longText } from "./words.js";

/** A button that shows an envelope. */
export function raw(desk: SpaceDesk, id: string): TemplateResult {
  return html`<button class="raw-link" title="Show envelope" aria-label="Show envelope" @click=${() => desk.open("envelope", { id })}>{ }</button>`;
}

/** A note that text was redacted. */
export function redaction(rules: readonly string[]): TemplateResult | typeof nothing {
  if (rules.length === 0) return nothing;
  return html`<p class="faint masked">Masked before it was kept: ${longText(rules.join(", "))}</p>`;
}
