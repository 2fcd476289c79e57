import{a as I}from"/assets/chunk-GE3LCSPH.js";import{a as R,b as S,e as E,f as P,g as A}from"/assets/chunk-I4LFK2TD.js";import{e as D}from"/assets/chunk-2HHCFZGH.js";import"/assets/chunk-33X735QC.js";import"/assets/chunk-VGI3KD2Z.js";import"/assets/chunk-DPY5OVQN.js";import"/assets/chunk-R36RVHWM.js";import"/assets/chunk-G43XG7NS.js";import{a as m,b as d,d as g,e as C,f as B,g as L,h as M,k as O,l as f}from"/assets/chunk-UPOQ4R7X.js";import{g as w,j as u,k as q}from"/assets/chunk-6EMUX4FK.js";import{D as T,I as y,J as v,K as j,N as n,P as h,a as c,b as s,e as r,g as b}from"/assets/chunk-TCJD24SY.js";var _=c`
  .card {
    display: grid;
    gap: var(--space-3);
    padding: var(--space-3);
    container-type: inline-size;
  }
  .card[data-status="pending"] {
    border-color: var(--wait);
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
`;function F(t){let e=t.decidedBy===""?"":` by ${n(t.decidedBy)}`;switch(t.status){case"pending":return{tone:"wait",sign:"decide",words:"Waits for a decision"};case"approved":return t.done?t.failed?{tone:"bad",sign:"stop",words:`Approved${e}, but it did not work`}:{tone:"good",sign:"check",words:`Approved${e}, and done`}:{tone:"good",sign:"run",words:`Approved${e}, under way`};case"rejected":return{tone:"bad",sign:"cross",words:`Rejected${e}`};case"withdrawn":return{tone:"quiet",sign:"reply",words:`Taken back${e}`};case"expired":return{tone:"wait",sign:"time",words:"Nobody decided in time"}}}function N(t){let e=F(t);return s`<div class="fate" data-tone=${e.tone}>
    <p class="row">${e.sign==="run"?s`<span class="spinner" aria-hidden="true"></span>`:q(e.sign)}<b class="grow">${e.words}</b>${t.decidedAt===null?r:g(t.decidedAt)}</p>
    ${H(t)} ${J(t)} ${U(t)}
  </div>`}function H(t){if(t.status==="approved"||t.status==="expired"||t.reason===""&&t.explanation==="")return r;let e=t.reason==="other"&&t.explanation!==""?"":t.reason.replaceAll("_"," ");return s`<p class="small">${v(e)}${t.explanation===""?r:s`${e===""?"":": "}${v(t.explanation)}`}</p>`}function J(t){return t.approvedArgs===void 0?r:s`<p class="small">With other arguments than those proposed:</p>
    <pre tabindex="0">${d(h(t.approvedArgs))}</pre>`}function U(t){return!t.done||t.summary===""?r:s`<p class="small">${v(t.summary)}</p>
    ${t.result===void 0?r:s`<details><summary>Result</summary><pre tabindex="0">${d(h(t.result).slice(0,5e4))}</pre></details>`}`}var G={disagree:"I do not agree",unsafe:"It is not safe",inappropriate:"It is not appropriate",policy:"It is against a policy",duplicate:"It was done already",invalid:"It is not valid",no_longer_needed:"It is no longer needed",busy:"Not now",other:"Something else"},$=class extends b{static properties={desk:{attribute:!1},proposal:{attribute:!1},busy:{attribute:!1},bare:{state:!0}};static styles=[m,f,c`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];render(){return s`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Why not?
        <select name="reason">
          ${S.map(e=>s`<option value=${e}>${G[e]} (${e})</option>`)}
        </select>
      </label>
      <label class="field-label">What ${n(this.proposal.from)} should know
        <textarea name="words" rows="2" maxlength="2000" aria-invalid=${this.bare===!0?"true":"false"} @input=${()=>this.bare=!1}></textarea>
      </label>
      ${this.bare===!0?s`<p class="refused" role="alert">Say in words what speaks against it.</p>`:r}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>${this.busy?"Sending…":"Reject"}</button>
        <button class="button" type="button" @click=${this.cancel}>Back</button>
      </div>
    </form>`}firstUpdated(){this.renderRoot.querySelector("select")?.focus()}submit=e=>{e.preventDefault();let o=new FormData(e.target),a=String(o.get("reason")??""),i=String(o.get("words")??"").trim();this.bare=a==="other"&&i==="",this.bare||this.dispatchEvent(new CustomEvent("draft",{detail:P(this.proposal,a,i)}))};key=e=>{e.key==="Escape"&&(e.preventDefault(),this.cancel())};cancel=()=>{this.dispatchEvent(new CustomEvent("cancel"))}};u("meup-reject-form",$);var W=2e4,k=class extends b{static properties={desk:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},past:{attribute:!1},chosen:{type:Boolean,reflect:!0},rejecting:{state:!0},busy:{state:!0},trouble:{state:!0},all:{state:!0}};static styles=[m,f,_];render(){let e=this.proposal;return s`<article class="card" data-status=${e.status} aria-label=${`${n(e.from)} proposes ${n(e.tool)}`}>
      <header class="row">
        ${B(e.from,!0)}
        <div class="grow"><span class="name">${n(e.from)}</span> <span class="quiet">wants to call</span></div>
        ${g(e.at)}
      </header>
      <p class="call"><code>${d(e.tool)}</code>${e.owner===""?r:s` <span class="quiet">of</span> <span class="name">${d(e.owner)}</span>`}</p>
      ${e.rationale===""?r:s`<p class="why">${j(e.rationale)}</p>`} ${this.warnings(e)} ${this.args(e)}
      ${e.to.length===0?r:s`<p class="faint">Said to ${e.to.map(o=>o===this.desk.you?"you":n(o)).join(", ")} alone.</p>`}
      ${e.status==="pending"?r:N(e)} ${e.status==="pending"?this.decision(e):r} ${O(this.trouble??"")}
      <footer class="row">${M(this.desk,e.id)}<span class="grow"></span>${L(this.desk,e.id)}</footer>
    </article>`}warnings(e){let o=[];T(e.tool+e.owner+h(e.params??null))&&o.push("There are characters in this call that cannot be seen. They are spelled out.");let a=[...this.state.participants.values()].flatMap(p=>p.tools.map(Y=>Y.name)),[i]=a.includes(e.tool)?[]:y(e.tool,a);i!==void 0&&o.push(`The tool's name looks like ${n(i)}, and is another one.`);let[l]=e.owner===""||this.state.participants.has(e.owner)?[]:y(e.owner,this.state.participants.keys());return l!==void 0&&o.push(`The owner's name looks like ${n(l)}, and is another one.`),o.length===0?r:s`${o.map(p=>s`<p class="warning">${p}</p>`)}`}args(e){let o=h(e.args??{}),a=o.length>W&&this.all!==!0,i=e.method==="tools/call"?"Arguments":s`Parameters of <code>${d(e.method)}</code>`;return s`<div>
      <h3>${i}</h3>
      <pre tabindex="0" aria-label="Arguments">${d(a?o.slice(0,W):o)}</pre>
      ${a?s`<button class="words small" @click=${()=>this.all=!0}>Show all ${o.length.toLocaleString()} characters</button>`:r}
    </div>`}decision(e){if(this.past)return s`<p class="faint">This is how it once was: nothing can be decided here.</p>`;if(this.rejecting===!0)return s`<meup-reject-form .busy=${this.busy===!0} @cancel=${this.stopRejecting} .desk=${this.desk} .proposal=${e} @draft=${i=>{this.send(i.detail)}}></meup-reject-form>`;let{present:o=!1}=this.state.participants.get(e.from)??{},a=o||e.from===this.desk.you?r:s`<p class="faint">${n(e.from)} is not here at the moment and may not notice what is decided.</p>`;return s`${a}${e.from===this.desk.you?this.own(e):this.others(e)}`}own(e){return this.desk.may("mcp.withdraw")?s`<div class="row"><button class="button" ?disabled=${this.busy} @click=${()=>{this.send(A(e))}}>Take it back</button> <span class="quiet">You have proposed this.</span></div>`:s`<p class="quiet">You have proposed this. Others decide.</p>`}others(e){let{desk:o}=this,a=o.may("mcp.request"),i=o.may("mcp.reject");return!a&&!i?s`<p class="quiet">You may not decide this: your rights include neither calling tools nor rejecting proposals.</p>`:s`<div class="row">
        ${a?s`<button class="button main" ?disabled=${this.busy} @click=${()=>{this.send(E(e,R()))}}>${this.busy?"Sending…":"Approve"}</button>`:r}
        ${i?s`<button class="button bad" ?disabled=${this.busy} @click=${()=>this.rejecting=!0}>Reject…</button>`:r}
        ${a&&o.may("capability.grant")?s`<button class="words small" @click=${()=>o.open("operator",K(e))}>Allow it for a while…</button>`:r}
      </div>
      <p class="faint">${V(e,a,i)}</p>`}stopRejecting=()=>{this.rejecting=!1,this.updateComplete.then(()=>this.renderRoot.querySelector(".button.bad")?.focus())};async send(e){this.busy=!0,this.trouble="";let o=await this.desk.send(e);if(this.busy=!1,!o.ok){this.trouble=o.refusal;return}this.rejecting=!1,this.dispatchEvent(new CustomEvent("decided"))}};function K(t){return{recipient:t.from,method:t.method,tool:t.method==="tools/call"?t.tool:"",owner:t.owner}}function V(t,e,o){return e?`Approving makes exactly this call in your name; ${t.owner===""?`${n(t.from)} carries it out`:`it goes to ${n(t.owner)}`}.${o?"":" You may not reject it."}`:"You may reject it. Approving it takes the right to call tools."}u("meup-proposal-card",k);var z=20,x=class extends w{static properties={...w.properties,most:{state:!0}};static styles=[m,f,c`
      meup-proposal-card + meup-proposal-card {
        margin-top: var(--space-3);
      }
    `];shownFor=null;book=null;constructor(){super(),this.most=z}render(){let{proposals:e,pending:o}=this.state,a=[...this.older(),...o.flatMap(l=>e.get(l)??[])],i=[...e.values()].filter(l=>l.status!=="pending").sort((l,p)=>(p.decidedAt??p.at)-(l.decidedAt??l.at));return e.size+a.length===0?this.none():s`
      <h3 class="section waiting" tabindex="-1" aria-live="polite">${a.length===0?"Nothing waits for a decision":`${C(a.length,"call")} to decide`}</h3>
      ${this.cards(a)} ${i.length===0?r:s`<h3 class="section">Decided</h3>`} ${this.cards(i.slice(0,this.shownCount(i)))}
      ${i.length>this.shownCount(i)?s`<p class="section"><button class="words" @click=${()=>this.most+=z}>Show more</button></p>`:r}
    `}older(){if(!this.state.hasOlder||this.desk.past)return[];this.book??=new I(this.desk.space,["mcp.proposal","mcp.request","mcp.reject","mcp.withdraw"]),this.state.oldest>0&&this.book.trouble===""&&this.book.load(this.state.oldest,()=>this.requestUpdate());let e=this.book.with(this.desk.envelopes);return e===null?[]:e.pending.flatMap(o=>this.state.proposals.has(o)?[]:e.proposals.get(o)??[])}none(){return s`<div class="empty">
      <p>Nobody has proposed a call in what is loaded.</p>
      <p class="quiet">What an agent may not do by itself it proposes here, and somebody who may do it decides.</p>
    </div>`}cards(e){return D(e,o=>o.id,o=>s`<meup-proposal-card data-id=${o.id} .desk=${this.desk} .proposal=${o} .state=${this.state} .past=${this.desk.past} .chosen=${this.chosen===o.id} @decided=${this.decided}></meup-proposal-card>`)}decided=()=>{this.renderRoot.querySelector(".waiting")?.focus({preventScroll:!0})};get chosen(){return this.params?.id??""}shownCount(e){return Math.max(this.most,e.findIndex(o=>o.id===this.chosen)+1)}updated(){if(this.shownFor===this.params||this.chosen==="")return;let e=this.renderRoot.querySelector(`[data-id="${CSS.escape(this.chosen)}"]`);e!==null&&(this.shownFor=this.params,e.scrollIntoView({block:"nearest"}))}};u("meup-proposals",x);export{x as Proposals};
//# sourceMappingURL=/assets/proposals-DAAPG6IE.js.map
