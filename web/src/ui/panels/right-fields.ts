/** The form fields of a capability choice. */

import { type TemplateResult, html, nothing } from "lit";
import { type Choice, USUAL } from "./right-picker.js";

/** Renders the fields; `change` receives the new choice. */
export function rightFields(c: Choice, change: (c: Choice) => void): TemplateResult {
  const set = (e: Event, name: keyof Choice): void => change({ ...c, [name]: (e.target as HTMLInputElement).value });
  return html`<label class="field-label">Access
      <select @change=${(e: Event) => set(e, "usual")}>
        ${USUAL.map(([id, words]) => html`<option value=${id} .selected=${id === c.usual}>${words}</option>`)}
      </select>
    </label>
    ${c.usual !== "tool"
      ? nothing
      : html`${c.method !== "" && c.method !== "tools/call"
            ? html`<p class="quiet">The method <code>${c.method}</code>.</p>`
            : html`<label class="field-label">Tool name (* matches any characters)<input class="field" autocapitalize="off" spellcheck="false" maxlength="256" .value=${c.tool} @input=${(e: Event) => set(e, "tool")} /></label>`}
          <label class="field-label">Tool host (empty: any)<input class="field" autocapitalize="off" spellcheck="false" maxlength="128" .value=${c.owner} @input=${(e: Event) => set(e, "owner")} /></label>`}
    ${c.usual !== "own"
      ? nothing
      : html`<label class="field-label">Kind, or capability as JSON<textarea rows="3" autocapitalize="off" spellcheck="false" maxlength="8000" placeholder="reasoning/*" .value=${c.own} @input=${(e: Event) => set(e, "own")}></textarea></label>`}`;
}
