/** Who and what decides on calls: the decisions, the reviewers and their scores, budgets, claims, suggested rules, and backtests. */

import { type TemplateResult, css, html, nothing } from "lit";
import { define } from "../element.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { seesRights } from "./deciding.js";
import { parts } from "./parts.js";
import "./backtest.js";
import "./budgets.js";
import "./claims.js";
import "./decisions.js";
import "./reviewers.js";
import "./suggestions.js";

const PARTS: readonly (readonly [id: string, title: string, forAll: boolean])[] = [
  ["decisions", "Decisions", true],
  ["reviewers", "Reviewers", true],
  ["budgets", "Budgets", true],
  ["claims", "Claims", true],
  ["suggestions", "Suggestions", false],
  ["backtest", "Backtest", false],
];

export class Policy extends PanelElement {
  static override styles = [
    shared,
    parts,
    css`
      nav {
        display: flex;
        gap: var(--space-1);
        flex-wrap: wrap;
        margin: 0 calc(-1 * var(--space-2)) var(--space-4);
      }
      nav button {
        padding: var(--space-1) var(--space-2);
        border-radius: var(--round-s);
        color: var(--quiet);
        font-size: var(--text-xs);
        font-weight: 600;
      }
      nav button:hover {
        color: var(--ink);
      }
      nav button[aria-current] {
        background: var(--accent-soft);
        color: var(--accent-strong);
      }
      @media (pointer: coarse) {
        nav button {
          min-height: 2.5rem;
        }
      }
    `,
  ];

  protected override render(): TemplateResult {
    const { shell, state } = this;
    const part = this.params?.["part"] ?? "decisions";
    return html`
      <nav aria-label="Policy">${PARTS.filter(([, , forAll]) => forAll || seesRights(shell)).map(([id, title]) => html`<button aria-current=${id === part ? "page" : nothing} @click=${() => shell.open("policy", { part: id })}>${title}</button>`)}</nav>
      ${shell.past ? html`<p class="warning">You are viewing the past. This is how it is now.</p>` : nothing}
      ${part === "reviewers"
        ? html`<meup-reviewers .shell=${shell} .state=${state}></meup-reviewers>`
        : part === "budgets"
          ? html`<meup-budgets .shell=${shell} .state=${state} .params=${this.params}></meup-budgets>`
          : part === "claims"
            ? html`<meup-claims .shell=${shell} .state=${state}></meup-claims>`
            : part === "suggestions"
              ? html`<meup-suggestions .shell=${shell} .state=${state}></meup-suggestions>`
              : part === "backtest"
                ? html`<meup-backtest .shell=${shell} .state=${state}></meup-backtest>`
                : html`<meup-decisions .shell=${shell} .state=${state}></meup-decisions>`}
    `;
  }
}

define("meup-policy", Policy);
