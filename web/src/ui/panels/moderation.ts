/** Pausing and removing participants. */

import { type TemplateResult, css, html, nothing } from "lit";
import { kick, pause, resume } from "../../core/panel-drafts.js";
import type { Participant } from "../../core/state.js";
import { type Draft, GATEWAY, type ParticipantID } from "@sdk/types.js";
import { define } from "../element.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { who } from "../text.js";
import { monogram, parts, refused } from "./parts.js";

export class Moderation extends PanelElement {
  static override properties = { ...PanelElement.properties, asking: { state: true }, busy: { state: true }, error: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      li {
        padding: var(--space-2) 0;
        border-bottom: 1px solid var(--line);
      }
      .confirm {
        display: grid;
        gap: var(--space-2);
        margin-top: var(--space-2);
        padding: var(--space-3);
        border-radius: var(--round-m);
        background: var(--bad-soft);
      }
    `,
  ];

  /** The participant whose removal awaits confirmation. */
  declare private asking: ParticipantID;
  declare private busy: boolean;
  declare private error: string;

  protected override render(): TemplateResult {
    const others = [...this.state.participants.values()].filter((p) => p.id !== GATEWAY && p.id !== this.shell.you).sort((a, b) => Number(b.present) - Number(a.present) || a.id.localeCompare(b.id));
    if (others.length === 0) return html`<p class="quiet">No other participants</p>`;
    return html`${this.asking ? nothing : refused(this.error ?? "")}
      <ul>${others.slice(0, 200).map((p) => html`<li>${this.one(p)}</li>`)}</ul>`;
  }

  private one(p: Participant): TemplateResult {
    const { shell } = this;
    return html`<div class="row">
        ${monogram(p.id, p.agent)}
        <span class="grow"><span class="name">${who(p.id)}</span> ${p.kicked ? html`<span class="chip bad">removed</span>` : p.paused ? html`<span class="chip wait">paused</span>` : p.present ? nothing : html`<span class="faint">offline</span>`}</span>
        ${p.kicked || p.paused || !shell.may("participant.pause") ? nothing : html`<button class="button small" ?disabled=${this.busy} aria-label=${`Pause ${who(p.id)}`} @click=${() => void this.send(pause([p.id]))}>Pause</button>`}
        ${p.paused && shell.may("participant.resume") ? html`<button class="button small" ?disabled=${this.busy} aria-label=${`Resume ${who(p.id)}`} @click=${() => void this.send(resume([p.id]))}>Resume</button>` : nothing}
        ${p.kicked || !shell.may("space.kick") || this.asking === p.id ? nothing : html`<button class="button small bad" aria-label=${`Remove ${who(p.id)}`} @click=${() => this.ask(p.id)}>Remove…</button>`}
      </div>
      ${this.asking === p.id ? this.confirm(p) : nothing}`;
  }

  private confirm(p: Participant): TemplateResult {
    return html`<form class="confirm" @submit=${(e: Event) => void this.removeParticipant(e, p.id)} @keydown=${this.key}>
      <p class="small">All connections of ${who(p.id)} are closed, and its tokens stop working until it is invited again.</p>
      <label class="field-label">Reason (visible to everyone)<input class="field" name="reason" maxlength="500" /></label>
      ${refused(this.error ?? "")}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>Remove ${who(p.id)}</button>
        <button class="button" type="button" @click=${() => this.ask("")}>Cancel</button>
      </div>
    </form>`;
  }

  private ask(id: ParticipantID): void {
    this.asking = id;
    this.error = "";
    if (id !== "") void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(".confirm input")?.focus());
  }

  private async removeParticipant(e: Event, id: ParticipantID): Promise<void> {
    e.preventDefault();
    const reason = String(new FormData(e.target as HTMLFormElement).get("reason") ?? "").trim();
    if (await this.send(kick(id, reason))) this.ask("");
  }

  private async send(draft: Draft): Promise<boolean> {
    this.busy = true;
    this.error = "";
    const sent = await this.shell.send(draft);
    this.busy = false;
    if (!sent.ok) this.error = sent.refusal;
    return sent.ok;
  }

  private readonly key = (e: KeyboardEvent): void => {
    if (e.key !== "Escape") return;
    e.preventDefault();
    this.ask("");
  };
}

define("meup-moderation", Moderation);
