import{b as a}from"/assets/chunk-6D3SX3BW.js";var r=a`
  .card {
    display: grid;
    gap: var(--space-3);
    padding: var(--space-3);
    container-type: inline-size;
  }
  .card[data-status="pending"] {
    border-color: var(--wait);
  }
  :host([held]) {
    display: block;
  }
  :host([held]) .card {
    min-height: inherit;
    align-content: start;
    background: var(--sunk);
    color: var(--quiet);
    filter: grayscale(1);
  }
  :host([chosen]) .card {
    outline: 2px solid var(--accent);
    outline-offset: 1px;
  }
  .call {
    font-size: var(--text-m);
    overflow-wrap: anywhere;
  }
  .call code {
    font-size: 0.9375em;
    font-weight: 600;
  }
  .why {
    padding-left: var(--space-3);
    border-left: 2px solid var(--line);
    color: var(--quiet);
    overflow-wrap: anywhere;
    white-space: pre-line;
  }
  h3 {
    margin-bottom: var(--space-1);
  }
  pre {
    max-height: 16rem;
  }
  .edit {
    border: 1px solid var(--line);
    border-radius: var(--round-m);
    overflow: hidden;
  }
  .edit-head {
    padding: var(--space-1) var(--space-3);
    border-bottom: 1px solid var(--line);
    background: var(--sunk);
    font-size: var(--text-s);
    overflow-wrap: anywhere;
  }
  .added {
    color: var(--accent-strong);
  }
  .removed {
    color: var(--bad);
  }
  .diff {
    max-height: 22rem;
    padding: var(--space-1) 0;
    overflow: auto;
    font: 0.8125rem / 1.5 var(--mono);
  }
  .line {
    display: block;
    padding: 0 var(--space-3) 0 calc(var(--space-3) + 1.25em);
    overflow-wrap: anywhere;
    text-indent: -1.25em;
    white-space: pre-wrap;
  }
  .sign {
    display: inline-block;
    width: 1.25em;
    text-indent: 0;
    user-select: none;
  }
  .line[data-sign="+"] {
    background: var(--accent-soft);
  }
  .line[data-sign="-"] {
    background: var(--bad-soft);
  }
  .line.fold,
  .line[data-sign="@"] {
    color: var(--quiet);
  }
  footer {
    margin-top: calc(-1 * var(--space-1));
  }
  .fate {
    display: grid;
    gap: var(--space-2);
    padding: var(--space-2) var(--space-3);
    border-left: 3px solid var(--tone);
    border-radius: var(--round-s);
    background: var(--tone-soft);
    overflow-wrap: anywhere;
  }
  .fate b,
  .fate svg {
    color: var(--tone);
  }
  .fate b {
    font-size: var(--text-s);
    font-weight: 600;
  }
  .fate pre {
    background: var(--raised);
  }
  .fate {
    --tone: var(--quiet);
    --tone-soft: var(--sunk);
  }
  .fate[data-tone="good"] {
    --tone: var(--accent-strong);
    --tone-soft: var(--accent-soft);
  }
  .fate[data-tone="bad"] {
    --tone: var(--bad);
    --tone-soft: var(--bad-soft);
  }
  .fate[data-tone="wait"] {
    --tone: var(--wait);
    --tone-soft: var(--wait-soft);
  }
  .spinner {
    width: 0.875rem;
    height: 0.875rem;
    border: 2px solid var(--line);
    border-top-color: var(--accent);
    border-radius: 50%;
    animation: turn 900ms linear infinite;
  }
  @keyframes turn {
    to {
      transform: rotate(1turn);
    }
  }
`;export{r as a};
//# sourceMappingURL=/assets/chunk-PZQWPIOG.js.map
