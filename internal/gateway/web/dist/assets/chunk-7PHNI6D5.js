import{b as c}from"/assets/chunk-757P6I2J.js";import{K as a}from"/assets/chunk-EBKTHAOW.js";import{K as s,L as d,b as r}from"/assets/chunk-6QAC3HRB.js";var l=["scroll","animationend"],o="Not sent: this card has just appeared, moved or changed. Check the call, then decide again.",p=class{constructor(t){this.card=t;t.addController(this)}card;content="";place="";since=0;pressed=null;watching=!1;sizes=new ResizeObserver(()=>this.measure());hostConnected(){this.since=performance.now(),this.card.addEventListener("pointerdown",this.press,{capture:!0}),this.card.addEventListener("keydown",this.key,{capture:!0})}hostDisconnected(){this.watch(""),this.card.removeEventListener("pointerdown",this.press,{capture:!0}),this.card.removeEventListener("keydown",this.key,{capture:!0})}watch(t){if(t!==this.content&&(this.content=t,this.since=performance.now()),this.watching!==(t!=="")){if(this.watching=t!=="",!this.watching){this.sizes.disconnect();for(let e of l)removeEventListener(e,this.measure,{capture:!0});return}for(let e=this.card;e!==null;e=e instanceof ShadowRoot?e.host:e.parentNode)e instanceof Element&&this.sizes.observe(e,{box:"border-box"});for(let e of l)addEventListener(e,this.measure,{capture:!0,passive:!0})}}refusal(t){let{pressed:e}=this;return this.pressed=null,t!==this.content||e!==null&&(e.refusal!==""||e.content!==this.content)?o:this.unsteady()}unsteady(){return this.measure(),performance.now()-this.since<700?o:""}measure=()=>{let{left:t,top:e}=this.card.getBoundingClientRect(),i=`${Math.round(t)} ${Math.round(e)}`;i!==this.place&&(this.place=i,this.since=performance.now())};press=()=>{this.pressed={content:this.content,refusal:this.unsteady()}};key=t=>{(t.key==="Enter"||t.key===" ")&&this.press()}};var w=r`
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
    padding: var(--space-1) 0;
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
`,b=r`
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
  header {
    display: flex;
    align-items: start;
    gap: var(--space-2);
  }
  header p {
    overflow-wrap: anywhere;
  }
  .tool {
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
  .args {
    max-height: clamp(9rem, 36dvh, 24rem);
    overflow: auto;
    border-radius: var(--round-s);
  }
  .args[data-whole] {
    max-height: none;
  }
  .args[data-clipped] > div {
    padding-bottom: 1.5rem;
  }
  .args[data-clipped]::after {
    position: sticky;
    bottom: 0;
    display: block;
    height: 1.5rem;
    margin-top: -1.5rem;
    background: linear-gradient(transparent, var(--raised));
    pointer-events: none;
    content: "";
  }
  @media (max-width: 56.25rem) {
    .args {
      max-height: clamp(8rem, 24dvh, 20rem);
    }
  }
  .args > div {
    display: grid;
    gap: var(--space-2);
  }
  .under {
    gap: 0 var(--space-3);
    min-height: 1.75rem;
    margin-block: calc(-1 * var(--space-2));
  }
  .under .small-icon {
    margin: 0 -0.375rem;
  }
  .fields {
    display: grid;
    grid-template-columns: fit-content(40%) minmax(0, 1fr);
    gap: var(--space-1) var(--space-3);
  }
  .arg {
    display: grid;
    grid-column: 1 / -1;
    grid-template-columns: subgrid;
    align-items: baseline;
  }
  .arg[data-long],
  .arg:not(:has(dt)) {
    grid-template-columns: minmax(0, 1fr);
  }
  dt {
    color: var(--quiet);
    font: 0.8125rem / 1.5 var(--mono);
    overflow-wrap: anywhere;
  }
  .value {
    max-height: none;
    padding: 0;
    background: none;
    overflow-wrap: anywhere;
    white-space: pre-wrap;
  }
  pre.value {
    font-size: 0.8125rem;
  }
  .args > div > .value,
  .arg[data-long] .value {
    padding: var(--space-2) var(--space-3);
    border-radius: var(--round-m);
    background: var(--sunk);
  }
  .code-word {
    color: light-dark(#7a2f8f, #d9a4ea);
  }
  .code-text {
    color: light-dark(#7a4a08, #e2b566);
  }
  .code-number {
    color: light-dark(#1d5a94, #8fc1f0);
  }
  .code-note {
    color: var(--quiet);
  }
  .code-added {
    color: var(--accent-strong);
  }
  .code-removed {
    color: var(--bad);
  }
  meup-time-left.wait {
    color: var(--wait);
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
  .fate :is(pre, .edit) {
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
`;var m=6e4,n=class extends s{static properties={at:{attribute:!1},now:{attribute:!1}};constructor(){super(),new c(this,()=>{this.hasUpdated&&this.textContent!==a(this.at,this.now())&&this.requestUpdate()})}render(){return this.classList.toggle("wait",this.at-this.now()<m),a(this.at,this.now())}};d("meup-time-left",n);export{p as a,w as b,b as c};
