import{a as B}from"/assets/chunk-FVM2SPCZ.js";import{a as q,c as m}from"/assets/chunk-QAMOA7OT.js";import{a as S,b as D,e as A,f as I,g as C}from"/assets/chunk-WC643RJW.js";import{f as M}from"/assets/chunk-U57DGMFF.js";import"/assets/chunk-5S4HJWRR.js";import"/assets/chunk-NVPWSKKJ.js";import{e as y}from"/assets/chunk-MTRC2KP5.js";import"/assets/chunk-DXQ3ABBQ.js";import"/assets/chunk-CUBI55NZ.js";import"/assets/chunk-G43XG7NS.js";import{a as v,b as p,d as w,e as O,f as W,g as _,h as H,k as N,l as b}from"/assets/chunk-E5LNYIV6.js";import{g as $,j as u,k as L,l as f}from"/assets/chunk-SRANVCBR.js";import{E as j,J as k,L as P,M as E,P as d,R as h,a as c,b as s,e as a,g}from"/assets/chunk-EZPMOHX2.js";var z=c`
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
`;function G(o){let e=o.decidedBy===""?"":` by ${m(o.decidedBy)}`;switch(o.status){case"pending":return{tone:"wait",sign:"decide",words:"Waits for a decision"};case"approved":return o.done?o.failed?{tone:"bad",sign:"stop",words:`Approved${e}, but it did not work`}:{tone:"good",sign:"check",words:`Approved${e}, and done`}:{tone:"good",sign:"run",words:`Approved${e}, under way`};case"rejected":return{tone:"bad",sign:"cross",words:`Rejected${e}`};case"withdrawn":return{tone:"quiet",sign:"reply",words:`Taken back${e}`};case"expired":return{tone:"wait",sign:"time",words:o.lapsed?"The reasoning ended before a decision was seen":"Nobody decided in time"};case"settled":return{tone:"quiet",sign:"people",words:`Decided${e} before`}}}function Y(o){let e=G(o);return s`<div class="fate" data-tone=${e.tone}>
    <p class="row">${e.sign==="run"?s`<span class="spinner" aria-hidden="true"></span>`:L(e.sign)}<b class="grow">${e.words}</b>${o.decidedAt===null?a:w(o.decidedAt)}</p>
    ${K(o)} ${V(o)} ${Q(o)}
  </div>`}function K(o){if(o.status==="approved"||o.status==="expired"||o.reason===""&&o.explanation==="")return a;let e=o.reason==="other"&&o.explanation!==""?"":o.reason.replaceAll("_"," ");return s`<p class="small">${f(e)}${o.explanation===""?a:s`${e===""?"":": "}${f(o.explanation)}`}</p>`}function V(o){return o.approvedArgs===void 0?a:s`<p class="small">With other arguments than those proposed:</p>
    <pre tabindex="0">${p(h(o.approvedArgs))}</pre>`}function Q(o){return!o.done||o.summary===""?a:s`<p class="small">${f(o.summary)}</p>
    ${o.result===void 0?a:s`<details><summary>Result</summary><pre tabindex="0">${p(h(o.result).slice(0,5e4))}</pre></details>`}`}var X={disagree:"I do not agree",unsafe:"It is not safe",inappropriate:"It is not appropriate",policy:"It is against a policy",duplicate:"It was done already",invalid:"It is not valid",no_longer_needed:"It is no longer needed",busy:"Not now",other:"Something else"},x=class extends g{static properties={desk:{attribute:!1},proposal:{attribute:!1},busy:{attribute:!1},bare:{state:!0}};static styles=[v,b,c`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];render(){return s`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Why not?
        <select name="reason">
          ${D.map(e=>s`<option value=${e}>${X[e]} (${e})</option>`)}
        </select>
      </label>
      <label class="field-label">What ${d(this.proposal.from)} should know
        <textarea name="words" rows="2" maxlength="2000" aria-invalid=${this.bare===!0?"true":"false"} @input=${()=>this.bare=!1}></textarea>
      </label>
      ${this.bare===!0?s`<p class="refused" role="alert">Say in words what speaks against it.</p>`:a}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>${this.busy?"Sending…":"Reject"}</button>
        <button class="button" type="button" @click=${this.cancel}>Back</button>
      </div>
    </form>`}firstUpdated(){this.renderRoot.querySelector("select")?.focus()}submit=e=>{e.preventDefault();let t=new FormData(e.target),r=String(t.get("reason")??""),i=String(t.get("words")??"").trim();this.bare=r==="other"&&i==="",this.bare||this.dispatchEvent(new CustomEvent("draft",{detail:I(this.proposal,r,i)}))};key=e=>{e.key==="Escape"&&(e.preventDefault(),this.cancel())};cancel=()=>{this.dispatchEvent(new CustomEvent("cancel"))}};u("meup-reject-form",x);var F=2e4,R=class extends g{static properties={desk:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},past:{attribute:!1},chosen:{type:Boolean,reflect:!0},rejecting:{state:!0},busy:{state:!0},trouble:{state:!0},host:{state:!0},all:{state:!0}};static styles=[v,b,z];render(){let e=this.proposal;return s`<article class="card" data-status=${e.status} aria-label=${`${m(e.from)} proposes ${d(e.tool)}`}>
      <header class="row">
        ${W(e.from,!0)}
        <div class="grow"><span class="name">${d(e.from)}</span> ${q(e.from)} <span class="quiet">wants to call</span></div>
        ${w(e.at)}
      </header>
      <p class="call"><code>${p(e.tool)}</code>${e.owner===""?a:s` <span class="quiet">of</span> <span class="name">${p(e.owner)}</span>`}</p>
      ${e.rationale===""?a:s`<p class="why">${f(e.rationale,t=>E(t,P))}</p>`} ${this.warnings(e)} ${this.args(e)}
      ${e.to.length===0?a:s`<p class="faint">Said to ${e.to.map(t=>t===this.desk.you?"you":m(t)).join(", ")} alone.</p>`}
      ${e.status==="pending"?a:Y(e)} ${e.status==="pending"?this.decision(e):a} ${N(this.trouble??"")}
      <footer class="row">${H(this.desk,e.id)}<span class="grow"></span>${_(this.desk,e.id)}</footer>
    </article>`}warnings(e){let t=[];j(e.tool+e.owner+h(e.params??null))&&t.push("There are characters in this call that cannot be seen. They are spelled out.");let r=[...this.state.participants.values()].flatMap(l=>l.tools.map(U=>U.name)),[i]=r.includes(e.tool)?[]:k(e.tool,r);i!==void 0&&t.push(`The tool's name looks like ${d(i)}, and is another one.`);let[n]=e.owner===""||this.state.participants.has(e.owner)?[]:k(e.owner,this.state.participants.keys());return n!==void 0&&t.push(`The owner's name looks like ${d(n)}, and is another one.`),t.length===0?a:s`${t.map(l=>s`<p class="warning">${l}</p>`)}`}args(e){let t=h(e.args??{}),r=t.length>F&&this.all!==!0,i=e.method==="tools/call"?"Arguments":s`Parameters of <code>${p(e.method)}</code>`;return s`<div>
      <h3>${i}</h3>
      <pre tabindex="0" aria-label="Arguments">${p(r?t.slice(0,F):t)}</pre>
      ${r?s`<button class="words small" @click=${()=>this.all=!0}>Show all ${t.length.toLocaleString()} characters</button>`:a}
    </div>`}decision(e){if(this.past)return s`<p class="faint">This is how it once was: nothing can be decided here.</p>`;if(this.rejecting===!0)return s`<meup-reject-form .busy=${this.busy===!0} @cancel=${this.stopRejecting} .desk=${this.desk} .proposal=${e} @draft=${i=>{this.send(i.detail)}}></meup-reject-form>`;let{present:t=!1}=this.state.participants.get(e.from)??{},r=t||e.from===this.desk.you?a:s`<p class="faint">${m(e.from)} is not here at the moment and may not notice what is decided.</p>`;return s`${r}${e.from===this.desk.you?this.own(e):this.others(e)}`}own(e){return this.desk.may("mcp.withdraw")?s`<div class="row"><button class="button" ?disabled=${this.busy} @click=${()=>{this.send(C(e))}}>Take it back</button> <span class="quiet">You have proposed this.</span></div>`:s`<p class="quiet">You have proposed this. Others decide.</p>`}others(e){let{desk:t}=this,r=t.may("decide"),i=r||t.may("mcp.request"),n=r||t.may("mcp.reject"),l=e.owner||this.chosenHost(e);return!i&&!n?s`<p class="quiet">You may not decide this: your rights include neither calling tools nor rejecting proposals.</p>`:s`${i&&e.owner===""?this.hosts(e,l):a}
      <div class="row">
        ${i?s`<button class="button main" ?disabled=${this.busy||l===""} @click=${()=>{this.send(A(e,S(),l))}}>${this.busy?"Sending…":"Approve"}</button>`:a}
        ${n?s`<button class="button bad" ?disabled=${this.busy} @click=${()=>this.rejecting=!0}>Reject…</button>`:a}
        ${t.may("mcp.request")&&t.may("capability.grant")?s`<button class="words small" @click=${()=>t.open("operator",Z(e))}>Allow it for a while…</button>`:a}
      </div>
      <p class="faint">${ee(l,i,n)}</p>`}chosenHost(e){return y(this.state.participants.values(),e,this.desk.you).includes(this.host)?this.host:""}hosts(e,t){return s`<label class="field-label">The proposal does not name the participant that runs this tool. Who runs it?
      <select @change=${r=>this.host=r.target.value}>
        <option value="" .selected=${t===""}>Choose a participant</option>
        ${y(this.state.participants.values(),e,this.desk.you).map(r=>s`<option value=${r} .selected=${r===t}>${d(r)}</option>`)}
      </select>
    </label>`}stopRejecting=()=>{this.rejecting=!1,this.updateComplete.then(()=>this.renderRoot.querySelector(".button.bad")?.focus())};async send(e){this.busy=!0,this.trouble="";let t=await this.desk.send(e);if(this.busy=!1,!t.ok){this.trouble=t.refusal;return}this.rejecting=!1,this.dispatchEvent(new CustomEvent("decided"))}};function Z(o){return{recipient:o.from,method:o.method,tool:o.method==="tools/call"?o.tool:"",owner:o.owner}}function ee(o,e,t){return e?`Approving makes exactly this call in your name; ${o===""?"it goes to the participant that you choose":`it goes to ${d(o)}`}.${t?"":" You may not reject it."}`:"You may reject it. Approving it takes the right to call tools."}u("meup-proposal-card",R);var J=20,T=class extends ${static properties={...$.properties,most:{state:!0}};static styles=[v,b,c`
      meup-proposal-card + meup-proposal-card {
        margin-top: var(--space-3);
      }
    `];shownFor=null;book=null;constructor(){super(),this.most=J}render(){let{proposals:e,pending:t}=this.state,r=[...this.older(),...t.flatMap(n=>e.get(n)??[])],i=[...e.values()].filter(n=>n.status!=="pending").sort((n,l)=>(l.decidedAt??l.at)-(n.decidedAt??n.at));return e.size+r.length===0?this.none():s`
      <h3 class="section waiting" tabindex="-1" aria-live="polite">${r.length===0?"Nothing waits for a decision":`${O(r.length,"call")} to decide`}</h3>
      ${this.cards(r)} ${i.length===0?a:s`<h3 class="section">Decided</h3>`} ${this.cards(i.slice(0,this.shownCount(i)))}
      ${i.length>this.shownCount(i)?s`<p class="section"><button class="words" @click=${()=>this.most+=J}>Show more</button></p>`:a}
    `}older(){if(!this.state.hasOlder||this.desk.past)return[];this.book??=new B(this.desk.space,["mcp.proposal","mcp.request","mcp.reject","mcp.withdraw","reasoning.conclusion","reasoning.cancel"]),this.state.oldest>0&&this.book.trouble===""&&this.book.load(this.state.oldest,()=>this.requestUpdate());let e=this.book.with(this.desk.envelopes),{proposals:t,settled:r}=this.state;return e===null?[]:e.pending.flatMap(i=>t.has(i)||r.has(i)?[]:e.proposals.get(i)??[])}none(){return s`<div class="empty">
      <p>Nobody has proposed a call in what is loaded.</p>
      <p class="quiet">What an agent may not do by itself it proposes here, and somebody who may do it decides.</p>
    </div>`}cards(e){return M(e,t=>t.id,t=>s`<meup-proposal-card data-id=${t.id} .desk=${this.desk} .proposal=${t} .state=${this.state} .past=${this.desk.past} .chosen=${this.chosen===t.id} @decided=${this.decided}></meup-proposal-card>`)}decided=()=>{this.renderRoot.querySelector(".waiting")?.focus({preventScroll:!0})};get chosen(){return this.params?.id??""}shownCount(e){return Math.max(this.most,e.findIndex(t=>t.id===this.chosen)+1)}updated(){if(this.shownFor===this.params||this.chosen==="")return;let e=this.renderRoot.querySelector(`[data-id="${CSS.escape(this.chosen)}"]`);e!==null&&(this.shownFor=this.params,e.scrollIntoView({block:"nearest"}))}};u("meup-proposals",T);export{T as Proposals};
//# sourceMappingURL=/assets/proposals-4T4TAK5K.js.map
