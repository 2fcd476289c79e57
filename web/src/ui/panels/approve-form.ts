/** The form that approves a proposal: once, or with access for the proposer. The arguments can be edited. */

import { LitElement, type TemplateResult, css, html, nothing } from "lit";
import { type Patterns, type Scope, SPANS, grantFor, patternCapability, patternsOf, readScopes } from "../../core/approval.js";
import { approve, approveEdited } from "../../core/panel-drafts.js";
import { newID } from "@sdk/ids.js";
import { oneLine } from "@sdk/read.js";
import { candidates } from "../../core/proposal.js";
import { capabilities } from "../../core/capabilities.js";
import type { Proposal, SpaceState } from "../../core/state.js";
import type { CapabilityRule, Draft, ParticipantID } from "@sdk/types.js";
import { define } from "../element.js";
import type { Shell } from "../panel.js";
import { shared } from "../styles.js";
import { pretty, who } from "../text.js";
import { parts, refused, unmarked, worded } from "./parts.js";
import { argsDifference, editedArgs } from "./proposal-args.js";
import { differenceStyles } from "./proposal-style.js";

const INVALID = "A pattern is no valid JSON.";

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
    allowed: { attribute: false },
    scope: { state: true },
    scopes: { state: true },
    span: { state: true },
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
  /** The proposer may make such calls already, and is asked for another reason: a grant would not change that. */
  declare allowed: boolean;
  /** The id of a scope, "once" or "pattern". */
  declare private scope: string;
  /** What the gateway offers. */
  declare private scopes: readonly Scope[];
  declare private span: number;
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
    this.scopes = [];
    this.span = 600;
    this.patterns = null;
    this.chosenHost = "";
    this.editing = false;
    this.edited = "";
    this.error = "";
  }

  protected override willUpdate(): void {
    const { proposal: p, runner } = this;
    const key = `${p.id} ${runner} ${this.allowed}`;
    if (this.shownFor === key) return;
    if (!this.shownFor.startsWith(`${p.id} `)) this.editing = false;
    this.shownFor = key;
    this.scope = "once";
    this.scopes = [];
    this.span = 600;
    this.patterns = null;
    if (!this.mayGrant || runner === "") return;
    this.shell.get(`proposals/${encodeURIComponent(p.id)}/scopes?to=${encodeURIComponent(runner)}`).then(
      (v) => {
        if (this.shownFor === key) this.scopes = readScopes(v);
      },
      () => undefined, // once, and by pattern, remain
    );
  }

  private get runner(): ParticipantID {
    const p = this.proposal;
    return p.owner || (candidates(this.state.participants.values(), p, this.shell.you).includes(this.chosenHost) ? this.chosenHost : "");
  }

  private get mayGrant(): boolean {
    return !this.allowed && this.shell.may("capability.grant") && this.shell.may("mcp.request") && this.proposal.from !== this.shell.you;
  }

  protected override render(): TemplateResult {
    const p = this.proposal;
    const host = this.runner;
    return html`<form @submit=${this.submit} @keydown=${this.key}>
      ${p.owner === "" ? this.hosts(host) : nothing} ${this.editing ? this.editor() : nothing} ${this.mayGrant && this.scope === "pattern" ? this.patternFields() : nothing}
      <div class="row">
        <button class="button main" type="submit" ?disabled=${this.busy || host === ""}>${this.busy ? "Sending…" : this.editing ? "Approve edited call" : "Approve"}</button>
        ${this.mayGrant && !this.editing ? this.choices() : nothing}
        ${this.shell.may("mcp.request") ? html`<button class="button" type="button" name="edit" @click=${this.edit}>${this.editing ? "Cancel edit" : "Edit"}</button>` : nothing}
        ${this.mayReject ? html`<button class="button bad" type="button" ?disabled=${this.busy} @click=${() => this.dispatchEvent(new CustomEvent("reject"))}>Reject…</button>` : nothing}
      </div>
      <p class="faint">${this.consequence(host)}</p>
      ${refused(this.error)}
    </form>`;
  }

  private choices(): TemplateResult {
    const { scopes } = this;
    const words = scopes.map((s): [string, string] => [s.id, oneLine(unmarked(s.title), 90)]);
    const any = words.filter(([id]) => id === "any");
    const all: [string, string][] = [["once", "Once"], ...words.filter((x) => !any.includes(x)), ["pattern", "By pattern…"], ...any];
    return html`<label class="scope"><span class="unseen">Allow</span>
        <select name="scope" @change=${(e: Event) => (this.scope = (e.target as HTMLSelectElement).value)}>
          ${all.map(([id, text]) => html`<option value=${id} .selected=${id === this.scope}>${text}</option>`)}
        </select>
      </label>
      ${this.scope === "once"
        ? nothing
        : html`<label class="scope"><span class="unseen">Duration</span>
            <select name="span" @change=${(e: Event) => (this.span = Number((e.target as HTMLSelectElement).value))}>
              ${SPANS.filter(([n]) => n > 0 || this.proposal.context !== "").map(([n, text]) => html`<option value=${n} .selected=${n === this.span}>${text}</option>`)}
            </select>
          </label>`}`;
  }

  private get written(): Patterns {
    return this.patterns ?? patternsOf(this.proposal, this.scopes);
  }

  /** The capability that the approval adds; null: none. Throws if a pattern of the user is no JSON. */
  private added(host: ParticipantID): CapabilityRule | null {
    if (!this.mayGrant || this.editing) return null;
    if (this.scope === "pattern") return patternCapability(this.proposal, host, this.written);
    return this.scopes.find((s) => s.id === this.scope)?.capability ?? null;
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
    const patterns = this.written;
    const isTool = this.proposal.method === "tools/call";
    return html`<fieldset>
      <legend class="quiet">${who(this.proposal.from)} may then call, without approval:</legend>
      ${isTool ? html`<label class="field-label">Tool<input class="field pattern" required maxlength="512" .value=${patterns.tool} @input=${(e: Event) => (this.patterns = { ...patterns, tool: (e.target as HTMLInputElement).value })} /></label>` : nothing}
      ${Object.entries(patterns.args).map(
        ([name, value]) => html`<label class="field-label">${name}<input class="field pattern" placeholder="Any value" maxlength="4096" .value=${value} @input=${(e: Event) => (this.patterns = { ...patterns, args: { ...patterns.args, [name]: (e.target as HTMLInputElement).value } })} /></label>`,
      )}
    </fieldset>`;
  }

  /** Explains in whose name the call is sent, which participant runs it, and what else is allowed. */
  private consequence(host: ParticipantID): unknown {
    const p = this.proposal;
    const to = p.owner !== "" ? "" : host === "" ? " to the participant that you choose" : ` to ${who(host)}`;
    const sent = `Approving sends ${this.editing ? "the edited" : "exactly this"} call in your name${to}.`;
    const all = this.mayReject ? sent : `${sent} You cannot reject it.`;
    const words = this.words(host);
    if (words === null) return all;
    return html`${all} <b>${who(p.from)}</b> then needs no approval for this, ${SPANS.find(([n]) => n === this.span)?.[1]}: ${words}${this.span === 0 ? " Ends after an hour at the latest." : ""}`;
  }

  /** What is granted, in words; null: nothing. */
  private words(host: ParticipantID): unknown {
    const scope = this.scopes.find((s) => s.id === this.scope);
    try {
      const added = this.added(host);
      return added === null ? null : scope === undefined ? capabilities([added]).map((x) => worded(x)) : html`${worded(scope.title)}.`;
    } catch {
      return INVALID;
    }
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
      try {
        const added = this.added(host);
        this.emit({ request: approve(p, newID(), host), grant: added && grantFor(p, added, this.span) });
      } catch {
        this.error = INVALID;
      }
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
