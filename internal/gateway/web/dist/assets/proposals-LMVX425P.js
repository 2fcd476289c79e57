import{a as L}from"/assets/chunk-P2WYJFTY.js";import{a as A,c as m}from"/assets/chunk-JXYY7IDH.js";import{a as k,b as q,e as M,f as D,g as C}from"/assets/chunk-2KXU27XN.js";import{f as I}from"/assets/chunk-F7WK7OJI.js";import"/assets/chunk-ORCNLSNJ.js";import"/assets/chunk-52OEXF26.js";import{e as b}from"/assets/chunk-DZVHUQUU.js";import"/assets/chunk-WACYPWYT.js";import"/assets/chunk-ZOFRZT6E.js";import"/assets/chunk-JCVKINCP.js";import{a as g,b as c,d as y,f as _,g as H,h as N,k as Y,l as v}from"/assets/chunk-YOLDNCJY.js";import{f as $,i as h,j as O,k as f}from"/assets/chunk-NUEHI26X.js";import{D as j,I as S,K as P,L as E,O as p,Q as u,a as d,b as o,e as a,g as w}from"/assets/chunk-WMDUFPNJ.js";var z=d`
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
`;function G(s){let e=s.decidedBy===""?"":` by ${m(s.decidedBy)}`;switch(s.status){case"pending":return{tone:"wait",sign:"decide",words:"Awaiting approval"};case"approved":return s.done?s.failed?{tone:"bad",sign:"stop",words:`Approved${e}, failed`}:{tone:"good",sign:"check",words:`Approved${e}, done`}:{tone:"good",sign:"run",words:`Approved${e}, running`};case"rejected":return{tone:"bad",sign:"cross",words:`Rejected${e}`};case"withdrawn":return{tone:"quiet",sign:"reply",words:`Withdrawn${e}`};case"expired":return{tone:"wait",sign:"time",words:s.lapsed?"Expired: the reasoning ended without a decision":"Expired: no decision in time"};case"settled":return{tone:"quiet",sign:"people",words:`Already decided${e}`}}}function B(s){let e=G(s);return o`<div class="fate" data-tone=${e.tone}>
    <p class="row">${e.sign==="run"?o`<span class="spinner" aria-hidden="true"></span>`:O(e.sign)}<b class="grow">${e.words}</b>${s.decidedAt===null?a:y(s.decidedAt)}</p>
    ${J(s)} ${K(s)} ${V(s)}
  </div>`}function J(s){if(s.status==="approved"||s.status==="expired"||s.reason===""&&s.explanation==="")return a;let e=s.reason==="other"&&s.explanation!==""?"":s.reason.replaceAll("_"," ");return o`<p class="small">${f(e)}${s.explanation===""?a:o`${e===""?"":": "}${f(s.explanation)}`}</p>`}function K(s){return s.approvedArgs===void 0?a:o`<p class="small">Approved with different arguments:</p>
    <pre tabindex="0">${c(u(s.approvedArgs))}</pre>`}function V(s){return s.done?o`<p class="small">${f(s.summary||"success")}</p>
    ${s.result===void 0?a:o`<details><summary>Result</summary><pre tabindex="0">${c(u(s.result).slice(0,5e4))}</pre></details>`}`:a}var X={disagree:"Disagree",unsafe:"Unsafe",inappropriate:"Inappropriate",policy:"Against policy",duplicate:"Already done",invalid:"Invalid",no_longer_needed:"No longer needed",busy:"Not now",other:"Other"},x=class extends w{static properties={shell:{attribute:!1},proposal:{attribute:!1},busy:{attribute:!1},messageMissing:{state:!0}};static styles=[g,v,d`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];render(){return o`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Reason
        <select name="reason">
          ${q.map(e=>o`<option value=${e}>${X[e]} (${e})</option>`)}
        </select>
      </label>
      <label class="field-label">Message to ${p(this.proposal.from)}
        <textarea name="words" rows="2" maxlength="2000" aria-invalid=${this.messageMissing===!0?"true":"false"} @input=${()=>this.messageMissing=!1}></textarea>
      </label>
      ${this.messageMissing===!0?o`<p class="refused" role="alert">Enter a message.</p>`:a}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>${this.busy?"Sending…":"Reject"}</button>
        <button class="button" type="button" @click=${this.cancel}>Cancel</button>
      </div>
    </form>`}firstUpdated(){this.renderRoot.querySelector("select")?.focus()}submit=e=>{e.preventDefault();let t=new FormData(e.target),r=String(t.get("reason")??""),i=String(t.get("words")??"").trim();this.messageMissing=r==="other"&&i==="",this.messageMissing||this.dispatchEvent(new CustomEvent("draft",{detail:D(this.proposal,r,i)}))};key=e=>{e.key==="Escape"&&(e.preventDefault(),this.cancel())};cancel=()=>{this.dispatchEvent(new CustomEvent("cancel"))}};h("meup-reject-form",x);var F=2e4,R=class extends w{static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},past:{attribute:!1},chosen:{type:Boolean,reflect:!0},rejecting:{state:!0},busy:{state:!0},error:{state:!0},host:{state:!0},all:{state:!0}};static styles=[g,v,z];render(){let e=this.proposal;return o`<article class="card" data-status=${e.status} aria-label=${`${m(e.from)} proposes ${p(e.tool)}`}>
      <header class="row">
        ${_(e.from,!0)}
        <div class="grow"><span class="name">${p(e.from)}</span> ${A(e.from)} <span class="quiet">wants to call</span></div>
        ${y(e.at)}
      </header>
      <p class="call"><code>${c(e.tool)}</code>${e.owner===""?a:o` <span class="quiet">of</span> <span class="name">${c(e.owner)}</span>`}</p>
      ${e.rationale===""?a:o`<p class="why">${f(e.rationale,t=>E(t,P))}</p>`} ${this.warnings(e)} ${this.args(e)}
      ${e.to.length===0?a:o`<p class="faint">Sent only to ${e.to.map(t=>t===this.shell.you?"you":m(t)).join(", ")}.</p>`}
      ${e.status==="pending"?a:B(e)} ${e.status==="pending"?this.decision(e):a} ${Y(this.error??"")}
      <footer class="row">${N(this.shell,e.id)}<span class="grow"></span>${H(this.shell,e.id)}</footer>
    </article>`}warnings(e){let t=[];j(e.tool+e.owner+u(e.params??null))&&t.push("This call contains invisible characters. They are shown as codes.");let r=[...this.state.participants.values()].flatMap(l=>l.tools.map(W=>W.name)),[i]=r.includes(e.tool)?[]:S(e.tool,r);i!==void 0&&t.push(`The tool's name looks like ${p(i)}, but is different.`);let[n]=e.owner===""||this.state.participants.has(e.owner)?[]:S(e.owner,this.state.participants.keys());return n!==void 0&&t.push(`The owner's name looks like ${p(n)}, but is different.`),t.length===0?a:o`${t.map(l=>o`<p class="warning">${l}</p>`)}`}args(e){let t=u(e.args??{}),r=t.length>F&&this.all!==!0,i=e.method==="tools/call"?"Arguments":o`Parameters of <code>${c(e.method)}</code>`;return o`<div>
      <h3>${i}</h3>
      <pre tabindex="0" aria-label="Arguments">${c(r?t.slice(0,F):t)}</pre>
      ${r?o`<button class="words small" @click=${()=>this.all=!0}>Show all ${t.length.toLocaleString()} characters</button>`:a}
    </div>`}decision(e){if(this.past)return o`<p class="faint">You are viewing the past. Proposals cannot be decided here.</p>`;if(this.rejecting===!0)return o`<meup-reject-form .busy=${this.busy===!0} @cancel=${this.stopRejecting} .shell=${this.shell} .proposal=${e} @draft=${i=>{this.send(i.detail)}}></meup-reject-form>`;let{present:t=!1}=this.state.participants.get(e.from)??{},r=t||e.from===this.shell.you?a:o`<p class="faint">${m(e.from)} is offline and may not see the decision.</p>`;return o`${r}${e.from===this.shell.you?this.own(e):this.others(e)}`}own(e){return this.shell.may("mcp.withdraw")?o`<div class="row"><button class="button" ?disabled=${this.busy} @click=${()=>{this.send(C(e))}}>Withdraw</button> <span class="quiet">You proposed this.</span></div>`:o`<p class="quiet">You proposed this. Others decide.</p>`}others(e){let{shell:t}=this,r=t.may("decide"),i=r||t.may("mcp.request"),n=r||t.may("mcp.reject"),l=e.owner||this.chosenHost(e);return!i&&!n?o`<p class="quiet">You cannot decide this: you may neither call tools nor reject proposals.</p>`:o`${i&&e.owner===""?this.hosts(e,l):a}
      <div class="row">
        ${i?o`<button class="button main" ?disabled=${this.busy||l===""} @click=${()=>{this.send(M(e,k(),l))}}>${this.busy?"Sending…":"Approve"}</button>`:a}
        ${n?o`<button class="button bad" ?disabled=${this.busy} @click=${()=>this.rejecting=!0}>Reject…</button>`:a}
        ${t.may("mcp.request")&&t.may("capability.grant")?o`<button class="words small" @click=${()=>t.open("operator",Q(e))}>Grant temporary access…</button>`:a}
      </div>
      <p class="faint">${Z(l,i,n)}</p>`}chosenHost(e){return b(this.state.participants.values(),e,this.shell.you).includes(this.host)?this.host:""}hosts(e,t){return o`<label class="field-label">The proposal does not name the participant that runs this tool.
      <select @change=${r=>this.host=r.target.value}>
        <option value="" .selected=${t===""}>Choose a participant</option>
        ${b(this.state.participants.values(),e,this.shell.you).map(r=>o`<option value=${r} .selected=${r===t}>${p(r)}</option>`)}
      </select>
    </label>`}stopRejecting=()=>{this.rejecting=!1,this.updateComplete.then(()=>this.renderRoot.querySelector(".button.bad")?.focus())};async send(e){this.busy=!0,this.error="";let t=await this.shell.send(e);if(this.busy=!1,!t.ok){this.error=t.refusal;return}this.rejecting=!1,this.dispatchEvent(new CustomEvent("decided"))}};function Q(s){return{recipient:s.from,method:s.method,tool:s.method==="tools/call"?s.tool:"",owner:s.owner}}function Z(s,e,t){return e?`Approving sends exactly this call in your name to ${s===""?"the participant that you choose":p(s)}.${t?"":" You cannot reject it."}`:"You can reject this. Approving it requires the right to call tools."}h("meup-proposal-card",R);var U=20,T=class extends ${static properties={...$.properties,most:{state:!0}};static styles=[g,v,d`
      meup-proposal-card + meup-proposal-card {
        margin-top: var(--space-3);
      }
    `];shownFor=null;olderState=null;constructor(){super(),this.most=U}render(){let{proposals:e,pending:t}=this.state,r=[...this.older(),...t.flatMap(n=>e.get(n)??[])],i=[...e.values()].filter(n=>n.status!=="pending").sort((n,l)=>(l.decidedAt??l.at)-(n.decidedAt??n.at));return e.size+r.length===0?this.none():o`
      <h3 class="section waiting" tabindex="-1" aria-live="polite">${r.length===0?"No proposals awaiting approval":`${r.length.toLocaleString()} awaiting approval`}</h3>
      ${this.cards(r)} ${i.length===0?a:o`<h3 class="section">Decided</h3>`} ${this.cards(i.slice(0,this.shownCount(i)))}
      ${i.length>this.shownCount(i)?o`<p class="section"><button class="words" @click=${()=>this.most+=U}>Show more</button></p>`:a}
    `}older(){if(!this.state.hasOlder||this.shell.past)return[];this.olderState??=new L(this.shell.space,["mcp.proposal","mcp.request","mcp.reject","mcp.withdraw","reasoning.conclusion","reasoning.cancel"]),this.state.oldest>0&&this.olderState.error===""&&this.olderState.load(this.state.oldest,()=>this.requestUpdate());let e=this.olderState.with(this.shell.envelopes),{proposals:t,settled:r}=this.state;return e===null?[]:e.pending.flatMap(i=>t.has(i)||r.has(i)?[]:e.proposals.get(i)??[])}none(){return o`<div class="empty">
      <p>No proposals yet</p>
      <p class="quiet">Agents propose the calls that they are not allowed to make. Participants with the right to make them approve or reject.</p>
    </div>`}cards(e){return I(e,t=>t.id,t=>o`<meup-proposal-card data-id=${t.id} .shell=${this.shell} .proposal=${t} .state=${this.state} .past=${this.shell.past} .chosen=${this.chosen===t.id} @decided=${this.decided}></meup-proposal-card>`)}decided=()=>{this.renderRoot.querySelector(".waiting")?.focus({preventScroll:!0})};get chosen(){return this.params?.id??""}shownCount(e){return Math.max(this.most,e.findIndex(t=>t.id===this.chosen)+1)}updated(){if(this.shownFor===this.params||this.chosen==="")return;let e=this.renderRoot.querySelector(`[data-id="${CSS.escape(this.chosen)}"]`);e!==null&&(this.shownFor=this.params,e.scrollIntoView({block:"nearest"}))}};h("meup-proposals",T);export{T as Proposals};
//# sourceMappingURL=/assets/proposals-LMVX425P.js.map
