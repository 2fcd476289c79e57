/** The reasoning that an author wrote into its message: collapsed above the text. */

import { type TemplateResult, html, nothing } from "lit";
import type { Marks } from "../core/marks.js";
import { told } from "../core/time.js";
import { PageElement, define } from "./element.js";
import { longText } from "./format.js";
import { icon } from "./icons.js";

/** Maximum number of steps that are shown; older ones are counted. */
const MAX_STEPS = 200;

export class MarksView extends PageElement {
  static override properties = { marks: { attribute: false }, open: { state: true } };

  declare marks: Marks;
  declare private open: boolean;

  protected override render(): TemplateResult {
    const { seconds, steps } = this.marks;
    const shown = steps.slice(-MAX_STEPS);
    const open = this.open === true;
    return html`<div class="reasoning" role="group" data-status="complete" data-open=${open} aria-label="Reasoning in the message">
      <div class="reasoning-head">
        <button class="reasoning-toggle" aria-expanded=${open ? "true" : "false"} @click=${() => (this.open = !open)}>
          <span class="chevron" aria-hidden="true">${icon("chevron")}</span>
          <span class="reasoning-title">Thought for ${told(seconds === null ? null : Math.max(1, Math.round(seconds)))}</span>
        </button>
      </div>
      <div class="reasoning-body" ?hidden=${!open}>
        ${open
          ? html`<ol class="steps">
              ${shown.length < steps.length ? html`<li class="step faint">${steps.length - shown.length} older steps are not shown.</li>` : nothing}
              ${shown.length === 0 ? html`<li class="step faint">No steps</li>` : shown.map((s) => html`<li class="step"><div class="step-text">${longText(s)}</div></li>`)}
            </ol>`
          : nothing}
      </div>
    </div>`;
  }
}

define("meup-marks", MarksView);
