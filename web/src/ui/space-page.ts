/** The page of a space: header, conversation, composer and panels. */

import { type PropertyValues, type TemplateResult, html, nothing } from "lit";
import { type Link, format, panelOf, parse } from "../core/links.js";
import { refusal, seconds } from "../core/sentences.js";
import type { ID, Session } from "@sdk/types.js";
import { Announcer } from "./announcer.js";
import { Attention } from "./attention.js";
import "./composer.js";
import type { Conversation } from "./conversation.js";
import "./conversation.js";
import type { SpaceShell } from "./shell.js";
import "./header.js";
import { review } from "./proposal-row.js";
import { PageElement, define } from "./element.js";
import { NARROW, type PanelParams, mayDecide } from "./panel.js";
import { panels } from "./panels/index.js";
import type { ProposalCard } from "./panels/proposal-card.js";
import { keepListShown, lastPanel, listShown } from "./prefs.js";
import "./side.js";
import "./thread-head.js";
import "./threads.js";

/** The width at which the list of conversations is beside the conversation, not over it. */
const LIST_BESIDE = "(min-width: 75rem)";

/** How long a notification is shown, milliseconds. */
const TOAST_DURATION = 4000;

export class SpacePage extends PageElement {
  static override properties = { shell: { attribute: false }, session: { attribute: false }, place: { attribute: false }, tick: { state: true }, panel: { state: true }, params: { state: true }, toastText: { state: true }, news: { state: true }, list: { state: true }, palette: { state: true } };

  declare shell: SpaceShell;
  declare session: Session;
  /** The target of the address. */
  declare place: Link;
  declare private tick: number;
  declare private panel: string;
  declare private params: PanelParams;
  declare private toastText: string;
  declare private news: string;
  /** The list of conversations is shown. */
  declare private list: boolean;
  /** The open palette; "" for none. */
  declare private palette: "" | "commands" | "keys";

  private readonly announcer = new Announcer();
  private attention: Attention | null = null;
  private unsubscribe: (() => void)[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private countdown: ReturnType<typeof setTimeout> | undefined;
  private focusBefore: Element | null = null;
  private pending: Link | null = null;
  /** The proposal that was last reviewed by key. */
  private reviewed: ID = "";

  constructor() {
    super();
    this.tick = 0;
    this.toastText = "";
    this.palette = "";
    this.news = "";
    this.params = {};
    this.list = matchMedia(LIST_BESIDE).matches && listShown();
    this.panel = matchMedia(NARROW).matches ? "" : lastPanel();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const { shell } = this;
    this.attention = new Attention(shell);
    this.attention.update();
    document.addEventListener("keydown", this.key);
    document.addEventListener("visibilitychange", this.onWake);
    window.addEventListener("online", this.onWake);
    window.addEventListener("hashchange", this.followAddress);
    this.followAddress();
    this.unsubscribe = [
      shell.subscribe(() => this.changed()),
      shell.on("open", ({ panel, params, replace }) => this.openPanel(panel, params, false, replace)),
      shell.on("palette", ({ mode }) => void this.openPalette(mode)),
      shell.on("toast", ({ text }) => this.toast(text)),
      whenMatches(NARROW, () => this.panel !== "" && this.openPanel("", {}, true, true)),
      whenMatches(LIST_BESIDE, () => (this.list = listShown())),
      whenMatches(`not all and ${LIST_BESIDE}`, () => (this.list = false)),
      () => document.removeEventListener("keydown", this.key),
      () => document.removeEventListener("visibilitychange", this.onWake),
      () => window.removeEventListener("online", this.onWake),
      () => window.removeEventListener("hashchange", this.followAddress),
    ];
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const f of this.unsubscribe) f();
    clearTimeout(this.timer);
    clearTimeout(this.countdown);
  }

  private changed(): void {
    this.tick++;
    const news = this.announcer.announce(this.shell.state, this.shell.room.live);
    if (news !== "") this.news = news;
    this.shell.markRead();
    this.attention?.update();
    this.navigate();
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (!changed.has("place")) return;
    const { place, shell } = this;
    this.pending = place.type === "message" || place.type === "context" ? place : null;
    if (place.type === "space") void shell.setThread("");
    else if (place.type === "thread") void shell.setThread(place.id);
    if (!this.list || matchMedia(LIST_BESIDE).matches) return;
    this.list = false; // the list covers what was chosen in it
    void this.updateComplete.then(() => this.querySelector<HTMLElement>(".talk")?.focus({ preventScroll: true }));
  }

  protected override updated(): void {
    this.navigate();
    clearTimeout(this.countdown);
    if (this.shell.outbox.holdFor > 0 && this.isConnected) this.countdown = setTimeout(() => this.tick++, 1000); // the seconds until it sends again
  }

  /** Goes to the target of the address once the state has loaded. */
  private navigate(): void {
    const { you, head } = this.shell.state;
    if (this.pending !== null && you !== null && head > 0) void this.goToPending();
  }

  private async goToPending(): Promise<void> {
    const link = this.pending;
    this.pending = null;
    if (link === null || link.type === "space" || link.type === "thread") return;
    if (!(await this.shell.goTo(link.type === "message" ? link.id : link.path))) this.shell.toast("Not found in this space");
  }

  protected override render(): TemplateResult {
    const { shell, tick } = this;
    return html`<div class="space" data-panel=${this.panel !== ""} data-list=${this.list} @panel=${(e: CustomEvent<{ id: string }>) => this.openPanel(e.detail.id, {}, true)} @sent=${() => this.querySelector<Conversation>("meup-conversation")?.toEnd(shell.outbox.items.at(-1)?.id)}>
      <button class="skip" @click=${() => (this.querySelector<HTMLElement>("meup-composer textarea") ?? this.querySelector<HTMLElement>(".talk"))?.focus()}>${shell.may("chat") ? "Skip to the message field" : "Skip to the messages"}</button>
      ${this.list ? html`<div class="list-shade" @click=${() => this.showList(false)}></div><meup-threads .shell=${shell} .tick=${tick} @hide=${() => this.showList(false)} @keydown=${this.listKey}></meup-threads>` : nothing}
      <div class="space-main" ?inert=${(this.panel !== "" && matchMedia(NARROW).matches) || (this.list && !matchMedia(LIST_BESIDE).matches)}>
        <meup-header .shell=${shell} .session=${this.session} .tick=${tick} .list=${this.list} @list=${() => this.showList(!this.list)}></meup-header>
        ${this.banner()}
        <main class="space-here">
          <meup-thread-head .shell=${shell} .tick=${tick} .thread=${shell.thread}></meup-thread-head>
          <div class="space-talk"><meup-conversation .shell=${shell} .tick=${tick}></meup-conversation></div>
          <meup-composer .shell=${shell} .tick=${tick} ?inert=${shell.past || this.cannotSend()}></meup-composer>
        </main>
      </div>
      ${this.panel === "" ? nothing : html`<div class="side-shade" @click=${() => this.openPanel("", {})}></div>`}
      <meup-side .shell=${shell} .tick=${tick} .open=${this.panel} .params=${this.params}></meup-side>
      ${this.palette === "" ? nothing : html`<meup-palette .shell=${shell} .mode=${this.palette} @done=${() => (this.palette = "")}></meup-palette>`}
      <p class="toast" role="status" ?hidden=${this.toastText === ""}>${this.toastText}</p>
      <p class="unseen" aria-live="polite" data-news>${this.news}</p>
    </div>`;
  }

  /** Reports whether sending is impossible until the user signs in again. */
  private cannotSend(): boolean {
    return ["kicked", "refused", "expired"].includes(this.shell.room.connectionState.phase);
  }

  /** The most important notice about the connection or the outbox. */
  private banner(): TemplateResult | typeof nothing {
    const { shell } = this;
    const c = shell.room.connectionState;
    const { holdFor, durable, items } = shell.outbox;
    if (shell.past) return html`<p class="banner past" role="status">You are viewing the past. <button class="words" @click=${() => shell.showPast(null)}>Return to live</button></p>`;
    if (c.phase === "lost") return html`<p class="banner wait" role="status">${c.reason} <button class="words" @click=${() => shell.room.wake()}>Reconnect now</button></p>`;
    if (c.phase === "expired") return html`<p class="banner bad" role="alert">${c.reason} <button class="words" @click=${() => this.dispatchEvent(new CustomEvent("sign-out", { bubbles: true }))}>Sign in again</button></p>`;
    if (c.phase === "kicked" || c.phase === "refused") return html`<p class="banner bad" role="alert">${c.phase === "kicked" ? "You were removed from this space." : c.reason} <a href="#/">Other spaces</a></p>`;
    const held = holdFor > 0 ? items.find((x) => x.status === "waiting" && x.refusal !== null)?.refusal : undefined;
    if (held != null) {
      // Without the seconds for screen readers: it would be read again with each of them.
      return html`<p class="banner wait" role="status"><span>${refusal({ error: held.error, message: "" })} Sending continues automatically<span aria-hidden="true"> in ${seconds(holdFor)}</span>.</span></p>`;
    }
    if (!durable && items.length > 0) return html`<p class="banner wait" role="status">Browser storage is unavailable: unsent messages are lost when you close the page.</p>`;
    return nothing;
  }

  /** Opens a panel; "" opens the last one, or closes the open one. */
  private openPanel(id: string, params: PanelParams, exactly = false, replace = false): void {
    const next = id === "" && !exactly && this.panel === "" ? (panels.find((p) => p.id === lastPanel() && p.hidden !== true) ?? panels[0])?.id ?? "" : id;
    if (id !== "" && !panels.some((p) => p.id === id)) return;
    this.showPanel(next, params);
    this.writeAddress(replace);
  }

  private showPanel(id: string, params: PanelParams): void {
    const before = this.panel;
    if (before === "" && id !== "") this.focusBefore = document.activeElement;
    this.params = params;
    this.panel = id;
    if (id === before) return;
    if (id === "") void this.updateComplete.then(() => (this.focusBefore as HTMLElement | null)?.focus?.()); // not inert any more
    else if (matchMedia(NARROW).matches) void this.updateComplete.then(() => this.querySelector<HTMLElement>(".panel-head [aria-label='Close panel']")?.focus());
  }

  /**
   * Shows the panel of the address. An entry of the history that this page has written has a state: it says
   * whether a panel is open. One that a link has made has none, and keeps the open panel.
   */
  private readonly followAddress = (): void => {
    if (parse(location.hash)?.space !== this.shell.space) return;
    const open = panelOf(location.hash);
    const known = panels.some((p) => p.id === open?.panel);
    if (open !== null || history.state !== null) this.showPanel(known ? (open?.panel ?? "") : "", open?.params ?? {});
    this.writeAddress(true);
  };

  /** Writes the open panel into the address, as a new entry of the history, or in place of the present one. */
  private writeAddress(replace: boolean): void {
    const link = parse(location.hash);
    if (link?.space !== this.shell.space) return;
    const params = Object.fromEntries(Object.entries(this.params).filter(([, v]) => v !== ""));
    const next = format(link, this.panel === "" ? null : { panel: this.panel, params });
    if (replace || next === location.hash) history.replaceState({}, "", next);
    else history.pushState({}, "", next);
  }

  /** Shows or hides the list of conversations. */
  private showList(shown: boolean): void {
    this.list = shown;
    if (matchMedia(LIST_BESIDE).matches) keepListShown(shown);
    void this.updateComplete.then(() => this.querySelector<HTMLElement>(shown ? ".threads input" : ".head-list")?.focus());
  }

  private readonly listKey = (e: KeyboardEvent): void => {
    if (e.key === "Escape" && !matchMedia(LIST_BESIDE).matches) this.showList(false);
  };

  /** Opens the command palette or the list of keys. */
  private async openPalette(mode: "commands" | "keys"): Promise<void> {
    this.palette = "";
    try {
      await import("./palette.js");
      await this.updateComplete; // an open one is replaced
      this.palette = mode;
    } catch {
      this.toast("Commands could not be loaded. Reload the page when the gateway is reachable.");
    }
  }

  private toast(text: string): void {
    this.toastText = text;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.toastText = ""), TOAST_DURATION);
  }

  private readonly onWake = (): void => {
    if (document.visibilityState !== "visible") return;
    this.shell.room.wake();
    this.shell.markRead();
  };

  /** Handles the keys that move between waiting proposals, and those of the card with the focus. */
  private decisionKey(e: KeyboardEvent): boolean {
    if (e.key === "n" || e.key === "p") {
      const waiting = this.shell.shown.pending.filter((id) => mayDecide(this.shell, id));
      const at = waiting.indexOf(this.reviewed);
      this.reviewed = waiting.at(e.key === "n" ? (at + 1) % waiting.length : Math.max(at, 0) - 1) ?? "";
      if (this.reviewed === "") this.toast("No proposals awaiting approval");
      else review(this.shell, this.reviewed);
      return true;
    }
    const row = e.composedPath().find((x) => x instanceof Element && x.matches("meup-proposal-card, .row.decide")) as Element | undefined;
    const card = row?.matches("meup-proposal-card") ? row : row?.querySelector("meup-proposal-card");
    return (card as ProposalCard | null | undefined)?.press(e.key) ?? false;
  }

  private readonly key = (e: KeyboardEvent): void => {
    const typing = (e.composedPath()[0] as Element | undefined)?.matches?.("input, textarea, select, [contenteditable]") ?? false;
    const command = e.ctrlKey || e.metaKey;
    if (e.key.toLowerCase() === "k" && command && !e.shiftKey && !e.altKey) {
      e.preventDefault();
      void this.openPalette("commands");
    } else if (e.key === "?" && !typing && !command) {
      e.preventDefault();
      void this.openPalette("keys");
    } else if (e.key === "/" && !typing && !command) {
      e.preventDefault();
      this.shell.open("search", this.panel === "search" ? { ...this.params } : {});
    } else if (!typing && !command && !e.altKey && !e.repeat && !e.defaultPrevented && this.palette === "" && this.decisionKey(e)) {
      e.preventDefault();
    } else if (e.key === "Escape" && !e.defaultPrevented && this.panel !== "" && matchMedia(NARROW).matches) {
      this.openPanel("", {}, true);
    }
  };
}

/** Calls f each time that the window begins to match a media query, until the returned function is called. */
function whenMatches(query: string, f: () => void): () => void {
  const list = matchMedia(query);
  const changed = (): void => void (list.matches && f());
  list.addEventListener("change", changed);
  return () => list.removeEventListener("change", changed);
}

define("meup-space-page", SpacePage);
