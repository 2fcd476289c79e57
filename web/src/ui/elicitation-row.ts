/** A question of a tool server to the user, in the conversation. The card's module is loaded with the first one. */

import { type TemplateResult, html } from "lit";
import type { Elicitation } from "../core/state.js";
import { author } from "./author.js";
import { PageElement, define } from "./element.js";
import type { SpaceShell } from "./shell.js";

let loaded = false;

export class ElicitationRow extends PageElement {
  static override properties = { shell: { attribute: false }, elicitation: { attribute: false }, past: { attribute: false } };

  declare shell: SpaceShell;
  declare elicitation: Elicitation;
  declare past: boolean;

  protected override render(): TemplateResult {
    if (loaded) return html`<meup-elicitation-card .shell=${this.shell} .elicitation=${this.elicitation} .past=${this.past} @answered=${this.answered}></meup-elicitation-card>`;
    void this.load();
    return html`<p>${author(this.elicitation.from)} asks you a question.</p>`;
  }

  private async load(): Promise<void> {
    try {
      await import("./panels/elicitation-card.js");
      loaded = true;
      this.requestUpdate();
    } catch {
      this.shell.toast("The question could not be loaded. Reload the page.");
    }
  }

  /** The card will disappear: keyboard focus moves to the conversation. */
  private readonly answered = (): void => {
    this.closest<HTMLElement>(".talk")?.focus({ preventScroll: true });
  };
}

define("meup-elicitation", ElicitationRow);
