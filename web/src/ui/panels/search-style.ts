/** Styles of the search panel. */

import { css } from "lit";

export const searchStyles = css`
  .toggle {
    min-height: 1.625rem;
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
  .choices {
    display: flex;
    flex-wrap: wrap;
    gap: var(--space-2);
  }
  .choices select {
    flex: 1 1 8.5rem;
    width: 8.5rem;
    min-width: 0;
    font-size: var(--text-s);
    text-overflow: ellipsis;
  }
  ol[data-old="true"] {
    opacity: 0.6;
  }
  .count {
    margin: var(--space-4) 0 var(--space-1);
    overflow-wrap: anywhere;
    color: var(--quiet);
    font-size: var(--text-s);
  }
  li {
    display: flex;
    align-items: start;
    gap: var(--space-1);
    border-bottom: 1px solid var(--line);
  }
  .hit {
    flex: 1;
    display: grid;
    gap: 0.1rem;
    min-width: 0;
    padding: var(--space-2) 0;
  }
  li .small-icon {
    margin-top: var(--space-2);
  }
  .hit:hover .excerpt {
    color: var(--ink);
  }
  .kind {
    color: var(--faint);
    font-size: var(--text-xs);
  }
  .excerpt {
    color: var(--quiet);
    font-size: var(--text-s);
    overflow-wrap: anywhere;
    display: -webkit-box;
    overflow: hidden;
    -webkit-box-orient: vertical;
    -webkit-line-clamp: 3;
  }
  .excerpt em {
    border-radius: 0.2em;
    background: var(--wait-soft);
    color: var(--wait);
    font-style: normal;
    font-weight: 600;
  }
  .further {
    display: grid;
    gap: var(--space-2);
    justify-items: start;
    margin-top: var(--space-4);
  }
  progress {
    width: 100%;
    accent-color: var(--accent);
  }
`;
