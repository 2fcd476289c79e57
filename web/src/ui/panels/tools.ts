/** The tools that participants offer, from the tool lists seen in this space. */

import { type TemplateResult, css, html, nothing } from "lit";
import { askTools } from "../../core/panel-drafts.js";
import { newID } from "@sdk/ids.js";
import { wordsOf } from "../../core/filter.js";
import type { Participant, Tool } from "../../core/state.js";
import type { ParticipantID } from "@sdk/types.js";
import { define } from "../element.js";
import { allows } from "@sdk/capabilities.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { pretty, who } from "../text.js";
import { longText } from "../format.js";
import { amount, exact, monogram, parts, refused } from "./parts.js";

/** Maximum number of tools shown per participant. */
const MAX = 200;

export class Tools extends PanelElement {
  static override properties = { ...PanelElement.properties, text: { state: true }, requested: { state: true }, error: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      .owner {
        margin: var(--space-5) 0 var(--space-2);
      }
      .tools > li {
        display: grid;
        gap: var(--space-1);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .tools > li:last-child {
        border-bottom: 0;
      }
      .tools code {
        font-weight: 600;
      }
      .ask {
        display: flex;
        align-items: center;
        gap: var(--space-2);
        padding: var(--space-2) 0;
      }
    `,
  ];

  declare private text: string;
  /** Participants with an unanswered request. */
  declare private requested: ReadonlySet<ParticipantID>;
  declare private error: string;

  constructor() {
    super();
    this.text = "";
    this.requested = new Set();
    this.error = "";
  }

  protected override render(): TemplateResult {
    const only = this.params?.["id"];
    const all = [...this.state.participants.values()].filter((p) => only === undefined || p.id === only);
    const offer = all.filter((p) => p.tools.length > 0).sort((a, b) => Number(b.present) - Number(a.present) || a.id.localeCompare(b.id));
    const silent = all.filter((p) => p.present && p.tools.length === 0 && p.id !== this.shell.you && allows(p.capabilities, "mcp.response"));
    return html`
      ${only === undefined ? nothing : html`<p class="row quiet">Only tools of ${who(only)}. <button class="words" @click=${() => this.shell.open("tools")}>Show all</button></p>`}
      ${offer.length === 0
        ? html`<p class="empty">No tools yet</p>`
        : html`<label class="unseen" for="find">Find a tool</label>
            <input id="find" class="field" type="search" placeholder="Find a tool" .value=${this.text} @input=${(e: Event) => (this.text = (e.target as HTMLInputElement).value)} />`}
      ${offer.map((p) => this.owner(p))} ${this.others(silent)} ${refused(this.error)}
    `;
  }

  private owner(p: Participant): TemplateResult | typeof nothing {
    const words = wordsOf(this.text);
    const found = p.tools.filter((t) => words.every((w) => `${t.name} ${t.title} ${t.description}`.toLowerCase().includes(w)));
    if (found.length === 0) return nothing;
    return html`<section aria-label=${who(p.id)}>
      <div class="row owner">${monogram(p.id, p.agent)}<span class="name grow">${who(p.id)}</span><span class="faint">${amount(found.length, "tool")}${p.present ? "" : ", offline"}</span></div>
      <ul class="tools">${found.slice(0, MAX).map((t) => this.tool(t))}</ul>
      ${found.length > MAX ? html`<p class="faint">More tools match. Refine the filter.</p>` : nothing}
    </section>`;
  }

  private tool(t: Tool): TemplateResult {
    return html`<li>
      <div class="row">
        <code>${exact(t.name)}</code>
        ${t.readOnly === true ? html`<span class="chip">read-only</span>` : nothing} ${t.destructive === true ? html`<span class="chip bad">destructive</span>` : nothing}
      </div>
      ${t.title === "" || t.title === t.name ? nothing : html`<p class="small">${longText(t.title)}</p>`} ${t.description === "" ? nothing : html`<p class="quiet">${longText(t.description)}</p>`}
      ${t.inputSchema === undefined ? nothing : html`<details><summary>Arguments</summary><pre tabindex="0">${exact(pretty(t.inputSchema).slice(0, 50_000))}</pre></details>`}
    </li>`;
  }

  /** Participants whose tools are unknown. */
  private others(silent: readonly Participant[]): TemplateResult | typeof nothing {
    if (silent.length === 0 || this.shell.past) return nothing;
    if (!this.shell.may("mcp.request")) return html`<p class="quiet section">You cannot request tool lists.</p>`;
    return html`<h3 class="section">Not listed yet</h3>
      <ul>
        ${silent.map(
          (p) => html`<li class="ask">
            ${monogram(p.id, p.agent)}<span class="grow">${who(p.id)}</span>
            ${this.requested.has(p.id) ? html`<span class="faint" role="status">Requested. No response yet.</span>` : html`<button class="button small" aria-label=${`Request tools of ${who(p.id)}`} @click=${() => void this.ask(p.id)}>Request</button>`}
          </li>`,
        )}
      </ul>`;
  }

  private async ask(id: ParticipantID): Promise<void> {
    this.error = "";
    const sent = await this.shell.send(askTools(id, newID()));
    if (sent.ok) this.requested = new Set([...this.requested, id]);
    else this.error = sent.refusal;
  }
}

define("meup-tools", Tools);
