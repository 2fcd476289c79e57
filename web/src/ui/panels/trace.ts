/** The trace of a turn as a waterfall, and beside it that of another turn. */

import { type TemplateResult, html, nothing, svg } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { axisMarks, callDuration } from "../../core/time.js";
import { type Span, type Trace, type Usage, trace, turnsOf } from "../../core/trace.js";
import { neutral } from "../../core/unicode.js";
import { define } from "../element.js";
import { shortMoment } from "../format.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { brief, who } from "../text.js";
import { onTick } from "../ticker.js";
import { amount, go, parts } from "./parts.js";
import { traceStyles } from "./trace-style.js";

/** The width of a track in the units of its drawing. */
const WIDTH = 1000;
/** Spans rendered before the user asks for all. */
const MAX = 300;

export class TracePanel extends PanelElement {
  static override properties = { ...PanelElement.properties, chosen: { state: true }, other: { state: true }, all: { state: true } };
  static override styles = [shared, parts, traceStyles];

  /** The turn; "" is the one that the panel was opened for, or the newest. */
  declare private chosen: string;
  /** The turn to compare with; "" for none. */
  declare private other: string;
  declare private all: boolean;
  private shownFor: unknown = null;
  /** A step of a shown turn is running: its duration grows. */
  private running = false;
  private stopTicker: (() => void) | undefined;

  constructor() {
    super();
    this.chosen = "";
    this.other = "";
    this.all = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.stopTicker = onTick(() => {
      if (this.running) this.requestUpdate();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.stopTicker?.();
  }

  protected override willUpdate(): void {
    if (this.shownFor === this.params) return;
    this.shownFor = this.params;
    this.chosen = this.params?.["id"] ?? "";
    this.other = "";
  }

  protected override render(): TemplateResult {
    const turns = turnsOf(this.state);
    const id = this.chosen || turns[0]?.id || "";
    const first = this.read(id);
    if (first === null) return html`<div class="empty"><p>No reasoning yet</p><p class="quiet">A trace shows how long each step of an answer took.</p></div>`;
    const second = this.other === "" ? null : this.read(this.other);
    this.running = [first, second].some((t) => t?.spans.some((x) => x.state === "running") === true);
    const options = (selected: string): unknown => repeat(turns, (t) => t.id, (t) => html`<option value=${t.id} .selected=${t.id === selected}>${neutral(t.title)} (${shortMoment(t.at, this.shell.now() || Date.now())})</option>`);
    const extra = turns.some((t) => t.id === id) ? nothing : html`<option value=${id} .selected=${true}>${neutral(first.title)}</option>`;
    return html`<div class="stack">
      <label class="field-label">Turn<select @change=${(e: Event) => (this.chosen = (e.target as HTMLSelectElement).value)}>${extra}${options(id)}</select></label>
      <label class="field-label">Compare with<select @change=${(e: Event) => (this.other = (e.target as HTMLSelectElement).value)}><option value="" .selected=${this.other === ""}>Nothing</option>${options(this.other)}</select></label>
      ${second === null ? totals(first) : comparison(first, second)}
      ${this.waterfall(first, second === null ? first.end - first.start : longer(first, second))}
      ${second === null ? nothing : this.waterfall(second, longer(first, second))}
    </div>`;
  }

  private read(id: string): Trace | null {
    const { shell } = this;
    const loaded = new Map(shell.envelopes.map((e) => [e.id, e]));
    return trace(this.state, id, shell.now(), (x) => loaded.get(x));
  }

  /** `length` is the time that the whole width stands for. */
  private waterfall(t: Trace, length: number): TemplateResult {
    const shown = this.all ? t.spans : t.spans.slice(0, MAX);
    return html`<section aria-label=${`Trace of ${neutral(t.title)}`}>
      <h3 class="title">${brief(t.title)}</h3>
      <div class="axis" aria-hidden="true"><span></span><svg class="ticks">${axisMarks(length).map(([at, label]) => {
        const x = `${((at / length) * 100).toFixed(2)}%`;
        return svg`<line x1=${x} x2=${x} y2="100%"/>${at / length > 0.8 ? nothing : svg`<text x=${x} dx="4" y="1.05em">${label}</text>`}`;
      })}</svg></div>
      <ol class="spans">${repeat(shown, (x) => x.key, (x) => this.row(t, x, length))}</ol>
      ${shown.length < t.spans.length ? html`<p><button class="words" @click=${() => (this.all = true)}>Show all ${t.spans.length.toLocaleString()} steps</button></p>` : nothing}
    </section>`;
  }

  private row(t: Trace, x: Span, length: number): TemplateResult {
    const at = (time: number): number => ((time - t.start) / length) * WIDTH;
    const bar = (from: number, to: number, kind: string): unknown => (to <= from ? nothing : svg`<rect class=${kind} x=${at(from).toFixed(2)} y="3" width=${Math.max(3, at(to) - at(from)).toFixed(2)} height="10"/>`);
    return html`<li class="span" data-type=${x.type} data-depth=${Math.min(x.depth, 5)}>
      <button class="label" @click=${() => void go(this.shell, x.place)}>
        <span class="what">${x.type === "call" ? html`<code>${neutral(x.label)}</code>` : brief(x.label)}</span>
        <span class="facts">${facts(x)}</span>
      </button>
      <svg class="track" viewBox="0 0 ${WIDTH} 16" preserveAspectRatio="none" aria-hidden="true">
        ${x.end <= x.start ? svg`<rect class="point" x=${Math.min(at(x.start), WIDTH - 4).toFixed(2)} y="3" width="4" height="10"/>` : html`${bar(x.start, x.waitedUntil, "waited")}${bar(x.waitedUntil, x.end, `bar ${x.type} ${x.state}`)}`}
      </svg>
    </li>`;
  }
}

function longer(a: Trace, b: Trace): number {
  return Math.max(a.end - a.start, b.end - b.start);
}

/** Duration, author, state and usage of a step. */
function facts(x: Span): string {
  const took = x.end > x.start ? callDuration(x.end - x.start) : "";
  const waited = x.waitedUntil > x.start ? `waited ${callDuration(x.waitedUntil - x.start)}` : "";
  const state = x.state === "failed" ? "failed" : x.state === "running" ? "running" : "";
  return [x.depth === 0 || x.type === "message" ? who(x.from) : "", took, waited, state, ...usage(x.usage)].filter((w) => w !== "").join(" · ");
}

function usage(u: Usage): readonly string[] {
  return [neutral(u.model), tokens(u), cost(u)];
}

function tokens(u: Usage): string {
  if (u.tokens === null) return "";
  const counted = u.input === null || u.output === null ? `${u.tokens.toLocaleString()} tokens` : `${u.input.toLocaleString()} in, ${u.output.toLocaleString()} out`;
  return least(u) + counted;
}

function cost(u: Usage): string {
  return u.cost === null ? "" : `${least(u)}${u.cost.toLocaleString(undefined, { maximumFractionDigits: 4 })} ${neutral(u.currency)}`;
}

/** The mark of a lower bound. */
function least(u: Usage): string {
  return u.uncounted > 0 ? "≥ " : "";
}

function totals(t: Trace): TemplateResult {
  return html`<dl class="totals">${measures(t).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    ${t.usage.tokens === null ? html`<p class="faint">The agent reported no tokens.</p>` : nothing}`;
}

type Measure = readonly [name: string, value: string];

function measures(t: Trace): readonly Measure[] {
  return [
    ["Duration", callDuration(t.end - t.start)],
    ["Waiting", t.waited === 0 ? "" : callDuration(t.waited)],
    ["Steps", String(t.spans.length)],
    ["Calls", t.failed === 0 ? String(t.calls) : `${t.calls}, ${t.failed} failed`],
    ["Tokens", tokens(t.usage)],
    ["Cost", cost(t.usage)],
    ["Model", neutral(t.usage.model)],
  ].filter((x): x is [string, string] => x[1] !== "");
}

/** The measures of two turns, and by how much the second differs. */
function comparison(a: Trace, b: Trace): TemplateResult {
  const left = new Map(measures(a));
  const right = new Map(measures(b));
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const ratio = (b.end - b.start) / (a.end - a.start);
  const change = Math.round((ratio - 1) * 100);
  const took = change === 0 ? "the same time" : ratio > 3 ? `${ratio.toLocaleString(undefined, { maximumFractionDigits: 1 })} times as long` : change < -90 ? "less than a tenth of the time" : `${Math.abs(change)}% ${change > 0 ? "longer" : "less"}`;
  return html`<div class="table" tabindex="0" role="group" aria-label="Comparison"><table>
      <thead><tr><td></td><th scope="col">This turn</th><th scope="col">The other</th></tr></thead>
      <tbody>${names.map((n) => html`<tr><th scope="row">${n}</th><td>${left.get(n) ?? "–"}</td><td>${right.get(n) ?? "–"}</td></tr>`)}</tbody>
    </table></div>
    <p class="quiet">The other took ${took}, with ${amount(b.calls, "call")} instead of ${a.calls.toLocaleString()}.</p>`;
}

define("meup-trace", TracePanel);
