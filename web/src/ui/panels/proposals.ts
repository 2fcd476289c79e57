/**
 * Pending proposals, and the outcomes of decided ones. What is decided while the user
 * is near keeps its place among the pending ones until then.
 */

import { type TemplateResult, css, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { Proposal } from "../../core/state.js";
import type { ID } from "@sdk/types.js";
import { define } from "../element.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { OlderState } from "./older-state.js";
import { parts } from "./parts.js";
import { Nearness } from "./nearness.js";
import "./proposal-card.js";

/** The number of decided proposals shown initially and added by each step. */
const PAGE = 20;

export class Proposals extends PanelElement {
  static override properties = { ...PanelElement.properties, most: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      meup-proposal-card + meup-proposal-card {
        margin-top: var(--space-3);
      }
    `,
  ];

  declare private most: number;
  private shownFor: unknown = null;
  private requested: ID = "";
  private olderState: OlderState | null = null;
  private readonly nearness = new Nearness(this, "meup-proposal-card");
  /** The proposals in the upper list. */
  private upper: ReadonlySet<ID> = new Set();

  constructor() {
    super();
    this.most = PAGE;
  }

  protected override render(): TemplateResult {
    const { proposals, pending } = this.state;
    const waiting = [...this.older(), ...pending.flatMap((id) => proposals.get(id) ?? [])];
    const upper = this.nearness.near ? this.withKept(waiting) : waiting;
    this.upper = new Set(upper.map((p) => p.id));
    const decided = [...proposals.values()].filter((p) => p.status !== "pending" && !this.upper.has(p.id)).sort((a, b) => (b.decidedAt ?? b.at) - (a.decidedAt ?? a.at));
    if (proposals.size + waiting.length === 0) return this.none();
    return html`
      <h3 class="section waiting" tabindex="-1" aria-live="polite">${waiting.length === 0 ? "No proposals awaiting approval" : `${waiting.length.toLocaleString()} awaiting approval`}</h3>
      ${this.cards(upper, true)} ${decided.length === 0 ? nothing : html`<h3 class="section">Decided</h3>`} ${this.cards(decided.slice(0, this.shownCount(decided)))}
      ${decided.length > this.shownCount(decided) ? html`<p class="section"><button class="words" @click=${() => (this.most += PAGE)}>Show more</button></p>` : nothing}
    `;
  }

  /** Adds the proposals of the upper list that were decided meanwhile, in their places. */
  private withKept(waiting: readonly Proposal[]): readonly Proposal[] {
    const pending = new Set(waiting.map((p) => p.id));
    const kept = [...this.upper].flatMap((id) => (pending.has(id) ? [] : (this.state.proposals.get(id) ?? [])));
    return [...waiting, ...kept].sort((a, b) => a.seq - b.seq);
  }

  /** Pending proposals that are older than the loaded history. */
  private older(): readonly Proposal[] {
    if (!this.state.hasOlder || this.shell.past) return [];
    this.olderState ??= new OlderState(this.shell.space, ["mcp.proposal", "mcp.request", "mcp.reject", "mcp.withdraw", "reasoning.conclusion", "reasoning.cancel"]);
    if (this.state.oldest > 0 && this.olderState.error === "") void this.olderState.load(this.state.oldest, () => this.requestUpdate());
    const known = this.olderState.with(this.shell.envelopes);
    const { proposals, settled } = this.state;
    return known === null ? [] : known.pending.flatMap((id) => (proposals.has(id) || settled.has(id) ? [] : (known.proposals.get(id) ?? [])));
  }

  private none(): TemplateResult {
    return html`<div class="empty">
      <p>No proposals yet</p>
      <p class="quiet">Agents propose the calls that they are not allowed to make. Participants with the right to make them approve or reject.</p>
    </div>`;
  }

  private cards(list: readonly Proposal[], upper = false): unknown {
    return repeat(
      list,
      (p) => p.id,
      (p) => html`<meup-proposal-card data-id=${p.id} .held=${upper && p.status !== "pending"} .shell=${this.shell} .proposal=${p} .state=${this.state} .past=${this.shell.past} .chosen=${this.chosen === p.id} @decided=${this.decided}></meup-proposal-card>`,
    );
  }

  /** The decided card will move to another list: keyboard focus moves to the heading. */
  private readonly decided = (): void => {
    this.renderRoot.querySelector<HTMLElement>(".waiting")?.focus({ preventScroll: true });
  };

  /** Loads the history back to a proposal that a link names, once. */
  private async load(id: ID): Promise<void> {
    if (this.requested === id) return;
    this.requested = id;
    if (!(await this.shell.load(id))) this.shell.toast("The proposal is not in the available history");
  }

  private get chosen(): ID {
    return this.params?.["id"] ?? "";
  }

  /** A proposal that was opened by id is shown at any age. */
  private shownCount(decided: readonly Proposal[]): number {
    return Math.max(this.most, decided.findIndex((p) => p.id === this.chosen) + 1);
  }

  protected override updated(): void {
    if (this.shownFor === this.params || this.chosen === "") return;
    const card = this.renderRoot.querySelector(`[data-id="${CSS.escape(this.chosen)}"]`);
    if (card === null) {
      if (this.state.head > 0) void this.load(this.chosen);
      return;
    }
    this.shownFor = this.params;
    card.scrollIntoView({ block: "nearest" });
  }
}

define("meup-proposals", Proposals);
