/** The timeline: shows the space at any moment and replays it at any speed. */

import { type TemplateResult, html, nothing, svg } from "lit";
import { oneLine, textOf } from "@sdk/read.js";
import { callDuration } from "../../core/time.js";
import { neutral } from "../../core/unicode.js";
import type { Envelope } from "@sdk/types.js";
import { icon } from "../icons.js";
import { define } from "../element.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { who } from "../text.js";
import { moment } from "../format.js";
import { amount, parts, refused } from "./parts.js";
import { type Replay, replayOf } from "./replay-session.js";
import { timelineStyles } from "./timeline-style.js";

const SPEEDS = [1, 2, 5, 10, 25, 50, 100] as const;
/** Columns of the activity chart. */
const COLUMNS = 60;

export class TimelinePanel extends PanelElement {
  static override properties = { ...PanelElement.properties, byTime: { state: true } };
  static override styles = [shared, parts, timelineStyles];

  /** The slider is scaled by time instead of by envelopes. */
  declare private byTime: boolean;
  private end: () => void = () => {};
  private chart: { readonly n: number; readonly byTime: boolean; readonly bars: readonly number[] } | null = null;

  constructor() {
    super();
    this.byTime = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.end();
    this.end = () => {};
    this.listening = false;
  }

  private listening = false;

  private get replay(): Replay {
    const r = replayOf(this.shell);
    if (!this.listening) {
      this.listening = true;
      this.end = r.subscribe(() => this.requestUpdate());
    }
    return r;
  }

  protected override render(): TemplateResult {
    const r = this.replay;
    r.sync();
    const n = r.timeline.length;
    if (n === 0) return html`<p class="empty">No events yet</p>`;
    return html`<div class="stack">
      <div class="mode row" data-on=${r.on}>
        <p class="grow" role="status">${r.on ? "Viewing the past. Sending is disabled." : "Live"}</p>
        ${r.on ? html`<button class="button small" @click=${() => r.live()}>Return to live</button>` : nothing}
      </div>
      ${this.slider(r)} ${this.controls(r)} ${this.options(r)} ${this.currentEntry(r)} ${this.older(r)}
    </div>`;
  }

  private slider(r: Replay): TemplateResult {
    const [first, last] = r.timeline.span;
    const n = r.timeline.length;
    const value = this.byTime ? r.now : r.position;
    return html`<div class="line">
      ${this.bars(r)} ${this.axis(r)}
      <label class="unseen" for="at">Position</label>
      <input
        id="at"
        type="range"
        min=${this.byTime ? first : 0}
        max=${this.byTime ? Math.max(last, first + 1) : n}
        step="1"
        .value=${String(Math.round(value))}
        aria-valuetext=${`${moment(r.now)}, ${r.position} of ${n}`}
        @input=${this.slid}
        @keydown=${this.key}
      />
      <p class="row ends"><time class="grow">${fullTime(r.now)}</time><span class="faint">${r.position.toLocaleString()} of ${n.toLocaleString()}</span></p>
    </div>`;
  }

  /** The activity chart. */
  private bars(r: Replay): TemplateResult {
    const n = r.timeline.length;
    if (this.chart?.n !== n || this.chart.byTime !== this.byTime) this.chart = { n, byTime: this.byTime, bars: this.byTime ? density(r) : weight(r) };
    const { bars } = this.chart;
    const most = Math.max(1, ...bars);
    return html`<svg class="bars" viewBox="0 0 ${COLUMNS} 10" preserveAspectRatio="none" aria-hidden="true">
      ${bars.map((b, i) => {
        const h = b === 0 ? 0 : Math.max(0.6, (Math.sqrt(b) / Math.sqrt(most)) * 10);
        return svg`<rect x=${i + 0.12} y=${10 - h} width="0.76" height=${h}></rect>`;
      })}
    </svg>`;
  }

  /** Times along the chart: at equal distances in time, or of the envelopes at equal distances. */
  private axis(r: Replay): TemplateResult {
    const [first, last] = r.timeline.span;
    const { envelopes } = r.timeline;
    const at = (share: number): number => (this.byTime ? first + share * (last - first) : Date.parse(envelopes[Math.min(envelopes.length - 1, Math.floor(share * envelopes.length))]?.ts ?? ""));
    const format = last - first > DAY_MS ? AXIS_DAY : last - first > 10 * 60_000 ? AXIS_TIME : AXIS_SECONDS;
    return html`<div class="axis" aria-hidden="true">${[0, 1 / 3, 2 / 3].map((share) => html`<span>${Number.isNaN(at(share)) ? "" : format.format(at(share))}</span>`)}</div>`;
  }

  private controls(r: Replay): TemplateResult {
    return html`<div class="row">
      <button class="small-icon turned" title="Previous" aria-label="Previous envelope" ?disabled=${r.position === 0} @click=${() => r.step(-1)}>${icon("chevron")}</button>
      <button class="button main play" @click=${() => (r.playing ? r.pause() : r.play())}>${r.playing ? html`${icon("pause")} Pause` : "Play"}</button>
      <button class="small-icon" title="Next" aria-label="Next envelope" ?disabled=${r.position >= r.timeline.length} @click=${() => r.step(1)}>${icon("chevron")}</button>
      <label class="unseen" for="speed">Speed</label>
      <select id="speed" @change=${(e: Event) => r.setSpeed(Number((e.target as HTMLSelectElement).value))}>
        ${SPEEDS.map((x) => html`<option value=${x} .selected=${r.speed === x}>${x}×</option>`)}
      </select>
    </div>`;
  }

  private options(r: Replay): TemplateResult {
    return html`<label class="check"><input type="checkbox" .checked=${r.skipIdle} @change=${(e: Event) => r.setSkipIdle((e.target as HTMLInputElement).checked)} /> Skip idle time</label>
      <label class="check"><input type="checkbox" .checked=${this.byTime} @change=${(e: Event) => (this.byTime = (e.target as HTMLInputElement).checked)} /> Scale by time</label>
      <label class="field-label">Go to time
        <input class="field" type="datetime-local" step="1" min=${local(r.timeline.span[0])} max=${local(r.timeline.span[1])} .value=${local(r.now)} @change=${this.chosen} />
      </label>`;
  }

  /** The envelope at the current position. */
  private currentEntry(r: Replay): TemplateResult | typeof nothing {
    const e = r.timeline.envelopes[r.position - 1];
    if (!r.on || e === undefined) return nothing;
    return html`<div class="card"><p class="row"><span class="name">${who(e.from)}</span><code>${neutral(e.kind)}</code></p><p class="quiet">${summary(e)}</p></div>`;
  }

  private older(r: Replay): TemplateResult | typeof nothing {
    const [first, last] = r.timeline.span;
    const span = html`<p class="quiet">${amount(r.timeline.length, "entry", "entries")}${last > first ? ` over ${callDuration(last - first)}` : ""}, since ${fullTime(first)}.</p>`;
    if (r.full) return html`${span}<p class="quiet">No more entries can be loaded at once.</p>`;
    if (r.whole) return html`${span}<p class="quiet">Loaded from the beginning of the space.</p>`;
    if (r.loading?.running === true) {
      return html`${span}<progress aria-label="Loading older entries"></progress><p class="row"><span class="grow quiet" role="status">Loading older entries…</span><button class="button small" @click=${() => r.stopLoading()}>Stop</button></p>`;
    }
    return html`${span} ${refused(r.loading?.error ?? "")}<p><button class="button" @click=${() => r.loadOlder()}>Load older entries</button></p>`;
  }

  private readonly slid = (e: Event): void => {
    const v = Number((e.target as HTMLInputElement).value);
    if (this.byTime) this.replay.seekTime(v);
    else this.replay.seek(v);
  };

  private readonly chosen = (e: Event): void => {
    const at = new Date((e.target as HTMLInputElement).value).getTime();
    if (Number.isFinite(at)) this.replay.seekTime(at + 999);
  };

  /** Scaled by time, the slider has too many steps for the arrow keys: they move by envelope. */
  private readonly key = (e: KeyboardEvent): void => {
    const by = ({ ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 } as const)[e.key as "ArrowRight"];
    if (by === undefined || !this.byTime) return;
    e.preventDefault();
    this.replay.step(by);
  };
}

/** Envelopes per interval of time. */
function density(r: Replay): readonly number[] {
  const [first, last] = r.timeline.span;
  const bars = new Array<number>(COLUMNS).fill(0);
  const width = Math.max(1, last - first);
  for (const e of r.timeline.envelopes) {
    const i = Math.min(COLUMNS - 1, Math.max(0, Math.floor(((Date.parse(e.ts) - first) / width) * COLUMNS)));
    bars[i] = (bars[i] ?? 0) + 1;
  }
  return bars;
}

/** Activity by position: messages and decisions weigh more than reasoning and streams. */
function weight(r: Replay): readonly number[] {
  const bars = new Array<number>(COLUMNS).fill(0);
  const { envelopes } = r.timeline;
  envelopes.forEach((e, i) => {
    const at = Math.min(COLUMNS - 1, Math.floor((i / envelopes.length) * COLUMNS));
    bars[at] = (bars[at] ?? 0) + (e.kind.startsWith("reasoning.") || e.kind.startsWith("stream.") ? 1 : 4);
  });
  return bars;
}

const DAY_MS = 86_400_000;
const AXIS_DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const AXIS_TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const AXIS_SECONDS = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

const FULL_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Date and time with seconds, in a medium format. */
function fullTime(at: number): string {
  return at === 0 ? "" : FULL_TIME.format(at);
}

function summary(e: Envelope): string {
  const method = e.payload["method"];
  return oneLine(neutral(textOf(e.payload) || (typeof method === "string" ? method : "")), 160) || "—";
}

/** A time in the format of datetime-local, in the user's time zone. */
function local(at: number): string {
  if (at === 0) return "";
  const d = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return d.toISOString().slice(0, 19);
}

define("meup-timeline", TimelinePanel);
