/** Icons: line paths in a 24 by 24 box. */

import { type TemplateResult, html, svg } from "lit";

const SHAPES = {
  chevron: svg`<path d="m9 6 6 6-6 6"/>`,
  send: svg`<path d="M12 19V5m-6 6 6-6 6 6"/>`,
  reply: svg`<path d="M9 7 4 12l5 5M4 12h10a6 6 0 0 1 6 6"/>`,
  "thumb-up": svg`<path d="M7.5 11v8.5H5a1 1 0 0 1-1-1V12a1 1 0 0 1 1-1h2.5Zm0 0 3.6-7a2.2 2.2 0 0 1 2.2 2.2V9.5h4.9a1.8 1.8 0 0 1 1.8 2.1l-1.1 6.4a1.8 1.8 0 0 1-1.8 1.5H7.5"/>`,
  "thumb-down": svg`<path d="M7.5 13V4.5H5a1 1 0 0 0-1 1V12a1 1 0 0 0 1 1h2.5Zm0 0 3.6 7a2.2 2.2 0 0 0 2.2-2.2v-3.3h4.9a1.8 1.8 0 0 0 1.8-2.1L18.9 6a1.8 1.8 0 0 0-1.8-1.5H7.5"/>`,
  link: svg`<path d="M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.2 1.2M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.2-1.2"/>`,
  close: svg`<path d="m6 6 12 12M18 6 6 18"/>`,
  down: svg`<path d="M12 5v14m-6-6 6 6 6-6"/>`,
  check: svg`<path d="m5 12.5 4.5 4.5L19 7.5"/>`,
  cross: svg`<path d="m7 7 10 10M17 7 7 17"/>`,
  stop: svg`<rect x="7" y="7" width="10" height="10" rx="1.5"/>`,
  pause: svg`<path d="M9 6v12M15 6v12"/>`,
  people: svg`<circle cx="9" cy="8" r="3.2"/><path d="M3 19c.6-3.4 2.9-5 6-5s5.4 1.6 6 5M15.5 5.2a3.2 3.2 0 0 1 0 5.7M17.5 14.4c2 .7 3.1 2.2 3.5 4.6"/>`,
  decide: svg`<path d="M12 3 4.5 6v5.5c0 4.5 3 7.7 7.5 9.5 4.5-1.8 7.5-5 7.5-9.5V6L12 3Z"/><path d="m8.8 12 2.3 2.3 4.2-4.6"/>`,
  tools: svg`<path d="M14.5 6.5a4 4 0 0 1 5-1l-2.7 2.7 1.5 1.5L21 7a4 4 0 0 1-5.5 5L8 19.5a2.1 2.1 0 0 1-3-3L12.5 9a4 4 0 0 1 2-2.5Z"/>`,
  filter: svg`<path d="M4 6h16M7 12h10M10 18h4"/>`,
  search: svg`<circle cx="11" cy="11" r="6"/><path d="m15.5 15.5 4.5 4.5"/>`,
  time: svg`<circle cx="12" cy="12" r="8"/><path d="M12 7.5V12l3 2"/>`,
  raw: svg`<path d="M9 5c-2.5 0-3 1-3 3v1.5c0 1.5-.8 2.5-2 2.5 1.2 0 2 1 2 2.5V16c0 2 .5 3 3 3M15 5c2.5 0 3 1 3 3v1.5c0 1.5.8 2.5 2 2.5-1.2 0-2 1-2 2.5V16c0 2-.5 3-3 3"/>`,
  gauge: svg`<path d="M5 18a8.5 8.5 0 1 1 14 0M12 14l4-5"/>`,
  scale: svg`<path d="M12 4v16m-4 0h8M5 7h14M5 7l-3 7h6L5 7Zm14 0-3 7h6l-3-7Z"/>`,
  copy: svg`<rect x="9" y="9" width="10" height="10" rx="2"/><path d="M15 9V7a2 2 0 0 0-2-2H7a2 2 0 0 0-2 2v6a2 2 0 0 0 2 2h2"/>`,
  plus: svg`<path d="M12 5v14M5 12h14"/>`,
  edit: svg`<path d="M5 19l.8-3.6L15.6 5.6a1.7 1.7 0 0 1 2.4 0l.4.4a1.7 1.7 0 0 1 0 2.4L8.6 18.2 5 19ZM14 7.2l2.8 2.8"/>`,
  trace: svg`<path d="M4 6h7M8 11h9M13 16h7"/>`,
  list: svg`<path d="M4 6h16M4 12h16M4 18h10"/>`,
  panel: svg`<rect x="4" y="5" width="16" height="14" rx="2"/><path d="M14.5 5v14"/>`,
  more: svg`<circle cx="6" cy="12" r=".8"/><circle cx="12" cy="12" r=".8"/><circle cx="18" cy="12" r=".8"/>`,
  at: svg`<circle cx="12" cy="12" r="3.5"/><path d="M15.5 8.5V13c0 3 4.5 2.5 4.5-1a8 8 0 1 0-3 6.2"/>`,
} as const;

export type Icon = keyof typeof SHAPES;

/** Renders an icon; an unknown name is rendered as text. */
export function icon(name: Icon | string): TemplateResult {
  if (!Object.hasOwn(SHAPES, name)) return html`<span class="icon" aria-hidden="true">${name}</span>`;
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${SHAPES[name as Icon]}</svg>`;
}
