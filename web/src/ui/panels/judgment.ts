/** What reviewers had to do with a settled proposal: their opinions, and the decision of one, which a person can call wrong. */

import { LitElement, type TemplateResult, css, html, nothing } from "lit";
import { waitOf } from "../../core/deciders.js";
import { demote } from "../../core/panel-drafts.js";
import type { Opinion, Proposal } from "../../core/state.js";
import { authorText } from "../author.js";
import { define } from "../element.js";
import { longText } from "../format.js";
import { icon } from "../icons.js";
import type { Shell } from "../panel.js";
import { shared } from "../styles.js";
import { who } from "../text.js";
import { Deciding } from "./deciding.js";
import { Standing } from "./standing.js";
import "./reason-form.js";
import { envelopeButton, parts } from "./parts.js";

const SAYS = { approve: ["check", "would have approved this"], reject: ["cross", "would have rejected this"], abstain: ["more", "could not tell"] } as const;

export class Judgment extends LitElement {
  static override properties = { shell: { attribute: false }, proposal: { attribute: false }, asking: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      :host {
        font-size: var(--text-s);
      }
      .judged {
        display: grid;
        gap: var(--space-1);
        margin-top: var(--space-1);
      }
      .opinion,
      .let-through {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0 var(--space-2);
        color: var(--quiet);
        overflow-wrap: anywhere;
      }
      .let-through {
        padding-left: calc(0.9375rem + var(--space-2)); /* below the words of an opinion */
      }
      .opinion > svg {
        width: 0.9375rem;
        height: 0.9375rem;
        margin-top: 0.2rem;
        align-self: start;
      }
      .opinion > span,
      .undone > span {
        flex: 1;
        min-width: 0;
      }
      b {
        color: var(--ink);
        font-weight: 600;
      }
    `,
  ];

  declare shell: Shell;
  declare proposal: Proposal;
  /** "That was wrong" awaits confirmation. */
  declare private asking: boolean;
  private readonly deciding = new Deciding(this);

  constructor() {
    super();
    new Standing(this);
  }

  protected override render(): TemplateResult {
    const p = this.proposal;
    return html`<div class="judged">${p.opinions.map((o) => this.opinion(o, p))} ${this.letThrough(p)}</div>`;
  }

  private opinion(o: Opinion, p: Proposal): TemplateResult {
    const [sign, words] = SAYS[o.verdict];
    const own = o.from === p.decidedBy;
    return html`<div class="opinion">
      ${icon(sign)}<span><b>${authorText(o.from)}</b> ${own ? "gave its grounds" : words}${o.reason === "" ? "." : html`: ${longText(o.reason)}`} ${own ? this.wrong(p) : nothing}</span>${envelopeButton(this.shell, o.id)}
    </div>`;
  }

  /** The user may say that the decision of a reviewer was wrong, and nobody has. */
  private mayUndo(p: Proposal): boolean {
    const { roles } = this.deciding;
    return roles?.reviewers.includes(p.decidedBy) === true && p.undone === null && p.decision !== "" && this.shell.may("reviewer.demote") && waitOf(roles, this.shell.you) !== null && !this.shell.past;
  }

  private wrong(p: Proposal): TemplateResult | typeof nothing {
    return this.mayUndo(p) && this.asking !== true ? html`<button class="words small wrong" @click=${() => (this.asking = true)}>That was wrong…</button>` : nothing;
  }

  /** What is said about the decision: by whom, unless the grounds of the reviewer say it, and whether it was wrong. */
  private letThrough(p: Proposal): TemplateResult | typeof nothing {
    const { roles } = this.deciding;
    if (p.undone !== null) return html`<p class="let-through undone"><span><b>${p.undone.by === this.shell.you ? "You" : authorText(p.undone.by)}</b> said that this ${p.status === "rejected" ? "rejection" : "approval"} was wrong${p.undone.reason === "" ? "." : html`: ${longText(p.undone.reason)}`}</span>${envelopeButton(this.shell, p.undone.id)}</p>`;
    if (roles === null || p.decision === "" || !roles.reviewers.includes(p.decidedBy)) return nothing;
    return html`${p.opinions.some((o) => o.from === p.decidedBy) ? nothing : html`<div class="let-through"><span>${p.status === "rejected" ? "Rejected" : "Let through"} by the reviewer <b>${authorText(p.decidedBy)}</b>.</span> ${this.wrong(p)}</div>`}
      ${this.mayUndo(p) && this.asking === true
        ? html`<meup-reason-form
            .shell=${this.shell}
            .draft=${(reason: string) => demote(p.decidedBy, reason, p.decision)}
            .words=${`${who(p.decidedBy)} goes back into shadow: it decides nothing until it is promoted again. ${p.status === "rejected" ? "The call stays rejected" : "The call itself is not undone"}.`}
            .action=${"Back to shadow"}
            .bad=${true}
            @closed=${this.close}
          ></meup-reason-form>`
        : nothing}`;
  }

  private readonly close = (): void => {
    this.asking = false;
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(".wrong")?.focus());
  };
}

define("meup-judgment", Judgment);
