/** A proposal: the proposer, the call with its arguments and rationale, and the actions on it. */

import { LitElement, type TemplateResult, html, nothing } from "lit";
import { approve, withdraw } from "../../core/drafts.js";
import { newID } from "../../core/ids.js";
import { candidates } from "../../core/proposal.js";
import type { Proposal, SpaceState } from "../../core/state.js";
import type { Draft, ParticipantID } from "../../core/types.js";
import { lookalikes, suspicious } from "../../core/unicode.js";
import { define } from "../element.js";
import type { Shell } from "../panel.js";
import { shared } from "../styles.js";
import { mark, authorText } from "../author.js";
import { brief, plain, pretty, who } from "../text.js";
import { longText } from "../format.js";
import { exact, goButton, monogram, parts, envelopeButton, refused, when } from "./parts.js";
import { cardStyles } from "./proposal-style.js";
import { renderOutcome } from "./proposal-outcome.js";
import "./reject-form.js";

/** Maximum characters of arguments rendered before the user asks for all. */
const MAX = 20_000;

export class ProposalCard extends LitElement {
  static override properties = {
    shell: { attribute: false },
    proposal: { attribute: false },
    state: { attribute: false },
    past: { attribute: false },
    chosen: { type: Boolean, reflect: true },
    rejecting: { state: true },
    busy: { state: true },
    error: { state: true },
    host: { state: true },
    all: { state: true },
  };
  static override styles = [shared, parts, cardStyles];

  declare shell: Shell;
  declare proposal: Proposal;
  declare state: SpaceState;
  /** A past state is shown: decisions are disabled. */
  declare past: boolean;
  declare chosen: boolean;
  declare private rejecting: boolean;
  declare private busy: boolean;
  declare private error: string;
  declare private all: boolean;
  /** The participant chosen to run the tool, if the proposal names none. */
  declare private host: string;

  protected override render(): TemplateResult {
    const p = this.proposal;
    return html`<article class="card" data-status=${p.status} aria-label=${`${authorText(p.from)} proposes ${who(p.tool)}`}>
      <header class="row">
        ${monogram(p.from, true)}
        <div class="grow"><span class="name">${who(p.from)}</span> ${mark(p.from)} <span class="quiet">wants to call</span></div>
        ${when(p.at)}
      </header>
      <p class="call"><code>${exact(p.tool)}</code>${p.owner === "" ? nothing : html` <span class="quiet">of</span> <span class="name">${exact(p.owner)}</span>`}</p>
      ${p.rationale === "" ? nothing : html`<p class="why">${longText(p.rationale, (s) => brief(s, plain))}</p>`} ${this.warnings(p)} ${this.args(p)}
      ${p.to.length === 0 ? nothing : html`<p class="faint">Sent only to ${p.to.map((x) => (x === this.shell.you ? "you" : authorText(x))).join(", ")}.</p>`}
      ${p.status === "pending" ? nothing : renderOutcome(p)} ${p.status === "pending" ? this.decision(p) : nothing} ${refused(this.error ?? "")}
      <footer class="row">${goButton(this.shell, p.id)}<span class="grow"></span>${envelopeButton(this.shell, p.id)}</footer>
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

  private args(p: Proposal): TemplateResult {
    const text = pretty(p.args ?? {});
    const cut = text.length > MAX && this.all !== true;
    const title = p.method === "tools/call" ? "Arguments" : html`Parameters of <code>${exact(p.method)}</code>`;
    return html`<div>
      <h3>${title}</h3>
      <pre tabindex="0" aria-label="Arguments">${exact(cut ? text.slice(0, MAX) : text)}</pre>
      ${cut ? html`<button class="words small" @click=${() => (this.all = true)}>Show all ${text.length.toLocaleString()} characters</button>` : nothing}
    </div>`;
  }

  private decision(p: Proposal): TemplateResult {
    if (this.past) return html`<p class="faint">You are viewing the past. Proposals cannot be decided here.</p>`;
    if (this.rejecting === true) {
      return html`<meup-reject-form .busy=${this.busy === true} @cancel=${this.stopRejecting} .shell=${this.shell} .proposal=${p} @draft=${(e: CustomEvent<Draft>) => void this.send(e.detail)}></meup-reject-form>`;
    }
    const { present = false } = this.state.participants.get(p.from) ?? {};
    const gone = present || p.from === this.shell.you ? nothing : html`<p class="faint">${authorText(p.from)} is offline and may not see the decision.</p>`;
    return html`${gone}${p.from === this.shell.you ? this.own(p) : this.others(p)}`;
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
    const host = p.owner || this.chosenHost(p);
    if (!call && !no) return html`<p class="quiet">You cannot decide this: you may neither call tools nor reject proposals.</p>`;
    return html`${call && p.owner === "" ? this.hosts(p, host) : nothing}
      <div class="row">
        ${call ? html`<button class="button main" ?disabled=${this.busy || host === ""} @click=${() => void this.send(approve(p, newID(), host))}>${this.busy ? "Sending…" : "Approve"}</button>` : nothing}
        ${no ? html`<button class="button bad" ?disabled=${this.busy} @click=${() => (this.rejecting = true)}>Reject…</button>` : nothing}
        ${shell.may("mcp.request") && shell.may("capability.grant") ? html`<button class="words small" @click=${() => shell.open("operator", offer(p))}>Grant temporary access…</button>` : nothing}
      </div>
      <p class="faint">${consequence(host, call, no)}</p>`;
  }

  /** The participant chosen to run the tool, while it is connected; "" for none. */
  private chosenHost(p: Proposal): ParticipantID {
    return candidates(this.state.participants.values(), p, this.shell.you).includes(this.host) ? this.host : "";
  }

  private hosts(p: Proposal, host: ParticipantID): TemplateResult {
    return html`<label class="field-label">The proposal does not name the participant that runs this tool.
      <select @change=${(e: Event) => (this.host = (e.target as HTMLSelectElement).value)}>
        <option value="" .selected=${host === ""}>Choose a participant</option>
        ${candidates(this.state.participants.values(), p, this.shell.you).map((id) => html`<option value=${id} .selected=${id === host}>${who(id)}</option>`)}
      </select>
    </label>`;
  }

  private readonly stopRejecting = (): void => {
    this.rejecting = false;
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(".button.bad")?.focus());
  };

  private async send(draft: Draft): Promise<void> {
    this.busy = true;
    this.error = "";
    const sent = await this.shell.send(draft);
    this.busy = false;
    if (!sent.ok) {
      this.error = sent.refusal;
      return;
    }
    this.rejecting = false;
    this.dispatchEvent(new CustomEvent("decided"));
  }
}

/** The parameters for the operator panel. */
function offer(p: Proposal): Readonly<Record<string, string>> {
  return { recipient: p.from, method: p.method, tool: p.method === "tools/call" ? p.tool : "", owner: p.owner };
}

/** Explains in whose name the call is sent and which participant runs it. */
function consequence(host: ParticipantID, call: boolean, no: boolean): string {
  if (!call) return "You can reject this. Approving it requires the right to call tools.";
  const whom = host === "" ? "the participant that you choose" : who(host);
  return `Approving sends exactly this call in your name to ${whom}.${no ? "" : " You cannot reject it."}`;
}

define("meup-proposal-card", ProposalCard);
