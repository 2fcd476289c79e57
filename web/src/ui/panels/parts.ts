/** Elements and styles that several panels share. */

import { type TemplateResult, css, html, nothing } from "lit";
import { ref } from "lit/directives/ref.js";
import { suspicious, visible } from "../../core/unicode.js";
import type { Millis, ParticipantID } from "@sdk/types.js";
import { icon } from "../icons.js";
import { NARROW, type Shell } from "../panel.js";
import { monogramStyles } from "../monogram.js";
import { plain, who } from "../text.js";
import { clock, moment } from "../format.js";

/** An invisible character as `visible` spells it. */
const ESCAPED = /(⟨U\+[0-9A-F]{4,6}⟩)/u;

/** Renders code with invisible characters spelled out and marked. */
export function exact(text: string): unknown {
  const shown = visible(text);
  if (!suspicious(text)) return shown;
  return shown.split(ESCAPED).map((x) => (ESCAPED.test(x) ? html`<mark title="Invisible character">${x}</mark>` : x));
}

/** Renders words of the gateway or about capabilities: code between backticks as code, everything else as it is. */
export function worded(text: string): unknown {
  return text.split(/(`[^`\n]+`)/u).map((x, i) => (i % 2 === 1 ? html`<code>${exact(x.slice(1, -1))}</code>` : plain(x)));
}

/** The same without the backticks, where there can be no markup. */
export function unmarked(text: string): string {
  return visible(text.replace(/`([^`\n]+)`/gu, "$1"));
}

/** The reason of a decision: a code as words, anything else as it is. */
export function reasonWords(reason: string): string {
  return /^[a-z]+(?:_[a-z]+)+$/u.test(reason) ? reason.replaceAll("_", " ") : reason;
}

/** Copies a text and shows a notification. */
export async function copy(shell: Shell, text: string, said: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    shell.toast(said);
  } catch {
    shell.toast("The browser blocks copying. Select the text instead.");
  }
}

/** A time. */
export function when(at: Millis): TemplateResult | typeof nothing {
  if (at === 0) return nothing;
  return html`<time datetime=${new Date(at).toISOString()} title=${moment(at)}>${clock(at)}</time>`;
}

/** "3 tools", "1 tool". */
export function amount(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}

export { monogram } from "../monogram.js";

/** A button that shows the envelope. */
export function envelopeButton(shell: Shell, id: string): TemplateResult {
  return html`<button class="small-icon" title="Show envelope" aria-label="Show envelope" @click=${() => shell.open("envelope", { id })}>${icon("raw")}</button>`;
}

/** A button that scrolls to a place in the conversation. */
export function goButton(shell: Shell, place: string, words = "Show in conversation"): TemplateResult {
  return html`<button class="words small" @click=${() => void go(shell, place)}>${words}</button>`;
}

/** Scrolls to a place, and closes a panel that covers it; shows a notification if it is not found. */
export async function go(shell: Shell, place: string, missing = "Not found in the available history"): Promise<boolean> {
  const there = await shell.goTo(place);
  if (!there && missing !== "") shell.toast(missing);
  if (there && matchMedia(NARROW).matches) shell.open("");
  return there;
}

/** Names, with the user as "you". */
export function names(shell: Shell, ids: readonly ParticipantID[]): string {
  return ids.map((id) => (id === shell.you ? "you" : who(id))).join(", ");
}

/** An error message, also announced to screen readers. It comes into view. */
export function refused(words: string): TemplateResult | typeof nothing {
  return words === "" ? nothing : html`<p class="refused" role="alert" ${ref(showWhole)}>${words}</p>`;
}

/** Scrolls until a new element is visible, once it has its place. */
export function showWhole(x: Element | undefined): void {
  if (x !== undefined) requestAnimationFrame(() => x.scrollIntoView({ block: "nearest" }));
}

/** The styles of these elements. */
export const parts = css`
  ${monogramStyles}
  mark {
    padding: 0 0.15em;
    border-radius: 0.2em;
    background: var(--bad-soft);
    color: var(--bad);
    font-weight: 600;
  }
  .small-icon {
    display: inline-grid;
    place-items: center;
    width: 1.75rem;
    height: 1.75rem;
    flex: none;
    border-radius: var(--round-s);
    color: var(--quiet);
  }
  .small-icon:hover {
    background: var(--sunk);
    color: var(--ink);
  }
  .small-icon svg.icon {
    width: 1rem;
    height: 1rem;
  }
  .words.small,
  .small {
    font-size: var(--text-s);
  }
  .button.small {
    min-height: 1.75rem;
    padding: 0 var(--space-2);
  }
  .faint {
    color: var(--faint);
    font-size: var(--text-s);
  }
  .refused {
    padding: var(--space-2) var(--space-3);
    border-radius: var(--round-m);
    background: var(--bad-soft);
    color: var(--bad);
    font-size: var(--text-s);
    overflow-wrap: anywhere;
    white-space: pre-line;
  }
  .warning {
    padding: var(--space-2) var(--space-3);
    border-radius: var(--round-m);
    background: var(--wait-soft);
    color: var(--wait);
    font-size: var(--text-s);
  }
  .grow {
    flex: 1;
    min-width: 0;
  }
  .name {
    font-weight: 600;
    overflow-wrap: anywhere;
  }
  time {
    color: var(--faint);
    font-size: var(--text-xs);
    font-variant-numeric: tabular-nums;
  }
  summary {
    display: flex;
    align-items: center;
    gap: var(--space-2);
    width: fit-content;
    color: var(--quiet);
    font-size: var(--text-s);
    cursor: pointer;
  }
  summary::before {
    width: 0.4em;
    height: 0.4em;
    border: solid currentColor;
    border-width: 0 1.5px 1.5px 0;
    transform: rotate(-45deg);
    content: "";
  }
  summary:hover {
    color: var(--ink);
  }
  details[open] > summary {
    margin-bottom: var(--space-2);
  }
  details[open] > summary::before {
    transform: translateY(-15%) rotate(45deg);
  }
  .section {
    margin: var(--space-5) 0 var(--space-2);
  }
  .section:first-child {
    margin-top: 0;
  }
  label.field-label {
    display: grid;
    gap: var(--space-1);
    color: var(--quiet);
    font-size: var(--text-s);
  }
  label.field-label :is(input, select, textarea) {
    color: var(--ink);
    font-size: var(--text-m);
  }
  label.check {
    display: flex;
    align-items: center;
    gap: var(--space-2);
    font-size: var(--text-s);
  }
  input[type="checkbox"],
  input[type="radio"] {
    width: 1rem;
    height: 1rem;
    margin: 0;
    flex: none;
    accent-color: var(--accent);
  }
  .sentences {
    display: grid;
    gap: 0.2rem;
    color: var(--quiet);
    font-size: var(--text-s);
  }
  button:disabled {
    cursor: default;
  }
`;

/** The styles of bars that show a part of a whole. */
export const barStyles = css`
  progress {
    width: 100%;
    height: 0.375rem;
    border: 0;
    border-radius: 1em;
    background: var(--sunk);
    accent-color: var(--accent);
    appearance: none;
    overflow: hidden;
  }
  progress::-webkit-progress-bar {
    background: var(--sunk);
  }
  progress::-webkit-progress-value {
    background: var(--accent);
  }
  progress::-moz-progress-bar {
    background: var(--accent);
  }
  progress[data-full] {
    accent-color: var(--bad);
  }
  progress[data-full]::-webkit-progress-value {
    background: var(--bad);
  }
  progress[data-full]::-moz-progress-bar {
    background: var(--bad);
  }
`;
