/** What another configuration would have decided about the log of this space. */

import { type TemplateResult, css, html, nothing } from "lit";
import { ruleWords } from "../../core/decisions.js";
import { kindWords } from "../../core/kind-words.js";
import { type Backtest as Result, type Group, contradicted, groupTitle, readBacktest } from "../../core/policy.js";
import { oneLine } from "@sdk/read.js";
import { authorText, personText } from "../author.js";
import { define } from "../element.js";
import { shortMoment } from "../format.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { exampleStyles, examples } from "./examples.js";
import { COMPUTED, Loaded } from "./loaded.js";
import { amount, parts, refused, worded } from "./parts.js";
import { since, spanField, spanStyles } from "./span.js";

/** The largest file, in bytes. */
const MAX_FILE = 1 << 20;

const TONES: Readonly<Record<string, string>> = { allowed: "accent", asked: "wait", refused: "bad" };

export class Backtest extends PanelElement {
  static override properties = { ...PanelElement.properties, days: { state: true }, trouble: { state: true } };
  static override styles = [
    shared,
    parts,
    spanStyles,
    exampleStyles,
    css`
      form {
        display: grid;
        gap: var(--space-3);
      }
      textarea {
        min-height: 9rem;
        font-family: var(--mono);
        font-size: 0.8125rem;
        resize: vertical;
      }
      .result {
        margin: var(--space-5) 0 var(--space-2);
        font-weight: 600;
      }
      .of {
        flex: 1 1 9rem;
      }
      .group {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
    `,
  ];

  declare private days: number;
  /** Why the file was not read, or the field is empty. */
  declare private trouble: string;
  private readonly result = new Loaded(this, readBacktest);

  constructor() {
    super();
    this.days = 30;
    this.trouble = "";
  }

  protected override render(): TemplateResult {
    const { value, error, loading } = this.result;
    return html`<form @submit=${this.submit}>
        <p class="quiet">Decides the log again under another configuration, and shows what would have been different. Nothing is changed.</p>
        <label class="field-label">Configuration (YAML or JSON)<textarea name="configuration" spellcheck="false" autocapitalize="off" maxlength=${MAX_FILE} placeholder="spaces:" aria-invalid=${this.trouble === "" ? "false" : "true"} @input=${() => (this.trouble = "")}></textarea></label>
        <label class="field-label">From a file<input class="field" type="file" accept=".yaml,.yml,.json,text/*" @change=${(e: Event) => void this.choose(e)} /></label>
        ${refused(this.trouble)}
        <div class="row">
          <button class="button main" type="submit" ?disabled=${loading}>${loading ? "Deciding again…" : "Run"}</button>
          ${spanField(this.days, (days) => (this.days = days))}
        </div>
      </form>
      ${refused(error)}
      <div aria-live="polite" aria-busy=${loading ? "true" : "false"}>${value === null || error !== "" ? nothing : this.outcome(value)}</div>`;
  }

  private async choose(e: Event): Promise<void> {
    const file = (e.target as HTMLInputElement).files?.[0];
    if (file === undefined) return;
    const field = this.renderRoot.querySelector("textarea");
    if (file.size > MAX_FILE) this.trouble = "The file is too large for a configuration.";
    else if (field !== null) {
      field.value = await file.text();
      this.trouble = "";
    }
  }

  private readonly submit = (e: Event): void => {
    e.preventDefault();
    const text = this.renderRoot.querySelector("textarea")?.value ?? "";
    this.trouble = text.trim() === "" ? "Paste a configuration, or choose a file." : "";
    if (this.trouble !== "") return;
    void this.result.load(() => this.shell.get(`backtest?${since(this.days)}`, COMPUTED, text));
  };

  private outcome(b: Result): TemplateResult {
    const now = this.shell.now();
    return html`<p class="result">${worded(b.summary)}</p>
      <p class="quiet">${amount(b.envelopes, "envelope")}${b.envelopes === 0 ? "" : `, ${shortMoment(b.from, now)} to ${shortMoment(b.to, now)}`}, compared with ${b.record ? "what happened" : "what happened and the configuration in force"}.</p>
      ${b.unjudged > 0 ? html`<p class="quiet">The log no longer has enough about ${amount(b.unjudged, "envelope")}.</p>` : nothing}
      ${b.unseen > 0 ? html`<p class="quiet">${amount(b.unseen, "entry", "entries")} that you may not see ${b.unseen === 1 ? "is" : "are"} missing here.</p>` : nothing}
      ${b.partial ? html`<p class="quiet">The log was read back to ${shortMoment(b.since, now)} only.</p>` : nothing}
      ${b.warnings.length === 0 ? nothing : html`<details><summary>${amount(b.warnings.length, "warning")} about the configuration</summary><ul class="sentences">${b.warnings.map((x) => html`<li>${worded(x)}</li>`)}</ul></details>`}
      <ul>${b.groups.map((g) => html`<li class="group">${this.group(g)}</li>`)}</ul>
      ${b.moreGroups > 0 ? html`<p class="faint section">${amount(b.moreGroups, "further group")} left out.</p>` : nothing}`;
  }

  private group(g: Group): TemplateResult {
    const bad = contradicted(g);
    const by = (did: string, ids: readonly string[]): TemplateResult | typeof nothing => (ids.length === 0 ? nothing : html`<p class="quiet">${did} by ${ids.map((id) => personText(id, this.shell.you)).join(", ")}.</p>`);
    const rule = (label: string, text: string): TemplateResult | typeof nothing => (text === "" ? nothing : html`<p class="quiet">${label}: ${worded(oneLine(ruleWords(text), 400))}</p>`);
    return html`<p class="row"><span class="chip ${bad ? "bad" : (TONES[g.outcome] ?? "")}">${groupTitle(g)}</span><span class="of"><b>${g.count.toLocaleString()}</b> · ${kindWords(g.kind)} of <span class="name">${authorText(g.participant)}</span></span></p>
      ${by("Rejected", g.rejectedBy)} ${by("Approved", g.approvedBy)} ${rule("Rule", g.rule)} ${g.why === "" ? nothing : html`<p class="quiet">${worded(oneLine(g.why, 400))}</p>`} ${rule("In force", g.before)}
      ${g.examples.length === 0 ? nothing : html`<details ?open=${bad}><summary>${g.examples.length < g.count ? amount(g.examples.length, "example") : amount(g.count, "envelope")}</summary>${examples(this.shell, g.examples)}</details>`}`;
  }
}

define("meup-backtest", Backtest);
