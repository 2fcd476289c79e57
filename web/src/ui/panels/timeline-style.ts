/** Styles of the timeline. */

import { css } from "lit";

export const timelineStyles = css`
  .mode {
    padding: var(--space-2) var(--space-3);
    border-radius: var(--round-m);
    background: var(--sunk);
    color: var(--quiet);
    font-size: var(--text-s);
  }
  .mode[data-on="true"] {
    background: var(--wait-soft);
    color: var(--wait);
    font-weight: 500;
  }
  .line {
    display: grid;
  }
  .bars {
    width: 100%;
    height: 2.5rem;
    padding: 0 0.4rem;
  }
  .bars rect {
    fill: var(--accent);
    opacity: 0.55;
  }
  .axis {
    display: grid;
    grid-template-columns: repeat(3, minmax(0, 1fr));
    padding: 0 0.4rem;
    color: var(--faint);
    font-size: var(--text-xs);
    font-variant-numeric: tabular-nums;
  }
  .axis span {
    padding-left: 0.25rem;
    border-left: 1px solid var(--line);
    overflow: hidden;
    white-space: nowrap;
  }
  input[type="range"] {
    width: 100%;
    margin: 0;
    accent-color: var(--accent);
  }
  .ends {
    margin-top: var(--space-1);
  }
  .ends time {
    color: var(--ink);
    font-size: var(--text-s);
  }
  .play {
    min-width: 6rem;
  }
  .turned svg {
    rotate: 180deg;
  }
  .small-icon:disabled {
    opacity: 0.45;
  }
  select {
    width: auto;
    min-height: 2rem;
    padding: 0 var(--space-2);
    font-size: var(--text-s);
  }
  progress {
    width: 100%;
    accent-color: var(--accent);
  }
  .card p {
    overflow-wrap: anywhere;
  }
`;
