/** The form that approves a proposal: once, or with access for the proposer. The arguments can be edited. */

import { LitElement, type PropertyValues, type TemplateResult, css, html, nothing } from "lit";
import { type Patterns, type Scope, capabilityFor, grantFor, patternsOf, scopesOf } from "../../core/approval.js";
import { approve, approveEdited } from "../../core/panel-drafts.js";
import { newID } from "@sdk/ids.js";
import { candidates } from "../../core/proposal.js";
import { capabilities } from "../../core/capabilities.js";
import type { Proposal, SpaceState } from "../../core/state.js";
import type { Draft, ParticipantID } from "@sdk/types.js";
import { define } from "../element.js";
import type { Shell } from "../panel.js";
import { shared } from "../styles.js";
import { plain, pretty, who } from "../text.js";
import { parts, refused } from "./parts.js";
import { argsDifference, editedArgs } from "./proposal-args.js";
import { differenceStyles } from "./proposal-style.js";
import { DURATIONS } from "./right-picker.js";

const LABELS: Readonly<Record<Scope, string>> = {
  once: "Once",
  context: "In this context",
  minutes: "For 10 minutes",
  pattern: "By pattern…",
};

/** An approval: the request, and the grant that goes with it. */
export interface Approval {
  readonly request: Draft;
  readonly grant: Draft | null;
}

/** Emits `approval`, or `reject` if the user wants to reject. */
export class ApproveForm extends LitElement {
  static override properties = {
    shell: { attribute: false },
    proposal: { attribute: false },
    state: { attribute: false },
    busy: { attribute: false },
    mayReject: { attribute: false },
    scope: { state: true },
    patterns: { state: true },
    chosenHost: { state: true },
    editing: { state: true },
    edited: { state: true },
    error: { state: true },
  };
  static override styles = [
    shared,
    parts,
    differenceStyles,
    css`
      form {
        display: grid;
        gap: var(--space-3);
      }
      .scope {
        position: relative; /* contains the unseen label */
        flex: 1 1 4.75rem; /* in a narrow card it fills the line */
        max-width: 11rem;
        font-size: var(--text-s);
      }
      .scope select {
        min-height: 2rem;
        padding-block: 0;
      }
      @container (max-width: 22rem) {
        .row {
          gap: var(--space-1);
        }
        .button {
          padding: 0 0.6rem;
        }
      }
      @media (pointer: coarse) {
        .scope select {
          min-height: 2.5rem;
        }
      }
      fieldset {
        display: grid;
        gap: var(--space-3);
        min-width: 0;
        margin: 0;
        padding: 0;
        border: 0;
      }
      legend {
        margin-bottom: var(--space-1);
        padding: 0;
      }
      textarea,
      .pattern {
        font-family: var(--mono);
        font-size: 0.8125rem;
      }
      textarea {
        min-height: 8rem;
        resize: vertical;
      }
    `,
  ];

  declare shell: Shell;
  declare proposal: Proposal;
  declare state: SpaceState;
  declare busy: boolean;
  declare mayReject: boolean;
  declare private scope: Scope;
  declare private patterns: Patterns | null;
  /** The participant chosen to run the tool, if the proposal names none. */
  declare private chosenHost: ParticipantID;
  declare private editing: boolean;
  /** The text in the editor. */
  declare private edited: string;
  declare private error: string;
  private shownFor = "";

  constructor() {
    super();
    this.scope = "once";
    this.patterns = null;
    this.chosenHost = "";
    this.editing = false;
    this.edited = "";
    this.error = "";
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (!changed.has("proposal") || this.shownFor === this.proposal.id) return;
    this.shownFor = this.proposal.id;
    this.patterns = patternsOf(this.proposal);
    this.scope = "once";
    this.editing = false;
  }

  private get runner(): ParticipantID {
    const p = this.proposal;
    return p.owner || (candidates(this.state.participants.values(), p, this.shell.you).includes(this.chosenHost) ? this.chosenHost : "");
  }

  private get mayGrant(): boolean {
    return this.shell.may("capability.grant") && this.shell.may("mcp.request") && this.proposal.from !== this.shell.you;
  }

  protected override render(): TemplateResult {
    const p = this.proposal;
    const host = this.runner;
    return html`<form @submit=${this.submit} @keydown=${this.key}>
      ${p.owner === "" ? this.hosts(host) : nothing} ${this.editing ? this.editor() : nothing} ${this.mayGrant && this.scope === "pattern" ? this.patternFields() : nothing}
      <div class="row">
        <button class="button main" type="submit" ?disabled=${this.busy || host === ""}>${this.busy ? "Sending…" : this.editing ? "Approve edited call" : "Approve"}</button>
        ${this.mayGrant && !this.editing ? this.scopes() : nothing}
        ${this.shell.may("mcp.request") ? html`<button class="button" type="button" name="edit" @click=${this.edit}>${this.editing ? "Cancel edit" : "Edit"}</button>` : nothing}
        ${this.mayReject ? html`<button class="button bad" type="button" ?disabled=${this.busy} @click=${() => this.dispatchEvent(new CustomEvent("reject"))}>Reject…</button>` : nothing}
      </div>
      <p class="faint">${this.consequence(host)}</p>
      ${refused(this.error)}
    </form>`;
  }

  private scopes(): TemplateResult {
    return html`<label class="scope"><span class="unseen">Allow</span>
      <select name="scope" @change=${(e: Event) => (this.scope = (e.target as HTMLSelectElement).value as Scope)}>
        ${scopesOf(this.proposal).map((s) => html`<option value=${s} .selected=${s === this.scope}>${LABELS[s]}</option>`)}
      </select>
    </label>`;
  }

  private hosts(host: ParticipantID): TemplateResult {
    return html`<label class="field-label">The proposal does not name the participant that runs this tool.
      <select @change=${(e: Event) => (this.chosenHost = (e.target as HTMLSelectElement).value)}>
        <option value="" .selected=${host === ""}>Choose a participant</option>
        ${candidates(this.state.participants.values(), this.proposal, this.shell.you).map((id) => html`<option value=${id} .selected=${id === host}>${who(id)}</option>`)}
      </select>
    </label>`;
  }

  private editor(): TemplateResult {
    const p = this.proposal;
    const before = pretty(p.args ?? {});
    const edited = this.edited === before ? "" : editedArgs(p, this.edited);
    return html`<label class="field-label">Arguments to send
        <textarea name="args" spellcheck="false" rows="8" .defaultValue=${before} @input=${(e: Event) => (this.edited = (e.target as HTMLTextAreaElement).value)}></textarea>
      </label>
      ${typeof edited === "string" || pretty(edited.args) === before ? nothing : argsDifference(p.args ?? {}, edited.args)}`;
  }

  /** Fields for the tool, its arguments and the duration. */
  private patternFields(): TemplateResult {
    const patterns = this.patterns ?? patternsOf(this.proposal);
    const isTool = this.proposal.method === "tools/call";
    return html`<fieldset>
      <legend class="quiet">${who(this.proposal.from)} may then call, without approval:</legend>
      ${isTool ? html`<label class="field-label">Tool<input class="field pattern" required maxlength="512" .value=${patterns.tool} @input=${(e: Event) => (this.patterns = { ...patterns, tool: (e.target as HTMLInputElement).value })} /></label>` : nothing}
      ${Object.entries(patterns.args).map(
        ([name, value]) => html`<label class="field-label">${name}<input class="field pattern" placeholder="Any value" maxlength="4096" .value=${value} @input=${(e: Event) => (this.patterns = { ...patterns, args: { ...patterns.args, [name]: (e.target as HTMLInputElement).value } })} /></label>`,
      )}
      <label class="field-label">Duration
        <select @change=${(e: Event) => (this.patterns = { ...patterns, seconds: Number((e.target as HTMLSelectElement).value) })}>
          ${DURATIONS.map(([n, words]) => html`<option value=${n} .selected=${n === patterns.seconds}>${words}</option>`)}
        </select>
      </label>
    </fieldset>`;
  }

  /** Explains in whose name the call is sent, which participant runs it, and what else is allowed. */
  private consequence(host: ParticipantID): unknown {
    const p = this.proposal;
    const to = p.owner !== "" ? "" : host === "" ? " to the participant that you choose" : ` to ${who(host)}`;
    const sent = `Approving sends ${this.editing ? "the edited" : "exactly this"} call in your name${to}.`;
    const added = this.mayGrant && !this.editing ? capabilityFor(p, this.scope, host, this.patterns ?? patternsOf(p)) : null;
    if (added === null) return this.mayReject ? sent : `${sent} You cannot reject it.`;
    const limit = this.scope === "context" ? " Ends after an hour at the latest." : "";
    return html`${sent}${this.mayReject ? "" : " You cannot reject it."} <b>${who(p.from)}</b> then needs no approval for this: ${capabilities([added]).map((x) => plain(x))}${limit}`;
  }

  private readonly edit = (): void => {
    this.editing = !this.editing;
    this.edited = pretty(this.proposal.args ?? {});
    this.error = "";
    this.dispatchEvent(new CustomEvent("editing", { detail: this.editing }));
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(this.editing ? "textarea" : ".button.main")?.focus());
  };

  private readonly key = (e: KeyboardEvent): void => {
    if (e.key !== "Escape" || !this.editing) return;
    e.preventDefault();
    this.edit();
  };

  private readonly submit = (e: Event): void => {
    e.preventDefault();
    const p = this.proposal;
    const host = this.runner;
    this.error = "";
    if (!this.editing) {
      const grant = this.mayGrant ? grantFor(p, this.scope, host, this.patterns ?? patternsOf(p)) : null;
      this.emit({ request: approve(p, newID(), host), grant });
      return;
    }
    const edited = editedArgs(p, this.renderRoot.querySelector("textarea")?.value ?? "");
    if (typeof edited === "string") this.error = edited;
    else this.emit({ request: approveEdited(p, newID(), edited.args, host), grant: null });
  };

  private emit(detail: Approval): void {
    this.dispatchEvent(new CustomEvent("approval", { detail }));
  }
}

define("meup-approve-form", ApproveForm);
