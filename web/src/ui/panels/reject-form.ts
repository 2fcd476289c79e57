/** The form that rejects a proposal, with a reason. */

import { LitElement, type TemplateResult, css, html, nothing } from "lit";
import { REJECT_REASONS, reject } from "../../core/panel-drafts.js";
import type { Proposal } from "../../core/state.js";
import { define } from "../element.js";
import type { Shell } from "../panel.js";
import { shared } from "../styles.js";
import { who } from "../text.js";
import { parts, showWhole } from "./parts.js";

/** Labels of the protocol's reasons. */
const WORDS: Readonly<Record<(typeof REJECT_REASONS)[number], string>> = {
  disagree: "Disagree",
  unsafe: "Unsafe",
  inappropriate: "Inappropriate",
  policy: "Against policy",
  duplicate: "Already done",
  invalid: "Invalid",
  no_longer_needed: "No longer needed",
  busy: "Not now",
  other: "Other",
};

/** Emits `draft` with the envelope, or `cancel`. */
export class RejectForm extends LitElement {
  static override properties = { shell: { attribute: false }, proposal: { attribute: false }, busy: { attribute: false }, messageMissing: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `,
  ];

  declare shell: Shell;
  declare proposal: Proposal;
  declare busy: boolean;
  /** "Other" was submitted without a message. */
  declare private messageMissing: boolean;

  protected override render(): TemplateResult {
    return html`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Reason
        <select name="reason">
          ${REJECT_REASONS.map((r) => html`<option value=${r}>${WORDS[r]}</option>`)}
        </select>
      </label>
      <label class="field-label">Message to ${who(this.proposal.from)}, instead of the reason
        <textarea name="words" rows="2" maxlength="2000" aria-invalid=${this.messageMissing === true ? "true" : "false"} @input=${() => (this.messageMissing = false)}></textarea>
      </label>
      ${this.messageMissing === true ? html`<p class="refused" role="alert">Enter a message.</p>` : nothing}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>${this.busy ? "Sending…" : "Reject"}</button>
        <button class="button" type="button" @click=${this.cancel}>Cancel</button>
      </div>
    </form>`;
  }

  protected override firstUpdated(): void {
    this.renderRoot.querySelector("textarea")?.focus();
    showWhole(this);
  }

  private readonly submit = (e: Event): void => {
    e.preventDefault();
    const data = new FormData(e.target as HTMLFormElement);
    const reason = String(data.get("reason") ?? "");
    const words = String(data.get("words") ?? "").trim();
    this.messageMissing = reason === "other" && words === "";
    if (!this.messageMissing) this.dispatchEvent(new CustomEvent("draft", { detail: reject(this.proposal, reason, words) }));
  };

  private readonly key = (e: KeyboardEvent): void => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) (e.currentTarget as HTMLFormElement).requestSubmit();
    else if (e.key === "Escape") this.cancel();
    else return;
    e.preventDefault();
  };

  private readonly cancel = (): void => {
    this.dispatchEvent(new CustomEvent("cancel"));
  };
}

define("meup-reject-form", RejectForm);
