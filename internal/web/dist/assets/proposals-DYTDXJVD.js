import{a as B}from"/assets/chunk-QPA3QVGH.js";import{a as E,c as m}from"/assets/chunk-46YBMIHE.js";import{a as T,b as P,e as A,f as q,g as D}from"/assets/chunk-KYMUWLIC.js";import{e as C}from"/assets/chunk-MWHX5D3W.js";import"/assets/chunk-PTNSQRJG.js";import"/assets/chunk-MDSBH7WP.js";import"/assets/chunk-QLLNW77G.js";import"/assets/chunk-BZVLFKUU.js";import"/assets/chunk-G43XG7NS.js";import{a as b,b as d,d as w,e as L,f as M,g as O,h as _,k as N,l as v}from"/assets/chunk-D6IVMP74.js";import{g as y,j as u,k as I,l as f}from"/assets/chunk-FUSLVP7W.js";import{D as j,I as $,L as S,O as l,Q as h,a as c,b as s,e as r,g}from"/assets/chunk-QIP5ALR4.js";var W=c`
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
`;function J(t){let e=t.decidedBy===""?"":` by ${m(t.decidedBy)}`;switch(t.status){case"pending":return{tone:"wait",sign:"decide",words:"Waits for a decision"};case"approved":return t.done?t.failed?{tone:"bad",sign:"stop",words:`Approved${e}, but it did not work`}:{tone:"good",sign:"check",words:`Approved${e}, and done`}:{tone:"good",sign:"run",words:`Approved${e}, under way`};case"rejected":return{tone:"bad",sign:"cross",words:`Rejected${e}`};case"withdrawn":return{tone:"quiet",sign:"reply",words:`Taken back${e}`};case"expired":return{tone:"wait",sign:"time",words:"Nobody decided in time"}}}function z(t){let e=J(t);return s`<div class="fate" data-tone=${e.tone}>
    <p class="row">${e.sign==="run"?s`<span class="spinner" aria-hidden="true"></span>`:I(e.sign)}<b class="grow">${e.words}</b>${t.decidedAt===null?r:w(t.decidedAt)}</p>
    ${U(t)} ${G(t)} ${K(t)}
  </div>`}function U(t){if(t.status==="approved"||t.status==="expired"||t.reason===""&&t.explanation==="")return r;let e=t.reason==="other"&&t.explanation!==""?"":t.reason.replaceAll("_"," ");return s`<p class="small">${f(e)}${t.explanation===""?r:s`${e===""?"":": "}${f(t.explanation)}`}</p>`}function G(t){return t.approvedArgs===void 0?r:s`<p class="small">With other arguments than those proposed:</p>
    <pre tabindex="0">${d(h(t.approvedArgs))}</pre>`}function K(t){return!t.done||t.summary===""?r:s`<p class="small">${f(t.summary)}</p>
    ${t.result===void 0?r:s`<details><summary>Result</summary><pre tabindex="0">${d(h(t.result).slice(0,5e4))}</pre></details>`}`}var V={disagree:"I do not agree",unsafe:"It is not safe",inappropriate:"It is not appropriate",policy:"It is against a policy",duplicate:"It was done already",invalid:"It is not valid",no_longer_needed:"It is no longer needed",busy:"Not now",other:"Something else"},k=class extends g{static properties={desk:{attribute:!1},proposal:{attribute:!1},busy:{attribute:!1},bare:{state:!0}};static styles=[b,v,c`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];render(){return s`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Why not?
        <select name="reason">
          ${P.map(e=>s`<option value=${e}>${V[e]} (${e})</option>`)}
        </select>
      </label>
      <label class="field-label">What ${l(this.proposal.from)} should know
        <textarea name="words" rows="2" maxlength="2000" aria-invalid=${this.bare===!0?"true":"false"} @input=${()=>this.bare=!1}></textarea>
      </label>
      ${this.bare===!0?s`<p class="refused" role="alert">Say in words what speaks against it.</p>`:r}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>${this.busy?"Sending…":"Reject"}</button>
        <button class="button" type="button" @click=${this.cancel}>Back</button>
      </div>
    </form>`}firstUpdated(){this.renderRoot.querySelector("select")?.focus()}submit=e=>{e.preventDefault();let o=new FormData(e.target),a=String(o.get("reason")??""),i=String(o.get("words")??"").trim();this.bare=a==="other"&&i==="",this.bare||this.dispatchEvent(new CustomEvent("draft",{detail:q(this.proposal,a,i)}))};key=e=>{e.key==="Escape"&&(e.preventDefault(),this.cancel())};cancel=()=>{this.dispatchEvent(new CustomEvent("cancel"))}};u("meup-reject-form",k);var Y=2e4,x=class extends g{static properties={desk:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},past:{attribute:!1},chosen:{type:Boolean,reflect:!0},rejecting:{state:!0},busy:{state:!0},trouble:{state:!0},all:{state:!0}};static styles=[b,v,W];render(){let e=this.proposal;return s`<article class="card" data-status=${e.status} aria-label=${`${m(e.from)} proposes ${l(e.tool)}`}>
      <header class="row">
        ${M(e.from,!0)}
        <div class="grow"><span class="name">${l(e.from)}</span> ${E(e.from)} <span class="quiet">wants to call</span></div>
        ${w(e.at)}
      </header>
      <p class="call"><code>${d(e.tool)}</code>${e.owner===""?r:s` <span class="quiet">of</span> <span class="name">${d(e.owner)}</span>`}</p>
      ${e.rationale===""?r:s`<p class="why">${f(e.rationale,S)}</p>`} ${this.warnings(e)} ${this.args(e)}
      ${e.to.length===0?r:s`<p class="faint">Said to ${e.to.map(o=>o===this.desk.you?"you":m(o)).join(", ")} alone.</p>`}
      ${e.status==="pending"?r:z(e)} ${e.status==="pending"?this.decision(e):r} ${N(this.trouble??"")}
      <footer class="row">${_(this.desk,e.id)}<span class="grow"></span>${O(this.desk,e.id)}</footer>
    </article>`}warnings(e){let o=[];j(e.tool+e.owner+h(e.params??null))&&o.push("There are characters in this call that cannot be seen. They are spelled out.");let a=[...this.state.participants.values()].flatMap(p=>p.tools.map(H=>H.name)),[i]=a.includes(e.tool)?[]:$(e.tool,a);i!==void 0&&o.push(`The tool's name looks like ${l(i)}, and is another one.`);let[n]=e.owner===""||this.state.participants.has(e.owner)?[]:$(e.owner,this.state.participants.keys());return n!==void 0&&o.push(`The owner's name looks like ${l(n)}, and is another one.`),o.length===0?r:s`${o.map(p=>s`<p class="warning">${p}</p>`)}`}args(e){let o=h(e.args??{}),a=o.length>Y&&this.all!==!0,i=e.method==="tools/call"?"Arguments":s`Parameters of <code>${d(e.method)}</code>`;return s`<div>
      <h3>${i}</h3>
      <pre tabindex="0" aria-label="Arguments">${d(a?o.slice(0,Y):o)}</pre>
      ${a?s`<button class="words small" @click=${()=>this.all=!0}>Show all ${o.length.toLocaleString()} characters</button>`:r}
    </div>`}decision(e){if(this.past)return s`<p class="faint">This is how it once was: nothing can be decided here.</p>`;if(this.rejecting===!0)return s`<meup-reject-form .busy=${this.busy===!0} @cancel=${this.stopRejecting} .desk=${this.desk} .proposal=${e} @draft=${i=>{this.send(i.detail)}}></meup-reject-form>`;let{present:o=!1}=this.state.participants.get(e.from)??{},a=o||e.from===this.desk.you?r:s`<p class="faint">${m(e.from)} is not here at the moment and may not notice what is decided.</p>`;return s`${a}${e.from===this.desk.you?this.own(e):this.others(e)}`}own(e){return this.desk.may("mcp.withdraw")?s`<div class="row"><button class="button" ?disabled=${this.busy} @click=${()=>{this.send(D(e))}}>Take it back</button> <span class="quiet">You have proposed this.</span></div>`:s`<p class="quiet">You have proposed this. Others decide.</p>`}others(e){let{desk:o}=this,a=o.may("mcp.request"),i=o.may("mcp.reject");return!a&&!i?s`<p class="quiet">You may not decide this: your rights include neither calling tools nor rejecting proposals.</p>`:s`<div class="row">
        ${a?s`<button class="button main" ?disabled=${this.busy} @click=${()=>{this.send(A(e,T()))}}>${this.busy?"Sending…":"Approve"}</button>`:r}
        ${i?s`<button class="button bad" ?disabled=${this.busy} @click=${()=>this.rejecting=!0}>Reject…</button>`:r}
        ${a&&o.may("capability.grant")?s`<button class="words small" @click=${()=>o.open("operator",Q(e))}>Allow it for a while…</button>`:r}
      </div>
      <p class="faint">${X(e,a,i)}</p>`}stopRejecting=()=>{this.rejecting=!1,this.updateComplete.then(()=>this.renderRoot.querySelector(".button.bad")?.focus())};async send(e){this.busy=!0,this.trouble="";let o=await this.desk.send(e);if(this.busy=!1,!o.ok){this.trouble=o.refusal;return}this.rejecting=!1,this.dispatchEvent(new CustomEvent("decided"))}};function Q(t){return{recipient:t.from,method:t.method,tool:t.method==="tools/call"?t.tool:"",owner:t.owner}}function X(t,e,o){return e?`Approving makes exactly this call in your name; ${t.owner===""?`${l(t.from)} carries it out`:`it goes to ${l(t.owner)}`}.${o?"":" You may not reject it."}`:"You may reject it. Approving it takes the right to call tools."}u("meup-proposal-card",x);var F=20,R=class extends y{static properties={...y.properties,most:{state:!0}};static styles=[b,v,c`
      meup-proposal-card + meup-proposal-card {
        margin-top: var(--space-3);
      }
    `];shownFor=null;book=null;constructor(){super(),this.most=F}render(){let{proposals:e,pending:o}=this.state,a=[...this.older(),...o.flatMap(n=>e.get(n)??[])],i=[...e.values()].filter(n=>n.status!=="pending").sort((n,p)=>(p.decidedAt??p.at)-(n.decidedAt??n.at));return e.size+a.length===0?this.none():s`
      <h3 class="section waiting" tabindex="-1" aria-live="polite">${a.length===0?"Nothing waits for a decision":`${L(a.length,"call")} to decide`}</h3>
      ${this.cards(a)} ${i.length===0?r:s`<h3 class="section">Decided</h3>`} ${this.cards(i.slice(0,this.shownCount(i)))}
      ${i.length>this.shownCount(i)?s`<p class="section"><button class="words" @click=${()=>this.most+=F}>Show more</button></p>`:r}
    `}older(){if(!this.state.hasOlder||this.desk.past)return[];this.book??=new B(this.desk.space,["mcp.proposal","mcp.request","mcp.reject","mcp.withdraw"]),this.state.oldest>0&&this.book.trouble===""&&this.book.load(this.state.oldest,()=>this.requestUpdate());let e=this.book.with(this.desk.envelopes);return e===null?[]:e.pending.flatMap(o=>this.state.proposals.has(o)?[]:e.proposals.get(o)??[])}none(){return s`<div class="empty">
      <p>Nobody has proposed a call in what is loaded.</p>
      <p class="quiet">What an agent may not do by itself it proposes here, and somebody who may do it decides.</p>
    </div>`}cards(e){return C(e,o=>o.id,o=>s`<meup-proposal-card data-id=${o.id} .desk=${this.desk} .proposal=${o} .state=${this.state} .past=${this.desk.past} .chosen=${this.chosen===o.id} @decided=${this.decided}></meup-proposal-card>`)}decided=()=>{this.renderRoot.querySelector(".waiting")?.focus({preventScroll:!0})};get chosen(){return this.params?.id??""}shownCount(e){return Math.max(this.most,e.findIndex(o=>o.id===this.chosen)+1)}updated(){if(this.shownFor===this.params||this.chosen==="")return;let e=this.renderRoot.querySelector(`[data-id="${CSS.escape(this.chosen)}"]`);e!==null&&(this.shownFor=this.params,e.scrollIntoView({block:"nearest"}))}};u("meup-proposals",R);export{R as Proposals};
//# sourceMappingURL=/assets/proposals-DYTDXJVD.js.map
