/** The command palette (Ctrl-K) and the list of keys (?). Loaded when it is first opened. */

import { type TemplateResult, html, nothing } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import { NEW_THREAD, format } from "../core/links.js";
import { oneLine } from "@sdk/read.js";
import { threads } from "../core/threads.js";
import { neutral } from "../core/unicode.js";
import { PageElement, define } from "./element.js";
import { icon } from "./icons.js";
import { mayDecide } from "./panel.js";
import { panels } from "./panels/index.js";
import { setTheme } from "./prefs.js";
import { review } from "./proposal-row.js";
import type { SpaceShell } from "./shell.js";
import { who } from "./text.js";

interface Command {
  readonly icon: string;
  readonly title: string;
  readonly hint: string;
  readonly run: () => void;
}

/** Commands shown at once. */
const MAX = 12;
/** Conversations that can be found. */
const MAX_THREADS = 200;

const KEYS: readonly (readonly [string, string])[] = [
  ["Ctrl K", "Command palette"],
  ["/", "Search all messages"],
  ["?", "Keyboard shortcuts"],
  ["Enter", "Send the message"],
  ["Shift Enter", "New line"],
  ["Alt ↑", "Reply to the last message, or begin a conversation"],
  ["@", "Mention a participant"],
  ["n p", "Next or previous proposal that waits for you"],
  ["a r e", "Approve, reject or edit the proposal with the focus"],
  ["Ctrl Enter", "Send the rejection"],
  ["↑ ↓", "Next message, conversation or tab"],
  ["← →", "Actions of a message"],
  ["Esc", "Close, or back to the message"],
];

export class Palette extends PageElement {
  static override properties = { shell: { attribute: false }, mode: { attribute: false }, words: { state: true }, active: { state: true } };

  declare shell: SpaceShell;
  declare mode: "commands" | "keys";
  declare private words: string;
  declare private active: number;
  private readonly dialog = createRef<HTMLDialogElement>();

  constructor() {
    super();
    this.words = "";
    this.active = 0;
  }

  protected override firstUpdated(): void {
    this.dialog.value?.showModal();
  }

  protected override render(): TemplateResult {
    const keys = this.mode === "keys";
    return html`<dialog class="palette" aria-label=${keys ? "Keyboard shortcuts" : "Command palette"} ${ref(this.dialog)} @close=${() => this.dispatchEvent(new CustomEvent("done"))} @click=${this.outside}>
      ${keys ? this.keys() : this.commands()}
    </dialog>`;
  }

  private keys(): TemplateResult {
    return html`<header class="palette-head"><h2>Keyboard shortcuts</h2><button class="icon-button" aria-label="Close" @click=${() => this.close()}>${icon("close")}</button></header>
      <dl class="palette-keys" tabindex="0">${KEYS.map(([key, says]) => html`<div><dt>${key.split(" ").map((k) => html`<kbd>${k}</kbd> `)}</dt><dd>${says}</dd></div>`)}</dl>`;
  }

  private commands(): TemplateResult {
    const found = this.found();
    return html`<input class="palette-input" role="combobox" aria-label="Command" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${found.length > 0 ? `palette-${this.active}` : nothing} autocomplete="off" placeholder="Find a conversation or command" .value=${this.words} @input=${this.input} @keydown=${this.key} />
      <ul class="palette-list" id="palette-list" role="listbox" aria-label="Commands">
        ${found.map(
          (c, i) => html`<li id=${`palette-${i}`} role="option" aria-selected=${i === this.active ? "true" : "false"} @click=${() => this.run(c)} @pointermove=${() => (this.active = i)}>
            ${icon(c.icon)}<span class="palette-title">${c.title}</span><span class="faint">${c.hint}</span>
          </li>`,
        )}
      </ul>`;
  }

  /** The commands that match the words, the best first; the search of messages is always the last. */
  private found(): readonly Command[] {
    const text = this.words.trim();
    const words = text.toLowerCase().split(/\s+/u).filter((w) => w !== "");
    const matching = this.all().filter((c) => words.every((w) => c.title.toLowerCase().includes(w)));
    const first = words[0] ?? "";
    const ranked = words.length === 0 ? matching : [...matching].sort((a, b) => Number(b.title.toLowerCase().startsWith(first)) - Number(a.title.toLowerCase().startsWith(first)));
    if (text === "") return ranked.slice(0, MAX);
    return [...ranked.slice(0, MAX - 1), { icon: "search", title: `Search messages for “${oneLine(text, 60)}”`, hint: "/", run: () => this.shell.open("search", { text }) }];
  }

  private all(): readonly Command[] {
    const { shell } = this;
    const s = shell.shown;
    const go = (title: string, hash: string, hint = ""): Command => ({ icon: "list", title, hint, run: () => (location.hash = hash) });
    const waiting = s.pending.filter((id) => mayDecide(shell, id));
    const [first] = waiting;
    const reads = shell.reads ?? { all: 0, threads: new Map() };
    return [
      ...(first === undefined ? [] : [{ icon: "decide", title: "Review the next proposal", hint: `${waiting.length} waiting`, run: () => review(shell, first) }]),
      ...(shell.may("chat") ? [go("New conversation", format({ type: "thread", space: shell.space, id: NEW_THREAD }))] : []),
      go("Everything", format({ type: "space", space: shell.space }), "Whole space"),
      ...panels.filter((p) => (p.hidden !== true || p.id === "trace") && p.offered?.(s) !== false).map((p) => ({ icon: p.icon, title: p.title, hint: "Panel", run: () => shell.open(p.id) })),
      { icon: "more", title: "Keyboard shortcuts", hint: "?", run: () => shell.emit("palette", { mode: "keys" }) },
      ...(["light", "dark", "system"] as const).map((t) => ({ icon: "more", title: `Theme: ${t}`, hint: "", run: () => setTheme(t) })),
      ...threads(s, reads)
        .slice(0, MAX_THREADS)
        .map((t) => go(shell.nameOf(t.id, t.title), format({ type: "thread", space: shell.space, id: t.id }), t.from === "" ? "" : who(t.from))),
      ...[...s.participants.values()].filter((p) => p.id !== shell.you).map((p) => ({ icon: "at", title: `Mention ${neutral(who(p.id))}`, hint: p.present ? "" : "offline", run: () => shell.mention(p.id) })),
    ];
  }

  private run(c: Command): void {
    this.close();
    c.run();
  }

  private close(): void {
    this.dialog.value?.close();
  }

  private readonly input = (e: Event): void => {
    this.words = (e.target as HTMLInputElement).value;
    this.active = 0;
  };

  private readonly key = (e: KeyboardEvent): void => {
    if (e.isComposing) return;
    const found = this.found();
    const n = found.length;
    if (e.key === "ArrowDown") this.active = (this.active + 1) % n;
    else if (e.key === "ArrowUp") this.active = (this.active + n - 1) % n;
    else if (e.key === "Enter" && found[this.active] !== undefined) this.run(found[this.active] as Command);
    else return;
    e.preventDefault();
    void this.updateComplete.then(() => this.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }));
  };

  /** A click on the backdrop closes it. */
  private readonly outside = (e: Event): void => {
    if (e.target === this.dialog.value) this.close();
  };
}

define("meup-palette", Palette);
