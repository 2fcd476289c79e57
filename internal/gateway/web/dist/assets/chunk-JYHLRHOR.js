import{b as te}from"/assets/chunk-6NDKMN3O.js";import{a as U,c as w}from"/assets/chunk-XUXW3L7Q.js";import{a as O,b as Y,e as G,f as X,g as J,h as W,j as V}from"/assets/chunk-BQX6YNMI.js";import{a as H}from"/assets/chunk-AEJNZ2QC.js";import{a as D}from"/assets/chunk-URRM4PYW.js";import{a as S,b as h,d as k,f as q,g as ee,j as T,k as E}from"/assets/chunk-KBYAXHMJ.js";import{a as K}from"/assets/chunk-OMM35DFZ.js";import{i as Q,j as x,n as Z}from"/assets/chunk-TZMTLOK3.js";import{D as z,I as L,K as $,M as A,N as B,Q as u,S as m,b as v,c as a,f as l,h as b,i as F,s as j}from"/assets/chunk-UUO2J6FF.js";var me=8,fe=3600,se=600;function re(t){return["once",...t.context===""?[]:["context"],"minutes","pattern"]}function R(t){let s=(j(t.args)?Object.entries(t.args):[]).filter(r=>typeof r[1]=="string"&&/^[\w-]+$/u.test(r[0])).slice(0,me);return{tool:y(t.tool),args:Object.fromEntries(s.map(([r,o])=>[r,y(o)])),seconds:se}}function y(t){return/^[\p{L}\p{N}_.][^*!?[\]{}\\]*$/u.test(t)?t:`/^${t.replace(/[\\^$.*+?()[\]{}|/-]/gu,"\\$&").replaceAll(`
`,"\\n")}$/`}function M(t,e,s,r){if(e==="once")return null;let o={kind:"mcp.request",to:[y(s)]},n=t.method==="tools/call";if(e!=="pattern"){let c={method:y(t.method),...n&&{params:{name:y(t.tool)}}};return{...o,payload:c,...e==="context"&&{context:y(ge(t))}}}let i=Object.fromEntries(Object.entries(r.args).filter(([,c])=>c!=="")),p=Object.keys(i).length===0?{}:n?{arguments:i}:i;return{...o,payload:{method:y(t.method),params:{...n&&{name:r.tool},...p}}}}function oe(t,e,s,r){let o=M(t,e,s,r);if(o===null)return null;let n=e==="context"?fe:e==="minutes"?se:r.seconds;return{...V(t.from,[o],n,`allowed with the approval of ${t.tool}`),correlationId:t.id}}function ge(t){return t.context.split("/")[0]??""}var ye=["path","file_path","filePath","filename","file"],ne=[["old_string","new_string"],["old_str","new_str"],["oldText","newText"],["old_text","new_text"]],ve=["content","contents","file_text","text"],be=["patch","diff"],$e=/write|create|save|append|put_file/iu,we=5e3,xe=1e6;function ie(t,e){if(!j(e))return null;let s=ye.find(n=>typeof e[n]=="string"&&e[n]!==""),r=s===void 0?null:Se(t,e);if(s===void 0||r===null||r.changes.length===0||r.changes.some(n=>n.length>2*we))return null;let o=new Set([s,...r.keys]);return{path:String(e[s]),changes:r.changes,rest:Object.fromEntries(Object.entries(e).filter(([n])=>!o.has(n)))}}function Se(t,e){for(let[n,i]of ne){let p=ae(e,n,i);if(p!==null)return{changes:[p],keys:[n,i]}}let s=e.edits;if(Array.isArray(s)){let n=s.map(i=>j(i)&&Object.keys(i).length===2?ne.map(([p,c])=>ae(i,p,c)).find(p=>p!==null)??null:null);return n.every(i=>i!==null)?{changes:n,keys:["edits"]}:null}let r=be.find(n=>typeof e[n]=="string"&&/^@@ /mu.test(String(e[n])));if(r!==void 0)return{changes:[Ee(String(e[r]))],keys:[r]};let o=$e.test(t)?ve.find(n=>typeof e[n]=="string"):void 0;return o===void 0?null:{changes:[P(String(e[o])).map(n=>({sign:"+",text:n}))],keys:[o]}}function ae(t,e,s){let r=t[e],o=t[s];return typeof r=="string"&&typeof o=="string"?je(r,o):null}function Ee(t){return P(t).map(e=>{let s=e.charAt(0);return/^(?:\+\+\+|---|@@|diff |index )/u.test(e)?{sign:"@",text:e}:s==="+"||s==="-"?{sign:s,text:e.slice(1)}:{sign:" ",text:s===" "?e.slice(1):e}})}function P(t){return t===""?[]:t.split(`
`)}function je(t,e){let s=P(t),r=P(e),o=0;for(;o<s.length&&o<r.length&&s[o]===r[o];)o++;let n=0;for(;n<s.length-o&&n<r.length-o&&s[s.length-1-n]===r[r.length-1-n];)n++;let i=Re(s.slice(o,s.length-n),r.slice(o,r.length-n));return[...s.slice(0,o).map(_),...i,...s.slice(s.length-n).map(_)]}function _(t){return{sign:" ",text:t}}function Re(t,e){let s=d=>({sign:"-",text:d}),r=d=>({sign:"+",text:d});if(t.length*e.length>xe||t.length===0||e.length===0)return[...t.map(s),...e.map(r)];let o=e.length+1,n=new Uint32Array((t.length+1)*o),i=(d,f)=>n[d*o+f]??0;for(let d=t.length-1;d>=0;d--)for(let f=e.length-1;f>=0;f--)n[d*o+f]=t[d]===e[f]?i(d+1,f+1)+1:Math.max(i(d+1,f),i(d,f+1));let p=[],c=0,g=0;for(;c<t.length&&g<e.length;)t[c]===e[g]?(p.push(_(t[c++])),g++):i(c+1,g)>=i(c,g+1)?p.push(s(t[c++])):p.push(r(e[g++]));return[...p,...t.slice(c).map(s),...e.slice(g).map(r)]}var le=2e4,pe=3;function ce(t,e,s){let r=t.method==="tools/call"?ie(t.tool,t.args):null,o=t.method==="tools/call"?"Arguments":a`Parameters of <code>${h(t.method)}</code>`,n=m(t.args??{}),i=n.length>le&&!e,p=i?a`<button class="words small" @click=${s}>Show all ${n.length.toLocaleString()} characters</button>`:l,c=a`<pre tabindex="0" aria-label="Arguments">${h(i?n.slice(0,le):n)}</pre>`;return r===null?a`<div><h3>${o}</h3>${c}${p}</div>`:a`<div class="stack">
    ${Ae(r)}
    <details><summary>Exact arguments</summary>${c}${p}</details>
  </div>`}function Ae(t){let e=r=>t.changes.flat().filter(o=>o.sign===r).length,s=Object.keys(t.rest).length===0?l:a`<pre tabindex="0" aria-label="Other arguments">${h(m(t.rest))}</pre>`;return a`<div class="edit">
      <p class="edit-head"><code>${h(t.path)}</code> <span class="added">+${e("+").toLocaleString()}</span> <span class="removed">−${e("-").toLocaleString()}</span></p>
      <div class="diff" tabindex="0" role="group" aria-label=${`Changes of ${t.path}`}>${t.changes.map((r,o)=>a`${o===0?l:a`<span class="line fold">⋯</span>`}${Te(r).map(ke)}`)}</div>
    </div>
    ${s}`}function ke(t){return typeof t=="number"?a`<span class="line fold">⋯ ${t} unchanged lines</span>`:a`<span class="line" data-sign=${t.sign}><span class="sign">${t.sign}</span>${h(t.text)}</span>`}function Te(t){let e=new Set;t.forEach((r,o)=>{if(r.sign!==" ")for(let n=o-pe;n<=o+pe;n++)e.add(n)});let s=[];return t.forEach((r,o)=>{let n=s.at(-1);e.has(o)?s.push(r):typeof n=="number"?s[s.length-1]=n+1:s.push(1)}),s}function de(t,e){let s;try{s=F(e)}catch(o){return`Invalid JSON: ${o instanceof Error?o.message:String(o)}`}let r=typeof s=="object"&&s!==null&&!Array.isArray(s);return t.method==="tools/call"&&!r?"Arguments are a JSON object.":{args:s}}var Pe={once:"Once",context:"In this context",minutes:"For 10 minutes",pattern:"By pattern…"},I=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},busy:{attribute:!1},mayReject:{attribute:!1},scope:{state:!0},patterns:{state:!0},chosenHost:{state:!0},editing:{state:!0},error:{state:!0}};static styles=[S,E,v`
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
    `];shownFor="";constructor(){super(),this.scope="once",this.patterns=null,this.chosenHost="",this.editing=!1,this.error=""}willUpdate(e){!e.has("proposal")||this.shownFor===this.proposal.id||(this.shownFor=this.proposal.id,this.patterns=R(this.proposal),this.scope="once",this.editing=!1)}get runner(){let e=this.proposal;return e.owner||(D(this.state.participants.values(),e,this.shell.you).includes(this.chosenHost)?this.chosenHost:"")}get mayGrant(){return this.shell.may("capability.grant")&&this.shell.may("mcp.request")&&this.proposal.from!==this.shell.you}render(){let e=this.proposal,s=this.runner;return a`<form @submit=${this.submit} @keydown=${this.key}>
      ${e.owner===""?this.hosts(s):l} ${this.editing?this.editor():l} ${this.mayGrant&&this.scope==="pattern"?this.patternFields():l}
      <div class="row">
        <button class="button main" type="submit" ?disabled=${this.busy||s===""}>${this.busy?"Sending…":this.editing?"Approve edited call":"Approve"}</button>
        ${this.mayGrant&&!this.editing?this.scopes():l}
        ${this.shell.may("mcp.request")?a`<button class="button" type="button" @click=${this.edit}>${this.editing?"Cancel edit":"Edit"}</button>`:l}
        ${this.mayReject?a`<button class="button bad" type="button" ?disabled=${this.busy} @click=${()=>this.dispatchEvent(new CustomEvent("reject"))}>Reject…</button>`:l}
      </div>
      <p class="faint">${this.consequence(s)}</p>
      ${T(this.error)}
    </form>`}scopes(){return a`<label class="scope"><span class="unseen">Allow</span>
      <select name="scope" @change=${e=>this.scope=e.target.value}>
        ${re(this.proposal).map(e=>a`<option value=${e} .selected=${e===this.scope}>${Pe[e]}</option>`)}
      </select>
    </label>`}hosts(e){return a`<label class="field-label">The proposal does not name the participant that runs this tool.
      <select @change=${s=>this.chosenHost=s.target.value}>
        <option value="" .selected=${e===""}>Choose a participant</option>
        ${D(this.state.participants.values(),this.proposal,this.shell.you).map(s=>a`<option value=${s} .selected=${s===e}>${u(s)}</option>`)}
      </select>
    </label>`}editor(){return a`<label class="field-label">Arguments to send
      <textarea name="args" spellcheck="false" rows="8" .defaultValue=${m(this.proposal.args??{})}></textarea>
    </label>`}patternFields(){let e=this.patterns??R(this.proposal),s=this.proposal.method==="tools/call";return a`<fieldset>
      <legend class="quiet">${u(this.proposal.from)} may then call, without approval:</legend>
      ${s?a`<label class="field-label">Tool<input class="field pattern" required maxlength="512" .value=${e.tool} @input=${r=>this.patterns={...e,tool:r.target.value}} /></label>`:l}
      ${Object.entries(e.args).map(([r,o])=>a`<label class="field-label">${r}<input class="field pattern" placeholder="Any value" maxlength="4096" .value=${o} @input=${n=>this.patterns={...e,args:{...e.args,[r]:n.target.value}}} /></label>`)}
      <label class="field-label">Duration
        <select @change=${r=>this.patterns={...e,seconds:Number(r.target.value)}}>
          ${te.map(([r,o])=>a`<option value=${r} .selected=${r===e.seconds}>${o}</option>`)}
        </select>
      </label>
    </fieldset>`}consequence(e){let s=this.proposal,r=e===""?"the participant that you choose":u(e),o=`Approving sends ${this.editing?"the edited":"exactly this"} call in your name to ${r}.`,n=this.mayGrant&&!this.editing?M(s,this.scope,e,this.patterns??R(s)):null;if(n===null)return this.mayReject?o:`${o} You cannot reject it.`;let i=this.scope==="context"?" Ends after an hour at the latest.":"";return a`${o}${this.mayReject?"":" You cannot reject it."} <b>${u(s.from)}</b> then needs no approval for this: ${H([n]).map(p=>A(p))}${i}`}edit=()=>{this.editing=!this.editing,this.error="",this.updateComplete.then(()=>this.renderRoot.querySelector(this.editing?"textarea":".button.main")?.focus())};key=e=>{e.key!=="Escape"||!this.editing||(e.preventDefault(),this.edit())};submit=e=>{e.preventDefault();let s=this.proposal,r=this.runner;if(this.error="",!this.editing){let n=this.mayGrant?oe(s,this.scope,r,this.patterns??R(s)):null;this.emit({request:G(s,O(),r),grant:n});return}let o=de(s,this.renderRoot.querySelector("textarea")?.value??"");typeof o=="string"?this.error=o:this.emit({request:X(s,O(),o.args,r),grant:null})};emit(e){this.dispatchEvent(new CustomEvent("approval",{detail:e}))}};$("meup-approve-form",I);var ue=v`
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
`;function De(t){let e=t.decidedBy===""?"":` by ${w(t.decidedBy)}`;switch(t.status){case"pending":return{tone:"wait",sign:"decide",words:"Awaiting approval"};case"approved":return t.done?t.failed?{tone:"bad",sign:"stop",words:`Approved${e}, failed`}:{tone:"good",sign:"check",words:`Approved${e}, done`}:{tone:"good",sign:"run",words:`Approved${e}, running`};case"rejected":return{tone:"bad",sign:"cross",words:`Rejected${e}`};case"withdrawn":return{tone:"quiet",sign:"reply",words:`Withdrawn${e}`};case"expired":return{tone:"wait",sign:"time",words:t.lapsed&&(t.decidedAt??0)<(t.expiresAt??1/0)?"Expired: the reasoning ended without a decision":"Expired: no decision in time"};case"settled":return{tone:"quiet",sign:"people",words:`Already decided${e}`}}}function he(t){let e=De(t);return a`<div class="fate" data-tone=${e.tone}>
    <p class="row">${e.sign==="run"?a`<span class="spinner" aria-hidden="true"></span>`:Q(e.sign)}<b class="grow">${e.words}</b>${t.decidedAt===null?l:k(t.decidedAt)}</p>
    ${Oe(t)} ${Le(t)} ${qe(t)}
  </div>`}function Oe(t){if(t.status==="approved"||t.status==="expired"||t.reason===""&&t.explanation==="")return l;let e=t.reason==="other"&&t.explanation!==""?"":t.reason.replaceAll("_"," ");return a`<p class="small">${x(e)}${t.explanation===""?l:a`${e===""?"":": "}${x(t.explanation)}`}</p>`}function Le(t){return t.approvedArgs===void 0?l:a`<p class="small">Approved with different arguments:</p>
    <pre tabindex="0">${h(m(t.approvedArgs))}</pre>`}function qe(t){return t.done?a`<p class="small">${x(t.summary||"success")}</p>
    ${t.result===void 0?l:a`<details><summary>Result</summary><pre tabindex="0">${h(m(t.result).slice(0,5e4))}</pre></details>`}`:l}var Me={disagree:"Disagree",unsafe:"Unsafe",inappropriate:"Inappropriate",policy:"Against policy",duplicate:"Already done",invalid:"Invalid",no_longer_needed:"No longer needed",busy:"Not now",other:"Other"},C=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},busy:{attribute:!1},messageMissing:{state:!0}};static styles=[S,E,v`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];render(){return a`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Reason
        <select name="reason">
          ${Y.map(e=>a`<option value=${e}>${Me[e]}</option>`)}
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
    </form>`}firstUpdated(){this.renderRoot.querySelector("select")?.focus()}submit=e=>{e.preventDefault();let s=new FormData(e.target),r=String(s.get("reason")??""),o=String(s.get("words")??"").trim();this.messageMissing=r==="other"&&o==="",this.messageMissing||this.dispatchEvent(new CustomEvent("draft",{detail:J(this.proposal,r,o)}))};key=e=>{e.key==="Escape"&&(e.preventDefault(),this.cancel())};cancel=()=>{this.dispatchEvent(new CustomEvent("cancel"))}};$("meup-reject-form",C);var N=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},past:{attribute:!1},chosen:{type:Boolean,reflect:!0},inline:{type:Boolean},rejecting:{state:!0},busy:{state:!0},error:{state:!0},all:{state:!0}};static styles=[S,E,ue];render(){let e=this.proposal;return a`<article class="card" data-status=${e.status} aria-label=${`${w(e.from)} proposes ${u(e.tool)}`}>
      <header class="row">
        ${K(e.from,!0)}
        <div class="grow"><span class="name">${u(e.from)}</span> ${U(e.from)} <span class="quiet">${e.status==="pending"?"wants":"wanted"} to call</span></div>
        ${k(e.at)} ${this.inline?q(this.shell,e.id):l}
      </header>
      <p class="call"><code>${h(e.tool)}</code>${e.owner===""?l:a` <span class="quiet">of</span> <span class="name">${h(e.owner)}</span>`}</p>
      ${e.rationale===""?l:a`<p class="why">${x(e.rationale,s=>B(s,A))}</p>`} ${this.warnings(e)} ${ce(e,this.all===!0,()=>this.all=!0)}
      ${e.to.length===0?l:a`<p class="faint">Sent only to ${e.to.map(s=>s===this.shell.you?"you":w(s)).join(", ")}.</p>`}
      ${e.status==="pending"?l:he(e)} ${e.status==="pending"?this.decision(e):l} ${T(this.error??"")}
      ${this.inline?l:a`<footer class="row">${ee(this.shell,e.id)}<span class="grow"></span>${q(this.shell,e.id)}</footer>`}
    </article>`}warnings(e){let s=[];z(e.tool+e.owner+m(e.params??null))&&s.push("This call contains invisible characters. They are shown as codes.");let r=[...this.state.participants.values()].flatMap(i=>i.tools.map(p=>p.name)),[o]=r.includes(e.tool)?[]:L(e.tool,r);o!==void 0&&s.push(`The tool's name looks like ${u(o)}, but is different.`);let[n]=e.owner===""||this.state.participants.has(e.owner)?[]:L(e.owner,this.state.participants.keys());return n!==void 0&&s.push(`The owner's name looks like ${u(n)}, but is different.`),s.length===0?l:a`${s.map(i=>a`<p class="warning">${i}</p>`)}`}decision(e){if(this.past)return a`<p class="faint">You are viewing the past. Proposals cannot be decided here.</p>`;if(this.rejecting===!0)return a`<meup-reject-form .busy=${this.busy===!0} @cancel=${this.stopRejecting} .shell=${this.shell} .proposal=${e} @draft=${n=>{this.send(n.detail)}}></meup-reject-form>`;let{present:s=!1}=this.state.participants.get(e.from)??{},r=e.expiresAt===null?l:a`<p class="faint">Expires ${Z(e.expiresAt,this.shell.now())}.</p>`,o=s||e.from===this.shell.you?l:a`<p class="faint">${w(e.from)} is offline and may not see the decision.</p>`;return a`${r}${o}${e.from===this.shell.you?this.own(e):this.others(e)}`}own(e){return this.shell.may("mcp.withdraw")?a`<div class="row"><button class="button" ?disabled=${this.busy} @click=${()=>{this.send(W(e))}}>Withdraw</button> <span class="quiet">You proposed this.</span></div>`:a`<p class="quiet">You proposed this. Others decide.</p>`}others(e){let{shell:s}=this,r=s.may("decide"),o=r||s.may("mcp.request"),n=r||s.may("mcp.reject");return!o&&!n?a`<p class="quiet">You cannot decide this: you may neither call tools nor reject proposals.</p>`:o?a`<meup-approve-form .shell=${s} .proposal=${e} .state=${this.state} .busy=${this.busy===!0} .mayReject=${n} @approval=${i=>{this.approve(i.detail)}} @reject=${this.startRejecting}></meup-approve-form>`:a`<div class="row"><button class="button bad" ?disabled=${this.busy} @click=${this.startRejecting}>Reject…</button></div><p class="faint">You can reject this. Approving it requires the right to call tools.</p>`}startRejecting=()=>{this.rejecting=!0};stopRejecting=()=>{this.rejecting=!1,this.updateComplete.then(async()=>{let e=this.renderRoot.querySelector("meup-approve-form");await e?.updateComplete,(e?.renderRoot??this.renderRoot).querySelector(".button.bad")?.focus()})};async approve({request:e,grant:s}){if(!await this.send(e)||s===null)return;let r=await this.shell.send(s),o=u(this.proposal.from);this.shell.toast(r.ok?`Approved, and access granted to ${o}`:`Approved once. No access for ${o}: ${r.refusal}`)}async send(e){this.busy=!0,this.error="";let s=await this.shell.send(e);return this.busy=!1,s.ok?(this.rejecting=!1,this.dispatchEvent(new CustomEvent("decided",{bubbles:!0,composed:!0})),!0):(this.error=s.refusal,!1)}};$("meup-proposal-card",N);export{N as a};
//# sourceMappingURL=/assets/chunk-JYHLRHOR.js.map
