/** The grants of a space, each below the grant that it derives from, and their revocation. */

import { type TemplateResult, css, html, nothing } from "lit";
import { revoke } from "../../core/panel-drafts.js";
import { inForce } from "../../core/reduce/rights.js";
import { capabilities } from "../../core/capabilities.js";
import type { Grant } from "../../core/state.js";
import { duration } from "../../core/time.js";
import type { ID } from "@sdk/types.js";
import { define } from "../element.js";
import { PanelElement } from "../panel.js";
import { Ticking } from "../ticker.js";
import { shared } from "../styles.js";
import { authorText } from "../author.js";
import { who } from "../text.js";
import { longText } from "../format.js";
import { OlderState } from "./older-state.js";
import { amount, parts, envelopeButton, refused, when, worded } from "./parts.js";

/** Maximum number of ended grants shown. */
const MAX_PAST = 50;

export class Grants extends PanelElement {
  static override properties = { ...PanelElement.properties, asking: { state: true }, busy: { state: true }, error: { state: true }, second: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      ul ul {
        margin-left: var(--space-2);
        padding-left: var(--space-3);
        border-left: 2px solid var(--line);
      }
      .grant {
        display: grid;
        gap: var(--space-1);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .confirm {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-3);
        border-radius: var(--round-m);
        background: var(--bad-soft);
      }
    `,
  ];

  /** The grant whose revocation awaits confirmation. */
  declare private asking: ID;
  declare private busy: boolean;
  declare private error: string;
  /** The second last rendered: remaining times and expired grants need a new render. */
  declare private second: number;
  private olderState: OlderState | null = null;

  constructor() {
    super();
    new Ticking(this, () => {
      if ([...this.grants.values()].some((g) => g.expiresAt !== null && g.revoked === null)) this.second = Math.floor(this.shell.now() / 1000);
    });
  }

  protected override render(): TemplateResult {
    const now = this.shell.now();
    const all = [...this.grants.values()];
    const held = all.filter((g) => inForce(g, now));
    const ended = all.filter((g) => !inForce(g, now)).reverse();
    const heldIds = new Set(held.map((g) => g.id));
    const roots = held.filter((g) => !g.via.some((id) => heldIds.has(id)));
    return html`
      ${this.olderState === null || this.olderState.done ? nothing : this.olderState.error === "" ? html`<p class="faint">Loading older grants…</p>` : refused(`Older grants could not be loaded. ${this.olderState.error}`)}
      ${held.length === 0 ? html`<p class="quiet">No active grants. Configured capabilities are listed under Participants.</p>` : html`<ul>${roots.map((g) => this.branch(g, heldIds, new Set()))}</ul>`}
      ${ended.length === 0 ? nothing : html`<details class="section"><summary>${amount(ended.length, "grant")} no longer in force</summary><ul>${ended.slice(0, MAX_PAST).map((g) => html`<li>${this.past(g)}</li>`)}</ul></details>`}
    `;
  }

  /** The loaded grants, together with older ones once those are loaded. */
  private get grants(): ReadonlyMap<ID, Grant> {
    if (!this.state.hasOlder || this.shell.past) return this.state.grants;
    this.olderState ??= new OlderState(this.shell.space, ["capability.grant", "capability.revoke"]);
    if (this.state.oldest > 0 && this.olderState.error === "") void this.olderState.load(this.state.oldest, () => this.requestUpdate());
    return this.olderState.with(this.shell.envelopes)?.grants ?? this.state.grants;
  }

  /** A grant, and the grants whose first source in force is this one. */
  private branch(g: Grant, held: ReadonlySet<ID>, above: ReadonlySet<ID>): TemplateResult {
    const within = new Set([...above, g.id]);
    const below = g.derived.flatMap((id) => this.grants.get(id) ?? []).filter((x) => held.has(x.id) && !within.has(x.id) && x.via.find((id) => held.has(id)) === g.id);
    return html`<li>${this.grant(g)}${below.length === 0 ? nothing : html`<ul>${below.map((x) => this.branch(x, held, within))}</ul>`}</li>`;
  }

  private grant(g: Grant): TemplateResult {
    const may = this.shell.may("capability.revoke") && !this.shell.past;
    const now = this.shell.now();
    return html`<div class="grant">
      ${this.head(g)}
      <div class="row">
        <span class="chip ${g.expiresAt === null ? "" : "wait"}">${g.expiresAt === null ? "until revoked" : `ends in ${duration(Math.ceil((g.expiresAt - now) / 1000))}`}</span>
        ${g.via.length > 1 ? html`<span class="faint">from ${g.via.length} grants</span>` : nothing} ${g.narrowed ? html`<span class="chip">narrowed</span>` : nothing}
        <span class="grow"></span>
        ${may && this.asking !== g.id ? html`<button class="button small bad" aria-label=${`Revoke the grant to ${who(g.recipient)}`} @click=${() => this.ask(g.id)}>Revoke…</button>` : nothing}
        ${envelopeButton(this.shell, g.id)}
      </div>
      ${this.asking === g.id ? this.confirm(g) : nothing}
    </div>`;
  }

  private head(g: Grant): TemplateResult {
    const by = g.by === this.shell.you ? "you" : authorText(g.by);
    return html`<p><span class="name">${g.recipient === this.shell.you ? "You" : authorText(g.recipient)}</span> <span class="quiet">by ${by}</span> ${when(g.at)}</p>
      <div class="sentences">${capabilities(g.capabilities).map((x) => html`<p>${worded(x)}</p>`)}</div>
      ${g.reason === "" ? nothing : html`<p class="faint">${longText(g.reason)}</p>`}`;
  }

  private past(g: Grant): TemplateResult {
    const how = g.revoked === null ? html`expired ${when(g.expiresAt ?? 0)}` : html`revoked by ${authorText(g.revoked.by)} ${when(g.revoked.at)}${g.revoked.reason === "" ? nothing : html`: ${longText(g.revoked.reason)}`}`;
    return html`<div class="grant">${this.head(g)}<p class="row faint"><span class="grow">${how}</span>${envelopeButton(this.shell, g.id)}</p></div>`;
  }

  private confirm(g: Grant): TemplateResult {
    const n = this.dependants(g.id, new Set());
    return html`<div class="confirm" role="group" aria-label="Revoke" @keydown=${this.key}>
      <p class="small">${who(g.recipient)} loses this access immediately.${n === 0 ? "" : ` ${amount(n, "grant")} that came from it may end with it.`}</p>
      ${refused(this.error ?? "")}
      <div class="row">
        <button class="button bad yes" ?disabled=${this.busy} @click=${() => void this.sendRevocation(g)}>Revoke</button>
        <button class="button" @click=${() => this.ask("")}>Cancel</button>
      </div>
    </div>`;
  }

  private dependants(id: ID, seen: Set<ID>): number {
    for (const next of this.grants.get(id)?.derived ?? []) {
      const g = this.grants.get(next);
      if (g === undefined || seen.has(next) || !inForce(g, this.shell.now())) continue;
      seen.add(next);
      this.dependants(next, seen);
    }
    return seen.size;
  }

  private ask(id: ID): void {
    this.asking = id;
    this.error = "";
    if (id !== "") void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(".yes")?.focus());
  }

  private async sendRevocation(g: Grant): Promise<void> {
    this.busy = true;
    const sent = await this.shell.send(revoke(g.recipient, g.id, ""));
    this.busy = false;
    if (sent.ok) this.ask("");
    else this.error = sent.refusal;
  }

  private readonly key = (e: KeyboardEvent): void => {
    if (e.key !== "Escape") return;
    e.preventDefault();
    this.ask("");
  };
}

define("meup-grants", Grants);
