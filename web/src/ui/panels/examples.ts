/** A list of decided calls with the buttons that show their envelopes. */

import { type TemplateResult, css, html, nothing } from "lit";
import { oneLine } from "@sdk/read.js";
import type { Example } from "../../core/policy.js";
import { neutral } from "../../core/unicode.js";
import { personText } from "../author.js";
import { moment, shortMoment } from "../format.js";
import type { Shell } from "../panel.js";
import { envelopeButton, exact, reasonWords } from "./parts.js";

export function examples(shell: Shell, list: readonly Example[]): TemplateResult {
  return html`<ul class="examples">${list.map(
    (x) => html`<li>
      <p class="what">${exact(x.what)}</p>
      <p class="fact"><time title=${moment(x.at)}>${shortMoment(x.at, shell.now())}</time>${x.by === "" ? nothing : ` · ${oneLine(x.outcome || "rejected", 40)} by ${personText(x.by, shell.you)}`}${x.reason === "" ? nothing : `: ${oneLine(neutral(reasonWords(x.reason)), 200)}`}</p>
      ${envelopeButton(shell, x.id)}
    </li>`,
  )}</ul>`;
}

export const exampleStyles = css`
  .examples {
    display: grid;
    gap: var(--space-1);
  }
  .examples > li {
    display: grid;
    grid-template-columns: minmax(0, 1fr) auto;
    align-items: center;
    padding: var(--space-1) var(--space-1) var(--space-1) var(--space-2);
    border-radius: var(--round-s);
    background: var(--sunk);
    overflow-wrap: anywhere;
  }
  .examples .small-icon {
    grid-area: 1 / 2 / 3;
  }
  .what {
    font: 0.8125rem / 1.5 var(--mono);
  }
  .fact {
    color: var(--quiet);
    font-size: var(--text-xs);
  }
`;
