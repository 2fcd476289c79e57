/** The monogram of a participant, in its color. */

import { type TemplateResult, css, html, unsafeCSS } from "lit";
import { HUES, hueOf } from "../core/hue.js";
import type { ParticipantID } from "@sdk/types.js";
import { initials } from "./text.js";

/** Round for people, with corners for agents. */
export function monogram(id: ParticipantID, agent: boolean): TemplateResult {
  return html`<span class="monogram ${agent ? "agent" : ""}" data-hue=${hueOf(id)} aria-hidden="true">${initials(id)}</span>`;
}

/** The angles of the colors, in the order of their numbers. */
const ANGLES = HUES.map((angle, i) => `[data-hue="${i}"] { --hue: ${angle}; }`).join("\n");

/** The styles of monograms, for the document and for shadow roots. */
export const monogramStyles = css`
  .monogram {
    display: inline-grid;
    place-items: center;
    width: 1.75rem;
    height: 1.75rem;
    flex: none;
    border-radius: 50%;
    background: light-dark(oklch(0.93 0.035 var(--hue)), oklch(0.32 0.045 var(--hue)));
    color: light-dark(oklch(0.4 0.09 var(--hue)), oklch(0.86 0.07 var(--hue)));
    font-size: 0.6875rem;
    font-weight: 600;
    letter-spacing: 0.02em;
  }
  .monogram.agent {
    border-radius: var(--round-m);
  }
  ${unsafeCSS(ANGLES)}
`;
