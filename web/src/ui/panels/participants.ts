/** The participants, connected and disconnected, and their capabilities. */

import { type TemplateResult, css, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { capabilities, heldNow } from "../../core/capabilities.js";
import { inForce } from "../../core/reduce/rights.js";
import type { Participant } from "../../core/state.js";
import { imitatesPage, lookalikes } from "../../core/unicode.js";
import { GATEWAY } from "@sdk/types.js";
import { define } from "../element.js";
import { EVERYTHING, PanelElement } from "../panel.js";
import { Ticking } from "../ticker.js";
import { isFiltering } from "../view-filter.js";
import { shared } from "../styles.js";
import { plain, who } from "../text.js";
import { limitSentences } from "./limits.js";
import { amount, monogram, parts, when, worded } from "./parts.js";

/** Maximum number of offline participants shown initially. */
const MAX_OFFLINE = 50;
/** Maximum number of tools that are named. */
const MAX_TOOLS = 4;
/** More capabilities than this are collapsed. */
const FEW = 3;

export class Participants extends PanelElement {
  static override properties = { ...PanelElement.properties, showAll: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      li {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
      }
      li:last-child {
        border-bottom: 0;
      }
      li[aria-current="true"] {
        margin: 0 calc(-1 * var(--space-3));
        padding: var(--space-3);
        border-radius: var(--round-m);
        background: var(--accent-soft);
      }
      .away .monogram {
        border: 1px dashed var(--edge);
        background: none;
        color: var(--faint);
      }
      .about {
        display: grid;
        gap: var(--space-2);
        padding-left: 2.5rem;
      }
      .does {
        font-size: var(--text-s);
        overflow-wrap: anywhere;
      }
      .last {
        color: var(--faint);
        font-size: var(--text-xs);
        line-height: 1.4;
      }
      .words {
        overflow-wrap: anywhere;
      }
      .words[aria-pressed="true"] {
        padding: 0 var(--space-2);
        border-radius: var(--round-s);
        background: var(--accent-soft);
        color: var(--accent-strong);
      }
      .chips {
        display: flex;
        flex-wrap: wrap;
        gap: var(--space-1);
      }
    `,
  ];

  declare private showAll: boolean;
  private shownFor: unknown = null;

  constructor() {
    super();
    let ended = 0;
    new Ticking(this, () => {
      const grants = [...this.shell.state.grants.values()];
      const before = ended;
      ended = grants.filter((g) => !inForce(g, this.shell.now())).length;
      if (ended !== before) this.requestUpdate();
    });
  }

  protected override render(): TemplateResult {
    const all = [...this.shell.state.participants.values()].filter((p) => p.id !== GATEWAY);
    const here = all.filter((p) => p.present).sort((a, b) => Number(b.id === this.shell.you) - Number(a.id === this.shell.you) || a.id.localeCompare(b.id));
    const away = all.filter((p) => !p.present).sort((a, b) => (b.lastAt ?? 0) - (a.lastAt ?? 0));
    const chosen = away.findIndex((p) => p.id === this.params?.["id"]) + 1;
    const most = this.showAll === true ? away.length : Math.max(MAX_OFFLINE, chosen);
    return html`
      ${this.shell.past ? html`<p class="warning">Past presence is not recorded. This is the current presence.</p>` : nothing}
      <h3 class="section">${amount(here.length, "participant")} online</h3>
      <ul>${repeat(here, (p) => p.id, (p) => this.one(p))}</ul>
      ${away.length === 0 ? nothing : html`<h3 class="section">Offline</h3>`}
      <ul class="away">${repeat(away.slice(0, most), (p) => p.id, (p) => this.one(p))}</ul>
      ${away.length > most ? html`<button class="words" @click=${() => (this.showAll = true)}>Show all ${away.length.toLocaleString()}</button>` : nothing}
    `;
  }

  private one(p: Participant): TemplateResult {
    const own = p.id === this.shell.you;
    return html`<li data-id=${p.id} aria-current=${this.params?.["id"] === p.id ? "true" : nothing}>
      <div class="row">
        ${monogram(p.id, p.agent)}
        <div class="grow">
          <p class="name">${who(p.id)}${own && p.id !== "you" ? html` <span class="quiet">(you)</span>` : nothing}</p>
          ${p.lastAt === null || own ? nothing : html`<p class="last">last active ${when(p.lastAt)}</p>`}
        </div>
      </div>
      <div class="about">${this.chips(p)} ${this.activity(p)} ${this.rights(p)} ${own ? this.limits() : this.acts(p)}</div>
    </li>`;
  }

  private chips(p: Participant): TemplateResult | typeof nothing {
    const twins = lookalikes(p.id, this.shell.state.participants.keys());
    const chips = [
      p.agent ? html`<span class="chip accent">agent</span>` : nothing,
      p.paused ? html`<span class="chip wait">paused${p.pausedUntil === null ? "" : html`&nbsp;until ${when(p.pausedUntil)}`}</span>` : nothing,
      p.kicked ? html`<span class="chip bad">removed</span>` : nothing,
      p.status === "" ? nothing : html`<span class="chip">${plain(p.status.slice(0, 60))}</span>`,
      imitatesPage(p.id) && p.id !== this.shell.you ? html`<span class="chip wait">looks like a system name</span>` : nothing,
      twins.length > 0 ? html`<span class="chip wait">looks like ${who(twins[0] ?? "")}</span>` : nothing,
    ].filter((x) => x !== nothing);
    return chips.length === 0 ? nothing : html`<div class="chips">${chips}</div>`;
  }

  /** What a participant does, by its description, or as its tools and its reasoning show. */
  private activity(p: Participant): TemplateResult | typeof nothing {
    const shown = p.tools.slice(0, MAX_TOOLS).map((t, i) => html`${i === 0 ? "" : ", "}<code>${who(t.name)}</code>`);
    const more = p.tools.length > MAX_TOOLS ? ` and ${p.tools.length - MAX_TOOLS} more` : "";
    if (shown.length === 0 && !p.agent && p.description === "") return nothing;
    return html`<p class="does">${p.description !== "" ? plain(p.description) : p.agent ? "Reasons about questions and answers them." : nothing} ${shown.length === 0 ? nothing : html`Runs ${shown}${more}.`}</p>`;
  }

  private rights(p: Participant): TemplateResult {
    if (p.capabilities.length === 0 && !p.present) return html`<p class="faint">Capabilities are unknown while offline.</p>`;
    const lines = capabilities(heldNow(p, this.shell.state.grants.values(), this.shell.now()));
    const list = (of: readonly string[]): TemplateResult => html`<div class="sentences">${of.map((x) => html`<p>${worded(x)}</p>`)}</div>`;
    if (lines.length <= FEW) return list(lines);
    return html`<details ?open=${this.params?.["id"] === p.id}><summary>${lines.length} capabilities</summary>${list(lines)}</details>`;
  }

  private limits(): TemplateResult | typeof nothing {
    const lines = limitSentences(this.shell.state.you?.limits ?? {});
    if (lines.length === 0) return html`<p class="faint">You have no sending limits.</p>`;
    return html`<details><summary>Your limits</summary><div class="sentences">${lines.map((x) => html`<p>${x}</p>`)}</div></details>`;
  }

  private acts(p: Participant): TemplateResult {
    const { shell } = this;
    const only = shell.view.from.length === 1 && shell.view.from[0] === p.id;
    return html`<div class="row">
      ${p.present && shell.may("chat") && !shell.past ? html`<button class="words small" aria-label=${`Mention ${who(p.id)}`} @click=${() => shell.mention(p.id)}>Mention</button>` : nothing}
      ${p.envelopes === 0 && !only
        ? nothing
        : html`<button class="words small" aria-label=${`Filter messages of ${who(p.id)}`} aria-pressed=${only ? "true" : "false"} @click=${() => this.only(p.id, only)}>Filter messages</button>`}
      ${p.tools.length === 0 ? nothing : html`<button class="words small" @click=${() => shell.open("tools", { id: p.id })}>${amount(p.tools.length, "tool")}</button>`}
    </div>`;
  }

  private only(id: string, already: boolean): void {
    const { view } = this.shell;
    const next = { ...view, from: already ? [] : [id] };
    this.shell.setView(isFiltering(next) ? next : EVERYTHING);
    this.requestUpdate();
  }

  protected override updated(): void {
    const id = this.params?.["id"];
    if (this.shownFor === this.params || id === undefined) return;
    const line = this.renderRoot.querySelector(`li[data-id="${CSS.escape(id)}"]`);
    if (line === null) return;
    this.shownFor = this.params;
    line.scrollIntoView({ block: "nearest" });
  }
}

define("meup-participants", Participants);
