/** What participants may use today before their calls have to be proposed, what they have used, and the extension of budgets. */

import { type TemplateResult, css, html, nothing } from "lit";
import { type Budget, type Budgets as Report, type Limit, SPACE, extension, figure, loopWords, readBudgets, unitOf, usedOf } from "../../core/budgets.js";
import { extendBudget } from "../../core/panel-drafts.js";
import type { Draft, Millis, ParticipantID } from "@sdk/types.js";
import { authorText } from "../author.js";
import { define } from "../element.js";
import { clock } from "../format.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { plain, who } from "../text.js";
import { Ticking } from "../ticker.js";
import { Arrivals } from "./arrivals.js";
import { Loaded } from "./loaded.js";
import { barStyles, monogram, parts, refused } from "./parts.js";
import "./reason-form.js";

/** Kinds that may report what was used, calls, and proposals: to others than its host a call may not be visible, but what it leads to is. */
const USES = ["participant.status", "reasoning.conclusion", "reasoning.cancel", "mcp.request", "mcp.proposal"];

/** The number of budgets shown initially and added by each step. */
const PAGE = 50;

export class Budgets extends PanelElement {
  static override properties = { ...PanelElement.properties, open: { state: true }, most: { state: true } };
  static override styles = [
    shared,
    parts,
    barStyles,
    css`
      li {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-4) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .limit {
        display: grid;
        gap: var(--space-1);
      }
      .figures {
        display: flex;
        flex-wrap: wrap;
        justify-content: space-between;
        gap: 0 var(--space-3);
        font-size: var(--text-s);
        font-variant-numeric: tabular-nums;
      }
    `,
  ];

  /** Whose budget is being extended; null: nobody's, "": that of the space. */
  declare private open: ParticipantID | null;
  declare private most: number;
  private readonly report = new Loaded(this, readBudgets);
  private shownFor: unknown = null;
  /** The end of the day after which the budgets were last loaded. */
  private ended: Millis = 0;

  constructor() {
    super();
    this.open = null;
    this.most = PAGE;
    new Arrivals(this, () => this.load(), ["budget.extend"], USES);
    new Ticking(this, () => {
      const until = this.report.value?.until ?? 0;
      if (until <= this.ended || this.shell.now() < until) return;
      this.ended = until;
      this.load();
    });
  }

  private load(): void {
    void this.report.load(() => this.shell.get("budgets"));
  }

  /** Opens the form that the parameters ask for, once. */
  protected override willUpdate(): void {
    const { value } = this.report;
    if (value === null || this.shownFor === this.params) return;
    this.shownFor = this.params;
    const at = value.budgets.findIndex((b) => (b.id || SPACE) === this.params?.["extend"] && b.mayExtend);
    if (at < 0) return;
    this.open = value.budgets[at]?.id ?? null;
    this.most = Math.max(this.most, at + 1);
  }

  protected override render(): TemplateResult {
    const { value: r, error } = this.report;
    if (r === null) return html`${refused(error)}${error === "" ? html`<p class="empty" role="status">Loading…</p>` : nothing}`;
    const loops = loopWords(r.loops);
    return html`${refused(error)}
      ${r.budgets.length === 0
        ? html`<div class="empty"><p>No budgets</p><p class="quiet">The configuration can limit what participants use in a day before their calls have to be approved. You see your own budget, and those that you may extend.</p></div>`
        : html`<p class="quiet">Used today, until ${clock(r.until)}. What goes beyond a budget has to be approved.</p>
            <ul aria-label="Budgets">${r.budgets.slice(0, this.most).map((b) => html`<li>${this.one(r, b)}</li>`)}</ul>
            ${r.budgets.length > this.most ? html`<p class="section"><button class="words" @click=${() => (this.most += PAGE)}>Show more</button></p>` : nothing}`}
      ${loops === "" ? nothing : html`<p class="faint section">${loops}</p>`}`;
  }

  private one(r: Report, b: Budget): TemplateResult {
    const name = b.id === "" ? "All participants together" : b.id === this.shell.you ? "You" : authorText(b.id);
    return html`<p class="row">${b.id === "" ? nothing : monogram(b.id, this.state.participants.get(b.id)?.agent === true)}<span class="name grow">${name}</span></p>
      ${b.limits.map((l) => bar(l))} ${b.asks === "" ? nothing : html`<p class="warning">${plain(b.asks)}. ${b.id === "" ? "Calls have" : "Its calls have"} to be approved.</p>`}
      ${b.uncounted === 0 ? nothing : html`<p class="faint">${b.uncounted === 1 ? "1 report" : `${b.uncounted.toLocaleString()} reports`} could not be counted: more was used.</p>`}
      ${b.mayExtend && !this.shell.past && b.limits.length > 0 ? this.extending(r, b, name) : nothing}`;
  }

  private extending(r: Report, b: Budget, name: string): TemplateResult {
    if (this.open !== b.id) return html`<p><button class="button small" data-budget=${b.id} aria-label=${`Extend the budget: ${name}`} @click=${() => (this.open = b.id)}>Extend…</button></p>`;
    const [first] = b.limits;
    return html`<meup-reason-form
      .shell=${this.shell}
      .words=${`Until ${clock(r.until)} more may be used ${b.id === "" ? "in this space" : `by ${who(b.id)}`} without a question.`}
      .fields=${html`<div class="row">
        <label class="field-label grow">Amount<input class="field" name="amount" type="number" inputmode="decimal" min=${least(first)} step=${stepOf(first)} required /></label>
        <label class="field-label">Unit<select name="unit" @change=${(e: Event) => chooseUnit(b, e.target as HTMLSelectElement)}>${b.limits.map((l) => html`<option value=${l.of}>${unitOf(l)}</option>`)}</select></label>
      </div>`}
      .draft=${(reason: string, data: FormData): Draft => extended(b, data, reason)}
      .action=${"Extend"}
      @closed=${() => this.close(b.id)}
    ></meup-reason-form>`;
  }

  private close(id: ParticipantID): void {
    this.open = null;
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(`[data-budget="${CSS.escape(id)}"]`)?.focus());
  }
}

/** Of tokens and calls there are only whole ones. */
function stepOf(l: Limit | undefined): string {
  return l?.of === "cost" ? "any" : "1";
}

function least(l: Limit | undefined): string {
  return l?.of === "cost" ? "0" : "1";
}

function chooseUnit(b: Budget, unit: HTMLSelectElement): void {
  const l = b.limits.find((x) => x.of === unit.value);
  const amount = unit.form?.elements.namedItem("amount");
  if (amount instanceof HTMLInputElement) Object.assign(amount, { min: least(l), step: stepOf(l) });
}

/** The envelope of a form. */
function extended(b: Budget, data: FormData, reason: string): Draft {
  const l = b.limits.find((x) => x.of === data.get("unit")) ?? (b.limits[0] as Limit);
  const amount = Number(data.get("amount"));
  return extendBudget(b.id, extension(l, amount), reason);
}

/** How much of a limit is used. */
function bar(l: Limit): TemplateResult {
  const full = l.used >= l.limit;
  return html`<div class="limit">
    <p class="figures"><span class=${full ? "bad" : ""}>${usedOf(l)}</span>${l.extended > 0 ? html`<span class="quiet">${figure(l, l.extended)} added today</span>` : nothing}</p>
    <progress ?data-full=${full} aria-label=${usedOf(l)} max=${Math.max(l.limit, Number.MIN_VALUE)} value=${Math.min(l.used, l.limit)}></progress>
  </div>`;
}

define("meup-budgets", Budgets);
