/** A proposal: the proposer, the call with its arguments and rationale, and the actions on it. */

import { LitElement, type PropertyValues, type TemplateResult, html, nothing } from "lit";
import { look } from "@sdk/json.js";
import { withdraw } from "../../core/drafts.js";
import type { Proposal, SpaceState } from "../../core/state.js";
import type { Draft } from "@sdk/types.js";
import { lookalikes, suspicious } from "../../core/unicode.js";
import { define } from "../element.js";
import type { Shell } from "../panel.js";
import { shared } from "../styles.js";
import { mark, authorText } from "../author.js";
import { brief, plain, pretty, who } from "../text.js";
import { longText, shortMoment } from "../format.js";
import { exact, goButton, monogram, parts, envelopeButton, refused, when } from "./parts.js";
import type { Approval } from "./approve-form.js";
import "./approve-form.js";
import { proposedArgs } from "./proposal-args.js";
import { DecisionGuard } from "./decision-guard.js";
import { cardStyles } from "./proposal-style.js";
import { renderOutcome } from "./proposal-outcome.js";
import "./reject-form.js";

export class ProposalCard extends LitElement {
  static override properties = {
    shell: { attribute: false },
    proposal: { attribute: false },
    state: { attribute: false },
    past: { attribute: false },
    chosen: { type: Boolean, reflect: true },
    inline: { type: Boolean },
    held: { type: Boolean, reflect: true },
    rejecting: { state: true },
    busy: { state: true },
    error: { state: true },
    all: { state: true },
  };
  static override styles = [shared, parts, cardStyles];

  declare shell: Shell;
  declare proposal: Proposal;
  declare state: SpaceState;
  /** A past state is shown: decisions are disabled. */
  declare past: boolean;
  declare chosen: boolean;
  /** Rendered in the conversation, where it happened. */
  declare inline: boolean;
  /** Settled, and kept in its place while the user is near. */
  declare held: boolean;
  declare private rejecting: boolean;
  declare private busy: boolean;
  declare private error: string;
  declare private all: boolean;
  private readonly guard = new DecisionGuard(this);

  protected override willUpdate(changed: PropertyValues): void {
    if (!changed.has("held")) return;
    this.style.minHeight = this.held === true && this.hasUpdated ? `${this.getBoundingClientRect().height}px` : "";
    if (this.held) this.error = "";
  }

  protected override updated(): void {
    this.guard.watch(this.proposal.status === "pending" && !this.past ? this.content(this.proposal) : "");
  }

  /** What the user decides on: another text is another decision. */
  private content(p: Proposal): string {
    return look([p.id, p.from, p.method, p.params ?? null, p.owner, p.rationale]);
  }

  protected override render(): TemplateResult {
    const p = this.proposal;
    return html`<article class="card" data-status=${p.status} aria-label=${`${authorText(p.from)} proposes ${who(p.tool)}`}>
      <header class="row">
        ${monogram(p.from, true)}
        <div class="grow"><span class="name">${who(p.from)}</span> ${mark(p.from)} <span class="quiet">${p.status === "pending" ? "wants" : "wanted"} to call</span></div>
        ${when(p.at)} ${this.inline ? envelopeButton(this.shell, p.id) : nothing}
      </header>
      <p class="call"><code>${exact(p.tool)}</code>${p.owner === "" ? nothing : html` <span class="quiet">of</span> <span class="name">${exact(p.owner)}</span>`}</p>
      ${p.rationale === "" ? nothing : html`<p class="why">${longText(p.rationale, (s) => brief(s, plain))}</p>`} ${this.warnings(p)} ${proposedArgs(p, this.all === true, () => (this.all = true))}
      ${p.to.length === 0 ? nothing : html`<p class="faint">Sent only to ${p.to.map((x) => (x === this.shell.you ? "you" : authorText(x))).join(", ")}.</p>`}
      ${p.status === "pending" ? nothing : renderOutcome(p)} ${p.status === "pending" ? this.decision(p) : nothing} ${refused(this.error ?? "")}
      ${this.inline ? nothing : html`<footer class="row">${goButton(this.shell, p.id)}<span class="grow"></span>${envelopeButton(this.shell, p.id)}</footer>`}
    </article>`;
  }

  /** Warnings about calls that imitate another one. */
  private warnings(p: Proposal): TemplateResult | typeof nothing {
    const lines: string[] = [];
    if (suspicious(p.tool + p.owner + pretty(p.params ?? null))) lines.push("This call contains invisible characters. They are shown as codes.");
    const tools = [...this.state.participants.values()].flatMap((x) => x.tools.map((t) => t.name));
    const [twin] = tools.includes(p.tool) ? [] : lookalikes(p.tool, tools);
    if (twin !== undefined) lines.push(`The tool's name looks like ${who(twin)}, but is different.`);
    const [owner] = p.owner === "" || this.state.participants.has(p.owner) ? [] : lookalikes(p.owner, this.state.participants.keys());
    if (owner !== undefined) lines.push(`The owner's name looks like ${who(owner)}, but is different.`);
    return lines.length === 0 ? nothing : html`${lines.map((x) => html`<p class="warning">${x}</p>`)}`;
  }

  private decision(p: Proposal): TemplateResult {
    if (this.past) return html`<p class="faint">You are viewing the past. Proposals cannot be decided here.</p>`;
    if (this.rejecting === true) {
      return html`<meup-reject-form .busy=${this.busy === true} @cancel=${this.stopRejecting} .shell=${this.shell} .proposal=${p} @draft=${(e: CustomEvent<Draft>) => void this.send(e.detail)}></meup-reject-form>`;
    }
    const { present = false } = this.state.participants.get(p.from) ?? {};
    const end = p.expiresAt === null ? nothing : html`<p class="faint">Expires ${shortMoment(p.expiresAt, this.shell.now())}.</p>`;
    const gone = present || p.from === this.shell.you ? nothing : html`<p class="faint">${authorText(p.from)} is offline and may not see the decision.</p>`;
    return html`${end}${gone}${p.from === this.shell.you ? this.own(p) : this.others(p)}`;
  }

  private own(p: Proposal): TemplateResult {
    if (!this.shell.may("mcp.withdraw")) return html`<p class="quiet">You proposed this. Others decide.</p>`;
    return html`<div class="row"><button class="button" ?disabled=${this.busy} @click=${() => void this.send(withdraw(p))}>Withdraw</button> <span class="quiet">You proposed this.</span></div>`;
  }

  private others(p: Proposal): TemplateResult {
    const { shell } = this;
    const decide = shell.may("decide");
    const call = decide || shell.may("mcp.request");
    const no = decide || shell.may("mcp.reject");
    if (!call && !no) return html`<p class="quiet">You cannot decide this: you may neither call tools nor reject proposals.</p>`;
    if (!call) return html`<div class="row"><button class="button bad" ?disabled=${this.busy} @click=${this.startRejecting}>Reject…</button></div><p class="faint">You can reject this. Approving it requires the right to call tools.</p>`;
    return html`<meup-approve-form .shell=${shell} .proposal=${p} .state=${this.state} .busy=${this.busy === true} .mayReject=${no} @approval=${(e: CustomEvent<Approval>) => void this.approve(e.detail)} @reject=${this.startRejecting}></meup-approve-form>`;
  }

  /**
   * Presses the button of a key: approve, reject or edit. Returns false if there is none.
   * The card moves if the button was not visible, so that the decision is refused.
   */
  press(key: string): boolean {
    const selector = { a: ".button.main", r: ".button.bad", e: "button[name=edit]" }[key];
    const form = this.renderRoot.querySelector<LitElement>("meup-approve-form")?.renderRoot ?? this.renderRoot;
    const button = selector === undefined ? null : form.querySelector<HTMLButtonElement>(selector);
    button?.scrollIntoView({ block: "nearest" });
    button?.click();
    return button !== null;
  }

  private readonly startRejecting = (): void => {
    this.rejecting = true;
  };

  private readonly stopRejecting = (): void => {
    this.rejecting = false;
    void this.updateComplete.then(async () => {
      const form = this.renderRoot.querySelector<LitElement>("meup-approve-form");
      await form?.updateComplete;
      (form?.renderRoot ?? this.renderRoot).querySelector<HTMLElement>(".button.bad")?.focus();
    });
  };

  /** Sends the approval, then the grant that goes with it. */
  private async approve({ request, grant }: Approval): Promise<void> {
    if (!(await this.send(request)) || grant === null) return;
    const granted = await this.shell.send(grant);
    const whom = who(this.proposal.from);
    this.shell.toast(granted.ok ? `Approved, and access granted to ${whom}` : `Approved once. No access for ${whom}: ${granted.refusal}`);
  }

  private async send(draft: Draft): Promise<boolean> {
    this.error = this.guard.refusal(this.content(this.proposal));
    if (this.error !== "") return false;
    this.busy = true;
    const sent = await this.shell.send(draft);
    this.busy = false;
    if (!sent.ok) {
      this.error = sent.refusal;
      return false;
    }
    this.rejecting = false;
    this.dispatchEvent(new CustomEvent("decided", { bubbles: true, composed: true }));
    return true;
  }
}

define("meup-proposal-card", ProposalCard);
