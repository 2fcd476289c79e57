/** A message: author, recipients, time, the message that it replies to, and text. */

import { type PropertyValues, type TemplateResult, html, nothing } from "lit";
import { neutral } from "../core/unicode.js";
import type { Message } from "../core/state.js";
import { excerpt } from "../core/threads.js";
import { mark, authorText } from "./author.js";
import { messageKey } from "./message-keys.js";
import { monogram } from "./monogram.js";
import type { SpaceShell } from "./shell.js";
import { icon } from "./icons.js";
import { PageElement, define } from "./element.js";
import "./marks.js";
import "./prose.js";
import { opinions, thumbs } from "./feedback.js";
import { envelopeLink, redactionNote } from "./envelope-link.js";
import { who } from "./text.js";
import { clock, longText, moment } from "./format.js";

/** Own messages with more characters or lines are folded. */
const FOLD_LENGTH = 1500;
const FOLD_LINES = 16;

export class MessageView extends PageElement {
  static override properties = {
    shell: { attribute: false },
    message: { attribute: false },
    quote: { attribute: false },
    missingQuote: { attribute: false },
    joined: { type: Boolean },
    agent: { type: Boolean },
    own: { type: Boolean },
    whole: { state: true },
  };

  declare shell: SpaceShell;
  declare message: Message;
  /** The message that it replies to, if it is loaded and not directly above. */
  declare quote: Message | null;
  /** The id of the message that it replies to, if that is not loaded. */
  declare missingQuote: string | null;
  /** Continues the row above: the author is not repeated. */
  declare joined: boolean;
  declare agent: boolean;
  declare own: boolean;
  /** The user has unfolded the message. */
  declare private whole: boolean;

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("message")) this.id = `m-${this.message.id}`;
  }

  protected override render(): TemplateResult {
    const m = this.message;
    return html`<article class="message" tabindex="0" @keydown=${messageKey} data-own=${this.own} data-joined=${this.joined} data-id=${m.id} aria-busy=${m.growing ? "true" : "false"} aria-label=${`${this.own ? "You" : authorText(m.from)}, ${clock(m.at)}`}>
      ${this.own ? nothing : monogram(m.from, this.agent)}
      <div class="message-main">
        ${this.head(m)} ${this.reply()}
        ${m.marks === null ? nothing : html`<meup-marks .marks=${m.marks}></meup-marks>`}
        ${m.marks !== null && m.text === "" ? nothing : this.bubble(m)}
        ${m.cancelled === null ? nothing : html`<p class="message-note">Canceled by ${authorText(m.cancelled.by)}${m.cancelled.reason === "" ? "" : html`: ${longText(m.cancelled.reason)}`}</p>`}
        ${m.acknowledged.length === 0 ? nothing : html`<p class="message-note">Seen by ${m.acknowledged.map(authorText).join(", ")}</p>`} ${redactionNote(m.redacted)}
        ${m.growing ? nothing : opinions(this.shell, m.id, m.from, -1)}
      </div>
      ${m.growing ? nothing : this.actions(m)}
    </article>`;
  }

  /** The text. People write line breaks that they mean; a long message of the user is folded. */
  private bubble(m: Message): TemplateResult {
    const long = this.own && (m.text.length > FOLD_LENGTH || m.text.split("\n", FOLD_LINES + 1).length > FOLD_LINES);
    const open = this.whole === true;
    return html`<div class=${m.growing ? "bubble growing" : "bubble"} data-folded=${long && !open}><meup-prose .text=${m.text} .format=${m.format} .breaks=${!this.agent}></meup-prose></div>
      ${long ? html`<button class="words" tabindex="-1" aria-expanded=${open ? "true" : "false"} @click=${this.fold}>${open ? "Show less" : "Show more"}</button>` : nothing}`;
  }

  private readonly fold = (): void => {
    this.shell.emit("toggle", {});
    this.whole = this.whole !== true;
  };

  private head(m: Message): TemplateResult {
    return html`<header class="message-head">
      ${this.own
        ? html`<span class="unseen">You</span>`
        : html`<button class="author" tabindex="-1" @click=${() => this.shell.open("participants", { id: m.from })}>${who(m.from)}</button>
            ${mark(m.from)}`}
      ${m.to.length === 0 ? nothing : html`<span class="chip accent">to ${m.to.map((x) => (x === this.shell.you ? "you" : authorText(x))).join(", ")}</span>`}
      <a class="time" tabindex="-1" href=${this.shell.address(m.id)} title=${moment(m.at)}><time datetime=${new Date(m.at).toISOString()}>${clock(m.at)}</time></a>
    </header>`;
  }

  private reply(): TemplateResult | typeof nothing {
    const { quote, missingQuote } = this;
    if (quote !== null) {
      return html`<button class="quote" tabindex="-1" @click=${() => void this.shell.goTo(quote.id)}>
        <span class="quote-author">${quote.from === this.shell.you ? "You" : authorText(quote.from)}</span> ${excerpt(quote, 140)}
      </button>`;
    }
    if (missingQuote === null || missingQuote === undefined) return nothing;
    return html`<button class="quote" tabindex="-1" @click=${() => void this.shell.goTo(missingQuote)}>Reply to an earlier message</button>`;
  }

  private actions(m: Message): TemplateResult {
    return html`<div class="actions" role="group" aria-label="Message">
      ${this.shell.may("chat") ? html`<button class="icon-button" tabindex="-1" title="Reply" aria-label="Reply" @click=${() => this.shell.emit("reply", { to: m.id })}>${icon("reply")}</button>` : nothing}
      ${thumbs(this.shell, m.id, m.from, -1)}
      <button class="icon-button" tabindex="-1" title="Copy text" aria-label="Copy text" @click=${() => void this.copyText(m.text)}>${icon("copy")}</button>
      <button class="icon-button" tabindex="-1" title="Copy link" aria-label="Copy link" @click=${() => void this.copy(m.id)}>${icon("link")}</button>
      ${envelopeLink(this.shell, m.id, -1)}
    </div>`;
  }

  private async copyText(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(neutral(text));
      this.shell.toast("Message copied");
    } catch {
      this.shell.toast("The browser blocks copying. Select the text instead.");
    }
  }

  private async copy(id: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.shell.link(id));
      this.shell.toast("Link copied");
    } catch {
      location.hash = this.shell.address(id);
      this.shell.toast("The link is in the address bar");
    }
  }
}

define("meup-message", MessageView);
