/**
 * The conversation: a list of rows, of which a window is in the document. The
 * scroll position stays at the end while it is there; otherwise the visible rows
 * keep their position when rows above or below change.
 */

import { type TemplateResult, html, nothing } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import { repeat } from "lit/directives/repeat.js";
import type { SpaceShell } from "./shell.js";
import { Follower } from "./follower.js";
import { icon } from "./icons.js";
import { PageElement, define } from "./element.js";
import { outgoing } from "./outgoing.js";
import { scrollToPlace } from "./scroll-to.js";
import { renderRow } from "./render-row.js";
import { type Row, rows } from "./rows.js";
import { isFiltering } from "./view-filter.js";
import { chat } from "../core/drafts.js";
import { NEW_THREAD } from "../core/links.js";
import { suggestions } from "../core/suggest.js";
import { EVERYTHING } from "./panel.js";
import { RowWindow } from "./row-window.js";

export class Conversation extends PageElement {
  static override properties = { shell: { attribute: false }, tick: { attribute: false } };

  declare shell: SpaceShell;
  /** Changes with every update of the state. */
  declare tick: number;

  private readonly box = createRef<HTMLElement>();
  private readonly content = createRef<HTMLElement>();
  private readonly room = createRef<HTMLElement>();
  private readonly window = new RowWindow();
  private follower: Follower | undefined;
  private all: readonly Row[] = [];
  private inputs: unknown[] = [];
  private seen = 0;
  private unsubscribe: (() => void)[] = [];

  override connectedCallback(): void {
    super.connectedCallback();
    this.unsubscribe = [
      this.shell.on("reveal", ({ place }) => void scrollToPlace(this.shell, this, place)),
      this.shell.on("toggle", () => this.follower?.hold()),
    ];
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const f of this.unsubscribe) f();
    this.follower?.stop();
    this.follower = undefined;
  }

  protected override firstUpdated(): void {
    const { value: box } = this.box;
    const { value: content } = this.content;
    const { value: room } = this.room;
    if (box === undefined || content === undefined || room === undefined) return;
    this.follower = new Follower(box, content, room, () => this.moved());
  }

  /** Rebuilds the rows if the state or the view changed. */
  private compute(): void {
    const { shown, view, thread } = this.shell;
    const inputs = [shown, view, thread];
    if (inputs.every((x, i) => x === this.inputs[i])) return;
    if (this.inputs.length > 0 && thread !== this.inputs[2] && thread !== this.follower?.pinned) this.toEnd();
    this.inputs = inputs;
    this.all = rows(shown, view, thread);
  }

  private get following(): boolean {
    return this.follower?.following ?? true;
  }

  protected override render(): TemplateResult {
    this.compute();
    const { shell } = this;
    const drawn = this.window.of(this.all, this.following);
    const atEnd = this.window.atEnd;
    return html`<h2 class="unseen">Messages</h2>
      <div class="talk" role="log" aria-label=${`Messages in ${shell.space}`} aria-live="off" tabindex="0" ${ref(this.box)}>
        <div class="talk-content" ${ref(this.content)}>
          ${this.head()}
          <div class="rows">${repeat(drawn, (r) => r.key, (r) => renderRow(shell, r))}</div>
          ${atEnd && !shell.past ? outgoing(shell) : nothing}
        </div>
        <div class="talk-room" ${ref(this.room)}></div>
      </div>
      ${this.button()}`;
  }

  /** The content above the first row. */
  private head(): TemplateResult | typeof nothing {
    const { shell } = this;
    const { room } = shell;
    const s = shell.shown;
    const filtered = isFiltering(shell.view)
      ? html`<p class="page-line">Some messages are hidden. <button class="words" @click=${() => shell.setView(EVERYTHING)}>Show all</button></p>`
      : nothing;
    if (!this.window.atStart) return filtered;
    if (room.isLoading) return html`${filtered}<p class="page-line"><span class="spinner" aria-hidden="true"></span> Loading earlier messages…</p>`;
    if (room.historyTrouble !== "") {
      return html`${filtered}<p class="page-line">${room.historyTrouble} <button class="words" @click=${() => void room.loadOlder()}>Retry</button></p>`;
    }
    if (this.mayLoad && s.head > 0) {
      return html`${filtered}<p class="page-line"><button class="words" @click=${() => void room.loadOlder()}>Load earlier messages</button></p>`;
    }
    if (this.all.length === 0 && s.you !== null) return html`${filtered}${this.welcome()}`;
    if (shell.thread !== "") return filtered;
    const gap = s.gap === "" ? nothing : html`<p class="page-line">${s.gap}</p>`;
    return s.hasOlder ? filtered : html`${filtered}${gap}<p class="page-line">This is the beginning of ${shell.space}.</p>`;
  }

  /** Reports whether there may be older rows: in one conversation, until its first message is loaded. */
  private get mayLoad(): boolean {
    const { shown, past, thread } = this.shell;
    return shown.hasOlder && !past && thread !== NEW_THREAD && !(thread !== "" && shown.messages.has(thread));
  }

  private welcome(): TemplateResult {
    const others = [...this.shell.shown.participants.values()].filter((p) => p.present && p.id !== this.shell.you);
    const begin = this.shell.thread === NEW_THREAD;
    const offered = this.shell.may("chat") && !this.shell.past ? suggestions(this.shell.shown) : [];
    return html`<div class="nothing-yet">
      <h2>${begin ? "New conversation" : "No messages yet"}</h2>
      <p>${others.length === 0 ? "No one else is online." : html`Online: ${others.map((p) => p.id).join(", ")}.`} ${this.shell.may("chat") ? "Send a message to start." : ""}</p>
      ${offered.length === 0
        ? nothing
        : html`<ul class="suggestions" aria-label="Suggestions">${offered.map((text) => html`<li><button class="suggestion" @click=${() => this.shell.emit("edit", { draft: chat(text) })}>${text}</button></li>`)}</ul>`}
    </div>`;
  }

  private button(): TemplateResult | typeof nothing {
    if (this.following && this.window.atEnd) return nothing;
    const count = this.newCount();
    return html`<button class="to-end" @click=${() => this.toEnd()}>${icon("down")} ${count === 0 ? html`<span class="unseen">Jump to latest</span>` : html`<span>${count} new</span>`}</button>`;
  }

  /** The number of timeline items since the end was last visible. */
  private newCount(): number {
    const { timeline } = this.shell.shown;
    let n = 0;
    for (let i = timeline.length - 1; i >= 0 && (timeline[i]?.seq ?? 0) > this.seen; i--) n++;
    return n;
  }

  /** Shows the end, with the message that is pinned at the top. */
  toEnd(pinned = ""): void {
    if (pinned !== "") this.compute(); // a change of the conversation that is not rendered yet removes no later pin
    this.window.reset();
    this.follower?.toEnd(pinned);
    this.requestUpdate();
  }

  /** Moves the window to a row; its element exists after the next update. */
  async showRow(key: string): Promise<boolean> {
    this.compute();
    this.follower?.release();
    if (!this.window.center(this.all, key)) return false;
    this.requestUpdate();
    await this.updateComplete;
    return true;
  }

  /** Returns the first row that satisfies test. */
  findRow(test: (r: Row) => boolean): Row | undefined {
    this.compute();
    return this.all.find(test);
  }

  /** Handles scrolling and size changes. */
  private moved(): void {
    const f = this.follower;
    const box = this.box.value;
    if (f === undefined || box === undefined) return;
    const wasFollowing = this.shell.room.space.following;
    if (f.atEnd && !this.window.atEnd) f.release();
    this.shell.room.space.following = f.following;
    if (wasFollowing !== f.following) {
      this.shell.markRead();
      this.requestUpdate();
    }
    const near = box.clientHeight * 1.5;
    if (f.following) return;
    if (box.scrollTop < near && this.window.up(this.all)) this.requestUpdate();
    else if (box.scrollTop < near && this.window.atStart && this.mayLoad) void this.shell.room.loadOlder();
    else if (box.scrollHeight - box.scrollTop - box.clientHeight < near && this.window.down(this.all)) this.requestUpdate();
  }

  protected override updated(): void {
    const { state } = this.shell;
    if (this.following || this.seen === 0) this.seen = state.head;
    if (this.all.length < 8 && this.shell.thread === "" && state.hasOlder && state.you !== null && !this.shell.room.isLoading && this.shell.room.historyTrouble === "") void this.shell.room.loadOlder();
  }
}

define("meup-conversation", Conversation);
