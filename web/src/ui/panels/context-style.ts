/** Styles of the context tree. */

import { css } from "lit";

export const treeStyles = css`
  .in-force {
    padding: var(--space-2) var(--space-3);
    border-radius: var(--round-m);
    background: var(--accent-soft);
    color: var(--accent-strong);
  }
  .tree ul {
    margin-left: 0.7rem;
    padding-left: var(--space-2);
    border-left: 1px solid var(--line);
  }
  .node {
    display: grid;
    grid-template-columns: 1.5rem minmax(0, 1fr);
    padding: var(--space-2) 0;
  }
  .node[data-only="true"] .title {
    color: var(--accent-strong);
  }
  .node[data-out="true"] .title {
    text-decoration: line-through;
    color: var(--faint);
  }
  .twig {
    display: inline-grid;
    place-items: center;
    width: 1.5rem;
    height: 1.5rem;
    border-radius: var(--round-s);
    color: var(--quiet);
  }
  button.twig:hover {
    background: var(--sunk);
  }
  .twig svg.icon {
    width: 0.875rem;
    height: 0.875rem;
    transition: rotate 120ms;
  }
  .twig[aria-expanded="true"] svg {
    rotate: 90deg;
  }
  .title {
    font-weight: 500;
    overflow-wrap: anywhere;
  }
  .title:hover {
    text-decoration: underline;
    text-underline-offset: 0.2em;
  }
  .meta,
  .acts {
    grid-column: 2;
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0 var(--space-2);
    color: var(--quiet);
    font-size: var(--text-xs);
  }
  .acts {
    gap: var(--space-1);
    margin-top: var(--space-1);
  }
  .toggle {
    min-height: 1.5rem;
    padding: 0 var(--space-2);
    border: 1px solid var(--line);
    border-radius: 1rem;
    color: var(--quiet);
    font-size: var(--text-xs);
  }
  .toggle:hover {
    border-color: var(--edge);
    color: var(--ink);
  }
  .toggle[aria-pressed="true"] {
    border-color: var(--accent);
    background: var(--accent-soft);
    color: var(--accent-strong);
    font-weight: 600;
  }
`;
