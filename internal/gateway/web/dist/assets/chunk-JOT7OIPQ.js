import{b as p}from"/assets/chunk-MYHS66OQ.js";import{q as l,u,x as m,y as v}from"/assets/chunk-YBPMD7R5.js";import{E as s,F as c,R as d,b as o,c as a,f as i}from"/assets/chunk-6QAC3HRB.js";var h=o`
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
      transition-duration: 1ms !important;
    }
  }
`;var g=/(⟨U\+[0-9A-F]{4,6}⟩)/u;function R(r){let e=c(r);return s(r)?e.split(g).map(t=>g.test(t)?a`<mark title="Invisible character">${t}</mark>`:t):e}async function P(r,e,t){try{await navigator.clipboard.writeText(e),r.toast(t)}catch{r.toast("The browser blocks copying. Select the text instead.")}}function j(r){return r===0?i:a`<time datetime=${new Date(r).toISOString()} title=${v(r)}>${m(r)}</time>`}function D(r,e,t=`${e}s`){return`${r.toLocaleString()} ${r===1?e:t}`}function I(r,e){return a`<button class="small-icon" title="Show envelope" aria-label="Show envelope" @click=${()=>r.open("envelope",{id:e})}>${u("raw")}</button>`}function A(r,e,t="Show in conversation"){return a`<button class="words small" @click=${()=>{b(r,e)}}>${t}</button>`}async function b(r,e,t="Not found in the available history"){let n=await r.goTo(e);return!n&&t!==""&&r.toast(t),n&&matchMedia(l).matches&&r.open(""),n}function M(r,e){return e.map(t=>t===r.you?"you":d(t)).join(", ")}function B(r){return r===""?i:a`<p class="refused" role="alert">${r}</p>`}var C=o`
  ${p}
  mark {
    padding: 0 0.15em;
    border-radius: 0.2em;
    background: var(--bad-soft);
    color: var(--bad);
    font-weight: 600;
  }
  .small-icon {
    display: inline-grid;
    place-items: center;
    width: 1.75rem;
    height: 1.75rem;
    flex: none;
    border-radius: var(--round-s);
    color: var(--quiet);
  }
  .small-icon:hover {
    background: var(--sunk);
    color: var(--ink);
  }
  .small-icon svg.icon {
    width: 1rem;
    height: 1rem;
  }
  .words.small,
  .small {
    font-size: var(--text-s);
  }
  .button.small {
    min-height: 1.75rem;
    padding: 0 var(--space-2);
  }
  .faint {
    color: var(--faint);
    font-size: var(--text-s);
  }
  .refused {
    padding: var(--space-2) var(--space-3);
    border-radius: var(--round-m);
    background: var(--bad-soft);
    color: var(--bad);
    font-size: var(--text-s);
    overflow-wrap: anywhere;
    white-space: pre-line;
  }
  .warning {
    padding: var(--space-2) var(--space-3);
    border-radius: var(--round-m);
    background: var(--wait-soft);
    color: var(--wait);
    font-size: var(--text-s);
  }
  .grow {
    flex: 1;
    min-width: 0;
  }
  .name {
    font-weight: 600;
    overflow-wrap: anywhere;
  }
  time {
    color: var(--faint);
    font-size: var(--text-xs);
    font-variant-numeric: tabular-nums;
  }
  summary {
    display: flex;
    align-items: center;
    gap: var(--space-2);
    width: fit-content;
    color: var(--quiet);
    font-size: var(--text-s);
    cursor: pointer;
  }
  summary::before {
    width: 0.4em;
    height: 0.4em;
    border: solid currentColor;
    border-width: 0 1.5px 1.5px 0;
    transform: rotate(-45deg);
    content: "";
  }
  summary:hover {
    color: var(--ink);
  }
  details[open] > summary {
    margin-bottom: var(--space-2);
  }
  details[open] > summary::before {
    transform: translateY(-15%) rotate(45deg);
  }
  .section {
    margin: var(--space-5) 0 var(--space-2);
  }
  .section:first-child {
    margin-top: 0;
  }
  label.field-label {
    display: grid;
    gap: var(--space-1);
    color: var(--quiet);
    font-size: var(--text-s);
  }
  label.field-label :is(input, select, textarea) {
    color: var(--ink);
    font-size: var(--text-m);
  }
  label.check {
    display: flex;
    align-items: center;
    gap: var(--space-2);
    font-size: var(--text-s);
  }
  input[type="checkbox"],
  input[type="radio"] {
    width: 1rem;
    height: 1rem;
    margin: 0;
    flex: none;
    accent-color: var(--accent);
  }
  .sentences {
    display: grid;
    gap: 0.2rem;
    color: var(--quiet);
    font-size: var(--text-s);
  }
  button:disabled {
    cursor: default;
  }
`,E=o`
  progress {
    width: 100%;
    height: 0.375rem;
    border: 0;
    border-radius: 1em;
    background: var(--sunk);
    accent-color: var(--accent);
    appearance: none;
    overflow: hidden;
  }
  progress::-webkit-progress-bar {
    background: var(--sunk);
  }
  progress::-webkit-progress-value {
    background: var(--accent);
  }
  progress::-moz-progress-bar {
    background: var(--accent);
  }
  progress[data-full] {
    accent-color: var(--bad);
  }
  progress[data-full]::-webkit-progress-value {
    background: var(--bad);
  }
  progress[data-full]::-moz-progress-bar {
    background: var(--bad);
  }
`;export{h as a,R as b,P as c,j as d,D as e,I as f,A as g,b as h,M as i,B as j,C as k,E as l};
