/** The header of a space: its name, the connection status, the user and the preferences. */

import { type TemplateResult, html, nothing } from "lit";
import type { Preference } from "../core/toggle.js";
import type { Session } from "@sdk/types.js";
import { monogram } from "./monogram.js";
import type { SpaceShell } from "./shell.js";
import { icon } from "./icons.js";
import { PageElement, define } from "./element.js";
import "./connection-status.js";
import { type Theme, keepToggles, notifies, setNotifies, setTheme, theme } from "./prefs.js";
import { who } from "./text.js";

const PREFERENCES: readonly (readonly [Preference, string, string])[] = [
  ["automatic", "Automatic", "Open while running, closed when done"],
  ["open", "Open", "Always open"],
  ["closed", "Closed", "Always closed"],
];

const THEMES: readonly (readonly [Theme, string])[] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];

export class Header extends PageElement {
  static override properties = { shell: { attribute: false }, session: { attribute: false }, tick: { attribute: false }, list: { attribute: false } };

  declare shell: SpaceShell;
  declare session: Session;
  declare tick: number;
  /** The list of conversations is shown. */
  declare list: boolean;

  protected override render(): TemplateResult {
    const { shell } = this;
    const waiting = shell.state.pending.length;
    const here = [...shell.state.participants.values()].filter((p) => p.present).length;
    return html`<header class="head">
      <div class="head-where">
        ${this.list ? nothing : this.listButton()}
        <h1>${this.spaces()}</h1>
        <meup-link-state .shell=${shell} .tick=${this.tick}></meup-link-state>
        ${here > 0 ? html`<button class="head-here" @click=${() => shell.open("participants")}>${here} online</button>` : nothing}
      </div>
      <div class="head-who">
        <button class="icon-button head-find" title="Search (/)" aria-label="Search" @click=${() => shell.open("search")}>${icon("search")}</button>
        ${this.menu()}
        <button class="icon-button head-panels" title="Panels" aria-label=${waiting === 0 ? "Panels" : `Panels, ${waiting} awaiting approval`} @click=${() => shell.open("")}>${icon("panel")}${waiting === 0 ? nothing : html`<span class="badge" aria-hidden="true" data-count=${waiting > 99 ? "99+" : waiting}></span>`}</button>
      </div>
    </header>`;
  }

  /** Opens the list of conversations, and shows what is new in it. */
  private listButton(): TemplateResult {
    const { threads } = this.shell;
    const unread = threads.reduce((n, t) => n + t.unread, 0);
    const waiting = threads.reduce((n, t) => n + t.waiting, 0);
    const label = ["Conversations", ...(unread > 0 ? [`${unread} unread`] : []), ...(waiting > 0 ? [`${waiting} awaiting approval`] : [])].join(", ");
    return html`<button class="icon-button head-list" title="Conversations" aria-label=${label} aria-expanded="false" @click=${() => this.dispatchEvent(new CustomEvent("list", { bubbles: true }))}>
      ${icon("list")}${unread + waiting === 0 ? nothing : html`<span class=${unread > 0 ? "badge" : "badge wait"} aria-hidden="true" data-count=${unread > 0 ? (unread > 99 ? "99+" : unread) : waiting}></span>`}
    </button>`;
  }

  private spaces(): TemplateResult | string {
    const { shell, session } = this;
    if (session.spaces.length < 2 && (session.globs ?? []).length === 0) return who(shell.space);
    return html`<a class="head-space" href="#/" title="All spaces">${who(shell.space)}<span class="chevron" aria-hidden="true">${icon("chevron")}</span></a>`;
  }

  private menu(): TemplateResult {
    const { shell } = this;
    const now = shell.toggles.preference;
    return html`<details class="menu" @toggle=${this.toggled} @keydown=${this.key} @focusout=${this.left}>
      <summary><span class="unseen">You are ${shell.you === "" ? "…" : who(shell.you)}. Settings</span>${monogram(shell.you || "?", false)}<span class="head-you" aria-hidden="true">${shell.you === "" ? "…" : who(shell.you)}</span></summary>
      <div class="menu-body">
        <p class="menu-you">Signed in as <b>${who(shell.you)}</b></p>
        <fieldset>
          <legend>Reasoning</legend>
          ${PREFERENCES.map(
            ([value, label, says]) => html`<label class="menu-choice">
              <input type="radio" name="reasoning" value=${value} .checked=${now === value} @change=${() => this.prefer(value)} />
              <span><b>${label}</b><br /><span class="faint">${says}</span></span>
            </label>`,
          )}
        </fieldset>
        <fieldset class="menu-row">
          <legend>Theme</legend>
          ${THEMES.map(([value, label]) => html`<label class="menu-choice"><input type="radio" name="theme" value=${value} .checked=${theme() === value} @change=${() => this.choose(value)} /> ${label}</label>`)}
        </fieldset>
        <label class="menu-choice"><input type="checkbox" name="notify" .checked=${notifies()} @change=${this.notify} /> <span><b>Notifications</b><br /><span class="faint">When something waits for you</span></span></label>
        <button class="words" @click=${() => shell.emit("palette", { mode: "keys" })}>Keyboard shortcuts</button>
        <button class="button small" @click=${() => this.dispatchEvent(new CustomEvent("sign-out", { bubbles: true }))}>Sign out</button>
      </div>
    </details>`;
  }

  private prefer(p: Preference): void {
    this.shell.toggles.preference = p;
    keepToggles(this.shell.toggles);
    this.shell.changed();
  }

  private choose(value: Theme): void {
    setTheme(value);
    this.requestUpdate();
  }

  private readonly notify = async (e: Event): Promise<void> => {
    const box = e.currentTarget as HTMLInputElement;
    const wanted = box.checked;
    box.checked = await setNotifies(wanted);
    if (wanted && !box.checked) this.shell.toast("The browser blocks notifications of this page");
  };

  private readonly toggled = (e: Event): void => {
    const menu = e.currentTarget as HTMLDetailsElement;
    if (!menu.open) return;
    const away = (p: Event): void => {
      if (menu.contains(p.target as Node)) return;
      menu.open = false;
      document.removeEventListener("pointerdown", away);
    };
    document.addEventListener("pointerdown", away);
  };

  private readonly key = (e: KeyboardEvent): void => {
    if (e.key !== "Escape") return;
    const menu = e.currentTarget as HTMLDetailsElement;
    menu.open = false;
    menu.querySelector("summary")?.focus();
  };

  private readonly left = (e: FocusEvent): void => {
    const menu = e.currentTarget as HTMLDetailsElement;
    if (e.relatedTarget !== null && !menu.contains(e.relatedTarget as Node)) menu.open = false;
  };
}

define("meup-header", Header);
