/** What was granted or revoked, below its notice in the conversation. */

import { LitElement, type TemplateResult, css, html, nothing } from "lit";
import { oneLine } from "@sdk/read.js";
import { capabilities } from "../../core/capabilities.js";
import type { Capability } from "@sdk/types.js";
import { define } from "../element.js";
import { shared } from "../styles.js";
import { worded } from "./parts.js";

/** Maximum number of capabilities shown, and of characters of each. */
const MAX = 3;
const MAX_WORDS = 200;

export class Rights extends LitElement {
  static override properties = { rights: { attribute: false }, ended: { attribute: false } };
  static override styles = [
    shared,
    css`
      :host {
        display: block;
        color: var(--quiet);
        font-size: var(--text-s);
        overflow-wrap: anywhere;
      }
    `,
  ];

  declare rights: readonly Capability[];
  /** They were revoked. */
  declare ended: boolean;

  protected override render(): TemplateResult {
    const all = capabilities(this.rights).map((x) => oneLine(this.ended ? x.replace(/^M/u, "Until now: m") : x, MAX_WORDS));
    return html`${all.slice(0, MAX).map((x) => html`<p>${worded(x)}</p>`)}${all.length > MAX ? html`<p>And ${(all.length - MAX).toLocaleString()} more.</p>` : nothing}`;
  }
}

define("meup-rights", Rights);
