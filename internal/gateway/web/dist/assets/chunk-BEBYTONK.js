import{b as ee}from"/assets/chunk-6NDKMN3O.js";import{a as U,c as w}from"/assets/chunk-XUXW3L7Q.js";import{a as O,b as Y,e as G,f as X,g as J,h as W,j as V}from"/assets/chunk-BQX6YNMI.js";import{a as H}from"/assets/chunk-AEJNZ2QC.js";import{a as D}from"/assets/chunk-URRM4PYW.js";import{a as S,b as h,d as T,f as q,g as Z,j as A,k as E}from"/assets/chunk-KBYAXHMJ.js";import{a as K}from"/assets/chunk-OMM35DFZ.js";import{i as Q,j as x}from"/assets/chunk-TZMTLOK3.js";import{D as z,I as L,K as $,M as k,N as B,Q as u,S as m,b as v,c as a,f as l,h as b,i as F,s as j}from"/assets/chunk-UUO2J6FF.js";var he=8,me=3600,te=600;function re(t){return["once",...t.context===""?[]:["context"],"minutes","pattern"]}function R(t){let r=(j(t.args)?Object.entries(t.args):[]).filter(s=>typeof s[1]=="string"&&/^[\w-]+$/u.test(s[0])).slice(0,he);return{tool:y(t.tool),args:Object.fromEntries(r.map(([s,o])=>[s,y(o)])),seconds:te}}function y(t){return/^[\p{L}\p{N}_.][^*!?[\]{}\\]*$/u.test(t)?t:`/^${t.replace(/[\\^$.*+?()[\]{}|/-]/gu,"\\$&").replaceAll(`
`,"\\n")}$/`}function _(t,e,r,s){if(e==="once")return null;let o={kind:"mcp.request",to:[y(r)]},n=t.method==="tools/call";if(e!=="pattern"){let c={method:y(t.method),...n&&{params:{name:y(t.tool)}}};return{...o,payload:c,...e==="context"&&{context:y(fe(t))}}}let i=Object.fromEntries(Object.entries(s.args).filter(([,c])=>c!=="")),p=Object.keys(i).length===0?{}:n?{arguments:i}:i;return{...o,payload:{method:y(t.method),params:{...n&&{name:s.tool},...p}}}}function se(t,e,r,s){let o=_(t,e,r,s);if(o===null)return null;let n=e==="context"?me:e==="minutes"?te:s.seconds;return{...V(t.from,[o],n,`allowed with the approval of ${t.tool}`),correlationId:t.id}}function fe(t){return t.context.split("/")[0]??""}var ge=["path","file_path","filePath","filename","file"],oe=[["old_string","new_string"],["old_str","new_str"],["oldText","newText"],["old_text","new_text"]],ye=["content","contents","file_text","text"],ve=["patch","diff"],be=/write|create|save|append|put_file/iu,$e=5e3,we=1e6;function ae(t,e){if(!j(e))return null;let r=ge.find(n=>typeof e[n]=="string"&&e[n]!==""),s=r===void 0?null:xe(t,e);if(r===void 0||s===null||s.changes.length===0||s.changes.some(n=>n.length>2*$e))return null;let o=new Set([r,...s.keys]);return{path:String(e[r]),changes:s.changes,rest:Object.fromEntries(Object.entries(e).filter(([n])=>!o.has(n)))}}function xe(t,e){for(let[n,i]of oe){let p=ne(e,n,i);if(p!==null)return{changes:[p],keys:[n,i]}}let r=e.edits;if(Array.isArray(r)){let n=r.map(i=>j(i)&&Object.keys(i).length===2?oe.map(([p,c])=>ne(i,p,c)).find(p=>p!==null)??null:null);return n.every(i=>i!==null)?{changes:n,keys:["edits"]}:null}let s=ve.find(n=>typeof e[n]=="string"&&/^@@ /mu.test(String(e[n])));if(s!==void 0)return{changes:[Se(String(e[s]))],keys:[s]};let o=be.test(t)?ye.find(n=>typeof e[n]=="string"):void 0;return o===void 0?null:{changes:[P(String(e[o])).map(n=>({sign:"+",text:n}))],keys:[o]}}function ne(t,e,r){let s=t[e],o=t[r];return typeof s=="string"&&typeof o=="string"?Ee(s,o):null}function Se(t){return P(t).map(e=>{let r=e.charAt(0);return/^(?:\+\+\+|---|@@|diff |index )/u.test(e)?{sign:"@",text:e}:r==="+"||r==="-"?{sign:r,text:e.slice(1)}:{sign:" ",text:r===" "?e.slice(1):e}})}function P(t){return t===""?[]:t.split(`
`)}function Ee(t,e){let r=P(t),s=P(e),o=0;for(;o<r.length&&o<s.length&&r[o]===s[o];)o++;let n=0;for(;n<r.length-o&&n<s.length-o&&r[r.length-1-n]===s[s.length-1-n];)n++;let i=je(r.slice(o,r.length-n),s.slice(o,s.length-n));return[...r.slice(0,o).map(M),...i,...r.slice(r.length-n).map(M)]}function M(t){return{sign:" ",text:t}}function je(t,e){let r=d=>({sign:"-",text:d}),s=d=>({sign:"+",text:d});if(t.length*e.length>we||t.length===0||e.length===0)return[...t.map(r),...e.map(s)];let o=e.length+1,n=new Uint32Array((t.length+1)*o),i=(d,f)=>n[d*o+f]??0;for(let d=t.length-1;d>=0;d--)for(let f=e.length-1;f>=0;f--)n[d*o+f]=t[d]===e[f]?i(d+1,f+1)+1:Math.max(i(d+1,f),i(d,f+1));let p=[],c=0,g=0;for(;c<t.length&&g<e.length;)t[c]===e[g]?(p.push(M(t[c++])),g++):i(c+1,g)>=i(c,g+1)?p.push(r(t[c++])):p.push(s(e[g++]));return[...p,...t.slice(c).map(r),...e.slice(g).map(s)]}var ie=2e4,le=3;function pe(t,e,r){let s=t.method==="tools/call"?ae(t.tool,t.args):null,o=t.method==="tools/call"?"Arguments":a`Parameters of <code>${h(t.method)}</code>`,n=m(t.args??{}),i=n.length>ie&&!e,p=i?a`<button class="words small" @click=${r}>Show all ${n.length.toLocaleString()} characters</button>`:l,c=a`<pre tabindex="0" aria-label="Arguments">${h(i?n.slice(0,ie):n)}</pre>`;return s===null?a`<div><h3>${o}</h3>${c}${p}</div>`:a`<div class="stack">
    ${Re(s)}
    <details><summary>Exact arguments</summary>${c}${p}</details>
  </div>`}function Re(t){let e=s=>t.changes.flat().filter(o=>o.sign===s).length,r=Object.keys(t.rest).length===0?l:a`<pre tabindex="0" aria-label="Other arguments">${h(m(t.rest))}</pre>`;return a`<div class="edit">
      <p class="edit-head"><code>${h(t.path)}</code> <span class="added">+${e("+").toLocaleString()}</span> <span class="removed">−${e("-").toLocaleString()}</span></p>
      <div class="diff" tabindex="0" role="group" aria-label=${`Changes of ${t.path}`}>${t.changes.map((s,o)=>a`${o===0?l:a`<span class="line fold">⋯</span>`}${Te(s).map(ke)}`)}</div>
    </div>
    ${r}`}function ke(t){return typeof t=="number"?a`<span class="line fold">⋯ ${t} unchanged lines</span>`:a`<span class="line" data-sign=${t.sign}><span class="sign">${t.sign}</span>${h(t.text)}</span>`}function Te(t){let e=new Set;t.forEach((s,o)=>{if(s.sign!==" ")for(let n=o-le;n<=o+le;n++)e.add(n)});let r=[];return t.forEach((s,o)=>{let n=r.at(-1);e.has(o)?r.push(s):typeof n=="number"?r[r.length-1]=n+1:r.push(1)}),r}function ce(t,e){let r;try{r=F(e)}catch(o){return`Invalid JSON: ${o instanceof Error?o.message:String(o)}`}let s=typeof r=="object"&&r!==null&&!Array.isArray(r);return t.method==="tools/call"&&!s?"Arguments are a JSON object.":{args:r}}var Ae={once:"Once",context:"In this context",minutes:"For 10 minutes",pattern:"By pattern…"},C=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},busy:{attribute:!1},mayReject:{attribute:!1},scope:{state:!0},patterns:{state:!0},chosenHost:{state:!0},editing:{state:!0},error:{state:!0}};static styles=[S,E,v`
      form {
        display: grid;
        gap: var(--space-3);
      }
      .scope {
        position: relative; /* contains the unseen label */
        flex: 1 1 10rem; /* in a narrow card it fills the line of Approve */
        max-width: 11rem;
        font-size: var(--text-s);
      }
      .scope select {
        min-height: 2rem;
        padding-block: 0;
      }
      @media (pointer: coarse) {
        .scope select {
          min-height: 2.5rem;
        }
      }
      fieldset {
        display: grid;
        gap: var(--space-3);
        min-width: 0;
        margin: 0;
        padding: 0;
        border: 0;
      }
      legend {
        margin-bottom: var(--space-1);
        padding: 0;
      }
      textarea,
      .pattern {
        font-family: var(--mono);
        font-size: 0.8125rem;
      }
      textarea {
        min-height: 8rem;
        resize: vertical;
      }
    `];shownFor="";constructor(){super(),this.scope="once",this.patterns=null,this.chosenHost="",this.editing=!1,this.error=""}willUpdate(e){!e.has("proposal")||this.shownFor===this.proposal.id||(this.shownFor=this.proposal.id,this.patterns=R(this.proposal),this.scope="once",this.editing=!1)}get runner(){let e=this.proposal;return e.owner||(D(this.state.participants.values(),e,this.shell.you).includes(this.chosenHost)?this.chosenHost:"")}get mayGrant(){return this.shell.may("capability.grant")&&this.shell.may("mcp.request")&&this.proposal.from!==this.shell.you}render(){let e=this.proposal,r=this.runner;return a`<form @submit=${this.submit} @keydown=${this.key}>
      ${e.owner===""?this.hosts(r):l} ${this.editing?this.editor():l} ${this.mayGrant&&this.scope==="pattern"?this.patternFields():l}
      <div class="row">
        <button class="button main" type="submit" ?disabled=${this.busy||r===""}>${this.busy?"Sending…":this.editing?"Approve edited call":"Approve"}</button>
        ${this.mayGrant&&!this.editing?this.scopes():l}
        ${this.shell.may("mcp.request")?a`<button class="button" type="button" @click=${this.edit}>${this.editing?"Cancel edit":"Edit"}</button>`:l}
        ${this.mayReject?a`<button class="button bad" type="button" ?disabled=${this.busy} @click=${()=>this.dispatchEvent(new CustomEvent("reject"))}>Reject…</button>`:l}
      </div>
      <p class="faint">${this.consequence(r)}</p>
      ${A(this.error)}
    </form>`}scopes(){return a`<label class="scope"><span class="unseen">Allow</span>
      <select name="scope" @change=${e=>this.scope=e.target.value}>
        ${re(this.proposal).map(e=>a`<option value=${e} .selected=${e===this.scope}>${Ae[e]}</option>`)}
      </select>
    </label>`}hosts(e){return a`<label class="field-label">The proposal does not name the participant that runs this tool.
      <select @change=${r=>this.chosenHost=r.target.value}>
        <option value="" .selected=${e===""}>Choose a participant</option>
        ${D(this.state.participants.values(),this.proposal,this.shell.you).map(r=>a`<option value=${r} .selected=${r===e}>${u(r)}</option>`)}
      </select>
    </label>`}editor(){return a`<label class="field-label">Arguments to send
      <textarea name="args" spellcheck="false" rows="8" .defaultValue=${m(this.proposal.args??{})}></textarea>
    </label>`}patternFields(){let e=this.patterns??R(this.proposal),r=this.proposal.method==="tools/call";return a`<fieldset>
      <legend class="quiet">${u(this.proposal.from)} may then call, without approval:</legend>
      ${r?a`<label class="field-label">Tool<input class="field pattern" required maxlength="512" .value=${e.tool} @input=${s=>this.patterns={...e,tool:s.target.value}} /></label>`:l}
      ${Object.entries(e.args).map(([s,o])=>a`<label class="field-label">${s}<input class="field pattern" placeholder="Any value" maxlength="4096" .value=${o} @input=${n=>this.patterns={...e,args:{...e.args,[s]:n.target.value}}} /></label>`)}
      <label class="field-label">Duration
        <select @change=${s=>this.patterns={...e,seconds:Number(s.target.value)}}>
          ${ee.map(([s,o])=>a`<option value=${s} .selected=${s===e.seconds}>${o}</option>`)}
        </select>
      </label>
    </fieldset>`}consequence(e){let r=this.proposal,s=e===""?"the participant that you choose":u(e),o=`Approving sends ${this.editing?"the edited":"exactly this"} call in your name to ${s}.`,n=this.mayGrant&&!this.editing?_(r,this.scope,e,this.patterns??R(r)):null;if(n===null)return this.mayReject?o:`${o} You cannot reject it.`;let i=this.scope==="context"?" Ends after an hour at the latest.":"";return a`${o}${this.mayReject?"":" You cannot reject it."} <b>${u(r.from)}</b> then needs no approval for this: ${H([n]).map(p=>k(p))}${i}`}edit=()=>{this.editing=!this.editing,this.error="",this.updateComplete.then(()=>this.renderRoot.querySelector(this.editing?"textarea":".button.main")?.focus())};key=e=>{e.key!=="Escape"||!this.editing||(e.preventDefault(),this.edit())};submit=e=>{e.preventDefault();let r=this.proposal,s=this.runner;if(this.error="",!this.editing){let n=this.mayGrant?se(r,this.scope,s,this.patterns??R(r)):null;this.emit({request:G(r,O(),s),grant:n});return}let o=ce(r,this.renderRoot.querySelector("textarea")?.value??"");typeof o=="string"?this.error=o:this.emit({request:X(r,O(),o.args,s),grant:null})};emit(e){this.dispatchEvent(new CustomEvent("approval",{detail:e}))}};$("meup-approve-form",C);var de=v`
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
`;function Pe(t){let e=t.decidedBy===""?"":` by ${w(t.decidedBy)}`;switch(t.status){case"pending":return{tone:"wait",sign:"decide",words:"Awaiting approval"};case"approved":return t.done?t.failed?{tone:"bad",sign:"stop",words:`Approved${e}, failed`}:{tone:"good",sign:"check",words:`Approved${e}, done`}:{tone:"good",sign:"run",words:`Approved${e}, running`};case"rejected":return{tone:"bad",sign:"cross",words:`Rejected${e}`};case"withdrawn":return{tone:"quiet",sign:"reply",words:`Withdrawn${e}`};case"expired":return{tone:"wait",sign:"time",words:t.lapsed?"Expired: the reasoning ended without a decision":"Expired: no decision in time"};case"settled":return{tone:"quiet",sign:"people",words:`Already decided${e}`}}}function ue(t){let e=Pe(t);return a`<div class="fate" data-tone=${e.tone}>
    <p class="row">${e.sign==="run"?a`<span class="spinner" aria-hidden="true"></span>`:Q(e.sign)}<b class="grow">${e.words}</b>${t.decidedAt===null?l:T(t.decidedAt)}</p>
    ${De(t)} ${Oe(t)} ${Le(t)}
  </div>`}function De(t){if(t.status==="approved"||t.status==="expired"||t.reason===""&&t.explanation==="")return l;let e=t.reason==="other"&&t.explanation!==""?"":t.reason.replaceAll("_"," ");return a`<p class="small">${x(e)}${t.explanation===""?l:a`${e===""?"":": "}${x(t.explanation)}`}</p>`}function Oe(t){return t.approvedArgs===void 0?l:a`<p class="small">Approved with different arguments:</p>
    <pre tabindex="0">${h(m(t.approvedArgs))}</pre>`}function Le(t){return t.done?a`<p class="small">${x(t.summary||"success")}</p>
    ${t.result===void 0?l:a`<details><summary>Result</summary><pre tabindex="0">${h(m(t.result).slice(0,5e4))}</pre></details>`}`:l}var qe={disagree:"Disagree",unsafe:"Unsafe",inappropriate:"Inappropriate",policy:"Against policy",duplicate:"Already done",invalid:"Invalid",no_longer_needed:"No longer needed",busy:"Not now",other:"Other"},I=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},busy:{attribute:!1},messageMissing:{state:!0}};static styles=[S,E,v`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];render(){return a`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Reason
        <select name="reason">
          ${Y.map(e=>a`<option value=${e}>${qe[e]}</option>`)}
        </select>
      </label>
      <label class="field-label">Message to ${u(this.proposal.from)}
        <textarea name="words" rows="2" maxlength="2000" aria-invalid=${this.messageMissing===!0?"true":"false"} @input=${()=>this.messageMissing=!1}></textarea>
      </label>
      ${this.messageMissing===!0?a`<p class="refused" role="alert">Enter a message.</p>`:l}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>${this.busy?"Sending…":"Reject"}</button>
        <button class="button" type="button" @click=${this.cancel}>Cancel</button>
      </div>
    </form>`}firstUpdated(){this.renderRoot.querySelector("select")?.focus()}submit=e=>{e.preventDefault();let r=new FormData(e.target),s=String(r.get("reason")??""),o=String(r.get("words")??"").trim();this.messageMissing=s==="other"&&o==="",this.messageMissing||this.dispatchEvent(new CustomEvent("draft",{detail:J(this.proposal,s,o)}))};key=e=>{e.key==="Escape"&&(e.preventDefault(),this.cancel())};cancel=()=>{this.dispatchEvent(new CustomEvent("cancel"))}};$("meup-reject-form",I);var N=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},past:{attribute:!1},chosen:{type:Boolean,reflect:!0},inline:{type:Boolean},rejecting:{state:!0},busy:{state:!0},error:{state:!0},all:{state:!0}};static styles=[S,E,de];render(){let e=this.proposal;return a`<article class="card" data-status=${e.status} aria-label=${`${w(e.from)} proposes ${u(e.tool)}`}>
      <header class="row">
        ${K(e.from,!0)}
        <div class="grow"><span class="name">${u(e.from)}</span> ${U(e.from)} <span class="quiet">${e.status==="pending"?"wants":"wanted"} to call</span></div>
        ${T(e.at)} ${this.inline?q(this.shell,e.id):l}
      </header>
      <p class="call"><code>${h(e.tool)}</code>${e.owner===""?l:a` <span class="quiet">of</span> <span class="name">${h(e.owner)}</span>`}</p>
      ${e.rationale===""?l:a`<p class="why">${x(e.rationale,r=>B(r,k))}</p>`} ${this.warnings(e)} ${pe(e,this.all===!0,()=>this.all=!0)}
      ${e.to.length===0?l:a`<p class="faint">Sent only to ${e.to.map(r=>r===this.shell.you?"you":w(r)).join(", ")}.</p>`}
      ${e.status==="pending"?l:ue(e)} ${e.status==="pending"?this.decision(e):l} ${A(this.error??"")}
      ${this.inline?l:a`<footer class="row">${Z(this.shell,e.id)}<span class="grow"></span>${q(this.shell,e.id)}</footer>`}
    </article>`}warnings(e){let r=[];z(e.tool+e.owner+m(e.params??null))&&r.push("This call contains invisible characters. They are shown as codes.");let s=[...this.state.participants.values()].flatMap(i=>i.tools.map(p=>p.name)),[o]=s.includes(e.tool)?[]:L(e.tool,s);o!==void 0&&r.push(`The tool's name looks like ${u(o)}, but is different.`);let[n]=e.owner===""||this.state.participants.has(e.owner)?[]:L(e.owner,this.state.participants.keys());return n!==void 0&&r.push(`The owner's name looks like ${u(n)}, but is different.`),r.length===0?l:a`${r.map(i=>a`<p class="warning">${i}</p>`)}`}decision(e){if(this.past)return a`<p class="faint">You are viewing the past. Proposals cannot be decided here.</p>`;if(this.rejecting===!0)return a`<meup-reject-form .busy=${this.busy===!0} @cancel=${this.stopRejecting} .shell=${this.shell} .proposal=${e} @draft=${o=>{this.send(o.detail)}}></meup-reject-form>`;let{present:r=!1}=this.state.participants.get(e.from)??{},s=r||e.from===this.shell.you?l:a`<p class="faint">${w(e.from)} is offline and may not see the decision.</p>`;return a`${s}${e.from===this.shell.you?this.own(e):this.others(e)}`}own(e){return this.shell.may("mcp.withdraw")?a`<div class="row"><button class="button" ?disabled=${this.busy} @click=${()=>{this.send(W(e))}}>Withdraw</button> <span class="quiet">You proposed this.</span></div>`:a`<p class="quiet">You proposed this. Others decide.</p>`}others(e){let{shell:r}=this,s=r.may("decide"),o=s||r.may("mcp.request"),n=s||r.may("mcp.reject");return!o&&!n?a`<p class="quiet">You cannot decide this: you may neither call tools nor reject proposals.</p>`:o?a`<meup-approve-form .shell=${r} .proposal=${e} .state=${this.state} .busy=${this.busy===!0} .mayReject=${n} @approval=${i=>{this.approve(i.detail)}} @reject=${this.startRejecting}></meup-approve-form>`:a`<div class="row"><button class="button bad" ?disabled=${this.busy} @click=${this.startRejecting}>Reject…</button></div><p class="faint">You can reject this. Approving it requires the right to call tools.</p>`}startRejecting=()=>{this.rejecting=!0};stopRejecting=()=>{this.rejecting=!1,this.updateComplete.then(async()=>{let e=this.renderRoot.querySelector("meup-approve-form");await e?.updateComplete,(e?.renderRoot??this.renderRoot).querySelector(".button.bad")?.focus()})};async approve({request:e,grant:r}){if(!await this.send(e)||r===null)return;let s=await this.shell.send(r),o=u(this.proposal.from);this.shell.toast(s.ok?`Approved, and access granted to ${o}`:`Approved once. No access for ${o}: ${s.refusal}`)}async send(e){this.busy=!0,this.error="";let r=await this.shell.send(e);return this.busy=!1,r.ok?(this.rejecting=!1,this.dispatchEvent(new CustomEvent("decided",{bubbles:!0,composed:!0})),!0):(this.error=r.refusal,!1)}};$("meup-proposal-card",N);export{N as a};
//# sourceMappingURL=/assets/chunk-BEBYTONK.js.map
