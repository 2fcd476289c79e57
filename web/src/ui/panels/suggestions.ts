/** Rules that the log suggests, which a person accepts, edits or dismisses; what is left to people; rights that nobody used. */

import { type TemplateResult, css, html, nothing } from "lit";
import { capabilities } from "../../core/capabilities.js";
import { type Left, type Suggestion, type Suggestions as Report, type Unused, acceptance, deniesWhom, proof, readSuggestions, sentence, support, withTimes } from "../../core/policy.js";
import type { Capability, Draft } from "@sdk/types.js";
import { authorText, personText } from "../author.js";
import { define } from "../element.js";
import { shortMoment } from "../format.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { plain, pretty, who } from "../text.js";
import { exampleStyles, examples } from "./examples.js";
import { COMPUTED, Loaded } from "./loaded.js";
import { amount, copy, envelopeButton, exact, parts, refused, showWhole, worded } from "./parts.js";
import { since, spanField, spanStyles } from "./span.js";
import "./reason-form.js";
import { DURATIONS, NO_CHOICE, capabilitiesOf } from "./right-picker.js";

export class Suggestions extends PanelElement {
  static override properties = {
    ...PanelElement.properties,
    days: { state: true },
    open: { state: true },
    how: { state: true },
    seconds: { state: true },
    busy: { state: true },
    refusal: { state: true },
    done: { state: true },
  };
  static override styles = [
    shared,
    parts,
    spanStyles,
    exampleStyles,
    css`
      .card {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-3);
        overflow-wrap: anywhere;
      }
      .cards {
        display: grid;
        gap: var(--space-3);
        margin-top: var(--space-3);
      }
      .summary {
        margin: var(--space-3) 0 var(--space-1);
      }
      .words-of {
        font-weight: 600;
      }
      .done {
        display: grid;
        gap: var(--space-2);
        overflow-wrap: anywhere;
      }
      .done:focus {
        outline: none;
      }
      form {
        display: grid;
        gap: var(--space-3);
        padding-top: var(--space-2);
        border-top: 1px solid var(--line);
      }
      textarea {
        min-height: 14rem;
        font-family: var(--mono);
        font-size: 0.8125rem;
        resize: vertical;
      }
    `,
  ];

  declare private days: number;
  /** The suggestion that is being accepted or dismissed. */
  declare private open: string;
  /** How: as it is, with other patterns, or not at all. */
  declare private how: "accept" | "edit" | "dismiss";
  declare private seconds: number;
  declare private busy: boolean;
  declare private refusal: string;
  /** What became of suggestions since the panel was opened, by their ids. */
  declare private done: ReadonlyMap<string, TemplateResult>;
  private readonly report = new Loaded(this, readSuggestions);

  constructor() {
    super();
    this.days = 30;
    this.open = "";
    this.how = "accept";
    this.seconds = 604_800;
    this.busy = false;
    this.refusal = "";
    this.done = new Map();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.load();
  }

  private load(): void {
    void this.report.load(() => this.shell.get(`suggestions?${since(this.days)}`, COMPUTED));
  }

  protected override render(): TemplateResult {
    const { value: r, error, loading } = this.report;
    return html`<p class="row">
        ${spanField(this.days, this.choose)}
        ${loading ? html`<span class="quiet" role="status">Reading the log…</span>` : nothing}
      </p>
      ${refused(error)} ${r === null ? nothing : this.all(r)}`;
  }

  private readonly choose = (days: number): void => {
    this.days = days;
    this.load();
  };

  private all(r: Report): TemplateResult {
    const list = r.suggestions.filter((s) => !this.done.has(s.id));
    const fewer = list.length === r.suggestions.length ? r.fewer : list.reduce((n, s) => n + s.fewer, 0);
    return html`<p class="quiet summary">${amount(r.proposals, "proposal")} decided: ${r.approved.toLocaleString()} approved, ${r.rejected.toLocaleString()} rejected.</p>
      <div class="done" role="status" tabindex="-1">${[...this.done.values()].map((x) => html`<p>${x}</p>`)}</div>
      ${list.length > 0 ? html`<p>${amount(list.length, "suggestion")}. ${proof({ ...r, fewer })}</p>` : html`<p class="empty">${this.done.size > 0 ? "No further rule is suggested." : "No rule is suggested. One needs several approvals of similar calls, and no rejection that it would contradict."}</p>`}
      <div class="cards">${list.map((s) => this.card(s))}</div>
      ${r.dismissed === 0 ? nothing : html`<p class="faint section">${amount(r.dismissed, "suggestion")} left out, because somebody dismissed ${r.dismissed === 1 ? "it" : "them"}.</p>`}
      ${r.partial ? html`<p class="faint section">The log was read back to ${shortMoment(r.since, this.shell.now())} only.</p>` : nothing}
      ${r.left.length === 0 ? nothing : html`<details class="section"><summary>Left to people: ${amount(r.left.length, "kind of call", "kinds of calls")}</summary><div class="cards">${r.left.map((x) => this.left(x))}</div></details>`}
      ${r.unusedUnknown !== "" ? html`<p class="faint section">It is not known which rights nobody used: ${plain(withTimes(r.unusedUnknown, (at) => shortMoment(at, this.shell.now())))}.</p>` : r.unused.length === 0 ? nothing : html`<details class="section"><summary>${amount(r.unused.length, "right")} that nobody used</summary><div class="cards">${r.unused.map((x) => this.unused(x))}</div></details>`}
      ${r.unseen > 0 ? html`<p class="faint section">${amount(r.unseen, "entry", "entries")} that you may not see ${r.unseen === 1 ? "is" : "are"} missing here.</p>` : nothing}`;
  }

  private rule(s: Suggestion): TemplateResult {
    return html`<span class="words-of">${s.denies ? deniesWhom(who(s.host)) : html`Allow ${authorText(s.participant)}`}: ${worded(s.words)}</span>`;
  }

  private card(s: Suggestion): TemplateResult {
    const name = (id: string): string => personText(id, this.shell.you);
    return html`<article class="card" aria-label=${`${s.denies ? deniesWhom(who(s.host)) : `Allow ${who(s.participant)}`} ${who(s.tool)}`}>
      <p>${this.rule(s)}</p>
      <p class="quiet">${support(s, name)}${s.denies ? `, proposed mostly by ${name(s.participant)}` : ""}. ${proof(s)}</p>
      ${this.decided("Supporting", s.supporting, s.denies ? s.rejected : s.approved)} ${this.decided(s.denies ? "Approved, and not matched" : "Not approved, and not matched", s.contradicting)} ${s.patch === "" ? nothing : this.patch(s)}
      ${this.open !== s.id ? this.actions(s) : this.how === "dismiss" ? this.dismissal(s) : this.form(s)}
    </article>`;
  }

  /** Decided calls; `all` is how many there are, of which the list may have some. */
  private decided(title: string, list: Suggestion["supporting"], all = list.length): TemplateResult | typeof nothing {
    return list.length === 0 ? nothing : html`<details><summary>${title}: ${list.length < all ? `${list.length} of ${amount(all, "call")} shown` : amount(list.length, "call")}</summary>${examples(this.shell, list)}</details>`;
  }

  private patch(s: Suggestion): TemplateResult {
    return html`<details><summary>For the configuration file</summary><pre tabindex="0">${exact(s.patch)}</pre><p><button class="words small" @click=${() => void copy(this.shell, s.patch, "Copied")}>Copy</button></p></details>`;
  }

  private actions(s: Suggestion): TemplateResult | typeof nothing {
    if (this.shell.past) return nothing;
    const may = s.grant !== null && s.grantable;
    return html`<div class="row" data-suggestion=${s.id}>
      ${may ? html`<button class="button main" @click=${() => this.begin(s, "accept")}>Accept…</button><button class="button" @click=${() => this.begin(s, "edit")}>Edit…</button>` : nothing}
      ${this.shell.may("policy.dismiss") ? html`<button class="button" @click=${() => this.begin(s, "dismiss")}>Dismiss…</button>` : nothing}
      ${may ? nothing : html`<span class="faint">${s.denies ? "A denial is a rule of the deciders, and has to be put into the configuration file." : "You may not grant this."}</span>`}
    </div>`;
  }

  private dismissal(s: Suggestion): TemplateResult {
    return html`<meup-reason-form
      .shell=${this.shell}
      .draft=${(reason: string): Draft => ({ kind: "policy.dismiss", payload: { ...s.dismissal, ...(reason !== "" && { reason }) } })}
      .words=${"It is not suggested to anybody any more, until as many further decisions support it."}
      .action=${"Dismiss"}
      @sent=${() => this.end(s, html`Dismissed: ${this.rule(s)}`)}
      @closed=${() => this.close(s)}
    ></meup-reason-form>`;
  }

  private form(s: Suggestion): TemplateResult {
    return html`<form @submit=${(e: Event) => void this.submit(e, s)} @keydown=${(e: KeyboardEvent) => this.key(e, s)}>
      ${this.how === "edit"
        ? html`<label class="field-label">Capabilities as JSON<textarea name="patterns" spellcheck="false" autocapitalize="off" maxlength="32000" .value=${pretty(s.capabilities)}></textarea></label>
            <p class="faint">What you change here has not been tried on the log.</p>`
        : html`<div class="sentences" role="group" aria-label="Summary">${capabilities(s.capabilities).map((x) => html`<p>${worded(x)}</p>`)}</div>`}
      <label class="field-label">Duration
        <select name="seconds" @change=${(e: Event) => (this.seconds = Number((e.target as HTMLSelectElement).value))}>
          ${DURATIONS.map(([n, words]) => html`<option value=${n} .selected=${n === this.seconds}>${words}</option>`)}
        </select>
      </label>
      <p class="faint">This grants the right to ${who(s.participant)} at once.${s.patch === "" ? "" : " For good, put it into the configuration file."}</p>
      ${refused(this.refusal)}
      <div class="row">
        <button class="button main" type="submit" ?disabled=${this.busy}>${this.busy ? "Granting…" : "Grant access"}</button>
        <button class="button" type="button" @click=${() => this.close(s)}>Cancel</button>
      </div>
    </form>`;
  }

  private begin(s: Suggestion, how: "accept" | "edit" | "dismiss"): void {
    this.open = s.id;
    this.how = how;
    this.refusal = "";
    void this.updateComplete.then(() => {
      const field = this.renderRoot.querySelector<HTMLTextAreaElement | HTMLSelectElement>("form :is(textarea, select)");
      if (field instanceof HTMLTextAreaElement) field.setSelectionRange(0, 0);
      field?.focus();
      showWhole(field?.form ?? undefined);
    });
  }

  private end(s: Suggestion, words: TemplateResult): void {
    this.done = new Map([...this.done, [s.id, words]]);
    this.open = "";
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(".done")?.focus());
  }

  private close(s: Suggestion): void {
    this.open = "";
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(`[data-suggestion="${CSS.escape(s.id)}"] button`)?.focus());
  }

  private readonly key = (e: KeyboardEvent, s: Suggestion): void => {
    if (e.key !== "Escape") return;
    e.preventDefault();
    this.close(s);
  };

  private async submit(e: Event, s: Suggestion): Promise<void> {
    e.preventDefault();
    const written = this.renderRoot.querySelector<HTMLTextAreaElement>("textarea[name=patterns]")?.value;
    const rights: readonly Capability[] | string = written === undefined ? s.capabilities : capabilitiesOf({ ...NO_CHOICE, usual: "own", own: written.trim() });
    this.refusal = typeof rights === "string" ? rights : "";
    if (typeof rights === "string" || s.grant === null) return;
    this.busy = true;
    const sent = await this.shell.send(acceptance(s.grant, s.participant, rights, this.seconds));
    this.busy = false;
    if (!sent.ok) {
      this.refusal = sent.refusal;
      return;
    }
    const time = this.seconds > 0 ? html`for ${DURATIONS.find(([n]) => n === this.seconds)?.[1]}` : "until it is revoked";
    const what = written === undefined ? worded(s.words) : capabilities(rights).map((x) => html` ${worded(x)}`);
    this.end(s, html`Granted to ${authorText(s.participant)} ${time}: ${what}`);
  }

  private left(x: Left): TemplateResult {
    return html`<div class="card">
      <p><span class="name">${authorText(x.participant)}</span>: ${worded(x.words)}</p>
      <p class="quiet">Approved ${amount(x.approved, "time")}. ${worded(sentence(x.why))}</p>
      ${this.decided("Approved", x.supporting, x.approved)} ${this.decided("Contradicting", x.contradicting)}
    </div>`;
  }

  private unused(x: Unused): TemplateResult {
    const last = x.last === 0 ? "Never used in this log." : `Last used ${shortMoment(x.last, this.shell.now())}.`;
    return html`<div class="card">
      <p class="name">${authorText(x.participant)}</p>
      <div class="sentences">${capabilities(x.capabilities).map((c) => html`<p>${worded(c)}</p>`)}</div>
      <p class="row quiet"><span class="grow">${last} ${x.grant === "" ? "It is in the configuration file." : "It was granted."}</span>${x.grant === "" ? nothing : html`<button class="words small" @click=${() => this.shell.open("operator")}>Grants</button>${envelopeButton(this.shell, x.grant)}`}</p>
    </div>`;
  }
}

define("meup-suggestions", Suggestions);
