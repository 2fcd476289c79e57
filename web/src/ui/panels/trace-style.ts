/** Styles of the trace. */

import { css } from "lit";

export const traceStyles = css`
  :host {
    container-type: inline-size;
  }
  .title {
    margin-bottom: var(--space-2);
    overflow-wrap: anywhere;
  }
  .totals {
    display: flex;
    flex-wrap: wrap;
    gap: var(--space-2) var(--space-5);
    font-size: var(--text-s);
  }
  dt {
    color: var(--quiet);
    font-size: var(--text-xs);
  }
  dd {
    font-variant-numeric: tabular-nums;
    overflow-wrap: anywhere;
  }
  .both[data-beside="true"] {
    display: grid;
    grid-template-columns: minmax(0, 3fr) minmax(0, 2fr);
    gap: var(--space-5);
    align-items: start;
  }
  .axis,
  .span {
    display: grid;
    grid-template-columns: minmax(0, 13fr) minmax(0, 11fr);
    column-gap: var(--space-3);
    align-items: center;
  }
  .ticks {
    width: 100%;
    height: 1.5em;
    font-size: var(--text-xs);
    font-variant-numeric: tabular-nums;
  }
  .ticks text {
    fill: var(--faint);
  }
  .ticks line {
    stroke: var(--line);
  }
  .track {
    border-left: 1px solid var(--line);
  }
  .span {
    border-top: 1px solid var(--line);
    content-visibility: auto;
    contain-intrinsic-size: auto 2.6rem;
  }
  .label {
    display: grid;
    min-width: 0;
    padding: 0.2rem 0;
    font-size: var(--text-s);
    line-height: 1.35;
  }
  .label:hover .what {
    text-decoration: underline;
    text-underline-offset: 0.2em;
  }
  .argument {
    color: var(--quiet);
  }
  .span[data-open="true"] > .label {
    color: var(--accent-strong);
  }
  .what,
  .facts {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .span[data-type="thought"] .what {
    color: var(--quiet);
  }
  .facts {
    color: var(--faint);
    font-size: var(--text-xs);
    font-variant-numeric: tabular-nums;
  }
  .facts:empty {
    display: none;
  }
  .span[data-depth="0"] .what {
    font-weight: 600;
  }
  .span[data-depth="1"] .label {
    padding-left: 0.6rem;
  }
  .span[data-depth="2"] .label {
    padding-left: 1.2rem;
  }
  .span[data-depth="3"] .label {
    padding-left: 1.8rem;
  }
  .span:is([data-depth="4"], [data-depth="5"]) .label {
    padding-left: 2.4rem;
  }
  .track {
    width: 100%;
    height: 1rem;
  }
  .bar {
    fill: var(--accent);
  }
  .bar.context {
    fill: color-mix(in srgb, var(--accent) 35%, var(--ground));
  }
  .bar.failed {
    fill: var(--bad);
  }
  .waited {
    fill: color-mix(in srgb, var(--wait) 55%, var(--ground));
  }
  .point {
    fill: var(--edge);
  }
  .fold {
    fill: var(--wait-soft);
  }
  .inspector {
    grid-column: 1 / -1;
    display: grid;
    gap: var(--space-2);
    min-width: 0;
    margin-bottom: var(--space-3);
    padding: var(--space-3) var(--space-4) var(--space-4);
    border: 1px solid var(--line);
    border-radius: var(--round-m);
    background: var(--raised);
    font-size: var(--text-s);
  }
  .both > .inspector {
    grid-column: auto;
    position: sticky;
    top: 0;
    max-height: calc(100dvh - 6rem);
    overflow: auto;
  }
  .inspector-head {
    display: flex;
    align-items: start;
    justify-content: space-between;
    gap: var(--space-2);
  }
  .inspector h3 {
    overflow-wrap: anywhere;
    color: var(--ink);
  }
  .inspector h4 {
    margin: var(--space-1) 0 0;
    color: var(--quiet);
    font-size: var(--text-xs);
    font-weight: 600;
  }
  .inspector .prose {
    overflow-wrap: anywhere;
    white-space: pre-wrap;
  }
  .known {
    display: grid;
    grid-template-columns: auto minmax(0, 1fr);
    gap: 0 var(--space-4);
    align-items: baseline;
  }
  .known time {
    color: inherit;
    font-size: inherit;
  }
  .table {
    overflow-x: auto;
  }
  table {
    width: 100%;
    border-collapse: collapse;
    font-size: var(--text-s);
    font-variant-numeric: tabular-nums;
  }
  th,
  td {
    padding: var(--space-1) var(--space-2) var(--space-1) 0;
    border-bottom: 1px solid var(--line);
    text-align: left;
    font-weight: 400;
  }
  thead th,
  tbody th {
    color: var(--quiet);
  }
  @container (min-width: 40rem) {
    .axis,
    .span {
      grid-template-columns: minmax(0, 3fr) minmax(0, 2fr);
    }
    .what {
      display: -webkit-box;
      -webkit-box-orient: vertical;
      -webkit-line-clamp: 2;
      white-space: normal;
    }
  }
  @container (max-width: 26rem) {
    .axis,
    .span {
      grid-template-columns: minmax(0, 1fr);
    }
    .axis > :first-child {
      display: none;
    }
    .track {
      margin-bottom: 0.3rem;
    }
  }
`;
