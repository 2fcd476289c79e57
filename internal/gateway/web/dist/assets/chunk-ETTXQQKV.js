import{b as m}from"/assets/chunk-MYHS66OQ.js";import{D as u,E as v,H as g,I as f,y as l}from"/assets/chunk-EBKTHAOW.js";import{E as c,F as s,N as d,R as p,b as o,c as a,f as i}from"/assets/chunk-6QAC3HRB.js";var y=o`
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
`;var b=/(⟨U\+[0-9A-F]{4,6}⟩)/u;function h(e){let r=s(e);return c(e)?r.split(b).map(t=>b.test(t)?a`<mark title="Invisible character">${t}</mark>`:t):r}function D(e){return e.split(/(`[^`\n]+`)/u).map((r,t)=>t%2===1?a`<code>${h(r.slice(1,-1))}</code>`:d(r))}function E(e){return s(e.replace(/`([^`\n]+)`/gu,"$1"))}function M(e){return/^[a-z]+(?:_[a-z]+)+$/u.test(e)?e.replaceAll("_"," "):e}async function W(e,r,t){try{await navigator.clipboard.writeText(r),e.toast(t)}catch{e.toast("The browser blocks copying. Select the text instead.")}}function B(e){return e===0?i:a`<time datetime=${new Date(e).toISOString()} title=${f(e)}>${g(e)}</time>`}function C(e,r,t=`${r}s`){return`${e.toLocaleString()} ${e===1?r:t}`}function F(e,r){return a`<button class="small-icon" title="Show envelope" aria-label="Show envelope" @click=${()=>e.open("envelope",{id:r})}>${v("raw")}</button>`}function N(e,r,t="Show in conversation"){return a`<button class="words small" @click=${()=>{w(e,r)}}>${t}</button>`}async function w(e,r,t="Not found in the available history"){let n=await e.goTo(r);return!n&&t!==""&&e.toast(t),n&&matchMedia(l).matches&&e.open(""),n}function O(e,r){return r.map(t=>t===e.you?"you":p(t)).join(", ")}function _(e){return e===""?i:a`<p class="refused" role="alert" ${u(x)}>${e}</p>`}function x(e){e!==void 0&&requestAnimationFrame(()=>e.scrollIntoView({block:"nearest"}))}var L=o`
  ${m}
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
`,U=o`
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
`;export{y as a,h as b,D as c,E as d,M as e,W as f,B as g,C as h,F as i,N as j,w as k,O as l,_ as m,x as n,L as o,U as p};
