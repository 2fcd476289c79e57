/** The rest of a long text, rendered on request. */

import { type TemplateResult, html } from "lit";
import { PageElement, define } from "./element.js";

export class ShowMore extends PageElement {
  static override properties = { text: { attribute: false }, draw: { attribute: false }, open: { state: true } };

  declare text: string;
  declare draw: (s: string) => unknown;
  declare private open: boolean;

  protected override render(): TemplateResult | unknown {
    if (this.open) return this.draw(this.text);
    return html`<button class="words" @click=${() => (this.open = true)}>Show more (${this.text.length.toLocaleString()} characters)</button>`;
  }
}

define("meup-rest", ShowMore);
