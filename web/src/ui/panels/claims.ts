/** What participants say that they work on, and the release of own claims. */

import { type TemplateResult, css, html, nothing } from "lit";
import { type Claim, readClaims } from "../../core/claims.js";
import { release } from "../../core/panel-drafts.js";
import { duration } from "../../core/time.js";
import type { ID } from "@sdk/types.js";
import { authorText } from "../author.js";
import { define } from "../element.js";
import { longText, moment, shortMoment } from "../format.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { Ticking } from "../ticker.js";
import { Arrivals } from "./arrivals.js";
import { Loaded } from "./loaded.js";
import { envelopeButton, exact, monogram, parts, refused } from "./parts.js";

/** The number of claims shown initially and added by each step. */
const PAGE = 50;

export class Claims extends PanelElement {
  static override properties = { ...PanelElement.properties, second: { state: true }, most: { state: true }, busy: { state: true }, refusal: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      .claim {
        display: grid;
        gap: var(--space-1);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .items {
        display: grid;
        gap: 0.1rem;
      }
    `,
  ];

  /** The second last rendered: claims end. */
  declare private second: number;
  declare private most: number;
  /** The claim that is being released. */
  declare private busy: ID;
  declare private refusal: string;
  private readonly report = new Loaded(this, readClaims);

  constructor() {
    super();
    this.most = PAGE;
    this.busy = "";
    this.refusal = "";
    new Arrivals(this, () => this.load(), ["claim", "release", "space.kick"]);
    new Ticking(this, () => {
      if ((this.report.value?.length ?? 0) > 0) this.second = Math.floor(this.shell.now() / 1000);
    });
  }

  private load(): void {
    void this.report.load(() => this.shell.get("claims"));
  }

  protected override render(): TemplateResult {
    const { value, error } = this.report;
    if (value === null) return html`${refused(error)}${error === "" ? html`<p class="empty" role="status">Loading…</p>` : nothing}`;
    const now = this.shell.now();
    const held = value.filter((c) => c.expiresAt > now);
    return html`${refused(error || this.refusal)}
      ${held.length === 0
        ? html`<div class="empty"><p>No claims</p><p class="quiet">Participants claim files that they work on, so that nobody else changes them.</p></div>`
        : html`<ul aria-label="Claims">${held.slice(0, this.most).map((c) => html`<li class="claim">${this.one(c, now)}</li>`)}</ul>
            ${held.length > this.most ? html`<p class="section"><button class="words" @click=${() => (this.most += PAGE)}>Show more</button></p>` : nothing}
            <p class="faint section">Only who claimed something can release it. A claim ends by itself, also five minutes after its holder has left.</p>`}`;
  }

  private one(c: Claim, now: number): TemplateResult {
    const own = c.by === this.shell.you;
    const end = `until ${shortMoment(c.expiresAt, now)}`;
    return html`<p class="row">${monogram(c.by, this.state.participants.get(c.by)?.agent === true)}<span class="name grow">${own ? "You" : authorText(c.by)}</span><time title=${moment(c.expiresAt)}>${end}, ${duration(Math.ceil((c.expiresAt - now) / 1000))} left</time>${envelopeButton(this.shell, c.id)}</p>
      <ul class="items">${c.paths.map((x) => html`<li><code>${exact(x)}</code></li>`)}${c.names.map((x) => html`<li>“${exact(x)}”</li>`)}</ul>
      ${c.reason === "" ? nothing : html`<p class="quiet">${longText(c.reason)}</p>`}
      ${own && this.shell.may("release") && !this.shell.past ? html`<p><button class="button small" aria-label=${`Release ${[...c.paths, ...c.names].join(", ")}`} ?disabled=${this.busy === c.id} @click=${() => void this.release(c.id)}>Release</button></p>` : nothing}`;
  }

  private async release(id: ID): Promise<void> {
    this.busy = id;
    this.refusal = "";
    const sent = await this.shell.send(release(id));
    this.busy = "";
    if (!sent.ok) this.refusal = sent.refusal;
  }
}

define("meup-claims", Claims);
