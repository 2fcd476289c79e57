/** A proposal: the proposer, the call with its arguments and rationale, and the actions on it. */

import { LitElement, type PropertyValues, type TemplateResult, html, nothing } from "lit";
import { guard } from "lit/directives/guard.js";
import { look } from "@sdk/json.js";
import { SPACE } from "../../core/budgets.js";
import { revoke, withdraw } from "../../core/panel-drafts.js";
import type { Proposal, SpaceState } from "../../core/state.js";
import type { Draft } from "@sdk/types.js";
import { lookalikes, suspicious } from "../../core/unicode.js";
import { waitOf } from "../../core/deciders.js";
import { define } from "../element.js";
import type { Shell } from "../panel.js";
import { judged } from "../proposal-row.js";
import { Ticking } from "../ticker.js";
import { shared } from "../styles.js";
import { mark, authorText } from "../author.js";
import { brief, plain, pretty, who } from "../text.js";
import { clock, longText } from "../format.js";
import { exact, goButton, monogram, parts, envelopeButton, refused, when } from "./parts.js";
import type { Approval } from "./approve-form.js";
import "./approve-form.js";
import { type ArgsView, proposedArgs, sendsArgumentsOnly } from "./proposal-args.js";
import { Deciding } from "./deciding.js";
import { DecisionGuard } from "./decision-guard.js";
import { cardStyles, differenceStyles } from "./proposal-style.js";
import { renderOutcome } from "./proposal-outcome.js";
import "./reject-form.js";
import { Standing } from "./standing.js";
import "./time-left.js";

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
    whole: { state: true },
    raw: { state: true },
    clipped: { state: true },
    editing: { state: true },
  };
  static override styles = [shared, parts, differenceStyles, cardStyles];

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
  /** The user asked for all of long arguments. */
  declare private whole: boolean;
  /** The arguments are shown as JSON. */
  declare private raw: boolean;
  /** The arguments are higher than their box. */
  declare private clipped: boolean;
  /** The arguments are in the editor. */
  declare private editing: boolean;
  private readonly deciding = new Deciding(this);
  private readonly standing = new Standing(this);
  /** When the user may decide; Infinity: now, or never. */
  private waitsUntil = Infinity;
  private readonly guard = new DecisionGuard(this);
  private args: ArgsView = { view: html``, cut: 0 };
  private measured: Element | null = null;
  private readonly sizes = new ResizeObserver(() => requestAnimationFrame(() => this.measureArgs()));

  constructor() {
    super();
    new Ticking(this, () => {
      if (this.shell.now() >= this.waitsUntil) this.requestUpdate();
    });
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (["proposal", "whole", "raw"].some((x) => changed.has(x))) this.args = proposedArgs(this.proposal, this.whole === true, this.raw === true);
    if (!changed.has("held")) return;
    this.style.minHeight = this.held === true && this.hasUpdated ? `${this.getBoundingClientRect().height}px` : "";
    if (this.held) this.error = "";
  }

  protected override updated(): void {
    this.guard.watch(this.proposal.status === "pending" && !this.past ? this.content(this.proposal) : "");
    const args = this.renderRoot.querySelector(".args > div");
    if (args === this.measured) return;
    if (this.measured !== null) this.sizes.unobserve(this.measured);
    if (args !== null) this.sizes.observe(args);
    this.measured = args;
  }

  private measureArgs(): void {
    const box = this.renderRoot.querySelector(".args");
    this.clipped = box !== null && box.scrollHeight > box.clientHeight + 1;
  }

  /** What the user decides on: another text is another decision. */
  private content(p: Proposal): string {
    return look([p.id, p.from, p.method, p.params ?? null, p.owner, p.rationale]);
  }

  protected override render(): TemplateResult {
    const p = this.proposal;
    const pending = p.status === "pending";
    const host = p.owner === "" ? nothing : html` on <span class="name">${exact(p.owner)}</span>`;
    return html`<article class="card" data-status=${p.status} aria-label=${`${authorText(p.from)} proposes ${who(p.tool)}`}>
      <header>
        ${this.inline ? nothing : monogram(p.from, true)}
        <p class="grow"><span class="name">${who(p.from)}</span> ${mark(p.from)} ${pending ? "wants" : "wanted"} to call <code class="tool">${exact(p.tool)}</code>${host}${p.rationale === "" ? "." : ", because:"}</p>
      </header>
      ${p.rationale === "" ? nothing : html`<p class="why">${longText(p.rationale, (s) => brief(s, plain))}</p>`} ${this.warnings(p)} ${this.argsBox(p)}
      ${p.to.length === 0 ? nothing : html`<p class="faint">Sent only to ${p.to.map((x) => (x === this.shell.you ? "you" : authorText(x))).join(", ")}.</p>`}
      ${pending ? this.decision(p) : html`${renderOutcome(p, this.shell.you)}${judged(this.shell, this.state, p)}`} ${refused(this.error ?? "")}
      ${this.inline ? nothing : html`<footer class="row">${goButton(this.shell, p.id)}<span class="grow"></span>${envelopeButton(this.shell, p.id)}</footer>`}
    </article>`;
  }

  /** The arguments, unless they are in the editor, and when the call was proposed or how long it waits. */
  private argsBox(p: Proposal): TemplateResult {
    const { view, cut } = this.args;
    const pending = p.status === "pending";
    const end = html`<span class="grow"></span>${pending && p.expiresAt !== null ? html`<meup-time-left class="faint" .at=${p.expiresAt} .now=${() => this.shell.now()}></meup-time-left>` : when(p.at)} ${this.inline ? envelopeButton(this.shell, p.id) : nothing}`;
    if (pending && this.editing === true && sendsArgumentsOnly(p)) return html`<div class="row under">${end}</div>`;
    const whole = this.whole === true;
    const more = cut > 0 ? `Show all ${cut.toLocaleString()} characters` : this.clipped === true && !whole ? "Show all" : "";
    return html`<div class="args" role="group" aria-label="Arguments" tabindex="0" ?data-whole=${whole} ?data-clipped=${more !== ""}><div>${guard([view], () => view)}</div></div>
      <div class="row under">
        ${more === "" ? nothing : html`<button class="words small" @click=${() => (this.whole = true)}>${more}</button>`}
        <button class="words small" name="raw" aria-label=${this.raw === true ? "Show as fields" : "Show as JSON"} @click=${() => (this.raw = !this.raw)}>${this.raw === true ? "Fields" : "JSON"}</button>
        ${end}
      </div>`;
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
    const gone = present || p.from === this.shell.you ? nothing : html`<p class="faint">${authorText(p.from)} is offline and may not see the decision.</p>`;
    const { because, extendable } = this.standing;
    const budgets = extendable === null ? html`<button class="words small" @click=${() => this.shell.open("policy", { part: "budgets" })}>Show budgets</button>` : html`<button class="words small" @click=${() => this.shell.open("policy", { part: "budgets", extend: extendable || SPACE })}>Extend…</button>`;
    return html`${because === "" ? nothing : html`<p class="warning">${plain(because)}; continue? ${budgets}</p>`}${gone}${p.from === this.shell.you ? this.own(p) : this.others(p)}`;
  }

  private own(p: Proposal): TemplateResult {
    if (!this.shell.may("mcp.withdraw")) return html`<p class="quiet">You proposed this. Others decide.</p>`;
    return html`<div class="row"><button class="button" ?disabled=${this.busy} @click=${() => void this.send(withdraw(p))}>Withdraw</button> <span class="quiet">You proposed this.</span></div>`;
  }

  private others(p: Proposal): TemplateResult {
    const { shell } = this;
    const not = this.notYet(p);
    if (not !== "") return html`<p class="quiet">${not}</p>`;
    const decide = shell.may("decide");
    const call = decide || shell.may("mcp.request");
    const no = decide || shell.may("mcp.reject");
    if (!call && !no) return html`<p class="quiet">You cannot decide this: you may neither call tools nor reject proposals.</p>`;
    if (!call) return html`<div class="row"><button class="button bad" ?disabled=${this.busy} @click=${this.startRejecting}>Reject…</button></div><p class="faint">You can reject this. Approving it requires the right to call tools.</p>`;
    return html`<meup-approve-form .shell=${shell} .proposal=${p} .state=${this.state} .busy=${this.busy === true} .mayReject=${no} .allowed=${this.standing.because !== ""} @approval=${(e: CustomEvent<Approval>) => void this.approve(e.detail)} @reject=${this.startRejecting} @editing=${(e: CustomEvent<boolean>) => (this.editing = e.detail)}></meup-approve-form>`;
  }

  /** Says who decides in place of the user, or from when on the user does; "" if the user may decide now. */
  private notYet(p: Proposal): string {
    const { roles } = this.deciding;
    this.waitsUntil = Infinity;
    if (roles === null) return "";
    const wait = waitOf(roles, this.shell.you);
    if (wait === null) return `Only ${list(roles.people.map(([name]) => who(name)))} can decide this.`;
    if (this.shell.now() >= p.at + wait) return "";
    this.waitsUntil = p.at + wait;
    const first = roles.people.filter(([, after]) => after < wait);
    return `You can decide this from ${clock(this.waitsUntil)} on, if nobody has by then. ${first.length === 0 ? "" : `Until then ${list(first.map(([name]) => who(name)))} can.`}`;
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
    this.editing = false;
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

  /**
   * Sends the grant that goes with an approval, then the approval: an agent that goes on at once has
   * the grant by then. If the approval is refused, the grant is revoked.
   */
  private async approve({ request, grant }: Approval): Promise<void> {
    if (!this.guarded()) return;
    if (grant === null) {
      await this.deliver(request);
      return;
    }
    this.busy = true;
    const { from } = this.proposal;
    const granted = await this.shell.send(grant);
    const approved = await this.deliver(request);
    if (approved) this.shell.toast(granted.ok ? `Approved, and access granted to ${who(from)}` : `Approved once. No access for ${who(from)}: ${granted.refusal}`);
    if (approved || !granted.ok) return;
    const revoked = await this.shell.send(revoke(from, granted.id, "the approval was refused"));
    if (!revoked.ok) this.error += ` ${who(from)} keeps the access that was granted: ${revoked.refusal}`;
  }

  private async send(draft: Draft): Promise<void> {
    if (this.guarded()) await this.deliver(draft);
  }

  /** Reports whether the user has seen what is decided. */
  private guarded(): boolean {
    this.error = this.guard.refusal(this.content(this.proposal));
    return this.error === "";
  }

  private async deliver(draft: Draft): Promise<boolean> {
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

/** "alice", "alice or bob", "alice, bob or carol". */
function list(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? "nobody") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

define("meup-proposal-card", ProposalCard);
