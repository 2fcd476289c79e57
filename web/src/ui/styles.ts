/** Styles shared by all panels; list them first. */

import { css } from "lit";

export const shared = css`
  :host {
    display: block;
    font: var(--text-m) / 1.55 var(--font);
    color: var(--ink);
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  h2,
  h3,
  p,
  ul,
  ol,
  dl,
  dd,
  pre {
    margin: 0;
    padding: 0;
  }
  ul,
  ol {
    list-style: none;
  }
  h3 {
    font-size: var(--text-s);
    font-weight: 600;
    color: var(--quiet);
  }
  a {
    color: var(--accent);
    text-underline-offset: 0.15em;
  }
  code,
  pre {
    font-family: var(--mono);
    font-size: 0.875em;
  }
  pre {
    overflow: auto;
    max-height: 24rem;
    padding: var(--space-3);
    border-radius: var(--round-m);
    background: var(--sunk);
    white-space: pre-wrap;
    overflow-wrap: anywhere;
  }
  button,
  input,
  select,
  textarea {
    font: inherit;
    color: inherit;
  }
  button {
    border: 0;
    padding: 0;
    background: none;
    text-align: inherit;
    cursor: pointer;
  }
  .button {
    display: inline-flex;
    align-items: center;
    justify-content: center;
    gap: var(--space-2);
    flex: none;
    min-height: 2rem;
    padding: 0 var(--space-3);
    border: 1px solid var(--line);
    border-radius: var(--round-m);
    background: var(--raised);
    font-size: var(--text-s);
    font-weight: 500;
    white-space: nowrap;
  }
  .button:hover:not(:disabled) {
    border-color: var(--edge);
  }
  .button.main {
    border-color: transparent;
    background: var(--accent);
    color: var(--on-accent);
  }
  .button.main:hover:not(:disabled) {
    background: var(--accent-strong);
  }
  .button.bad {
    color: var(--bad);
  }
  .button:disabled {
    color: var(--faint);
    cursor: default;
  }
  .button.main:disabled {
    background: var(--sunk);
  }
  .words {
    min-height: 1.5rem;
    color: var(--accent);
    font-weight: 500;
  }
  .words:hover {
    text-decoration: underline;
  }
  .field,
  select,
  textarea {
    width: 100%;
    min-height: 2.25rem;
    padding: var(--space-1) var(--space-3);
    border: 1px solid var(--edge);
    border-radius: var(--round-m);
    background: var(--raised);
  }
  select {
    padding-right: var(--space-6);
    appearance: none;
    background: linear-gradient(45deg, transparent 50%, var(--quiet) 50%) right 1rem center / 0.3rem 0.3rem no-repeat,
      linear-gradient(-45deg, transparent 50%, var(--quiet) 50%) right 0.7rem center / 0.3rem 0.3rem no-repeat, var(--raised);
    text-overflow: ellipsis;
  }
  @media (forced-colors: active) {
    select {
      appearance: auto;
    }
  }
  .card {
    padding: var(--space-3) var(--space-4);
    border: 1px solid var(--line);
    border-radius: var(--round-m);
    background: var(--raised);
  }
  .stack {
    display: grid;
    gap: var(--space-3);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: var(--space-2);
  }
  .quiet {
    color: var(--quiet);
    font-size: var(--text-s);
  }
  .empty {
    padding: var(--space-6) var(--space-4);
    color: var(--quiet);
    text-align: center;
  }
  .chip {
    display: inline-flex;
    align-items: center;
    padding: 0 0.55em;
    border-radius: 1em;
    background: var(--sunk);
    color: var(--quiet);
    font-size: var(--text-xs);
    line-height: 1.6;
    white-space: nowrap;
  }
  .chip.accent {
    background: var(--accent-soft);
    color: var(--accent-strong);
  }
  .chip.wait {
    background: var(--wait-soft);
    color: var(--wait);
  }
  .chip.bad {
    background: var(--bad-soft);
    color: var(--bad);
  }
  .unseen {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  svg.icon {
    width: 1.125rem;
    height: 1.125rem;
    flex: none;
    fill: none;
    stroke: currentcolor;
    stroke-width: 1.6;
    stroke-linecap: round;
    stroke-linejoin: round;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
    border-radius: var(--round-s);
  }
  @media (pointer: coarse) {
    .button,
    .button.small,
    select {
      min-height: 2.5rem;
    }
  }
  @media (prefers-reduced-motion: reduce) {
    * {
      animation-duration: 1ms !important;
      animation-iteration-count: 1 !important;
      transition: none !important;
    }
  }
`;
