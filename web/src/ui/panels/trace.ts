/** The trace of a turn as a waterfall with an inspector of its steps, and that of another turn. */

import { type PropertyValues, type TemplateResult, html, nothing, svg } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { callDuration } from "../../core/time.js";
import { type Scale, type Span, type Trace, type Usage, scale, trace, turnsOf } from "../../core/trace.js";
import type { ID, Millis } from "@sdk/types.js";
import { neutral, visible } from "../../core/unicode.js";
import { outcomeBy, resultText } from "../call.js";
import { define } from "../element.js";
import { longText, moment, shortMoment } from "../format.js";
import { icon } from "../icons.js";
import { PanelElement } from "../panel.js";
import { frames } from "../scroll-to.js";
import { shared } from "../styles.js";
import { brief, pretty, who } from "../text.js";
import { Ticking } from "../ticker.js";
import "./envelope.js";
import { amount, exact, goButton, names, parts } from "./parts.js";
import { traceStyles } from "./trace-style.js";

/** The width of a track in the units of its drawing. */
const WIDTH = 1000;
/** Spans rendered before the user asks for all. */
const MAX = 300;
/** The width of the panel, in pixels, from which the inspector is beside the waterfall. */
const BESIDE = 900;

const PRECISE = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

export class TracePanel extends PanelElement {
  static override properties = { ...PanelElement.properties, all: { state: true }, missing: { state: true }, raw: { state: true }, scaled: { state: true }, beside: { state: true } };
  static override styles = [shared, parts, traceStyles];

  declare private all: boolean;
  /** The turn that was not found in the available history; "" for none. */
  declare private missing: string;
  /** The envelope that is shown in the inspector; "" for none. */
  declare private raw: ID;
  /** Times of waiting are to scale, not folded. */
  declare private scaled: boolean;
  /** The inspector is beside the waterfall, not below the step. */
  declare private beside: boolean;
  private readonly width = new ResizeObserver(([e]) => (this.beside = (e?.contentRect.width ?? 0) >= BESIDE));
  private requested = "";
  private scrolledTo = "";
  /** A step of a shown turn is running: its duration grows. */
  private running = false;

  constructor() {
    super();
    this.all = false;
    this.missing = "";
    this.raw = "";
    this.scaled = false;
    this.beside = false;
    new Ticking(this, () => {
      if (this.running) this.requestUpdate();
    });
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.width.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.width.disconnect();
  }

  /** The turn; "" is the newest. */
  private get turn(): string {
    return this.params?.["id"] ?? "";
  }

  /** The turn to compare with; "" for none. */
  private get other(): string {
    return this.params?.["other"] ?? "";
  }

  /** The key of the step in the inspector; "" for none. */
  private get step(): string {
    return this.params?.["step"] ?? "";
  }

  /** Shows another turn, comparison or step, also in the address. */
  private choose(change: { readonly id?: string; readonly other?: string; readonly step?: string }): void {
    const id = this.turn || turnsOf(this.state, 1)[0]?.id || "";
    this.shell.open("trace", { id, other: this.other, step: "", ...change });
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("params")) this.raw = "";
  }

  protected override updated(): void {
    void this.scrollToStep();
    for (const id of [this.turn, this.other]) if (id !== "" && this.state.head > 0 && this.read(id) === null) void this.load(id);
  }

  /** Scrolls to the open step, once. */
  private async scrollToStep(): Promise<void> {
    const row = this.renderRoot.querySelector(".span[data-open=true]");
    if (this.scrolledTo === this.step || (row === null && this.step !== "")) return;
    this.scrolledTo = this.step;
    row?.scrollIntoView({ block: "nearest" });
    await frames(2); // rows with an estimated height have been measured now
    row?.scrollIntoView({ block: "nearest" });
  }

  /** Loads the history back to a turn, once. */
  private async load(id: string): Promise<void> {
    if (this.requested === id) return;
    this.requested = id;
    if (!(await this.shell.load(id))) this.missing = id;
  }

  protected override render(): TemplateResult {
    const turns = turnsOf(this.state);
    const id = this.turn || turns[0]?.id || "";
    const first = this.read(id);
    if (first === null && this.turn !== "" && this.missing !== this.turn) return html`<p class="empty">Loading…</p>`;
    if (first === null && this.turn !== "") return html`<p class="empty">This turn is not in the available history.</p>`;
    if (first === null) return html`<div class="empty"><p>No reasoning yet</p><p class="quiet">A trace shows how long each step of an answer took.</p></div>`;
    const second = this.other === "" ? null : this.read(this.other);
    this.running = [first, second].some((t) => t?.spans.some((x) => x.state === "running") === true);
    const options = (selected: string): unknown => repeat(turns, (t) => t.id, (t) => html`<option value=${t.id} .selected=${t.id === selected}>${neutral(t.title)} (${shortMoment(t.at, this.shell.now() || Date.now())})</option>`);
    const extra = turns.some((t) => t.id === id) ? nothing : html`<option value=${id} .selected=${true}>${neutral(first.title)}</option>`;
    return html`<div class="stack">
      <label class="field-label">Turn<select @change=${(e: Event) => this.choose({ id: (e.target as HTMLSelectElement).value })}>${extra}${options(id)}</select></label>
      <label class="field-label">Compare with<select @change=${(e: Event) => this.choose({ other: (e.target as HTMLSelectElement).value })}><option value="" .selected=${this.other === ""}>Nothing</option>${options(this.other)}</select></label>
      ${second === null ? totals(first) : comparison(first, second)}
      ${this.waterfalls(second === null ? [first] : [first, second])}
    </div>`;
  }

  private waterfalls(traces: readonly Trace[]): TemplateResult {
    const scales = traces.map((t) => scale(t, !this.scaled));
    const length = Math.max(...scales.map((x) => x.length));
    const folded = scales.flatMap((x) => x.folds).reduce((ms, f) => ms + f.to - f.from, 0);
    const waits = folded > 0 || (this.scaled && traces.some((t) => scale(t, true).folds.length > 0));
    const at = traces.findIndex((t) => t.spans.some((x) => x.key === this.step));
    const span = traces[at]?.spans.find((x) => x.key === this.step);
    const inspector = span === undefined ? nothing : this.inspector(traces[at] as Trace, span);
    return html`${waits ? html`<p class="quiet">${folded > 0 ? `${callDuration(folded)} of waiting is folded.` : "Waiting is to scale."} <button class="words" @click=${() => (this.scaled = !this.scaled)}>${folded > 0 ? "Show to scale" : "Fold"}</button></p>` : nothing}
      <div class="both" data-beside=${this.beside && span !== undefined} @keydown=${this.key}>
        <div class="stack">${traces.map((t, i) => this.waterfall(t, scales[i] as Scale, length, i === at && !this.beside ? inspector : nothing))}</div>
        ${this.beside ? inspector : nothing}
      </div>`;
  }

  private read(id: string): Trace | null {
    const { shell } = this;
    const loaded = new Map(shell.envelopes.map((e) => [e.id, e]));
    return trace(this.state, id, shell.now(), (x) => loaded.get(x));
  }

  /** `length` is the time that the whole width stands for; the inspector is below its step. */
  private waterfall(t: Trace, axis: Scale, length: Millis, inspector: TemplateResult | typeof nothing): TemplateResult {
    const shown = this.all ? t.spans : t.spans.slice(0, MAX);
    const percent = (at: Millis): string => `${((at / length) * 100).toFixed(2)}%`;
    return html`<section aria-label=${`Trace of ${neutral(t.title)}`}>
      <h3 class="title">${brief(t.title)}</h3>
      <div class="axis" aria-hidden="true"><span></span><svg class="ticks">
        ${axis.folds.map((f) => svg`<rect class="fold" x=${percent(f.at)} width=${percent(f.length)} height="100%"/>`)}
        ${axis.marks(length).map(([at, label]) => svg`<line x1=${percent(at)} x2=${percent(at)} y2="100%"/>${at / length > 0.8 ? nothing : svg`<text x=${percent(at)} dx="4" y="1.05em">${label}</text>`}`)}
      </svg></div>
      <ol class="spans">${repeat(shown, (x) => x.key, (x) => this.row(x, axis, length, x.key === this.step ? inspector : nothing))}</ol>
      ${shown.length < t.spans.length ? html`<p><button class="words" @click=${() => (this.all = true)}>Show all ${t.spans.length.toLocaleString()} steps</button></p>` : nothing}
    </section>`;
  }

  private row(x: Span, axis: Scale, length: Millis, inspector: TemplateResult | typeof nothing): TemplateResult {
    const at = (time: Millis): number => (axis.at(time) / length) * WIDTH;
    const bar = (from: Millis, to: Millis, kind: string): unknown => (to <= from ? nothing : svg`<rect class=${kind} x=${at(from).toFixed(2)} y="3" width=${Math.max(3, at(to) - at(from)).toFixed(2)} height="10"/>`);
    const open = x.key === this.step;
    return html`<li class="span" data-type=${x.type} data-depth=${Math.min(x.depth, 5)} data-open=${open}>
      <button class="label" aria-expanded=${open ? "true" : "false"} @click=${() => this.choose({ step: open ? "" : x.key })}>
        <span class="what">${x.type === "call" ? html`<code>${neutral(x.label)}</code>${x.argument === "" ? nothing : html` <code class="argument">${visible(x.argument)}</code>`}` : brief(x.label)}</span>
        <span class="facts">${facts(x)}</span>
      </button>
      <svg class="track" viewBox="0 0 ${WIDTH} 16" preserveAspectRatio="none" aria-hidden="true">
        ${axis.folds.map((f) => svg`<rect class="fold" x=${((f.at / length) * WIDTH).toFixed(2)} width=${((f.length / length) * WIDTH).toFixed(2)} height="16"/>`)}
        ${x.end <= x.start ? svg`<rect class="point" x=${Math.min(at(x.start), WIDTH - 4).toFixed(2)} y="3" width="4" height="10"/>` : html`${bar(x.start, x.waitedUntil, "waited")}${bar(x.waitedUntil, x.end, `bar ${x.type} ${x.state}`)}`}
      </svg>
      ${inspector}
    </li>`;
  }

  /** Escape closes the inspector, then the panel. */
  private readonly key = (e: KeyboardEvent): void => {
    if (e.key !== "Escape" || this.step === "") return;
    e.preventDefault();
    this.renderRoot.querySelector<HTMLElement>(".span[data-open=true] .label")?.focus();
    this.choose({});
  };

  /** What is known about a step. */
  private inspector(t: Trace, x: Span): TemplateResult {
    const { call } = x;
    const code = (title: string, text: string): TemplateResult => html`<h4>${title}</h4><pre tabindex="0" aria-label=${title}>${longText(text, exact)}</pre>`;
    const prose = (title: string, text: string): unknown => (text === "" ? nothing : html`<h4>${title}</h4><p class="prose">${longText(text)}</p>`);
    const show = (title: string, id: ID): TemplateResult =>
      html`<button class="button small" aria-expanded=${this.raw === id ? "true" : "false"} @click=${() => (this.raw = this.raw === id ? "" : id)}>${icon("raw")} ${title}</button>`;
    return html`<section class="inspector" aria-label="Step">
      <div class="inspector-head"><h3>${call === null ? brief(x.label) : html`<code>${exact(call.tool || x.label)}</code>`}</h3><button class="small-icon" title="Close" aria-label="Close step" @click=${() => this.choose({})}>${icon("close")}</button></div>
      <dl class="known">${this.known(t, x).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
      ${prose(call === null ? "Text" : "Reason", call === null && x.text === x.label ? "" : x.text)} ${prose(x.state === "ended" ? "Reason of the end" : "Conclusion", x.conclusion)}
      ${call === null ? nothing : html`${code("Arguments", pretty(call.args ?? null))} ${call.result === undefined ? nothing : code(x.state === "failed" ? "Error" : "Result", resultText(call.result))}`}
      ${x.envelopes.length === 0 ? nothing : html`<h4>Envelopes</h4><div class="row">${x.envelopes.map(([title, id]) => show(title, id))}</div>`}
      <p>${goButton(this.shell, x.place)}</p>
      ${this.raw === "" ? nothing : html`<meup-envelope .inside=${true} .shell=${this.shell} .state=${this.state} .params=${{ id: this.raw }}></meup-envelope>`}
    </section>`;
  }

  /** The facts about a step: who, when, how long, and what it needed. */
  private known(t: Trace, x: Span): readonly (readonly [name: string, value: unknown])[] {
    const { call } = x;
    const time = (at: Millis): TemplateResult => html`<time datetime=${new Date(at).toISOString()} title=${moment(at)}>${PRECISE.format(at)}</time>`;
    const host = call === null ? [] : call.answeredBy === "" ? call.to : [call.answeredBy];
    const outcome = call === null ? "" : outcomeBy(call, this.shell.you, x.state !== "running");
    return [
      ["By", names(this.shell, [x.from])],
      ...(host.length === 0 ? [] : ([["To", names(this.shell, host)]] as const)),
      ["Started", html`${time(x.start)} <span class="quiet">after ${callDuration(x.start - t.start)}</span>`],
      ...(x.end <= x.start || x.state === "running" ? [] : ([["Ended", time(x.end)]] as const)),
      ["Duration", x.end > x.start ? callDuration(x.end - x.start) : ""],
      ["Waiting", x.waitedUntil > x.start ? callDuration(x.waitedUntil - x.start) : ""],
      ["Outcome", call === null || call.reason === "" ? outcome : html`${outcome}: ${longText(call.reason)}`],
      ["Model", neutral(x.usage.model)],
      ["Tokens", tokens(x.usage)],
      ["Cost", cost(x.usage)],
    ].filter(([, value]) => value !== "") as readonly (readonly [string, unknown])[];
  }
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
