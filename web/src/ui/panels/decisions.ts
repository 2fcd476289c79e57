/** The decisions on the calls of a space: what, who, how it ended, why, and what the policy says today. */

import { type TemplateResult, css, html, nothing } from "lit";
import { shownParams } from "@sdk/proposal.js";
import { field, isObject, oneLine, str } from "@sdk/read.js";
import { type Decision, type DecisionPage, readDecisions, ruleWords, why } from "../../core/decisions.js";
import type { Envelope } from "@sdk/types.js";
import { GATEWAY } from "@sdk/types.js";
import { authorText, personText } from "../author.js";
import { define } from "../element.js";
import { argsLine, longText, moment, shortMoment } from "../format.js";
import { PanelElement, type Shell } from "../panel.js";
import { shared } from "../styles.js";
import { who } from "../text.js";
import { Loaded } from "./loaded.js";
import { envelopeButton, exact, parts, reasonWords, refused, unmarked, worded } from "./parts.js";

/** Decisions per page. */
const PAGE = 20;

const TONES: Readonly<Record<string, string>> = { made: "accent", rejected: "bad", expired: "wait", refused: "bad", asked: "wait", allowed: "accent" };

export class Decisions extends PanelElement {
  static override properties = { ...PanelElement.properties, participant: { state: true }, tool: { state: true }, found: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      .filters {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
        gap: var(--space-2);
      }
      ol > li {
        display: grid;
        gap: var(--space-1);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .args {
        color: var(--quiet);
        font: 0.8125rem / 1.5 var(--mono);
      }
    `,
  ];

  declare private participant: string;
  declare private tool: string;
  /** Those of all loaded pages. */
  declare private found: readonly Decision[];
  private readonly page = new Loaded(this, readDecisions);

  constructor() {
    super();
    this.participant = "";
    this.tool = "";
    this.found = [];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.load(0);
  }

  /** Loads the page before a seq; 0: the newest one. */
  private async load(before: number): Promise<void> {
    if (before === 0) this.found = [];
    const query = new URLSearchParams({ limit: String(PAGE), ...(before > 0 && { before: String(before) }), ...(this.participant !== "" && { participant: this.participant }), ...(this.tool.trim() !== "" && { tool: this.tool.trim() }) });
    const page = await this.page.load(() => this.shell.get(`decisions?${query}`));
    if (page !== null) this.found = [...this.found, ...page.decisions];
  }

  protected override render(): TemplateResult {
    const { found } = this;
    const { envelopes } = this.shell;
    const { value, error, loading } = this.page;
    const others = [...this.state.participants.keys()].filter((id) => id !== GATEWAY).sort();
    return html`<form class="filters" @submit=${this.filter} @change=${this.filter}>
        <label class="unseen" for="participant">Participant</label>
        <select id="participant">
          <option value="" .selected=${this.participant === ""}>All participants</option>
          ${others.map((id) => html`<option value=${id} .selected=${id === this.participant}>${who(id)}</option>`)}
        </select>
        <label class="unseen" for="tool">Tool</label>
        <input id="tool" class="field" type="search" placeholder="Any tool" autocapitalize="off" spellcheck="false" maxlength="256" .value=${this.tool} />
      </form>
      ${refused(error)}
      <ol aria-busy=${loading ? "true" : "false"} aria-label="Decisions, newest first">${found.map((d) => html`<li>${this.one(d, envelopes)}</li>`)}</ol>
      ${found.length === 0 ? html`<p class="empty" role="status">${loading ? "Loading…" : error !== "" ? nothing : this.participant + this.tool === "" ? "No calls yet" : "No calls match"}</p>` : this.end(value, loading)}`;
  }

  private one(d: Decision, envelopes: readonly Envelope[]): TemplateResult {
    const args = argumentsOf(this.shell, envelopes, d);
    return html`<p class="row">
        <span class="grow"><span class="name">${d.caller === this.shell.you ? "You" : authorText(d.caller)}</span> <code>${exact(oneLine(d.tool, 200))}</code>${d.host === "" ? nothing : html` <span class="quiet">on ${authorText(d.host)}</span>`}</span>
        <time title=${moment(d.at)}>${shortMoment(d.at, this.shell.now())}</time>
      </p>
      ${args === "" ? nothing : html`<p class="args">${args}</p>`}
      <p class="small">${why(d, (id) => personText(id, this.shell.you))}${d.rule === "" || d.by === "participant" ? "." : html`: ${worded(oneLine(ruleWords(d.rule), 400))}`}${d.grant === "" ? nothing : html` <button class="words small" @click=${() => this.shell.open("envelope", { id: d.grant })}>Show the grant</button>`}</p>
      ${d.reason === "" ? nothing : html`<p class="quiet">${longText(reasonWords(d.reason))}</p>`}
      <p class="row">
        <span class="chip ${TONES[d.outcome] ?? ""}">${oneLine(d.outcome, 40)}</span>
        ${d.today === null ? nothing : html`<span class="chip ${TONES[d.today.verdict] ?? ""}" title=${d.today.rule === "" ? "No rule allows it" : oneLine(unmarked(ruleWords(d.today.rule)), 400)}>today: ${oneLine(d.today.verdict, 40)}</span>`}
        <span class="grow"></span>${envelopeButton(this.shell, d.id)}
      </p>`;
  }

  /** What there is beyond the list. */
  private end(page: DecisionPage | null, loading: boolean): TemplateResult | typeof nothing {
    if (loading) return html`<p class="empty" role="status">Loading…</p>`;
    const next = page?.next ?? null;
    if (next !== null) return html`<p class="section"><button class="words" @click=${() => void this.load(next)}>Show more</button></p>`;
    return page?.partial === true ? html`<p class="faint section">The log was not read to its beginning. There may be older decisions.</p>` : nothing;
  }

  private readonly filter = (e: Event): void => {
    e.preventDefault();
    this.participant = this.renderRoot.querySelector("select")?.value ?? "";
    this.tool = this.renderRoot.querySelector("input")?.value ?? "";
    void this.load(0);
  };
}

/** Returns the arguments of a loaded call on one line; "" if it is not loaded. */
function argumentsOf(shell: Shell, envelopes: readonly Envelope[], d: Decision): string {
  const p = shell.state.proposals.get(d.proposal);
  const e = envelopeAt(envelopes, d.seq);
  const args = d.outcome !== "made" || e === undefined ? p?.args : shownParams(str(field(e.payload, "method")), field(e.payload, "params"));
  return isObject(args) ? argsLine(args, 200) : "";
}

/** Finds an envelope in a list in the order of seq. */
function envelopeAt(held: readonly Envelope[], seq: number): Envelope | undefined {
  let [low, high] = [0, held.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((held[middle]?.seq ?? 0) < seq) low = middle + 1;
    else high = middle;
  }
  const e = held[low];
  return e?.seq === seq ? e : undefined;
}

define("meup-decisions", Decisions);
