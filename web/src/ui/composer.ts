/**
 * The message editor. Enter sends, Shift+Enter inserts a line break. "@" completes
 * names; a message can be restricted to the participants that it mentions.
 */

import { type TemplateResult, html, nothing } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import { chat } from "../core/drafts.js";
import { NEW_THREAD, format } from "../core/links.js";
import { obj, str } from "@sdk/read.js";
import { excerpt, lastMessage, lastOfOthers } from "../core/threads.js";
import { unanswered } from "../core/unanswered.js";
import { neutral } from "../core/unicode.js";
import type { Participant } from "../core/state.js";
import type { Draft, ID } from "@sdk/types.js";
import { candidates, mentionAt, mentioned } from "./completion.js";
import { monogram } from "./monogram.js";
import type { SpaceShell } from "./shell.js";
import { icon } from "./icons.js";
import { PageElement, define } from "./element.js";
import { draft, keepDraft } from "./prefs.js";
import { formatOf } from "./prose.js";
import { who } from "./text.js";

export class Composer extends PageElement {
  static override properties = {
    shell: { attribute: false },
    tick: { attribute: false },
    replyTo: { state: true },
    onlyTo: { state: true },
    offered: { state: true },
    active: { state: true },
    empty: { state: true },
    sendError: { state: true },
    unanswered: { state: true },
  };

  declare shell: SpaceShell;
  declare tick: number;
  declare private replyTo: ID | null;
  declare private onlyTo: boolean;
  declare private offered: readonly Participant[];
  declare private active: number;
  declare private empty: boolean;
  /** Why the last message was not submitted. */
  declare private sendError: string;
  /** The warning that no agent answers the last message; "" without one. */
  declare private unanswered: string;

  private readonly field = createRef<HTMLTextAreaElement>();
  private restoredFor: SpaceShell | null = null;
  private unsubscribe: (() => void)[] = [];

  constructor() {
    super();
    this.replyTo = null;
    this.onlyTo = false;
    this.offered = [];
    this.active = 0;
    this.empty = true;
    this.sendError = "";
    this.unanswered = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.unsubscribe = [
      this.shell.on("reply", ({ to }) => this.reply(to)),
      this.shell.on("mention", ({ participant }) => this.mention(participant)),
      this.shell.on("edit", (e) => this.edit(e.draft)),
    ];
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const f of this.unsubscribe) f();
  }

  /** Restores the draft when the field is first rendered. */
  protected override updated(): void {
    const field = this.field.value;
    if (field === undefined || this.restoredFor === this.shell) return;
    this.restoredFor = this.shell;
    field.value = draft(this.shell.space);
    this.resize();
    // With a keyboard, one can write at once; on a touch screen, the keyboard would cover the page.
    if (matchMedia("(hover: hover)").matches && (document.activeElement === null || document.activeElement === document.body)) field.focus({ preventScroll: true });
  }

  protected override render(): TemplateResult {
    const { shell } = this;
    const s = shell.state;
    if (s.you === null && shell.room.connectionState.phase === "refused") return html``;
    if (s.you === null) return html`<div class="composer"><div class="composer-box" aria-hidden="true"><textarea rows="1" disabled></textarea></div></div>`;
    if (!shell.may("chat")) return html`<div class="composer"><p class="composer-none">You can read this space, but not post in it.</p></div>`;
    const named = this.named();
    const open = this.offered.length > 0;
    return html`<form class="composer" @submit=${this.submit}>
      ${this.sendError === "" ? nothing : html`<p class="composer-note" role="alert">${this.sendError}</p>`}
      <div role="status">${this.unanswered === "" ? nothing : html`<p class="composer-told">${neutral(this.unanswered)}</p>`}</div>
      ${this.replyChip()}
      <div class="composer-box">
        ${open ? this.list() : nothing}
        <textarea
          ${ref(this.field)}
          rows="1"
          aria-label=${`Message to ${shell.space}`}
          placeholder=${shell.thread === "" ? `Message ${shell.space}` : shell.thread === NEW_THREAD ? "Start a conversation" : "Continue this conversation"}
          aria-autocomplete="list"
          aria-controls="mention-list"
          aria-haspopup="listbox"
          aria-activedescendant=${open ? `mention-${this.active}` : nothing}
          @input=${this.input}
          @keydown=${this.key}
          @blur=${() => (this.offered = [])}
          @click=${this.offer}
        ></textarea>
        <button class="send" type="submit" title="Send" aria-label="Send" ?disabled=${this.empty}>${icon("send")}</button>
      </div>
      <div class="composer-foot">
        ${this.destination()}
        ${named.length === 0
          ? html`<span class="hint">Enter to send, Shift+Enter for a new line, @ to mention</span>`
          : html`<label class="only-to"><input type="checkbox" .checked=${this.onlyTo} @change=${(e: Event) => (this.onlyTo = (e.target as HTMLInputElement).checked)} /> Only to ${named.map(who).join(", ")}</label>`}
      </div>
    </form>`;
  }

  /** Where the message goes, in the view of the whole space; a button if there is a choice. */
  private destination(): TemplateResult | typeof nothing {
    const { shell, replyTo } = this;
    if (shell.thread !== "") return nothing;
    const text = replyTo === null ? "New conversation" : `Reply to ${who(shell.state.messages.get(replyTo)?.from ?? "a message")}`;
    const other = replyTo === null ? lastOfOthers(shell.state) : null;
    if (replyTo === null && other === null) return html`<span class="destination">${text}</span>`;
    const instead = other === null ? "Begin a new conversation instead" : `Reply to ${who(other.from)} instead`;
    return html`<button class="words destination" type="button" title=${`${instead} (Alt+↑)`} aria-keyshortcuts="Alt+ArrowUp" @click=${this.redirect}><span aria-live="polite">${text}</span></button>`;
  }

  /** Changes between a new conversation and a reply to the last message of another. */
  private readonly redirect = (): void => {
    this.replyTo = this.replyTo === null ? (lastOfOthers(this.shell.state)?.id ?? null) : null;
    this.field.value?.focus();
  };

  private replyChip(): TemplateResult | typeof nothing {
    if (this.replyTo === null) return nothing;
    const m = this.shell.state.messages.get(this.replyTo);
    return html`<p class="reply-chip">
      ${icon("reply")} <span><b>${m === undefined ? "Reply" : who(m.from)}</b> ${m === undefined ? nothing : excerpt(m, 90)}</span>
      <button type="button" class="icon-button" aria-label="Cancel reply" @click=${() => (this.replyTo = null)}>${icon("close")}</button>
    </p>`;
  }

  private list(): TemplateResult {
    return html`<ul class="mentions" id="mention-list" role="listbox" aria-label="Participants">
      ${this.offered.map(
        (p, i) => html`<li id=${`mention-${i}`} role="option" aria-selected=${i === this.active ? "true" : "false"} @mousedown=${(e: Event) => this.pick(e, p)}>
          ${monogram(p.id, p.agent)} ${who(p.id)} ${p.present ? nothing : html`<span class="faint">offline</span>`}
        </li>`,
      )}
    </ul>`;
  }

  private get text(): string {
    return this.field.value?.value ?? "";
  }

  private named(): readonly string[] {
    return mentioned(this.text, this.shell.state.participants).filter((id) => id !== this.shell.you);
  }

  private readonly input = (): void => {
    keepDraft(this.shell.space, this.text);
    this.sendError = "";
    this.unanswered = "";
    this.resize();
    this.offer();
  };

  /** Resizes the field to its text. */
  private resize(): void {
    const field = this.field.value;
    if (field === undefined) return;
    this.empty = field.value.trim() === "";
    if (!CSS.supports("field-sizing", "content")) {
      field.style.height = "auto";
      field.style.height = `${Math.min(field.scrollHeight, innerHeight * 0.4)}px`;
    }
    this.requestUpdate();
  }

  private readonly offer = (): void => {
    const field = this.field.value;
    if (field === undefined) return;
    const m = field.selectionStart === field.selectionEnd ? mentionAt(field.value, field.selectionStart) : null;
    this.offered = m === null ? [] : candidates(this.shell.state.participants.values(), this.shell.you, m.word);
    this.active = 0;
  };

  private readonly key = (e: KeyboardEvent): void => {
    if (e.isComposing) return;
    if (this.offered.length > 0 && !e.altKey && this.listKey(e)) return;
    if (e.key === "Enter" && !e.shiftKey && !e.altKey) {
      e.preventDefault();
      void this.send();
    } else if (e.key === "ArrowUp" && e.altKey && this.shell.thread === "") {
      e.preventDefault();
      this.redirect();
    } else if (e.key === "Escape" && this.replyTo !== null) {
      this.replyTo = null;
    }
  };

  /** Handles keys while the candidate list is open; returns false for other keys. */
  private listKey(e: KeyboardEvent): boolean {
    const n = this.offered.length;
    if (e.key === "ArrowDown") this.active = (this.active + 1) % n;
    else if (e.key === "ArrowUp") this.active = (this.active + n - 1) % n;
    else if (e.key === "Escape") this.offered = [];
    else if ((e.key === "Enter" || e.key === "Tab") && !e.shiftKey) this.pick(e, this.offered[this.active] as Participant);
    else return false;
    e.preventDefault();
    return true;
  }

  private pick(e: Event, p: Participant): void {
    e.preventDefault();
    const field = this.field.value;
    if (field === undefined) return;
    const m = mentionAt(field.value, field.selectionStart);
    if (m !== null) field.setRangeText(`@${p.id} `, m.at, m.at + 1 + m.word.length, "end");
    this.offered = [];
    this.input();
  }

  private readonly submit = (e: Event): void => {
    e.preventDefault();
    void this.send();
  };

  private async send(): Promise<void> {
    const text = this.text.trim();
    if (text === "") return;
    const named = this.named();
    const to = this.onlyTo && named.length > 0 ? named : [];
    const { shell } = this;
    const told = to.length > 0 ? "" : unanswered(shell.state, text);
    const thread = shell.thread;
    const replyTo = this.replyTo ?? (thread === "" || thread === NEW_THREAD ? null : (lastMessage(shell.state, thread) ?? thread));
    this.set("");
    this.replyTo = null;
    this.onlyTo = false;
    const posted = shell.post(chat(text, { to, ...(replyTo !== null && { replyTo }), ...(formatOf(text) === "markdown" && { format: "markdown" as const }) }));
    this.dispatchEvent(new CustomEvent("sent", { bubbles: true }));
    const sent = await posted;
    if (sent.ok && thread === NEW_THREAD && shell.thread === NEW_THREAD) location.hash = format({ type: "thread", space: shell.space, id: sent.id });
    if (sent.ok && this.shell === shell) this.unanswered = told;
    if (sent.ok || sent.id !== "") return; // the gateway's rejection is shown with the message
    this.sendError = sent.refusal;
    if (this.text === "") this.set(text);
  }

  private set(text: string): void {
    const field = this.field.value;
    if (field === undefined) return;
    field.value = text;
    keepDraft(this.shell.space, text);
    this.offered = [];
    this.resize();
  }

  private reply(to: ID): void {
    this.replyTo = to;
    this.field.value?.focus();
  }

  private mention(id: string): void {
    const field = this.field.value;
    if (field === undefined) return;
    field.focus();
    const before = field.value.slice(0, field.selectionStart);
    field.setRangeText(`${before === "" || /\s$/.test(before) ? "" : " "}@${id} `, field.selectionStart, field.selectionEnd, "end");
    this.input();
  }

  private edit(d: Draft): void {
    const text = str(obj(d.payload)["message"]);
    this.set(this.text === "" ? text : `${this.text}\n${text}`);
    this.onlyTo = d.to !== undefined;
    this.replyTo = typeof d.correlationId === "string" ? d.correlationId : null;
    this.field.value?.focus();
  }
}

define("meup-composer", Composer);
