/** Two small things that stand beside what somebody has written. */

import { type TemplateResult, html, nothing } from "lit";
import type { SpaceDesk } from "./desk.js";
import { longText } from "./words.js";

/** The way to the envelope itself. */
export function raw(desk: SpaceDesk, id: string): TemplateResult {
  return html`<button class="raw-link" title="Show envelope" aria-label="Show envelope" @click=${() => desk.open("envelope", { id })}>{ }</button>`;
}

/** Says that something was masked. */
export function redaction(rules: readonly string[]): TemplateResult | typeof nothing {
  if (rules.length === 0) return nothing;
  return html`<p class="faint masked">Masked before it was kept: ${longText(rules.join(", "))}</p>`;
}
