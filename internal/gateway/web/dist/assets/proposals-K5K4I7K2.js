import{a as O}from"/assets/chunk-N4HK6UDM.js";import{a as A,c as m}from"/assets/chunk-N6UQUZP7.js";import{a as j,b as q,e as D,f as C,g as I}from"/assets/chunk-J3SUXPBW.js";import{f as M}from"/assets/chunk-KA7DWMWM.js";import"/assets/chunk-ULPQJLE2.js";import"/assets/chunk-TN2TU4HK.js";import{e as y}from"/assets/chunk-W6CGRAPH.js";import"/assets/chunk-F5V7SAEI.js";import"/assets/chunk-O2BIRNYA.js";import"/assets/chunk-JCVKINCP.js";import{a as v,b as d,d as w,f as B,g as _,h as H,k as N,l as g}from"/assets/chunk-F47N3N7M.js";import{g as $,j as u,k as L,l as f}from"/assets/chunk-2KYN7COM.js";import{E as P,J as k,L as S,M as E,P as p,R as h,a as c,b as s,e as a,g as b}from"/assets/chunk-HZSDP42Y.js";var Y=c`
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
`;function G(o){let e=o.decidedBy===""?"":` by ${m(o.decidedBy)}`;switch(o.status){case"pending":return{tone:"wait",sign:"decide",words:"Awaiting approval"};case"approved":return o.done?o.failed?{tone:"bad",sign:"stop",words:`Approved${e}, failed`}:{tone:"good",sign:"check",words:`Approved${e}, done`}:{tone:"good",sign:"run",words:`Approved${e}, running`};case"rejected":return{tone:"bad",sign:"cross",words:`Rejected${e}`};case"withdrawn":return{tone:"quiet",sign:"reply",words:`Withdrawn${e}`};case"expired":return{tone:"wait",sign:"time",words:o.lapsed?"Expired: the reasoning ended without a decision":"Expired: no decision in time"};case"settled":return{tone:"quiet",sign:"people",words:`Already decided${e}`}}}function z(o){let e=G(o);return s`<div class="fate" data-tone=${e.tone}>
    <p class="row">${e.sign==="run"?s`<span class="spinner" aria-hidden="true"></span>`:L(e.sign)}<b class="grow">${e.words}</b>${o.decidedAt===null?a:w(o.decidedAt)}</p>
    ${J(o)} ${K(o)} ${V(o)}
  </div>`}function J(o){if(o.status==="approved"||o.status==="expired"||o.reason===""&&o.explanation==="")return a;let e=o.reason==="other"&&o.explanation!==""?"":o.reason.replaceAll("_"," ");return s`<p class="small">${f(e)}${o.explanation===""?a:s`${e===""?"":": "}${f(o.explanation)}`}</p>`}function K(o){return o.approvedArgs===void 0?a:s`<p class="small">Approved with different arguments:</p>
    <pre tabindex="0">${d(h(o.approvedArgs))}</pre>`}function V(o){return!o.done||o.summary===""?a:s`<p class="small">${f(o.summary)}</p>
    ${o.result===void 0?a:s`<details><summary>Result</summary><pre tabindex="0">${d(h(o.result).slice(0,5e4))}</pre></details>`}`}var Q={disagree:"Disagree",unsafe:"Unsafe",inappropriate:"Inappropriate",policy:"Against policy",duplicate:"Already done",invalid:"Invalid",no_longer_needed:"No longer needed",busy:"Not now",other:"Other"},x=class extends b{static properties={desk:{attribute:!1},proposal:{attribute:!1},busy:{attribute:!1},bare:{state:!0}};static styles=[v,g,c`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];render(){return s`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Reason
        <select name="reason">
          ${q.map(e=>s`<option value=${e}>${Q[e]} (${e})</option>`)}
        </select>
      </label>
      <label class="field-label">Message to ${p(this.proposal.from)}
        <textarea name="words" rows="2" maxlength="2000" aria-invalid=${this.bare===!0?"true":"false"} @input=${()=>this.bare=!1}></textarea>
      </label>
      ${this.bare===!0?s`<p class="refused" role="alert">Enter a message.</p>`:a}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>${this.busy?"Sending…":"Reject"}</button>
        <button class="button" type="button" @click=${this.cancel}>Cancel</button>
      </div>
    </form>`}firstUpdated(){this.renderRoot.querySelector("select")?.focus()}submit=e=>{e.preventDefault();let t=new FormData(e.target),r=String(t.get("reason")??""),i=String(t.get("words")??"").trim();this.bare=r==="other"&&i==="",this.bare||this.dispatchEvent(new CustomEvent("draft",{detail:C(this.proposal,r,i)}))};key=e=>{e.key==="Escape"&&(e.preventDefault(),this.cancel())};cancel=()=>{this.dispatchEvent(new CustomEvent("cancel"))}};u("meup-reject-form",x);var F=2e4,R=class extends b{static properties={desk:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},past:{attribute:!1},chosen:{type:Boolean,reflect:!0},rejecting:{state:!0},busy:{state:!0},trouble:{state:!0},host:{state:!0},all:{state:!0}};static styles=[v,g,Y];render(){let e=this.proposal;return s`<article class="card" data-status=${e.status} aria-label=${`${m(e.from)} proposes ${p(e.tool)}`}>
      <header class="row">
        ${B(e.from,!0)}
        <div class="grow"><span class="name">${p(e.from)}</span> ${A(e.from)} <span class="quiet">wants to call</span></div>
        ${w(e.at)}
      </header>
      <p class="call"><code>${d(e.tool)}</code>${e.owner===""?a:s` <span class="quiet">of</span> <span class="name">${d(e.owner)}</span>`}</p>
      ${e.rationale===""?a:s`<p class="why">${f(e.rationale,t=>E(t,S))}</p>`} ${this.warnings(e)} ${this.args(e)}
      ${e.to.length===0?a:s`<p class="faint">Sent only to ${e.to.map(t=>t===this.desk.you?"you":m(t)).join(", ")}.</p>`}
      ${e.status==="pending"?a:z(e)} ${e.status==="pending"?this.decision(e):a} ${N(this.trouble??"")}
      <footer class="row">${H(this.desk,e.id)}<span class="grow"></span>${_(this.desk,e.id)}</footer>
    </article>`}warnings(e){let t=[];P(e.tool+e.owner+h(e.params??null))&&t.push("This call contains invisible characters. They are shown as codes.");let r=[...this.state.participants.values()].flatMap(l=>l.tools.map(W=>W.name)),[i]=r.includes(e.tool)?[]:k(e.tool,r);i!==void 0&&t.push(`The tool's name looks like ${p(i)}, but is different.`);let[n]=e.owner===""||this.state.participants.has(e.owner)?[]:k(e.owner,this.state.participants.keys());return n!==void 0&&t.push(`The owner's name looks like ${p(n)}, but is different.`),t.length===0?a:s`${t.map(l=>s`<p class="warning">${l}</p>`)}`}args(e){let t=h(e.args??{}),r=t.length>F&&this.all!==!0,i=e.method==="tools/call"?"Arguments":s`Parameters of <code>${d(e.method)}</code>`;return s`<div>
      <h3>${i}</h3>
      <pre tabindex="0" aria-label="Arguments">${d(r?t.slice(0,F):t)}</pre>
      ${r?s`<button class="words small" @click=${()=>this.all=!0}>Show all ${t.length.toLocaleString()} characters</button>`:a}
    </div>`}decision(e){if(this.past)return s`<p class="faint">You are viewing the past. Proposals cannot be decided here.</p>`;if(this.rejecting===!0)return s`<meup-reject-form .busy=${this.busy===!0} @cancel=${this.stopRejecting} .desk=${this.desk} .proposal=${e} @draft=${i=>{this.send(i.detail)}}></meup-reject-form>`;let{present:t=!1}=this.state.participants.get(e.from)??{},r=t||e.from===this.desk.you?a:s`<p class="faint">${m(e.from)} is offline and may not see the decision.</p>`;return s`${r}${e.from===this.desk.you?this.own(e):this.others(e)}`}own(e){return this.desk.may("mcp.withdraw")?s`<div class="row"><button class="button" ?disabled=${this.busy} @click=${()=>{this.send(I(e))}}>Withdraw</button> <span class="quiet">You proposed this.</span></div>`:s`<p class="quiet">You proposed this. Others decide.</p>`}others(e){let{desk:t}=this,r=t.may("decide"),i=r||t.may("mcp.request"),n=r||t.may("mcp.reject"),l=e.owner||this.chosenHost(e);return!i&&!n?s`<p class="quiet">You cannot decide this: you may neither call tools nor reject proposals.</p>`:s`${i&&e.owner===""?this.hosts(e,l):a}
      <div class="row">
        ${i?s`<button class="button main" ?disabled=${this.busy||l===""} @click=${()=>{this.send(D(e,j(),l))}}>${this.busy?"Sending…":"Approve"}</button>`:a}
        ${n?s`<button class="button bad" ?disabled=${this.busy} @click=${()=>this.rejecting=!0}>Reject…</button>`:a}
        ${t.may("mcp.request")&&t.may("capability.grant")?s`<button class="words small" @click=${()=>t.open("operator",X(e))}>Grant temporary access…</button>`:a}
      </div>
      <p class="faint">${Z(l,i,n)}</p>`}chosenHost(e){return y(this.state.participants.values(),e,this.desk.you).includes(this.host)?this.host:""}hosts(e,t){return s`<label class="field-label">The proposal does not name the participant that runs this tool.
      <select @change=${r=>this.host=r.target.value}>
        <option value="" .selected=${t===""}>Choose a participant</option>
        ${y(this.state.participants.values(),e,this.desk.you).map(r=>s`<option value=${r} .selected=${r===t}>${p(r)}</option>`)}
      </select>
    </label>`}stopRejecting=()=>{this.rejecting=!1,this.updateComplete.then(()=>this.renderRoot.querySelector(".button.bad")?.focus())};async send(e){this.busy=!0,this.trouble="";let t=await this.desk.send(e);if(this.busy=!1,!t.ok){this.trouble=t.refusal;return}this.rejecting=!1,this.dispatchEvent(new CustomEvent("decided"))}};function X(o){return{recipient:o.from,method:o.method,tool:o.method==="tools/call"?o.tool:"",owner:o.owner}}function Z(o,e,t){return e?`Approving sends exactly this call in your name to ${o===""?"the participant that you choose":p(o)}.${t?"":" You cannot reject it."}`:"You can reject this. Approving it requires the right to call tools."}u("meup-proposal-card",R);var U=20,T=class extends ${static properties={...$.properties,most:{state:!0}};static styles=[v,g,c`
      meup-proposal-card + meup-proposal-card {
        margin-top: var(--space-3);
      }
    `];shownFor=null;book=null;constructor(){super(),this.most=U}render(){let{proposals:e,pending:t}=this.state,r=[...this.older(),...t.flatMap(n=>e.get(n)??[])],i=[...e.values()].filter(n=>n.status!=="pending").sort((n,l)=>(l.decidedAt??l.at)-(n.decidedAt??n.at));return e.size+r.length===0?this.none():s`
      <h3 class="section waiting" tabindex="-1" aria-live="polite">${r.length===0?"No proposals awaiting approval":`${r.length.toLocaleString()} awaiting approval`}</h3>
      ${this.cards(r)} ${i.length===0?a:s`<h3 class="section">Decided</h3>`} ${this.cards(i.slice(0,this.shownCount(i)))}
      ${i.length>this.shownCount(i)?s`<p class="section"><button class="words" @click=${()=>this.most+=U}>Show more</button></p>`:a}
    `}older(){if(!this.state.hasOlder||this.desk.past)return[];this.book??=new O(this.desk.space,["mcp.proposal","mcp.request","mcp.reject","mcp.withdraw","reasoning.conclusion","reasoning.cancel"]),this.state.oldest>0&&this.book.trouble===""&&this.book.load(this.state.oldest,()=>this.requestUpdate());let e=this.book.with(this.desk.envelopes),{proposals:t,settled:r}=this.state;return e===null?[]:e.pending.flatMap(i=>t.has(i)||r.has(i)?[]:e.proposals.get(i)??[])}none(){return s`<div class="empty">
      <p>No proposals yet</p>
      <p class="quiet">Agents propose the calls that they are not allowed to make. Participants with the right to make them approve or reject.</p>
    </div>`}cards(e){return M(e,t=>t.id,t=>s`<meup-proposal-card data-id=${t.id} .desk=${this.desk} .proposal=${t} .state=${this.state} .past=${this.desk.past} .chosen=${this.chosen===t.id} @decided=${this.decided}></meup-proposal-card>`)}decided=()=>{this.renderRoot.querySelector(".waiting")?.focus({preventScroll:!0})};get chosen(){return this.params?.id??""}shownCount(e){return Math.max(this.most,e.findIndex(t=>t.id===this.chosen)+1)}updated(){if(this.shownFor===this.params||this.chosen==="")return;let e=this.renderRoot.querySelector(`[data-id="${CSS.escape(this.chosen)}"]`);e!==null&&(this.shownFor=this.params,e.scrollIntoView({block:"nearest"}))}};u("meup-proposals",T);export{T as Proposals};
//# sourceMappingURL=/assets/proposals-K5K4I7K2.js.map
