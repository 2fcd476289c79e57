/** The line above one conversation: its name, which the user can change in this browser, and the way back. */

import { type TemplateResult, html, nothing } from "lit";
import { NEW_THREAD } from "../core/links.js";
import { titleOf } from "../core/threads.js";
import { PageElement, define } from "./element.js";
import { icon } from "./icons.js";
import type { SpaceShell } from "./shell.js";

export class ThreadHead extends PageElement {
  static override properties = { shell: { attribute: false }, tick: { attribute: false }, thread: { attribute: false }, naming: { state: true } };

  declare shell: SpaceShell;
  declare tick: number;
  declare thread: string;
  declare private naming: boolean;

  protected override render(): TemplateResult | typeof nothing {
    const { shell, thread } = this;
    if (thread === "") return nothing;
    const own = shell.names.get(thread);
    const title = titleOf(shell.shown.messages.get(thread)?.text ?? "");
    if (this.naming) return this.form(own || title);
    return html`<div class="thread-head">
      <h2>${thread === NEW_THREAD ? "New conversation" : own || title || "Conversation"}</h2>
      ${thread === NEW_THREAD ? nothing : html`<button class="icon-button" title="Rename" aria-label="Rename conversation" @click=${this.name}>${icon("edit")}</button>`}
      <button class="words" @click=${() => shell.showAll()}>Show everything</button>
    </div>`;
  }

  private form(name: string): TemplateResult {
    return html`<form class="thread-head" @submit=${this.save} @keydown=${this.key}>
      <input class="field" name="name" maxlength="120" aria-label="Name of this conversation" .defaultValue=${name} />
      <button class="button small" type="submit">Save</button>
      <span class="faint">Only in this browser</span>
    </form>`;
  }

  private readonly name = (): void => {
    this.naming = true;
    void this.updateComplete.then(() => this.querySelector("input")?.select());
  };

  private readonly save = (e: Event): void => {
    e.preventDefault();
    this.shell.rename(this.thread, String(new FormData(e.target as HTMLFormElement).get("name") ?? ""));
    this.done();
  };

  private readonly key = (e: KeyboardEvent): void => {
    if (e.key !== "Escape") return;
    e.preventDefault();
    this.done();
  };

  private done(): void {
    this.naming = false;
    void this.updateComplete.then(() => this.querySelector<HTMLElement>("button")?.focus());
  }

  protected override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("thread")) this.naming = false;
  }
}

define("meup-thread-head", ThreadHead);
