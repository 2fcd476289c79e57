/** The form that invites a participant. The token is shown until the user closes it and is stored nowhere. */

import { type TemplateResult, css, html, nothing } from "lit";
import { Api } from "../../core/api.js";
import { invite } from "../../core/panel-drafts.js";
import { newID } from "@sdk/ids.js";
import { capabilities } from "../../core/capabilities.js";
import type { Capability } from "@sdk/types.js";
import { define } from "../element.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { who } from "../text.js";
import { copy, parts, refused, worded } from "./parts.js";
import { rightFields } from "./right-fields.js";
import { type Choice, NO_CHOICE, DURATIONS, capabilitiesOf } from "./right-picker.js";

export class InviteForm extends PanelElement {
  static override properties = { ...PanelElement.properties, choice: { state: true }, seconds: { state: true }, busy: { state: true }, error: { state: true }, invitation: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      form {
        display: grid;
        gap: var(--space-3);
      }
      .token {
        font-family: var(--mono);
        overflow-wrap: anywhere;
        user-select: all;
      }
    `,
  ];

  declare private choice: Choice;
  declare private seconds: number;
  declare private busy: boolean;
  declare private error: string;
  declare private invitation: { readonly name: string; readonly token: string } | null;
  private readonly api = new Api();

  constructor() {
    super();
    this.choice = NO_CHOICE;
    this.seconds = 86_400;
    this.busy = false;
    this.error = "";
    this.invitation = null;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.invitation = null;
  }

  protected override render(): TemplateResult {
    if (this.invitation !== null) return this.result(this.invitation);
    const rights = capabilitiesOf(this.choice);
    return html`<form @submit=${(e: Event) => void this.submit(e, rights)}>
      <label class="field-label">Name<input class="field" name="name" autocomplete="off" autocapitalize="off" spellcheck="false" required pattern="[A-Za-z0-9._:\\-]{1,128}" title="Letters, digits, . _ : -" maxlength="128" /></label>
      ${rightFields(this.choice, (c) => (this.choice = c))}
      <label class="field-label">Duration
        <select @change=${(e: Event) => (this.seconds = Number((e.target as HTMLSelectElement).value))}>
          ${DURATIONS.map(([n, words]) => html`<option value=${n} .selected=${n === this.seconds}>${words}</option>`)}
        </select>
      </label>
      ${typeof rights === "string" ? nothing : html`<div class="sentences" aria-label="Summary">${capabilities(rights).map((x) => html`<p>${worded(x)}</p>`)}</div>`} ${refused(this.error)}
      <div class="row"><button class="button main" type="submit" ?disabled=${this.busy}>${this.busy ? "Inviting…" : "Invite"}</button></div>
    </form>`;
  }

  private result(g: { readonly name: string; readonly token: string }): TemplateResult {
    return html`<div class="card stack" role="group" aria-label=${g.token === "" ? "Invited again" : "The invitation's token"}>
      ${g.token === "" ? html`<p>${who(g.name)} can rejoin with its existing sign-in. There is no new token.</p>` : html`<p>${who(g.name)} signs in with this token. It is shown only once.</p><pre class="token" tabindex="0">${g.token}</pre>`}
      <div class="row">
        ${g.token === "" ? nothing : html`<button class="button main take" @click=${() => void copy(this.shell, g.token, "Token copied")}>Copy token</button>`}
        <button class="button" @click=${() => (this.invitation = null)}>Done</button>
      </div>
    </div>`;
  }

  /** Uses HTTP and not the outbox, because the response carries the token. */
  private async submit(e: Event, rights: readonly Capability[] | string): Promise<void> {
    e.preventDefault();
    const name = String(new FormData(e.target as HTMLFormElement).get("name") ?? "").trim();
    this.error = typeof rights === "string" ? rights : "";
    if (typeof rights === "string") return;
    this.busy = true;
    try {
      const sent = await this.api.send(this.shell.space, newID(), invite(name, rights, this.seconds, ""));
      this.invitation = { name, token: sent.token ?? "" };
      void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(".take")?.focus());
    } catch (err) {
      this.error = err instanceof Error ? err.message : String(err);
    } finally {
      this.busy = false;
    }
  }
}

define("meup-invite-form", InviteForm);
