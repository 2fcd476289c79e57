/** Search: full text of everything in the space that the user may see, ranked by the gateway. */

import { type PropertyValues, type TemplateResult, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { oneLine } from "@sdk/read.js";
import { kindWords } from "../../core/kind-words.js";
import { parseTime } from "../../core/time.js";
import type { SearchHit } from "@sdk/types.js";
import { neutral } from "../../core/unicode.js";
import { define } from "../element.js";
import { PanelElement, type PanelParams, type Shell } from "../panel.js";
import { shared } from "../styles.js";
import { plain, who } from "../text.js";
import { moment, shortMoment } from "../format.js";
import { amount, envelopeButton, go, parts } from "./parts.js";
import { type KindGroup, MAX_TEXT, SearchSession, TYPING_DELAY, paramsOf, queryOf } from "./search-session.js";
import { searchStyles } from "./search-style.js";

/** Loading the conversation back to a result is limited to this many envelopes; the envelope panel shows one that is further away. */
const REACH = 5000;
/** Kinds that the conversation renders. */
const IN_CONVERSATION = /^(?:chat|reasoning|mcp)(?:\.|$)/;
/** Maximum number of contexts to choose from. */
const MAX_CONTEXTS = 50;

const GROUPS: readonly (readonly [KindGroup, string])[] = [
  ["chat", "Messages"],
  ["reasoning", "Reasoning"],
  ["calls", "Calls"],
  ["proposals", "Proposals"],
  ["other", "Other"],
];

const HOUR = 3_600_000;
const TIMES: readonly (readonly [number, string])[] = [
  [0, "Any time"],
  [HOUR, "Last hour"],
  [24 * HOUR, "Last 24 hours"],
  [7 * 24 * HOUR, "Last 7 days"],
  [30 * 24 * HOUR, "Last 30 days"],
];

const sessions = new WeakMap<Shell, SearchSession>();

/** Returns the search of a shell, which outlives the panel. */
function searchOf(shell: Shell): SearchSession {
  let s = sessions.get(shell);
  if (s === undefined) {
    s = new SearchSession(shell.space, () => shell.now());
    sessions.set(shell, s);
  }
  return s;
}

export class Search extends PanelElement {
  static override styles = [shared, parts, searchStyles];

  private session: SearchSession | null = null;
  /** The parameters that this panel has written itself. */
  private written: PanelParams = {};
  private end: () => void = () => {};

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.end();
    this.session = null;
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (this.session === null) {
      this.session = searchOf(this.shell);
      this.end = this.session.subscribe(() => this.requestUpdate());
    }
    this.session.visited(this.shell.visits);
    if (changed.has("params") && Object.keys(this.params ?? {}).length > 0 && !this.inAddress(this.session)) this.session.set(queryOf(this.params));
  }

  /** Writes the query into the address once it has been searched. */
  private write(s: SearchSession): void {
    if (s.phase === "searching" || this.inAddress(s)) return;
    this.written = paramsOf(s.query);
    this.shell.open("search", this.written, true);
  }

  private inAddress(s: SearchSession): boolean {
    return new URLSearchParams(paramsOf(s.query)).toString() === new URLSearchParams(this.params).toString();
  }

  protected override updated(changed: PropertyValues): void {
    this.write(this.session as SearchSession);
    if (!changed.has("params") || this.params === this.written) return;
    const field = this.renderRoot.querySelector<HTMLInputElement>("#words");
    field?.focus();
    field?.select();
  }

  protected override render(): TemplateResult {
    const s = this.session as SearchSession;
    const { query } = s;
    return html`<form role="search" class="stack" @submit=${this.submitted} @keydown=${this.intoResults}>
        <div>
          <label class="unseen" for="words">Search for</label>
          <input id="words" class="field" type="search" autocomplete="off" maxlength=${MAX_TEXT} enterkeyhint="search" placeholder='Words or "a phrase"' .value=${query.text} @input=${this.typed} />
        </div>
        <div class="row" role="group" aria-label="Search in">
          ${GROUPS.map(([g, words]) => html`<button type="button" class="toggle" aria-pressed=${query.kinds.includes(g) ? "true" : "false"} @click=${() => this.flip(g)}>${words}</button>`)}
        </div>
        ${this.choices(s)}
      </form>
      ${this.results(s)}`;
  }

  private choices(s: SearchSession): TemplateResult {
    const { from, context, within } = s.query;
    const authors = [...this.state.participants.keys()].sort();
    const contexts = this.state.roots.slice(-MAX_CONTEXTS).reverse();
    const value = (e: Event): string => (e.target as HTMLSelectElement).value;
    return html`<div class="choices">
      <label class="unseen" for="from">From</label>
      <select id="from" @change=${(e: Event) => s.set({ from: value(e) })}>
        <option value="" .selected=${from === ""}>From anyone</option>
        ${authors.map((id) => html`<option value=${id} .selected=${from === id}>From ${who(id)}</option>`)}
      </select>
      <label class="unseen" for="context">In</label>
      <select id="context" @change=${(e: Event) => s.set({ context: value(e) === "*" ? null : value(e) })}>
        <option value="*" .selected=${context === null}>Everywhere</option>
        <option value="" .selected=${context === ""}>Main conversation</option>
        ${contexts.map((path) => html`<option value=${path} .selected=${context === path}>${plain(this.contextName(path))}</option>`)}
      </select>
      <label class="unseen" for="within">Sent</label>
      <select id="within" @change=${(e: Event) => s.set({ within: Number(value(e)) })}>
        ${TIMES.map(([ms, words]) => html`<option value=${ms} .selected=${within === ms}>${words}</option>`)}
      </select>
    </div>`;
  }

  private contextName(path: string): string {
    const block = this.state.blocks.get(path);
    return oneLine(block?.message || path, 60);
  }

  private results(s: SearchSession): TemplateResult {
    const { hits, phase } = s;
    const old = phase === "searching" && s.searched !== s.query.text.trim();
    return html`<p class="count" role="status">${this.summary(s)}</p>
      ${this.trouble(s)}
      <ol data-old=${old} aria-busy=${phase === "searching" ? "true" : "false"} @keydown=${this.walk}>${repeat(hits, (h) => h.id, (h) => this.line(h))}</ol>
      ${this.further(s)}`;
  }

  /** The state of the search, also for screen readers. */
  private summary(s: SearchSession): string {
    switch (s.phase) {
      case "idle":
        return "Search messages, reasoning, calls and results.";
      case "searching":
        return "Searching…";
      case "building":
        return "Preparing search…";
      case "done":
        return s.hits.length === 0 ? `No results for “${oneLine(s.searched, 60)}”` : `${amount(s.hits.length, "result")}${s.next === "" ? "" : " or more"}`;
      default:
        return s.hits.length === 0 ? "" : amount(s.hits.length, "result");
    }
  }

  private trouble(s: SearchSession): TemplateResult | typeof nothing {
    if (s.phase === "building") {
      const share = /(\d+) %/u.exec(s.error)?.[1]; // of the log, in the gateway's message
      return html`<div class="further">
        ${share === undefined ? html`<progress aria-label="Indexing"></progress>` : html`<progress aria-label="Indexing" max="100" value=${share}></progress>`}
        <p class="quiet">${share === undefined ? "Messages are being indexed." : `${share}% of the messages are indexed.`} Your search starts automatically.</p>
      </div>`;
    }
    if (s.phase !== "offline" && s.phase !== "failed") return nothing;
    return html`<div class="further"><p class="refused" role="alert">${neutral(s.error)}</p>${s.refused ? nothing : html`<button class="button" @click=${() => (s.next === "" ? s.search() : s.more())}>Try again</button>`}</div>`;
  }

  private line(h: SearchHit): TemplateResult {
    const at = parseTime(h.ts);
    return html`<li>
      <button class="hit" @click=${() => void this.show(h)}>
        <span class="row"><span class="name">${h.from === this.shell.you ? "You" : who(h.from)}</span><span class="kind">${kindWords(h.kind)}</span><time title=${moment(at)}>${shortMoment(at, this.shell.now())}</time></span>
        <span class="excerpt">${h.parts.map((p) => (p.match ? html`<em>${neutral(p.text)}</em>` : neutral(p.text)))}${h.cut ? " …" : nothing}</span>
      </button>
      ${envelopeButton(this.shell, h.id)}
    </li>`;
  }

  /** Shows a result in the conversation, or the envelope if the conversation does not reach that far back. */
  private async show(h: SearchHit): Promise<void> {
    const { oldest } = this.shell.state;
    const near = IN_CONVERSATION.test(h.kind) && (oldest === 0 || h.seq > oldest - REACH);
    if (near && (await go(this.shell, h.id, ""))) return;
    this.shell.open("envelope", { id: h.id });
  }

  /** What there is beyond the results. */
  private further(s: SearchSession): TemplateResult | typeof nothing {
    if (s.phase !== "done") return nothing;
    if (s.next !== "") return html`<div class="further"><button class="button" @click=${() => s.more()}>Load more</button></div>`;
    if (s.behind) return html`<div class="further"><p class="quiet">The newest messages are not indexed yet.</p><button class="button" @click=${() => s.search()}>Search again</button></div>`;
    if (s.partial) return html`<p class="further quiet">There may be more results. Add words or filters.</p>`;
    return nothing;
  }

  private readonly typed = (e: Event): void => {
    this.session?.set({ text: (e.target as HTMLInputElement).value }, TYPING_DELAY);
  };

  private readonly submitted = (e: Event): void => {
    e.preventDefault();
    this.session?.search();
  };

  private flip(g: KindGroup): void {
    const kinds = this.session?.query.kinds ?? [];
    this.session?.set({ kinds: kinds.includes(g) ? kinds.filter((x) => x !== g) : [...kinds, g] });
  }

  /** Moves from the field to the first result. */
  private readonly intoResults = (e: KeyboardEvent): void => {
    if (e.key !== "ArrowDown" || (e.target as Element).id !== "words") return;
    e.preventDefault();
    this.renderRoot.querySelector<HTMLElement>(".hit")?.focus();
  };

  /** Moves between results, and from the first one back to the field. */
  private readonly walk = (e: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by === undefined || !(e.target as Element).matches(".hit")) return;
    e.preventDefault();
    const all = [...this.renderRoot.querySelectorAll<HTMLElement>(".hit")];
    const at = all.indexOf(e.target as HTMLElement) + by;
    (at < 0 ? this.renderRoot.querySelector<HTMLElement>("#words") : all[at])?.focus();
  };
}

define("meup-search", Search);
