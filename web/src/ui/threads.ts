/**
 * The list of conversations: which are unread, running or waiting for a decision. The
 * loaded ones come from the state, older ones from the gateway on request.
 */

import { type TemplateResult, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { NEW_THREAD, format } from "../core/links.js";
import { oneLine } from "@sdk/read.js";
import { type Thread, threadPage } from "../core/threads.js";
import { PageElement, define } from "./element.js";
import { authorText } from "./author.js";
import { clock, dayName } from "./format.js";
import { icon } from "./icons.js";
import type { SpaceShell } from "./shell.js";

/** Rows shown initially and added by each step. */
const PAGE = 60;
/** Conversations per request. */
const FETCH = 50;

export class Threads extends PageElement {
  static override properties = { shell: { attribute: false }, tick: { attribute: false }, words: { state: true }, most: { state: true }, error: { state: true } };

  declare shell: SpaceShell;
  declare tick: number;
  /** The text that titles must contain. */
  declare private words: string;
  declare private most: number;
  declare private error: string;

  private older: readonly Thread[] = [];
  private next = 0;
  private ended = false;
  private loading = false;
  private inputs: readonly unknown[] = [];
  private list: readonly Thread[] = [];

  constructor() {
    super();
    this.words = "";
    this.most = PAGE;
    this.error = "";
  }

  /** The loaded conversations, then older ones. */
  private all(): readonly Thread[] {
    const loaded = this.shell.threads;
    const inputs = [loaded, this.older];
    if (inputs.some((x, i) => x !== this.inputs[i])) {
      this.inputs = inputs;
      const known = new Set(loaded.map((t) => t.id));
      this.list = [...loaded, ...this.older.filter((t) => !known.has(t.id))];
    }
    return this.list;
  }

  protected override render(): TemplateResult {
    const { shell } = this;
    const all = this.all();
    const words = this.words.trim().toLowerCase();
    const found = words === "" ? all : all.filter((t) => shell.nameOf(t.id, t.title).toLowerCase().includes(words) || t.from.toLowerCase().includes(words));
    const unread = all.reduce((n, t) => n + t.unread, 0);
    return html`<nav class="threads" aria-label="Conversations" @keydown=${this.key}>
      <div class="threads-head">
        <h2>Conversations</h2>
        ${shell.may("chat") ? html`<a class="icon-button" href=${this.address(NEW_THREAD)} title="New conversation" aria-label="New conversation">${icon("plus")}</a>` : nothing}
        <button class="icon-button" title="Hide conversations" aria-label="Hide conversations" @click=${() => this.dispatchEvent(new CustomEvent("hide", { bubbles: true }))}>${icon("close")}</button>
      </div>
      <div class="threads-find"><input class="field" type="search" aria-label="Find a conversation" placeholder="Find" .value=${this.words} @input=${(e: Event) => (this.words = (e.target as HTMLInputElement).value)} /></div>
      <div class="thread-list">
        ${words === ""
          ? html`<a class="thread everything" href=${format({ type: "space", space: shell.space })} aria-current=${shell.thread === "" ? "page" : "false"}>
              <span class="thread-title">Everything</span>${unread > 0 ? html`<span class="thread-count">${unread > 99 ? "99+" : unread}<span class="unseen"> unread</span></span>` : nothing}
            </a>`
          : nothing}
        ${repeat(this.grouped(found), (x) => (typeof x === "string" ? x : `t ${x.id}`), (x) => (typeof x === "string" ? html`<h3 class="thread-day">${x.slice(1)}</h3>` : this.row(x)))}
        ${found.length > 0 ? nothing : html`<p class="thread-note">${words !== "" ? "No conversation with this title." : "No conversations yet"}</p>`}
        ${this.foot(found.length, words)}
      </div>
      <meup-resizer .column=${"list"} .label=${"Width of the conversations"} .leading=${false}></meup-resizer>
    </nav>`;
  }

  /** The conversations under headings, which begin with "#": those that wait for the user, then the others by day. */
  private grouped(all: readonly Thread[]): readonly (Thread | string)[] {
    const { shell } = this;
    const decides = ["decide", "mcp.request", "mcp.reject"].some((kind) => shell.may(kind));
    const waits = (t: Thread): boolean => decides && t.waiting > 0;
    const now = shell.now() || Date.now();
    const out: (Thread | string)[] = [];
    let last = "";
    for (const t of [...all.filter(waits), ...all.filter((x) => !waits(x))].slice(0, this.most)) {
      const heading = `#${waits(t) ? "Waiting for you" : dayName(t.lastAt, now)}`;
      if (heading !== last) out.push(heading);
      out.push(t);
      last = heading;
    }
    return out;
  }

  private row(t: Thread): TemplateResult {
    const { shell } = this;
    const title = shell.nameOf(t.id, t.title);
    const who = t.answeredBy || t.from;
    const name = who === "" ? "" : who === shell.you ? "You" : authorText(who);
    return html`<a class="thread" href=${this.address(t.id)} data-thread=${t.id} data-unread=${t.unread > 0} aria-current=${shell.thread === t.id ? "page" : "false"}>
      <span class="thread-title">${title}</span>
      <span class="thread-facts">
        ${t.waiting > 0
          ? html`<span class="thread-state wait">${icon("decide")} Waiting for approval${name === "" ? "" : ` · ${name}`}</span>`
          : t.running
            ? html`<span class="thread-state"><span class="spinner" aria-hidden="true"></span> Reasoning${name === "" ? "" : ` · ${name}`}</span>`
            : html`<span>${name === "" ? nothing : `${name} · `}${clock(t.lastAt)}</span>`}
        ${t.unread > 0 ? html`<span class="thread-count">${t.unread > 99 ? "99+" : t.unread}<span class="unseen"> unread</span></span>` : nothing}
      </span>
    </a>`;
  }

  /** More rows, older conversations, and the search in all messages. */
  private foot(found: number, words: string): TemplateResult | typeof nothing {
    const search = words === "" ? nothing : html`<p class="thread-note"><button class="words" @click=${() => this.shell.open("search", { text: this.words })}>Search all messages for “${oneLine(this.words, 40)}”</button></p>`;
    if (found > this.most) return html`${search}<p class="thread-note"><button class="words" @click=${() => (this.most += PAGE)}>Show more</button></p>`;
    if (this.error !== "") return html`${search}<p class="thread-note" role="alert">${this.error} <button class="words" @click=${() => void this.more()}>Retry</button></p>`;
    if (this.ended || !this.shell.state.hasOlder || this.shell.state.you === null) return search;
    return html`${search}<p class="thread-note"><button class="words" ?disabled=${this.loading} @click=${() => void this.more()}>${this.loading ? "Loading…" : "Load older conversations"}</button></p>`;
  }

  private address(id: string): string {
    return format({ type: "thread", space: this.shell.space, id });
  }

  /** Loads the next page of older conversations. */
  private async more(): Promise<void> {
    this.loading = true;
    this.error = "";
    this.requestUpdate();
    try {
      const before = this.next || this.shell.state.oldest;
      const page = threadPage(await this.shell.get(`threads?limit=${FETCH}${before > 0 ? `&before=${before}` : ""}`));
      this.older = [...this.older, ...page.threads];
      this.next = page.next;
      this.ended = !page.hasMore;
      this.most += page.threads.length;
    } catch (err) {
      this.error = err instanceof Error ? err.message : String(err);
    }
    this.loading = false;
    this.requestUpdate();
  }

  /** Arrow keys move between conversations. */
  private readonly key = (e: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by === undefined) return;
    const all = [...this.querySelectorAll<HTMLElement>(".thread")];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = at < 0 ? all[by > 0 ? 0 : -1] : all[at + by];
    if (next === undefined) return;
    e.preventDefault();
    next.focus();
  };
}

define("meup-threads", Threads);
