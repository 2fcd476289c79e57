/** Feedback about an envelope: the buttons that give it, and what participants have given. */

import { type TemplateResult, html, nothing } from "lit";
import { feedback } from "../core/drafts.js";
import type { Given } from "../core/state.js";
import type { ID, ParticipantID } from "@sdk/types.js";
import { author } from "./author.js";
import { PageElement, define } from "./element.js";
import { longText, moment } from "./format.js";
import { icon } from "./icons.js";
import type { SpaceShell } from "./shell.js";

/** The longest note that the protocol allows, in characters. */
const MAX_NOTE = 2048;

/** An element about one envelope. It renders again when the feedback about that changes, since its message or step does not. */
abstract class About extends PageElement {
  static override properties: Record<string, object> = { shell: { attribute: false }, about: { attribute: false }, from: { attribute: false }, tab: { attribute: false } };

  declare shell: SpaceShell;
  declare about: ID;
  /** The sender of the envelope. */
  declare from: ParticipantID;
  /** With -1, only the arrow keys of its message reach the buttons. */
  declare tab: 0 | -1;

  private end: (() => void) | undefined;
  private drawn: readonly unknown[] = [];

  override connectedCallback(): void {
    super.connectedCallback();
    this.end = this.shell.subscribe(() => {
      if (this.inputs.some((x, i) => x !== this.drawn[i])) this.requestUpdate();
    });
    this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.end?.();
  }

  protected override updated(): void {
    this.drawn = this.inputs;
  }

  private get inputs(): readonly unknown[] {
    return [this.shell.shown.feedback.get(this.about), this.may];
  }

  protected get given(): readonly Given[] {
    return this.shell.shown.feedback.get(this.about)?.given ?? [];
  }

  protected get mine(): Given | undefined {
    return this.given.find((x) => x.from === this.shell.you);
  }

  protected get may(): boolean {
    return !this.shell.past && this.from !== this.shell.you && this.shell.may("feedback");
  }

  protected async give(value: Given["value"] | "none", note = ""): Promise<boolean> {
    const env = await this.shell.envelope(this.about);
    const sent = env === null ? null : await this.shell.send(feedback(env, value, note));
    if (sent?.ok !== true) this.shell.toast(sent === null ? "The envelope is no longer available." : sent.refusal);
    return sent?.ok === true;
  }
}

/** The two thumbs. The one that was given is pressed, and takes it back. */
export class Rate extends About {
  protected override render(): TemplateResult | typeof nothing {
    if (!this.may) return nothing;
    return html`${this.thumb("up", "Good")}${this.thumb("down", "Not good")}`;
  }

  private thumb(value: Given["value"], label: string): TemplateResult {
    const pressed = this.mine?.value === value;
    const click = (): void => void this.give(pressed ? "none" : value, pressed ? "" : this.mine?.note);
    return html`<button class="icon-button thumb" tabindex=${this.tab} title=${label} aria-label=${label} aria-pressed=${pressed ? "true" : "false"} @click=${click}>${icon(`thumb-${value}`)}</button>`;
  }
}

/** What participants have given, and the note of the user. */
export class FeedbackList extends About {
  static override properties = { ...About.properties, writing: { state: true } };

  declare private writing: boolean;

  protected override render(): TemplateResult | typeof nothing {
    if (this.given.length === 0) return nothing;
    return html`<ul class="feedback" aria-label="Feedback">${this.given.map((x) => html`<li data-value=${x.value}>${this.one(x)}</li>`)}</ul>`;
  }

  private one(x: Given): TemplateResult {
    const mine = x.from === this.shell.you;
    const words = html`<span class="mark ${x.value === "up" ? "good" : "bad"}" role="img" aria-label=${x.value === "up" ? "Good" : "Not good"}>${icon(`thumb-${x.value}`)}</span>
      <span title=${moment(x.at)}>${mine ? html`<b>You</b>` : author(x.from)}</span>`;
    if (mine && this.writing === true && this.may) return html`${words} ${this.form(x)}`;
    return html`${words}${x.note === "" ? nothing : html`<span class="feedback-note" dir="auto">${longText(x.note)}</span>`}
      ${mine && this.may ? html`<button class="words" tabindex=${this.tab} @click=${this.write}>${x.note === "" ? "Add a note" : "Edit"}</button>` : nothing}`;
  }

  private form(x: Given): TemplateResult {
    return html`<form @submit=${(e: Event) => void this.submit(e, x)} @keydown=${this.key}>
      <textarea class="field" name="note" rows="2" aria-label="Note" .value=${x.note} @input=${this.check}></textarea>
      <button class="button" type="submit">Save</button>
      <button class="words" type="button" @click=${this.close}>Cancel</button>
    </form>`;
  }

  private readonly write = async (): Promise<void> => {
    this.shell.emit("toggle", {});
    this.writing = true;
    await this.updateComplete;
    this.querySelector("textarea")?.focus({ preventScroll: true });
    this.querySelector("form")?.scrollIntoView({ block: "nearest" });
  };

  /** Closes the form; the focus in it goes to the button that opens it. */
  private readonly close = async (): Promise<void> => {
    const focused = this.contains(document.activeElement);
    this.writing = false;
    await this.updateComplete;
    if (focused) this.querySelector<HTMLElement>("li > .words")?.focus();
  };

  /** The browser shows this error when the form is submitted. */
  private readonly check = (e: Event): void => {
    const field = e.target as HTMLTextAreaElement;
    const length = [...field.value.trim()].length;
    field.setCustomValidity(length > MAX_NOTE ? `A note has at most ${MAX_NOTE} characters; this one has ${length}.` : "");
  };

  private async submit(e: Event, x: Given): Promise<void> {
    e.preventDefault();
    const note = String(new FormData(e.target as HTMLFormElement).get("note") ?? "").trim();
    if (note === x.note || (await this.give(x.value, note))) void this.close();
  }

  /** The keys of the message do not apply in the form. */
  private readonly key = (e: KeyboardEvent): void => {
    e.stopPropagation();
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) (e.currentTarget as HTMLFormElement).requestSubmit();
    else if (e.key === "Escape") void this.close();
    else return;
    e.preventDefault();
  };
}

define("meup-rate", Rate);
define("meup-feedback", FeedbackList);

/** The thumbs for an envelope. */
export function thumbs(shell: SpaceShell, about: ID, from: ParticipantID, tab: 0 | -1 = 0): TemplateResult {
  return html`<meup-rate .shell=${shell} .about=${about} .from=${from} .tab=${tab}></meup-rate>`;
}

/** What participants think of an envelope. */
export function opinions(shell: SpaceShell, about: ID, from: ParticipantID, tab: 0 | -1 = 0): TemplateResult {
  return html`<meup-feedback .shell=${shell} .about=${about} .from=${from} .tab=${tab}></meup-feedback>`;
}
