/** The form that grants a capability for a time. */

import { type PropertyValues, type TemplateResult, css, html, nothing } from "lit";
import { grant } from "../../core/panel-drafts.js";
import { capabilities } from "../../core/capabilities.js";
import type { Capability, ParticipantID } from "@sdk/types.js";
import { GATEWAY } from "@sdk/types.js";
import { define } from "../element.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { who } from "../text.js";
import { parts, refused, worded } from "./parts.js";
import { type Choice, NO_CHOICE, DURATIONS, capabilitiesOf } from "./right-picker.js";
import { rightFields } from "./right-fields.js";

export class GrantForm extends PanelElement {
  static override properties = { ...PanelElement.properties, recipient: { state: true }, choice: { state: true }, seconds: { state: true }, busy: { state: true }, error: { state: true } };
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

  declare private recipient: ParticipantID;
  declare private choice: Choice;
  declare private seconds: number;
  declare private busy: boolean;
  declare private error: string;

  constructor() {
    super();
    this.recipient = "";
    this.choice = NO_CHOICE;
    this.seconds = 600;
    this.busy = false;
    this.error = "";
  }

  /** Opened for a proposal: selects the capability for exactly that call. */
  protected override willUpdate(changed: PropertyValues): void {
    const { recipient, tool, owner, method } = this.params ?? {};
    if (!changed.has("params") || recipient === undefined || recipient === "") return;
    this.recipient = recipient;
    this.choice = { ...NO_CHOICE, usual: "tool", tool: tool ?? "", owner: owner ?? "", method: method ?? "" };
    this.seconds = 600;
    void this.updateComplete.then(() => this.scrollIntoView({ block: "nearest" }));
  }

  protected override render(): TemplateResult {
    const others = [...this.state.participants.values()].filter((p) => p.id !== GATEWAY && p.id !== this.shell.you && !p.kicked).sort((a, b) => Number(b.present) - Number(a.present) || a.id.localeCompare(b.id));
    const rights = capabilitiesOf(this.choice);
    return html`<form @submit=${(e: Event) => void this.submit(e, rights)}>
      <label class="field-label">Participant
        <select @change=${(e: Event) => (this.recipient = (e.target as HTMLSelectElement).value)}>
          <option value="" .selected=${this.recipient === ""}>Choose…</option>
          ${others.map((p) => html`<option value=${p.id} .selected=${p.id === this.recipient}>${who(p.id)}${p.present ? "" : " (offline)"}</option>`)}
        </select>
      </label>
      ${rightFields(this.choice, (c) => (this.choice = c))}
      <label class="field-label">Duration
        <select @change=${(e: Event) => (this.seconds = Number((e.target as HTMLSelectElement).value))}>
          ${DURATIONS.map(([n, words]) => html`<option value=${n} .selected=${n === this.seconds}>${words}</option>`)}
        </select>
      </label>
      <label class="field-label">Reason (visible to everyone)<input class="field" name="reason" maxlength="500" /></label>
      ${typeof rights === "string" ? nothing : html`<div class="sentences" aria-label="Summary">${capabilities(rights).map((x) => html`<p>${worded(x)}</p>`)}</div>`} ${refused(this.error)}
      <div class="row"><button class="button main" type="submit" ?disabled=${this.busy}>${this.busy ? "Granting…" : "Grant access"}</button></div>
    </form>`;
  }

  private async submit(e: Event, rights: readonly Capability[] | string): Promise<void> {
    e.preventDefault();
    const form = e.target as HTMLFormElement;
    this.error = this.recipient === "" ? "Choose a participant." : typeof rights === "string" ? rights : "";
    if (this.error !== "" || typeof rights === "string") return;
    this.busy = true;
    const sent = await this.shell.send(grant(this.recipient, rights, this.seconds, String(new FormData(form).get("reason") ?? "").trim()));
    this.busy = false;
    if (!sent.ok) {
      this.error = sent.refusal;
      return;
    }
    this.shell.toast(`Access granted to ${who(this.recipient)}`);
    this.recipient = "";
    this.choice = NO_CHOICE;
    for (const field of form.querySelectorAll("input")) field.value = "";
  }
}

define("meup-grant-form", GrantForm);
