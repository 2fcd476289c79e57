/** Who decides on proposals, how each has done, and the promotion and demotion of reviewers. */

import { type TemplateResult, css, html, nothing } from "lit";
import { capability } from "../../core/capabilities.js";
import { type Decider, type Deciders, type Promotion, type Tally, portion, readDeciders, rolesOf, waitOf, withChanges } from "../../core/deciders.js";
import { demote, promote } from "../../core/panel-drafts.js";
import type { SpaceState } from "../../core/state.js";
import { callDuration, duration } from "../../core/time.js";
import type { CapabilityRule, ParticipantID, Payload } from "@sdk/types.js";
import { authorText, personText } from "../author.js";
import { define } from "../element.js";
import { longText, moment, shortMoment } from "../format.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { plain, who } from "../text.js";
import { COMPUTED, Loaded } from "./loaded.js";
import { barStyles, envelopeButton, exact, monogram, parts, refused, worded } from "./parts.js";
import { since, spanField, spanStyles } from "./span.js";
import "./reason-form.js";

/** How long to wait for further decisions before the scores are read again, milliseconds. */
const SETTLES = 3000;

export class Reviewers extends PanelElement {
  static override properties = { ...PanelElement.properties, days: { state: true }, asking: { state: true } };
  static override styles = [
    shared,
    parts,
    spanStyles,
    barStyles,
    css`
      .decider {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-4) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .decider > * {
        min-width: 0;
      }
      .decider .small-icon {
        vertical-align: middle;
      }
      dl {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr));
        gap: var(--space-2) var(--space-4);
      }
      dt {
        color: var(--quiet);
        font-size: var(--text-xs);
      }
      dd {
        font-variant-numeric: tabular-nums;
      }
      dd.bad {
        color: var(--bad);
        font-weight: 600;
      }
      .wide {
        max-width: 100%;
        overflow-x: auto;
      }
      table {
        width: 100%;
        border-collapse: collapse;
        font-size: var(--text-s);
        font-variant-numeric: tabular-nums;
      }
      th {
        color: var(--quiet);
        font-size: var(--text-xs);
        font-weight: 500;
        text-align: right;
      }
      th {
        overflow-wrap: normal;
      }
      th,
      td {
        padding: 0.2rem 0 0.2rem var(--space-2);
        border-bottom: 1px solid var(--line);
        text-align: right;
      }
      :is(th, td):first-child {
        min-width: 5rem;
        padding-left: 0;
        text-align: left;
      }
      td.bad {
        color: var(--bad);
        font-weight: 600;
      }
      .needs {
        display: grid;
        gap: var(--space-1);
      }
    `,
  ];

  declare private days: number;
  /** The reviewer whose promotion or demotion awaits confirmation. */
  declare private asking: ParticipantID;
  private readonly loaded = new Loaded(this, (v: { readonly head: number; readonly report: unknown }) => ({ head: v.head, deciders: readDeciders(v.report) }));
  /** What the scores depend on, when they were last requested. */
  private scored = "";
  private later: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.days = 30;
    this.asking = "";
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.later);
  }

  /** Reads the scores again after proposals were decided, or reviewers promoted. */
  protected override willUpdate(): void {
    const now = inputs(this.shell.state);
    if (now === this.scored) return;
    const first = this.scored === "";
    this.scored = now;
    clearTimeout(this.later);
    this.later = setTimeout(() => this.load(), first ? 0 : SETTLES);
  }

  private load(): void {
    const { head } = this.shell.state;
    void this.loaded.load(async () => ({ head, report: await this.shell.get(`deciders?${since(this.days)}`, COMPUTED) }));
  }

  protected override render(): TemplateResult {
    const { value, error, loading } = this.loaded;
    if (value === null) return html`${refused(error)}${error === "" ? html`<p class="empty" role="status">Loading…</p>` : nothing}`;
    const d = withChanges(value.deciders, this.shell.envelopes, value.head);
    return html`${refused(error)}
      <p class="row">${spanField(this.days, this.choose)}</p>
      ${d.configured ? nothing : html`<p class="quiet">The configuration names no deciders: everybody with the right to decide does.</p>`}
      ${d.humanOnly.length === 0 ? nothing : html`<details class="section"><summary>Only people decide on some calls</summary>${patterns(d.humanOnly)}</details>`}
      <ol aria-busy=${loading ? "true" : "false"} aria-label="In the order in which they are asked">${d.deciders.map((x) => html`<li class="decider">${this.one(d, x)}</li>`)}</ol>
      ${d.partial ? html`<p class="faint section">The log was not read back to ${shortMoment(d.since, this.shell.now())}: older decisions are missing in the scores.</p>` : nothing}`;
  }

  private readonly choose = (days: number): void => {
    this.days = days;
    this.load();
  };

  private one(d: Deciders, x: Decider): TemplateResult {
    return html`${this.head(x)} ${x.score === null ? nothing : scores(x, x.score)} ${x.kinds.length === 0 ? nothing : byKind(x)}
      ${x.only.length === 0 ? nothing : html`<details><summary>Which calls it may decide on</summary>${patterns(x.only)}</details>`} ${this.change(x)} ${x.promotion === null ? nothing : needs(x.promotion)}
      ${x.type === "reviewer" && !this.shell.past ? this.actions(d, x) : nothing}`;
  }

  private head(x: Decider): TemplateResult {
    if (x.type === "rules") return html`<p class="row"><span class="name grow">Rules</span><span class="chip accent">decide first</span></p>`;
    const name = x.id === "" ? html`<code>${exact(x.pattern)}</code>` : x.id === this.shell.you ? "You" : authorText(x.id);
    const role =
      x.type === "reviewer"
        ? html`<span class="chip ${x.decides ? "accent" : ""}">${x.decides ? "reviewer, decides" : "reviewer, in shadow"}</span>`
        : html`<span class="chip">${x.after > 0 ? `decides after ${duration(x.after / 1000)}` : "person"}</span>`;
    return html`<p class="row">${x.id === "" ? nothing : monogram(x.id, x.type === "reviewer")}<span class="name grow">${name}</span>${role}</p>`;
  }

  private change(x: Decider): TemplateResult | typeof nothing {
    const c = x.changed;
    if (c === null) return nothing;
    return html`<p class="quiet">
      ${c.decides ? "Promoted" : "Put into shadow"} by ${personText(c.by, this.shell.you)} <time title=${moment(c.at)}>${shortMoment(c.at, this.shell.now())}</time>${c.reason === "" ? nothing : html`: ${longText(c.reason)}`}
      ${c.undone === "" ? nothing : html`<button class="words small" @click=${() => this.shell.open("envelope", { id: c.undone })}>The wrong decision</button>`} ${envelopeButton(this.shell, c.id)}
    </p>`;
  }

  private actions(d: Deciders, x: Decider): TemplateResult | typeof nothing {
    const named = waitOf(rolesOf(d), this.shell.you) !== null && x.id !== this.shell.you;
    if (x.decides ? !named || !this.shell.may("reviewer.demote") : x.promotion?.mayPromote !== true) return nothing;
    const missing = x.promotion?.missing ?? "";
    if (this.asking === x.id) {
      return html`<meup-reason-form
        .shell=${this.shell}
        .draft=${(reason: string) => (x.decides ? demote(x.id, reason) : promote(x.id, reason))}
        .words=${x.decides ? `${who(x.id)} decides nothing from now on. It still gives its opinions.` : `From now on ${who(x.id)} decides on proposals before people are asked.`}
        .action=${x.decides ? "Back to shadow" : "Promote"}
        .bad=${x.decides}
        @closed=${() => this.close(x.id)}
      ></meup-reason-form>`;
    }
    const label = x.decides ? "Back to shadow…" : "Promote…";
    return html`<p><button class="button ${x.decides ? "bad" : ""}" data-reviewer=${x.id} aria-label=${`${label} ${who(x.id)}`} ?disabled=${!x.decides && missing !== ""} @click=${() => (this.asking = x.id)}>${label}</button></p>`;
  }

  private close(id: ParticipantID): void {
    this.asking = "";
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(`[data-reviewer="${CSS.escape(id)}"]`)?.focus());
  }
}

/** What the scores depend on, of the loaded part of the log. */
function inputs(s: SpaceState): string {
  const appointed = [...s.notices.values()].filter((n) => n.kind.startsWith("reviewer.")).length;
  const opinions = [...s.proposals.values()].reduce((sum, p) => sum + p.opinions.length, 0);
  return [s.proposals.size, s.pending.length, opinions, appointed].join(" ");
}

/** The score of a decider: coverage first, then misses. */
function scores(x: Decider, t: Tally): TemplateResult {
  const person = x.type === "person";
  const n = compared(x);
  const latency = t.covered === 0 ? "none yet" : `half within ${callDuration(t.latencyP50 * 1000)}, 99% within ${callDuration(t.latencyP99 * 1000)}`;
  return html`<dl>
    <div><dt>${person ? "Decided on" : "Coverage"}</dt><dd>${portion(t.covered, t.proposals)}</dd></div>
    ${person
      ? html`<div><dt>Approved</dt><dd>${t.approved.toLocaleString()}</dd></div><div><dt>Rejected</dt><dd>${t.rejected.toLocaleString()}</dd></div>`
      : html`<div><dt title="It approved, or would have, what a person rejected or called wrong">Misses</dt><dd class=${t.misses > 0 ? "bad" : ""}>${n(t.misses.toLocaleString())}</dd></div>
          <div><dt title="Of the calls that people rejected, those that it would have rejected too">Agreement on rejections</dt><dd>${n(portion(t.agreedRejections, t.personRejections))}</dd></div>
          <div><dt title="It rejected, or would have, what people approved">False alarms</dt><dd>${n(t.falseAlarms.toLocaleString())}</dd></div>
          <div><dt title="Questions that people were not asked because of it, or would not have been">Saved</dt><dd>${t.saved.toLocaleString()}</dd></div>`}
    ${x.type === "rules" ? nothing : html`<div><dt>Latency</dt><dd>${latency}</dd></div>`}
  </dl>`;
}

/** Returns what shows a comparison with people: a dash for rules, which are not compared. */
function compared(x: Decider): (words: string) => string {
  return (words) => (x.type === "rules" ? "–" : words);
}

function byKind(x: Decider): TemplateResult {
  const n = compared(x);
  return html`<details>
    <summary>By kind of call</summary>
    <div class="wide" tabindex="0" role="group" aria-label="Scores by kind of call">
      <table>
        <thead><tr><th scope="col">Kind</th><th scope="col">Coverage</th><th scope="col">Misses</th><th scope="col">Rejections</th><th scope="col">False alarms</th><th scope="col">Saved</th></tr></thead>
        <tbody>${x.kinds.map(
          (k) => html`<tr><td><code>${exact(k.kind)}</code></td><td>${k.covered.toLocaleString()} / ${k.proposals.toLocaleString()}</td><td class=${k.misses > 0 ? "bad" : ""}>${n(k.misses.toLocaleString())}</td><td>${n(`${k.agreedRejections.toLocaleString()} / ${k.personRejections.toLocaleString()}`)}</td><td>${n(k.falseAlarms.toLocaleString())}</td><td>${k.saved.toLocaleString()}</td></tr>`,
        )}</tbody>
      </table>
    </div>
  </details>`;
}

/** What a promotion needs, and what there is. */
function needs(p: Promotion): TemplateResult {
  const bar = (label: string, there: number, wanted: number): TemplateResult | typeof nothing =>
    wanted <= 0 ? nothing : html`<p class="quiet">${label}: ${Math.min(there, wanted).toLocaleString()} of ${wanted.toLocaleString()}</p><progress aria-label=${label} max=${wanted} value=${Math.min(there, wanted)}></progress>`;
  return html`<div class="needs" role="group" aria-label="What a promotion needs">
    ${bar("Decisions by people on its opinions", p.compared, p.decisions)} ${bar("Without a miss", p.sinceMiss, p.withoutMiss)}
    <p class="quiet">${p.missing === "" ? "It can be promoted." : html`A promotion still needs: ${plain(p.missing)}`}</p>
  </div>`;
}

/** Patterns of proposed calls as sentences; without a kind, mcp.request is meant. */
function patterns(list: readonly Payload[]): TemplateResult {
  return html`<div class="sentences">${list.map((p) => html`<p>${worded(capability({ kind: "mcp.request", ...p } as CapabilityRule).replace(/^May call tools(?:, but only )?/u, "Calls: "))}</p>`)}</div>`;
}

define("meup-reviewers", Reviewers);
