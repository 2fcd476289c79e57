/** The part of the log that a report is about: the days before now. */

import { type TemplateResult, css, html } from "lit";

/** In days; 0: all of the log. */
const SPANS: readonly (readonly [days: number, words: string])[] = [
  [1, "Last 24 hours"],
  [7, "Last 7 days"],
  [30, "Last 30 days"],
  [0, "Whole log"],
];

/** The parameter of a request. */
export function since(days: number): string {
  return `since=${encodeURIComponent(new Date(days === 0 ? 0 : Date.now() - days * 86_400_000).toISOString())}`;
}

/** The field that chooses it. */
export function spanField(days: number, change: (days: number) => void): TemplateResult {
  return html`<label class="unseen" for="span">Part of the log</label>
    <select id="span" class="span" @change=${(e: Event) => change(Number((e.target as HTMLSelectElement).value))}>
      ${SPANS.map(([n, words]) => html`<option value=${n} .selected=${n === days}>${words}</option>`)}
    </select>`;
}

export const spanStyles = css`
  .span {
    width: auto;
  }
`;
