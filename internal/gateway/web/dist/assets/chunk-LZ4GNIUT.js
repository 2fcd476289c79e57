import{b as ne}from"/assets/chunk-NJCHULBH.js";import{a as re}from"/assets/chunk-4E3Y5Y66.js";import{a as X,c as x}from"/assets/chunk-NY4LDRNN.js";import{a as L,b as Y,e as V,f as J,g as W,h as K,j as Q}from"/assets/chunk-KKY4GYYG.js";import{b as U}from"/assets/chunk-KFY6CCNZ.js";import{a as B}from"/assets/chunk-KKXILF76.js";import{a as D}from"/assets/chunk-URRM4PYW.js";import{a as S,b as m,d as k,f as q,g as se,j as P,k as j}from"/assets/chunk-IGEW5526.js";import{a as Z}from"/assets/chunk-SUG44J2H.js";import{i as ee,j as E,n as te}from"/assets/chunk-VSIX4I2Q.js";import{D as z,I as O,K as w,M as A,N as G,Q as u,S as f,b as v,c as a,f as l,h as b,i as H,k as F,s as $}from"/assets/chunk-6D3SX3BW.js";var be=8,$e=3600,oe=600,we=256;function ae(t){return le(t)===null?["once","pattern"]:["once",...t.context===""?[]:["context"],"minutes","pattern"]}function R(t){let r=($(t.args)?Object.entries(t.args):[]).filter(s=>typeof s[1]=="string"&&/^[\w-]+$/u.test(s[0])).slice(0,be);return{tool:y(t.tool),args:Object.fromEntries(r.map(([s,n])=>[s,y(n)])),seconds:oe}}function y(t){return/^[\p{L}\p{N}_.][^*!?[\]{}\\]*$/u.test(t)?t:`/^${t.replace(/[\\^$.*+?()[\]{}|/-]/gu,"\\$&").replaceAll(`
`,"\\n")}$/`}function M(t,e,r,s){if(e==="once")return null;let n={kind:"mcp.request",to:[y(r)]},o=t.method==="tools/call";if(e!=="pattern"){let c=le(t);if(c===null)return null;let h={method:y(t.method),...o&&{params:{name:y(t.tool),...c}}};return{...n,payload:h,...e==="context"&&{context:y(xe(t))}}}let i=Object.fromEntries(Object.entries(s.args).filter(([,c])=>c!=="")),p=Object.keys(i).length===0?{}:o?{arguments:i}:i;return{...n,payload:{method:y(t.method),params:{...o&&{name:s.tool},...p}}}}function ie(t,e,r,s){let n=M(t,e,r,s);if(n===null)return null;let o=e==="context"?$e:e==="minutes"?oe:s.seconds;return{...Q(t.from,[n],o,`allowed with the approval of ${t.tool}`),correlationId:t.id}}function le(t){if(t.method!=="tools/call"||!$(t.args)||!("command"in t.args))return{};let e=t.args.command;if(typeof e!="string")return null;let r=y(e);return r!==e&&new TextEncoder().encode(r).length>we?null:{arguments:{command:r}}}function xe(t){return t.context.split("/")[0]??""}var Ee=["path","file_path","filePath","filename","file"],pe=[["old_string","new_string"],["old_str","new_str"],["oldText","newText"],["old_text","new_text"]],Se=["content","contents","file_text","text"],je=["patch","diff"],Re=/write|create|save|append|put_file/iu,Ae=5e3,ke=1e6;function de(t,e){if(!$(e))return null;let r=Ee.find(o=>typeof e[o]=="string"&&e[o]!==""),s=r===void 0?null:Pe(t,e);if(r===void 0||s===null||s.changes.length===0||s.changes.some(o=>o.length>2*Ae))return null;let n=new Set([r,...s.keys]);return{path:String(e[r]),changes:s.changes,rest:Object.fromEntries(Object.entries(e).filter(([o])=>!n.has(o)))}}function Pe(t,e){for(let[o,i]of pe){let p=ce(e,o,i);if(p!==null)return{changes:[p],keys:[o,i]}}let r=e.edits;if(Array.isArray(r)){let o=r.map(i=>$(i)&&Object.keys(i).length===2?pe.map(([p,c])=>ce(i,p,c)).find(p=>p!==null)??null:null);return o.every(i=>i!==null)?{changes:o,keys:["edits"]}:null}let s=je.find(o=>typeof e[o]=="string"&&/^@@ /mu.test(String(e[o])));if(s!==void 0)return{changes:[Te(String(e[s]))],keys:[s]};let n=Re.test(t)?Se.find(o=>typeof e[o]=="string"):void 0;return n===void 0?null:{changes:[T(String(e[n])).map(o=>({sign:"+",text:o}))],keys:[n]}}function ce(t,e,r){let s=t[e],n=t[r];return typeof s=="string"&&typeof n=="string"?qe(s,n):null}function Te(t){let e=T(t);return Oe(e.at(-1)===""?e.slice(0,-1):e)??e.map(De)}function De(t){let e=t.charAt(0);return(e==="+"||e==="-")&&!ue.test(t)?{sign:e,text:t.slice(1)}:{sign:"@",text:t}}var ue=/^(?:--- |\+\+\+ |diff --git |index [0-9a-f]+\.\.[0-9a-f]+)/u,Le=/^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/u;function Oe(t){let e=[],r=0,s=0;for(let n of t){let o=n.charAt(0),i=r>0||s>0,p=i?null:Le.exec(n);if(p!==null&&(r=Number(p[1]??"1"),s=Number(p[2]??"1")),p!==null||!i&&ue.test(n)||n==="\\ No newline at end of file"){e.push({sign:"@",text:n});continue}if(!i||o!==" "&&o!=="+"&&o!=="-"||(o!=="+"&&r--,o!=="-"&&s--,r<0||s<0))return null;e.push({sign:o,text:n.slice(1)})}return r>0||s>0?null:e}function T(t){return t===""?[]:t.split(`
`)}function qe(t,e){let r=T(t),s=T(e),n=0;for(;n<r.length&&n<s.length&&r[n]===s[n];)n++;let o=0;for(;o<r.length-n&&o<s.length-n&&r[r.length-1-o]===s[s.length-1-o];)o++;let i=Me(r.slice(n,r.length-o),s.slice(n,s.length-o));return[...r.slice(0,n).map(_),...i,...r.slice(r.length-o).map(_)]}function _(t){return{sign:" ",text:t}}function Me(t,e){let r=d=>({sign:"-",text:d}),s=d=>({sign:"+",text:d});if(t.length*e.length>ke||t.length===0||e.length===0)return[...t.map(r),...e.map(s)];let n=e.length+1,o=new Uint32Array((t.length+1)*n),i=(d,g)=>o[d*n+g]??0;for(let d=t.length-1;d>=0;d--)for(let g=e.length-1;g>=0;g--)o[d*n+g]=t[d]===e[g]?i(d+1,g+1)+1:Math.max(i(d+1,g),i(d,g+1));let p=[],c=0,h=0;for(;c<t.length&&h<e.length;)t[c]===e[h]?(p.push(_(t[c++])),h++):i(c+1,h)>=i(c,h+1)?p.push(r(t[c++])):p.push(s(e[h++]));return[...p,...t.slice(c).map(r),...e.slice(h).map(s)]}var he=2e4,me=3;function fe(t,e,r){let s=U(t.method,t.params),n=t.method==="tools/call"&&s===t.args,o=n?de(t.tool,t.args):null,i=n?"Arguments":a`Parameters of <code>${m(t.method)}</code>`,p=f(s??{}),c=p.length>he&&!e,h=c?a`<button class="words small" @click=${r}>Show all ${p.length.toLocaleString()} characters</button>`:l,d=a`<pre tabindex="0" aria-label="Arguments">${m(c?p.slice(0,he):p)}</pre>`;return o===null?a`<div><h3>${i}</h3>${d}${h}</div>`:a`<div class="stack">
    ${_e(o)}
    <details><summary>Exact arguments</summary>${d}${h}</details>
  </div>`}function _e(t){let e=s=>t.changes.flat().filter(n=>n.sign===s).length,r=Object.keys(t.rest).length===0?l:a`<pre tabindex="0" aria-label="Other arguments">${m(f(t.rest))}</pre>`;return a`<div class="edit">
      <p class="edit-head"><code>${m(t.path)}</code> <span class="added">+${e("+").toLocaleString()}</span> <span class="removed">−${e("-").toLocaleString()}</span></p>
      <div class="diff" tabindex="0" role="group" aria-label=${`Changes of ${t.path}`}>${t.changes.map((s,n)=>a`${n===0?l:a`<span class="line fold">⋯</span>`}${Ie(s).map(Ce)}`)}</div>
    </div>
    ${r}`}function Ce(t){return typeof t=="number"?a`<span class="line fold">⋯ ${t} unchanged lines</span>`:a`<span class="line" data-sign=${t.sign}><span class="sign">${t.sign}</span>${m(t.text)}</span>`}function Ie(t){let e=new Set;t.forEach((s,n)=>{if(s.sign!==" ")for(let o=n-me;o<=n+me;o++)e.add(o)});let r=[];return t.forEach((s,n)=>{let o=r.at(-1);e.has(n)?r.push(s):typeof o=="number"?r[r.length-1]=o+1:r.push(1)}),r}function ge(t,e){let r;try{r=H(e)}catch(n){return`Invalid JSON: ${n instanceof Error?n.message:String(n)}`}let s=typeof r=="object"&&r!==null&&!Array.isArray(r);return t.method==="tools/call"&&!s?"Arguments are a JSON object.":{args:r}}var Ne={once:"Once",context:"In this context",minutes:"For 10 minutes",pattern:"By pattern…"},C=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},busy:{attribute:!1},mayReject:{attribute:!1},scope:{state:!0},patterns:{state:!0},chosenHost:{state:!0},editing:{state:!0},error:{state:!0}};static styles=[S,j,v`
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
      ${P(this.error)}
    </form>`}scopes(){return a`<label class="scope"><span class="unseen">Allow</span>
      <select name="scope" @change=${e=>this.scope=e.target.value}>
        ${ae(this.proposal).map(e=>a`<option value=${e} .selected=${e===this.scope}>${Ne[e]}</option>`)}
      </select>
    </label>`}hosts(e){return a`<label class="field-label">The proposal does not name the participant that runs this tool.
      <select @change=${r=>this.chosenHost=r.target.value}>
        <option value="" .selected=${e===""}>Choose a participant</option>
        ${D(this.state.participants.values(),this.proposal,this.shell.you).map(r=>a`<option value=${r} .selected=${r===e}>${u(r)}</option>`)}
      </select>
    </label>`}editor(){return a`<label class="field-label">Arguments to send
      <textarea name="args" spellcheck="false" rows="8" .defaultValue=${f(this.proposal.args??{})}></textarea>
    </label>`}patternFields(){let e=this.patterns??R(this.proposal),r=this.proposal.method==="tools/call";return a`<fieldset>
      <legend class="quiet">${u(this.proposal.from)} may then call, without approval:</legend>
      ${r?a`<label class="field-label">Tool<input class="field pattern" required maxlength="512" .value=${e.tool} @input=${s=>this.patterns={...e,tool:s.target.value}} /></label>`:l}
      ${Object.entries(e.args).map(([s,n])=>a`<label class="field-label">${s}<input class="field pattern" placeholder="Any value" maxlength="4096" .value=${n} @input=${o=>this.patterns={...e,args:{...e.args,[s]:o.target.value}}} /></label>`)}
      <label class="field-label">Duration
        <select @change=${s=>this.patterns={...e,seconds:Number(s.target.value)}}>
          ${ne.map(([s,n])=>a`<option value=${s} .selected=${s===e.seconds}>${n}</option>`)}
        </select>
      </label>
    </fieldset>`}consequence(e){let r=this.proposal,s=e===""?"the participant that you choose":u(e),n=`Approving sends ${this.editing?"the edited":"exactly this"} call in your name to ${s}.`,o=this.mayGrant&&!this.editing?M(r,this.scope,e,this.patterns??R(r)):null;if(o===null)return this.mayReject?n:`${n} You cannot reject it.`;let i=this.scope==="context"?" Ends after an hour at the latest.":"";return a`${n}${this.mayReject?"":" You cannot reject it."} <b>${u(r.from)}</b> then needs no approval for this: ${B([o]).map(p=>A(p))}${i}`}edit=()=>{this.editing=!this.editing,this.error="",this.updateComplete.then(()=>this.renderRoot.querySelector(this.editing?"textarea":".button.main")?.focus())};key=e=>{e.key!=="Escape"||!this.editing||(e.preventDefault(),this.edit())};submit=e=>{e.preventDefault();let r=this.proposal,s=this.runner;if(this.error="",!this.editing){let o=this.mayGrant?ie(r,this.scope,s,this.patterns??R(r)):null;this.emit({request:V(r,L(),s),grant:o});return}let n=ge(r,this.renderRoot.querySelector("textarea")?.value??"");typeof n=="string"?this.error=n:this.emit({request:J(r,L(),n.args,s),grant:null})};emit(e){this.dispatchEvent(new CustomEvent("approval",{detail:e}))}};w("meup-approve-form",C);var ye=v`
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
`;function He(t){let e=t.decidedBy===""?"":` by ${x(t.decidedBy)}`;switch(t.status){case"pending":return{tone:"wait",sign:"decide",words:"Awaiting approval"};case"approved":return t.done?t.failed?{tone:"bad",sign:"stop",words:`Approved${e}, failed`}:{tone:"good",sign:"check",words:`Approved${e}, done`}:{tone:"good",sign:"run",words:`Approved${e}, running`};case"rejected":return{tone:"bad",sign:"cross",words:`Rejected${e}`};case"withdrawn":return{tone:"quiet",sign:"reply",words:`Withdrawn${e}`};case"expired":return{tone:"wait",sign:"time",words:t.lapsed&&(t.decidedAt??0)<(t.expiresAt??1/0)?"Expired: the reasoning ended without a decision":"Expired: no decision in time"};case"settled":return{tone:"quiet",sign:"people",words:`Already decided${e}`}}}function ve(t){let e=He(t);return a`<div class="fate" data-tone=${e.tone}>
    <p class="row">${e.sign==="run"?a`<span class="spinner" aria-hidden="true"></span>`:ee(e.sign)}<b class="grow">${e.words}</b>${t.decidedAt===null?l:k(t.decidedAt)}</p>
    ${Fe(t)} ${Be(t)} ${Ue(t)}
  </div>`}function Fe(t){if(t.status==="approved"||t.status==="expired"||t.reason===""&&t.explanation==="")return l;let e=t.reason==="other"&&t.explanation!==""?"":t.reason.replaceAll("_"," ");return a`<p class="small">${E(e)}${t.explanation===""?l:a`${e===""?"":": "}${E(t.explanation)}`}</p>`}function Be(t){return t.approvedArgs===void 0?l:a`<p class="small">Approved with different arguments:</p>
    <pre tabindex="0">${m(f(t.approvedArgs))}</pre>`}function Ue(t){return t.done?a`<p class="small">${E(t.summary||"success")}</p>
    ${t.result===void 0?l:a`<details><summary>Result</summary><pre tabindex="0">${m(f(t.result).slice(0,5e4))}</pre></details>`}`:l}var ze={disagree:"Disagree",unsafe:"Unsafe",inappropriate:"Inappropriate",policy:"Against policy",duplicate:"Already done",invalid:"Invalid",no_longer_needed:"No longer needed",busy:"Not now",other:"Other"},I=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},busy:{attribute:!1},messageMissing:{state:!0}};static styles=[S,j,v`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];render(){return a`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Reason
        <select name="reason">
          ${Y.map(e=>a`<option value=${e}>${ze[e]}</option>`)}
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
    </form>`}firstUpdated(){this.renderRoot.querySelector("select")?.focus()}submit=e=>{e.preventDefault();let r=new FormData(e.target),s=String(r.get("reason")??""),n=String(r.get("words")??"").trim();this.messageMissing=s==="other"&&n==="",this.messageMissing||this.dispatchEvent(new CustomEvent("draft",{detail:W(this.proposal,s,n)}))};key=e=>{e.key==="Escape"&&(e.preventDefault(),this.cancel())};cancel=()=>{this.dispatchEvent(new CustomEvent("cancel"))}};w("meup-reject-form",I);var N=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},past:{attribute:!1},chosen:{type:Boolean,reflect:!0},inline:{type:Boolean},held:{type:Boolean,reflect:!0},rejecting:{state:!0},busy:{state:!0},error:{state:!0},all:{state:!0}};static styles=[S,j,ye];guard=new re(this);willUpdate(e){e.has("held")&&(this.style.minHeight=this.held===!0&&this.hasUpdated?`${this.getBoundingClientRect().height}px`:"",this.held&&(this.error=""))}updated(){this.guard.watch(this.proposal.status==="pending"&&!this.past?this.content(this.proposal):"")}content(e){return F([e.id,e.from,e.method,e.params??null,e.owner,e.rationale])}render(){let e=this.proposal;return a`<article class="card" data-status=${e.status} aria-label=${`${x(e.from)} proposes ${u(e.tool)}`}>
      <header class="row">
        ${Z(e.from,!0)}
        <div class="grow"><span class="name">${u(e.from)}</span> ${X(e.from)} <span class="quiet">${e.status==="pending"?"wants":"wanted"} to call</span></div>
        ${k(e.at)} ${this.inline?q(this.shell,e.id):l}
      </header>
      <p class="call"><code>${m(e.tool)}</code>${e.owner===""?l:a` <span class="quiet">of</span> <span class="name">${m(e.owner)}</span>`}</p>
      ${e.rationale===""?l:a`<p class="why">${E(e.rationale,r=>G(r,A))}</p>`} ${this.warnings(e)} ${fe(e,this.all===!0,()=>this.all=!0)}
      ${e.to.length===0?l:a`<p class="faint">Sent only to ${e.to.map(r=>r===this.shell.you?"you":x(r)).join(", ")}.</p>`}
      ${e.status==="pending"?l:ve(e)} ${e.status==="pending"?this.decision(e):l} ${P(this.error??"")}
      ${this.inline?l:a`<footer class="row">${se(this.shell,e.id)}<span class="grow"></span>${q(this.shell,e.id)}</footer>`}
    </article>`}warnings(e){let r=[];z(e.tool+e.owner+f(e.params??null))&&r.push("This call contains invisible characters. They are shown as codes.");let s=[...this.state.participants.values()].flatMap(i=>i.tools.map(p=>p.name)),[n]=s.includes(e.tool)?[]:O(e.tool,s);n!==void 0&&r.push(`The tool's name looks like ${u(n)}, but is different.`);let[o]=e.owner===""||this.state.participants.has(e.owner)?[]:O(e.owner,this.state.participants.keys());return o!==void 0&&r.push(`The owner's name looks like ${u(o)}, but is different.`),r.length===0?l:a`${r.map(i=>a`<p class="warning">${i}</p>`)}`}decision(e){if(this.past)return a`<p class="faint">You are viewing the past. Proposals cannot be decided here.</p>`;if(this.rejecting===!0)return a`<meup-reject-form .busy=${this.busy===!0} @cancel=${this.stopRejecting} .shell=${this.shell} .proposal=${e} @draft=${o=>{this.send(o.detail)}}></meup-reject-form>`;let{present:r=!1}=this.state.participants.get(e.from)??{},s=e.expiresAt===null?l:a`<p class="faint">Expires ${te(e.expiresAt,this.shell.now())}.</p>`,n=r||e.from===this.shell.you?l:a`<p class="faint">${x(e.from)} is offline and may not see the decision.</p>`;return a`${s}${n}${e.from===this.shell.you?this.own(e):this.others(e)}`}own(e){return this.shell.may("mcp.withdraw")?a`<div class="row"><button class="button" ?disabled=${this.busy} @click=${()=>{this.send(K(e))}}>Withdraw</button> <span class="quiet">You proposed this.</span></div>`:a`<p class="quiet">You proposed this. Others decide.</p>`}others(e){let{shell:r}=this,s=r.may("decide"),n=s||r.may("mcp.request"),o=s||r.may("mcp.reject");return!n&&!o?a`<p class="quiet">You cannot decide this: you may neither call tools nor reject proposals.</p>`:n?a`<meup-approve-form .shell=${r} .proposal=${e} .state=${this.state} .busy=${this.busy===!0} .mayReject=${o} @approval=${i=>{this.approve(i.detail)}} @reject=${this.startRejecting}></meup-approve-form>`:a`<div class="row"><button class="button bad" ?disabled=${this.busy} @click=${this.startRejecting}>Reject…</button></div><p class="faint">You can reject this. Approving it requires the right to call tools.</p>`}startRejecting=()=>{this.rejecting=!0};stopRejecting=()=>{this.rejecting=!1,this.updateComplete.then(async()=>{let e=this.renderRoot.querySelector("meup-approve-form");await e?.updateComplete,(e?.renderRoot??this.renderRoot).querySelector(".button.bad")?.focus()})};async approve({request:e,grant:r}){if(!await this.send(e)||r===null)return;let s=await this.shell.send(r),n=u(this.proposal.from);this.shell.toast(s.ok?`Approved, and access granted to ${n}`:`Approved once. No access for ${n}: ${s.refusal}`)}async send(e){if(this.error=this.guard.refusal(this.content(this.proposal)),this.error!=="")return!1;this.busy=!0;let r=await this.shell.send(e);return this.busy=!1,r.ok?(this.rejecting=!1,this.dispatchEvent(new CustomEvent("decided",{bubbles:!0,composed:!0})),!0):(this.error=r.refusal,!1)}};w("meup-proposal-card",N);export{N as a};
//# sourceMappingURL=/assets/chunk-LZ4GNIUT.js.map
