/**
 * A proposal in the conversation. A pending one is a card on which it is decided;
 * the card's module is loaded with the first one. A decided one is a short text;
 * a card that is decided while the user is near keeps its place until then.
 */

import { type TemplateResult, html, nothing } from "lit";
import { shownResult } from "../core/outcome.js";
import type { Proposal, SpaceState } from "../core/state.js";
import type { ID } from "@sdk/types.js";
import { author, personText } from "./author.js";
import { PageElement, define } from "./element.js";
import { envelopeLink } from "./envelope-link.js";
import { argsLine, clock } from "./format.js";
import { icon } from "./icons.js";
import type { Shell } from "./panel.js";
import { thought } from "./prose.js";
import { Nearness } from "./panels/nearness.js";
import type { SpaceShell } from "./shell.js";
import { plain, who } from "./text.js";

let loaded = false;

const STATUS = { pending: "awaiting approval", approved: "approved", rejected: "rejected", withdrawn: "withdrawn", expired: "expired", settled: "decided" } as const;

export class ProposalRow extends PageElement {
  static override properties = { shell: { attribute: false }, proposal: { attribute: false }, state: { attribute: false }, past: { attribute: false }, failed: { state: true } };

  declare shell: SpaceShell;
  declare proposal: Proposal;
  declare state: SpaceState;
  declare past: boolean;
  /** The card could not be loaded. */
  declare private failed: boolean;
  /** The proposal whose card is rendered. */
  private shown: ID = "";
  private readonly nearness = new Nearness(this, "meup-proposal");

  protected override render(): TemplateResult {
    const p = this.proposal;
    const held = p.status !== "pending" && this.shown === p.id && this.nearness.near;
    this.shown = "";
    if ((p.status !== "pending" && !held) || this.failed) return this.summary(p);
    if (!loaded) {
      void this.load();
      return this.summary(p);
    }
    this.shown = p.id;
    return html`<meup-proposal-card .inline=${true} .held=${held} .shell=${this.shell} .proposal=${p} .state=${this.state} .past=${this.past} @decided=${this.decided}></meup-proposal-card>`;
  }

  private summary(p: Proposal): TemplateResult {
    const open = p.status === "pending";
    return html`<div class="proposal" data-status=${p.status}>
      <span class="mark ${open ? "wait" : "quiet"}">${icon("decide")}</span>
      <div>
        <p>${author(p.from)} proposes <code>${who(p.tool)}</code>${p.owner === "" ? nothing : html` on ${author(p.owner)}`} <span class="chip ${open ? "wait" : ""}">${STATUS[p.status]}${p.decidedBy === "" ? "" : ` by ${personText(p.decidedBy, this.shell.you)}`}</span> <span class="time">${clock(p.at)}</span> ${envelopeLink(this.shell, p.id)}</p>
        ${p.rationale === "" ? nothing : html`<div class="step-text">${thought(p.rationale)}</div>`}
        <p class="call-args">${argsLine(p.args, 160)}</p>
        ${p.done && shownResult(p.result, p.summary) !== "" ? html`<p class="call-result ${p.failed ? "bad" : ""}">${plain(shownResult(p.result, p.summary))}</p>` : nothing}
        ${judged(this.shell, this.state, p)} ${open ? html`<button class="words" @click=${() => this.shell.open("proposals", { id: p.id })}>Review</button>` : nothing}
      </div>
    </div>`;
  }

  private async load(): Promise<void> {
    try {
      await import("./panels/proposal-card.js");
      loaded = true;
    } catch {
      this.failed = true; // the text with its button stays
    }
    this.requestUpdate();
  }

  /** The card of a settled proposal will disappear: keyboard focus moves to the conversation. */
  private readonly decided = (): void => {
    this.closest<HTMLElement>(".talk")?.focus({ preventScroll: true });
  };
}

define("meup-proposal", ProposalRow);

/** What reviewers had to do with a settled proposal; before that, people judge by themselves. Its module is loaded with the first one. */
export function judged(shell: Shell, s: SpaceState, p: Proposal | undefined): TemplateResult | typeof nothing {
  if (p === undefined || p.status === "pending" || (p.opinions.length === 0 && !p.lapsed && s.participants.get(p.decidedBy)?.reviewer !== true)) return nothing;
  import("./panels/judgment.js").catch(() => undefined); // without it, the decision is still shown
  return html`<meup-judgment .shell=${shell} .proposal=${p}></meup-judgment>`;
}

/** Scrolls to the card of a proposal in the conversation; opens the panel if it has none. */
export function review(shell: SpaceShell, id: ID): void {
  const row = document.querySelector<HTMLElement>(`.row.decide[data-id="${CSS.escape(id)}"]`);
  if (row === null) {
    shell.open("proposals", { id });
    return;
  }
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
}
