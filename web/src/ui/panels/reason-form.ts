/** A confirmation with a reason, and further fields, which sends an envelope. */

import { LitElement, type TemplateResult, css, html, nothing } from "lit";
import type { Draft } from "@sdk/types.js";
import { define } from "../element.js";
import type { Shell } from "../panel.js";
import { shared } from "../styles.js";
import { parts, refused, showWhole } from "./parts.js";

/** Emits `sent`, and `closed` after it was sent or canceled. */
export class ReasonForm extends LitElement {
  static override properties = { shell: { attribute: false }, draft: { attribute: false }, words: { attribute: false }, action: { attribute: false }, fields: { attribute: false }, bad: { attribute: false }, busy: { state: true }, error: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      form {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-3);
        border-radius: var(--round-m);
        background: var(--sunk);
      }
      form[data-bad] {
        background: var(--bad-soft);
      }
    `,
  ];

  declare shell: Shell;
  /** Makes the envelope with a reason, and the values of `fields`. */
  declare draft: (reason: string, data: FormData) => Draft;
  /** What it means. */
  declare words: string;
  /** The label of the button that sends. */
  declare action: string;
  declare bad: boolean;
  /** Fields before the reason. */
  declare fields: TemplateResult | undefined;
  declare private busy: boolean;
  declare private error: string;

  protected override render(): TemplateResult {
    return html`<form ?data-bad=${this.bad} @submit=${(e: Event) => void this.submit(e)} @keydown=${this.key}>
      <p class="small">${this.words}</p>
      ${this.fields ?? nothing}
      <label class="field-label">Reason (visible to everyone)<input class="field" name="reason" maxlength="500" /></label>
      ${refused(this.error ?? "")}
      <div class="row">
        <button class="button ${this.bad ? "bad" : "main"}" type="submit" ?disabled=${this.busy}>${this.busy === true ? "Sending…" : this.action}</button>
        <button class="button" type="button" @click=${this.close}>Cancel</button>
      </div>
    </form>`;
  }

  protected override firstUpdated(): void {
    this.renderRoot.querySelector("input")?.focus();
    showWhole(this);
  }

  private async submit(e: Event): Promise<void> {
    e.preventDefault();
    const data = new FormData(e.target as HTMLFormElement);
    const reason = String(data.get("reason") ?? "").trim();
    this.busy = true;
    this.error = "";
    const sent = await this.shell.send(this.draft(reason, data));
    this.busy = false;
    if (!sent.ok) {
      this.error = sent.refusal;
      return;
    }
    this.dispatchEvent(new CustomEvent("sent"));
    this.close();
  }

  private readonly key = (e: KeyboardEvent): void => {
    if (e.key !== "Escape") return;
    e.preventDefault();
    this.close();
  };

  private readonly close = (): void => {
    this.dispatchEvent(new CustomEvent("closed"));
  };
}

define("meup-reason-form", ReasonForm);
