/** Search: in the loaded history while the user types, and page by page in older history. */

import { type PropertyValues, type TemplateResult, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { EVERYTHING, type Filter, type Hit, type KindGroup, search } from "../../core/filter.js";
import { parseTime } from "../../core/time.js";
import type { Envelope, ParticipantID } from "../../core/types.js";
import { neutral } from "../../core/unicode.js";
import { define } from "../element.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { who } from "../text.js";
import { clock, moment } from "../format.js";
import { HistoryLoader } from "./history-loader.js";
import { amount, go, parts, envelopeButton, refused } from "./parts.js";
import { searchStyles } from "./search-style.js";

/** Maximum number of results from the loaded history, and from each older page. */
const MAX = 200;
/** Delay between typing and search, milliseconds. */
const TYPING_DELAY = 120;

/** A result with its time. */
interface Found extends Hit {
  readonly ts: string;
}

const GROUPS: readonly (readonly [KindGroup, string])[] = [
  ["chat", "Messages"],
  ["reasoning", "Reasoning"],
  ["calls", "Calls"],
  ["proposals", "Proposals"],
  ["rights", "Rights"],
  ["other", "Other"],
];

export class Search extends PanelElement {
  static override properties = { ...PanelElement.properties, filter: { state: true }, older: { state: true }, tick: { state: true } };
  static override styles = [shared, parts, searchStyles];

  declare private filter: Filter;
  declare private older: readonly Found[];
  declare private tick: number;
  private loader: HistoryLoader | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private made: { readonly filter: Filter; readonly head: number; readonly oldest: number; readonly hits: readonly Found[] } | null = null;

  constructor() {
    super();
    this.filter = EVERYTHING;
    this.older = [];
    this.tick = 0;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.timer);
    this.loader?.stop();
  }

  protected override willUpdate(changed: PropertyValues): void {
    const text = this.params?.["text"];
    if (changed.has("params") && text !== undefined) this.setFilter({ text });
  }

  protected override updated(changed: PropertyValues): void {
    if (changed.has("params")) this.renderRoot.querySelector<HTMLInputElement>("#words")?.focus();
  }

  /** The results in the loaded history, cached until the history or the query changes. */
  private get hits(): readonly Found[] {
    const { filter } = this;
    const { head, oldest } = this.shell.state;
    if (this.made?.filter !== filter || this.made.head !== head || this.made.oldest !== oldest) {
      this.made = { filter, head, oldest, hits: find(this.shell.envelopes, filter, MAX) };
    }
    return this.made.hits;
  }

  private get hasQuery(): boolean {
    const { text, kinds, from } = this.filter;
    return text.trim() !== "" || kinds.length > 0 || from.length > 0;
  }

  protected override render(): TemplateResult {
    const { filter } = this;
    const authors = [...this.state.participants.keys()].sort();
    return html`<form role="search" class="stack" @submit=${(e: Event) => e.preventDefault()}>
        <div>
          <label class="unseen" for="words">Search for</label>
          <input id="words" class="field" type="search" autocomplete="off" placeholder='Words, or "several together"' .value=${filter.text} @input=${this.typed} />
        </div>
        <div class="row" role="group" aria-label="Search in">
          ${GROUPS.map(([g, words]) => html`<button type="button" class="toggle" aria-pressed=${filter.kinds.includes(g) ? "true" : "false"} @click=${() => this.flip(g)}>${words}</button>`)}
        </div>
        <label class="unseen" for="from">From</label>
        <select id="from" @change=${(e: Event) => this.by((e.target as HTMLSelectElement).value)}>
          <option value="" .selected=${filter.from.length === 0}>From anyone</option>
          ${authors.map((id) => html`<option value=${id} .selected=${filter.from.includes(id)}>By ${who(id)}</option>`)}
        </select>
      </form>
      ${this.hasQuery ? this.results() : html`<p class="empty">Searches loaded messages, reasoning, arguments and results as you type.</p>`}`;
  }

  private results(): TemplateResult {
    const { hits } = this;
    const all = [...hits, ...this.older];
    return html`<p class="count" role="status">${all.length === 0 ? "No results" : `${amount(all.length, "result")}${hits.length >= MAX ? " or more" : ""}`}</p>
      <ol>${repeat(all, (h) => h.id, (h) => this.line(h))}</ol>
      ${this.further()}`;
  }

  private line(h: Found): TemplateResult {
    const [from, to] = h.mark;
    const at = parseTime(h.ts);
    return html`<li>
      <button class="hit" @click=${() => void go(this.shell, h.id)}>
        <span class="row"><span class="name">${h.from === this.shell.you ? "You" : who(h.from)}</span><span class="kind">${neutral(h.kind)}</span><time title=${moment(at)}>${clock(at)}</time></span>
        <span class="excerpt">${neutral(h.excerpt.slice(0, from))}${to > from ? html`<em>${neutral(h.excerpt.slice(from, to))}</em>` : nothing}${neutral(h.excerpt.slice(to))}</span>
      </button>
      ${envelopeButton(this.shell, h.id)}
    </li>`;
  }

  /** The controls and progress of the search in older history. */
  private further(): TemplateResult | typeof nothing {
    const { loader } = this;
    const lines = loader === null || loader.progress.loaded === 0 ? "" : `Searched ${amount(loader.progress.loaded, "older entry", "older entries")}${loader.progress.oldest === 0 ? "" : `, back to ${moment(loader.progress.oldest)}`}.`;
    if (loader?.running === true) {
      return html`<div class="further" role="status"><progress aria-label="Searching older messages"></progress><p class="quiet">${lines || "Searching older messages…"}</p><button class="button small" @click=${this.stop}>Stop</button></div>`;
    }
    if (loader?.progress.done === true) return html`<p class="further quiet" role="status">${lines} This is the beginning.</p>`;
    if (!this.shell.state.hasOlder) return html`<p class="further quiet">The whole log was searched.</p>`;
    return html`<div class="further"><p class="quiet">${lines}</p>${refused(loader?.error ?? "")}<button class="button" @click=${this.more}>Search older messages</button></div>`;
  }

  private readonly more = (): void => {
    this.loader ??= new HistoryLoader(this.shell.space, this.shell.state.oldest, (page) => this.page(page));
    const { loader } = this;
    void loader.run(() => this.tick++);
    this.tick++;
  };

  private page(page: readonly Envelope[]): boolean {
    const known = new Set(this.older.map((h) => h.id));
    this.older = [...this.older, ...find(page, this.filter, MAX).filter((h) => !known.has(h.id))];
    this.tick++;
    return this.older.length < MAX * 2;
  }

  private readonly stop = (): void => {
    this.loader?.stop();
  };

  private readonly typed = (e: Event): void => {
    const { value } = e.target as HTMLInputElement;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.setFilter({ text: value }), TYPING_DELAY);
  };

  private flip(g: KindGroup): void {
    const { kinds } = this.filter;
    const also: readonly KindGroup[] = g === "other" ? ["other", "people", "streams"] : [g];
    this.setFilter({ kinds: kinds.includes(g) ? kinds.filter((x) => !also.includes(x)) : [...kinds, ...also] });
  }

  private by(id: ParticipantID): void {
    this.setFilter({ from: id === "" ? [] : [id] });
  }

  /** Changes the query and discards the results from older history. */
  private setFilter(change: Partial<Filter>): void {
    this.filter = { ...this.filter, ...change };
    this.loader?.stop();
    this.loader = null;
    this.older = [];
  }
}

function find(envelopes: readonly Envelope[], f: Filter, most: number): readonly Found[] {
  const hits = search(envelopes, f, most);
  const times = new Map<string, string>();
  const wanted = new Set(hits.map((h) => h.id));
  for (const e of envelopes) if (wanted.has(e.id)) times.set(e.id, e.ts);
  return hits.map((h) => ({ ...h, ts: times.get(h.id) ?? "" }));
}

define("meup-search", Search);
