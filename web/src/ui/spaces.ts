/** The list of spaces, for users with several. */

import { type TemplateResult, html, nothing } from "lit";
import { format } from "../core/links.js";
import type { Session } from "@sdk/types.js";
import { icon } from "./icons.js";
import { PageElement, define } from "./element.js";
import { plain, who } from "./text.js";

export class Spaces extends PageElement {
  static override properties = { session: { attribute: false } };

  declare session: Session;

  protected override render(): TemplateResult {
    const { spaces, globs = [] } = this.session;
    return html`<main class="door">
      <div class="door-card">
        <p class="door-mark" aria-hidden="true">meup</p>
        <h1>${spaces.length === 0 && globs.length === 0 ? "No spaces" : "Your spaces"}</h1>
        ${spaces.length === 0 && globs.length === 0 ? html`<p class="door-words">Your token gives access to no space of this gateway.</p>` : nothing}
        <ul class="space-list">
          ${spaces.map(
            (s) => html`<li>
              <a href=${format({ type: "space", space: s.name })}><span><b>${who(s.name)}</b><br /><span class="faint">as ${who(s.participant)}</span></span>${icon("chevron")}</a>
            </li>`,
          )}
        </ul>
        ${globs.length === 0 ? nothing : this.another(globs)}
        <button class="words" @click=${() => this.dispatchEvent(new CustomEvent("sign-out", { bubbles: true }))}>Sign out</button>
      </div>
    </main>`;
  }

  /** A form for spaces that match a pattern and may not exist yet. */
  private another(globs: readonly string[]): TemplateResult {
    return html`<form class="space-other" @submit=${this.enter}>
      <label for="space">Another space, named like ${plain(globs.join(", "))}</label>
      <div><input class="field" id="space" name="space" required pattern="[A-Za-z0-9._:\\-]{1,128}" autocomplete="off" /><button class="button" type="submit">Open</button></div>
    </form>`;
  }

  private readonly enter = (e: Event): void => {
    e.preventDefault();
    const space = new FormData(e.currentTarget as HTMLFormElement).get("space");
    if (typeof space === "string" && space !== "") location.hash = format({ type: "space", space });
  };
}

define("meup-spaces", Spaces);
