import{b as oe}from"/assets/chunk-NJCHULBH.js";import{a as ne}from"/assets/chunk-PZQWPIOG.js";import{a as se}from"/assets/chunk-KMOPH7HM.js";import{a as Y,c as w}from"/assets/chunk-GKJIWLSN.js";import{a as B}from"/assets/chunk-ZMV4Z3JM.js";import{a as L,b as V,e as K,f as J,g as W,h as z,j as Q}from"/assets/chunk-KKY4GYYG.js";import{b as U}from"/assets/chunk-KFY6CCNZ.js";import{a as D}from"/assets/chunk-E2LKP2F4.js";import{a as E,b as m,d as P,f as q,g as re,j as T,k as S}from"/assets/chunk-IGEW5526.js";import{a as Z}from"/assets/chunk-SUG44J2H.js";import{i as ee,j as x,n as te}from"/assets/chunk-VSIX4I2Q.js";import{D as G,I as O,K as $,M as A,N as X,Q as u,S as f,b as j,c as a,f as l,h as b,i as H,k as F,s as v}from"/assets/chunk-6D3SX3BW.js";var ve=8,$e=3600,ae=600,we=256;function ie(t){return pe(t)===null?["once","pattern"]:["once",...t.context===""?[]:["context"],"minutes","pattern"]}function R(t){let s=(v(t.args)?Object.entries(t.args):[]).filter(r=>typeof r[1]=="string"&&/^[\w-]+$/u.test(r[0])).slice(0,ve);return{tool:y(t.tool),args:Object.fromEntries(s.map(([r,n])=>[r,y(n)])),seconds:ae}}function y(t){return/^[\p{L}\p{N}_.][^*!?[\]{}\\]*$/u.test(t)?t:`/^${t.replace(/[\\^$.*+?()[\]{}|/-]/gu,"\\$&").replaceAll(`
`,"\\n")}$/`}function M(t,e,s,r){if(e==="once")return null;let n={kind:"mcp.request",to:[y(s)]},o=t.method==="tools/call";if(e!=="pattern"){let c=pe(t);if(c===null)return null;let h={method:y(t.method),...o&&{params:{name:y(t.tool),...c}}};return{...n,payload:h,...e==="context"&&{context:y(xe(t))}}}let i=Object.fromEntries(Object.entries(r.args).filter(([,c])=>c!=="")),p=Object.keys(i).length===0?{}:o?{arguments:i}:i;return{...n,payload:{method:y(t.method),params:{...o&&{name:r.tool},...p}}}}function le(t,e,s,r){let n=M(t,e,s,r);if(n===null)return null;let o=e==="context"?$e:e==="minutes"?ae:r.seconds;return{...Q(t.from,[n],o,`allowed with the approval of ${t.tool}`),correlationId:t.id}}function pe(t){if(t.method!=="tools/call"||!v(t.args)||!("command"in t.args))return{};let e=t.args.command;if(typeof e!="string")return null;let s=y(e);return s!==e&&new TextEncoder().encode(s).length>we?null:{arguments:{command:s}}}function xe(t){return t.context.split("/")[0]??""}var Ee=["path","file_path","filePath","filename","file"],ce=[["old_string","new_string"],["old_str","new_str"],["oldText","newText"],["old_text","new_text"]],Se=["content","contents","file_text","text"],Re=["patch","diff"],je=/write|create|save|append|put_file/iu,Ae=5e3,Pe=1e6;function ue(t,e){if(!v(e))return null;let s=Ee.find(o=>typeof e[o]=="string"&&e[o]!==""),r=s===void 0?null:Te(t,e);if(s===void 0||r===null||r.changes.length===0||r.changes.some(o=>o.length>2*Ae))return null;let n=new Set([s,...r.keys]);return{path:String(e[s]),changes:r.changes,rest:Object.fromEntries(Object.entries(e).filter(([o])=>!n.has(o)))}}function Te(t,e){for(let[o,i]of ce){let p=de(e,o,i);if(p!==null)return{changes:[p],keys:[o,i]}}let s=e.edits;if(Array.isArray(s)){let o=s.map(i=>v(i)&&Object.keys(i).length===2?ce.map(([p,c])=>de(i,p,c)).find(p=>p!==null)??null:null);return o.every(i=>i!==null)?{changes:o,keys:["edits"]}:null}let r=Re.find(o=>typeof e[o]=="string"&&/^@@ /mu.test(String(e[o])));if(r!==void 0)return{changes:[ke(String(e[r]))],keys:[r]};let n=je.test(t)?Se.find(o=>typeof e[o]=="string"):void 0;return n===void 0?null:{changes:[k(String(e[n])).map(o=>({sign:"+",text:o}))],keys:[n]}}function de(t,e,s){let r=t[e],n=t[s];return typeof r=="string"&&typeof n=="string"?qe(r,n):null}function ke(t){let e=k(t);return Oe(e.at(-1)===""?e.slice(0,-1):e)??e.map(De)}function De(t){let e=t.charAt(0);return(e==="+"||e==="-")&&!he.test(t)?{sign:e,text:t.slice(1)}:{sign:"@",text:t}}var he=/^(?:--- |\+\+\+ |diff --git |index [0-9a-f]+\.\.[0-9a-f]+)/u,Le=/^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/u;function Oe(t){let e=[],s=0,r=0;for(let n of t){let o=n.charAt(0),i=s>0||r>0,p=i?null:Le.exec(n);if(p!==null&&(s=Number(p[1]??"1"),r=Number(p[2]??"1")),p!==null||!i&&he.test(n)||n==="\\ No newline at end of file"){e.push({sign:"@",text:n});continue}if(!i||o!==" "&&o!=="+"&&o!=="-"||(o!=="+"&&s--,o!=="-"&&r--,s<0||r<0))return null;e.push({sign:o,text:n.slice(1)})}return s>0||r>0?null:e}function k(t){return t===""?[]:t.split(`
`)}function qe(t,e){let s=k(t),r=k(e),n=0;for(;n<s.length&&n<r.length&&s[n]===r[n];)n++;let o=0;for(;o<s.length-n&&o<r.length-n&&s[s.length-1-o]===r[r.length-1-o];)o++;let i=Me(s.slice(n,s.length-o),r.slice(n,r.length-o));return[...s.slice(0,n).map(_),...i,...s.slice(s.length-o).map(_)]}function _(t){return{sign:" ",text:t}}function Me(t,e){let s=d=>({sign:"-",text:d}),r=d=>({sign:"+",text:d});if(t.length*e.length>Pe||t.length===0||e.length===0)return[...t.map(s),...e.map(r)];let n=e.length+1,o=new Uint32Array((t.length+1)*n),i=(d,g)=>o[d*n+g]??0;for(let d=t.length-1;d>=0;d--)for(let g=e.length-1;g>=0;g--)o[d*n+g]=t[d]===e[g]?i(d+1,g+1)+1:Math.max(i(d+1,g),i(d,g+1));let p=[],c=0,h=0;for(;c<t.length&&h<e.length;)t[c]===e[h]?(p.push(_(t[c++])),h++):i(c+1,h)>=i(c,h+1)?p.push(s(t[c++])):p.push(r(e[h++]));return[...p,...t.slice(c).map(s),...e.slice(h).map(r)]}var me=2e4,fe=3;function ge(t,e,s){let r=U(t.method,t.params),n=t.method==="tools/call"&&r===t.args,o=n?ue(t.tool,t.args):null,i=n?"Arguments":a`Parameters of <code>${m(t.method)}</code>`,p=f(r??{}),c=p.length>me&&!e,h=c?a`<button class="words small" @click=${s}>Show all ${p.length.toLocaleString()} characters</button>`:l,d=a`<pre tabindex="0" aria-label="Arguments">${m(c?p.slice(0,me):p)}</pre>`;return o===null?a`<div><h3>${i}</h3>${d}${h}</div>`:a`<div class="stack">
    ${_e(o)}
    <details><summary>Exact arguments</summary>${d}${h}</details>
  </div>`}function _e(t){let e=r=>t.changes.flat().filter(n=>n.sign===r).length,s=Object.keys(t.rest).length===0?l:a`<pre tabindex="0" aria-label="Other arguments">${m(f(t.rest))}</pre>`;return a`<div class="edit">
      <p class="edit-head"><code>${m(t.path)}</code> <span class="added">+${e("+").toLocaleString()}</span> <span class="removed">−${e("-").toLocaleString()}</span></p>
      <div class="diff" tabindex="0" role="group" aria-label=${`Changes of ${t.path}`}>${t.changes.map((r,n)=>a`${n===0?l:a`<span class="line fold">⋯</span>`}${Ce(r).map(Ie)}`)}</div>
    </div>
    ${s}`}function Ie(t){return typeof t=="number"?a`<span class="line fold">⋯ ${t} unchanged lines</span>`:a`<span class="line" data-sign=${t.sign}><span class="sign">${t.sign}</span>${m(t.text)}</span>`}function Ce(t){let e=new Set;t.forEach((r,n)=>{if(r.sign!==" ")for(let o=n-fe;o<=n+fe;o++)e.add(o)});let s=[];return t.forEach((r,n)=>{let o=s.at(-1);e.has(n)?s.push(r):typeof o=="number"?s[s.length-1]=o+1:s.push(1)}),s}function ye(t,e){let s;try{s=H(e)}catch(n){return`Invalid JSON: ${n instanceof Error?n.message:String(n)}`}let r=typeof s=="object"&&s!==null&&!Array.isArray(s);return t.method==="tools/call"&&!r?"Arguments are a JSON object.":{args:s}}var Ne={once:"Once",context:"In this context",minutes:"For 10 minutes",pattern:"By pattern…"},I=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},busy:{attribute:!1},mayReject:{attribute:!1},scope:{state:!0},patterns:{state:!0},chosenHost:{state:!0},editing:{state:!0},error:{state:!0}};static styles=[E,S,j`
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
        ${this.shell.may("mcp.request")?a`<button class="button" type="button" name="edit" @click=${this.edit}>${this.editing?"Cancel edit":"Edit"}</button>`:l}
        ${this.mayReject?a`<button class="button bad" type="button" ?disabled=${this.busy} @click=${()=>this.dispatchEvent(new CustomEvent("reject"))}>Reject…</button>`:l}
      </div>
      <p class="faint">${this.consequence(s)}</p>
      ${T(this.error)}
    </form>`}scopes(){return a`<label class="scope"><span class="unseen">Allow</span>
      <select name="scope" @change=${e=>this.scope=e.target.value}>
        ${ie(this.proposal).map(e=>a`<option value=${e} .selected=${e===this.scope}>${Ne[e]}</option>`)}
      </select>
    </label>`}hosts(e){return a`<label class="field-label">The proposal does not name the participant that runs this tool.
      <select @change=${s=>this.chosenHost=s.target.value}>
        <option value="" .selected=${e===""}>Choose a participant</option>
        ${D(this.state.participants.values(),this.proposal,this.shell.you).map(s=>a`<option value=${s} .selected=${s===e}>${u(s)}</option>`)}
      </select>
    </label>`}editor(){return a`<label class="field-label">Arguments to send
      <textarea name="args" spellcheck="false" rows="8" .defaultValue=${f(this.proposal.args??{})}></textarea>
    </label>`}patternFields(){let e=this.patterns??R(this.proposal),s=this.proposal.method==="tools/call";return a`<fieldset>
      <legend class="quiet">${u(this.proposal.from)} may then call, without approval:</legend>
      ${s?a`<label class="field-label">Tool<input class="field pattern" required maxlength="512" .value=${e.tool} @input=${r=>this.patterns={...e,tool:r.target.value}} /></label>`:l}
      ${Object.entries(e.args).map(([r,n])=>a`<label class="field-label">${r}<input class="field pattern" placeholder="Any value" maxlength="4096" .value=${n} @input=${o=>this.patterns={...e,args:{...e.args,[r]:o.target.value}}} /></label>`)}
      <label class="field-label">Duration
        <select @change=${r=>this.patterns={...e,seconds:Number(r.target.value)}}>
          ${oe.map(([r,n])=>a`<option value=${r} .selected=${r===e.seconds}>${n}</option>`)}
        </select>
      </label>
    </fieldset>`}consequence(e){let s=this.proposal,r=e===""?"the participant that you choose":u(e),n=`Approving sends ${this.editing?"the edited":"exactly this"} call in your name to ${r}.`,o=this.mayGrant&&!this.editing?M(s,this.scope,e,this.patterns??R(s)):null;if(o===null)return this.mayReject?n:`${n} You cannot reject it.`;let i=this.scope==="context"?" Ends after an hour at the latest.":"";return a`${n}${this.mayReject?"":" You cannot reject it."} <b>${u(s.from)}</b> then needs no approval for this: ${B([o]).map(p=>A(p))}${i}`}edit=()=>{this.editing=!this.editing,this.error="",this.updateComplete.then(()=>this.renderRoot.querySelector(this.editing?"textarea":".button.main")?.focus())};key=e=>{e.key!=="Escape"||!this.editing||(e.preventDefault(),this.edit())};submit=e=>{e.preventDefault();let s=this.proposal,r=this.runner;if(this.error="",!this.editing){let o=this.mayGrant?le(s,this.scope,r,this.patterns??R(s)):null;this.emit({request:K(s,L(),r),grant:o});return}let n=ye(s,this.renderRoot.querySelector("textarea")?.value??"");typeof n=="string"?this.error=n:this.emit({request:J(s,L(),n.args,r),grant:null})};emit(e){this.dispatchEvent(new CustomEvent("approval",{detail:e}))}};$("meup-approve-form",I);function He(t){let e=t.decidedBy===""?"":` by ${w(t.decidedBy)}`;switch(t.status){case"pending":return{tone:"wait",sign:"decide",words:"Awaiting approval"};case"approved":return t.done?t.failed?{tone:"bad",sign:"stop",words:`Approved${e}, failed`}:{tone:"good",sign:"check",words:`Approved${e}, done`}:{tone:"good",sign:"run",words:`Approved${e}, running`};case"rejected":return{tone:"bad",sign:"cross",words:`Rejected${e}`};case"withdrawn":return{tone:"quiet",sign:"reply",words:`Withdrawn${e}`};case"expired":return{tone:"wait",sign:"time",words:t.lapsed&&(t.decidedAt??0)<(t.expiresAt??1/0)?"Expired: the reasoning ended without a decision":"Expired: no decision in time"};case"settled":return{tone:"quiet",sign:"people",words:`Already decided${e}`}}}function be(t){let e=He(t);return a`<div class="fate" data-tone=${e.tone}>
    <p class="row">${e.sign==="run"?a`<span class="spinner" aria-hidden="true"></span>`:ee(e.sign)}<b class="grow">${e.words}</b>${t.decidedAt===null?l:P(t.decidedAt)}</p>
    ${Fe(t)} ${Be(t)} ${Ue(t)}
  </div>`}function Fe(t){if(t.status==="approved"||t.status==="expired"||t.reason===""&&t.explanation==="")return l;let e=t.reason==="other"&&t.explanation!==""?"":t.reason.replaceAll("_"," ");return a`<p class="small">${x(e)}${t.explanation===""?l:a`${e===""?"":": "}${x(t.explanation)}`}</p>`}function Be(t){return t.approvedArgs===void 0?l:a`<p class="small">Approved with different arguments:</p>
    <pre tabindex="0">${m(f(t.approvedArgs))}</pre>`}function Ue(t){return t.done?a`<p class="small">${x(t.summary||"success")}</p>
    ${t.result===void 0?l:a`<details><summary>Result</summary><pre tabindex="0">${m(f(t.result).slice(0,5e4))}</pre></details>`}`:l}var Ge={disagree:"Disagree",unsafe:"Unsafe",inappropriate:"Inappropriate",policy:"Against policy",duplicate:"Already done",invalid:"Invalid",no_longer_needed:"No longer needed",busy:"Not now",other:"Other"},C=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},busy:{attribute:!1},messageMissing:{state:!0}};static styles=[E,S,j`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];render(){return a`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Reason
        <select name="reason">
          ${V.map(e=>a`<option value=${e}>${Ge[e]}</option>`)}
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
    </form>`}firstUpdated(){this.renderRoot.querySelector("textarea")?.focus()}submit=e=>{e.preventDefault();let s=new FormData(e.target),r=String(s.get("reason")??""),n=String(s.get("words")??"").trim();this.messageMissing=r==="other"&&n==="",this.messageMissing||this.dispatchEvent(new CustomEvent("draft",{detail:W(this.proposal,r,n)}))};key=e=>{if(e.key==="Enter"&&(e.ctrlKey||e.metaKey))e.currentTarget.requestSubmit();else if(e.key==="Escape")this.cancel();else return;e.preventDefault()};cancel=()=>{this.dispatchEvent(new CustomEvent("cancel"))}};$("meup-reject-form",C);var N=class extends b{static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},past:{attribute:!1},chosen:{type:Boolean,reflect:!0},inline:{type:Boolean},held:{type:Boolean,reflect:!0},rejecting:{state:!0},busy:{state:!0},error:{state:!0},all:{state:!0}};static styles=[E,S,ne];guard=new se(this);willUpdate(e){e.has("held")&&(this.style.minHeight=this.held===!0&&this.hasUpdated?`${this.getBoundingClientRect().height}px`:"",this.held&&(this.error=""))}updated(){this.guard.watch(this.proposal.status==="pending"&&!this.past?this.content(this.proposal):"")}content(e){return F([e.id,e.from,e.method,e.params??null,e.owner,e.rationale])}render(){let e=this.proposal;return a`<article class="card" data-status=${e.status} aria-label=${`${w(e.from)} proposes ${u(e.tool)}`}>
      <header class="row">
        ${Z(e.from,!0)}
        <div class="grow"><span class="name">${u(e.from)}</span> ${Y(e.from)} <span class="quiet">${e.status==="pending"?"wants":"wanted"} to call</span></div>
        ${P(e.at)} ${this.inline?q(this.shell,e.id):l}
      </header>
      <p class="call"><code>${m(e.tool)}</code>${e.owner===""?l:a` <span class="quiet">of</span> <span class="name">${m(e.owner)}</span>`}</p>
      ${e.rationale===""?l:a`<p class="why">${x(e.rationale,s=>X(s,A))}</p>`} ${this.warnings(e)} ${ge(e,this.all===!0,()=>this.all=!0)}
      ${e.to.length===0?l:a`<p class="faint">Sent only to ${e.to.map(s=>s===this.shell.you?"you":w(s)).join(", ")}.</p>`}
      ${e.status==="pending"?l:be(e)} ${e.status==="pending"?this.decision(e):l} ${T(this.error??"")}
      ${this.inline?l:a`<footer class="row">${re(this.shell,e.id)}<span class="grow"></span>${q(this.shell,e.id)}</footer>`}
    </article>`}warnings(e){let s=[];G(e.tool+e.owner+f(e.params??null))&&s.push("This call contains invisible characters. They are shown as codes.");let r=[...this.state.participants.values()].flatMap(i=>i.tools.map(p=>p.name)),[n]=r.includes(e.tool)?[]:O(e.tool,r);n!==void 0&&s.push(`The tool's name looks like ${u(n)}, but is different.`);let[o]=e.owner===""||this.state.participants.has(e.owner)?[]:O(e.owner,this.state.participants.keys());return o!==void 0&&s.push(`The owner's name looks like ${u(o)}, but is different.`),s.length===0?l:a`${s.map(i=>a`<p class="warning">${i}</p>`)}`}decision(e){if(this.past)return a`<p class="faint">You are viewing the past. Proposals cannot be decided here.</p>`;if(this.rejecting===!0)return a`<meup-reject-form .busy=${this.busy===!0} @cancel=${this.stopRejecting} .shell=${this.shell} .proposal=${e} @draft=${o=>{this.send(o.detail)}}></meup-reject-form>`;let{present:s=!1}=this.state.participants.get(e.from)??{},r=e.expiresAt===null?l:a`<p class="faint">Expires ${te(e.expiresAt,this.shell.now())}.</p>`,n=s||e.from===this.shell.you?l:a`<p class="faint">${w(e.from)} is offline and may not see the decision.</p>`;return a`${r}${n}${e.from===this.shell.you?this.own(e):this.others(e)}`}own(e){return this.shell.may("mcp.withdraw")?a`<div class="row"><button class="button" ?disabled=${this.busy} @click=${()=>{this.send(z(e))}}>Withdraw</button> <span class="quiet">You proposed this.</span></div>`:a`<p class="quiet">You proposed this. Others decide.</p>`}others(e){let{shell:s}=this,r=s.may("decide"),n=r||s.may("mcp.request"),o=r||s.may("mcp.reject");return!n&&!o?a`<p class="quiet">You cannot decide this: you may neither call tools nor reject proposals.</p>`:n?a`<meup-approve-form .shell=${s} .proposal=${e} .state=${this.state} .busy=${this.busy===!0} .mayReject=${o} @approval=${i=>{this.approve(i.detail)}} @reject=${this.startRejecting}></meup-approve-form>`:a`<div class="row"><button class="button bad" ?disabled=${this.busy} @click=${this.startRejecting}>Reject…</button></div><p class="faint">You can reject this. Approving it requires the right to call tools.</p>`}press(e){let s={a:".button.main",r:".button.bad",e:"button[name=edit]"}[e],r=this.renderRoot.querySelector("meup-approve-form")?.renderRoot??this.renderRoot,n=s===void 0?null:r.querySelector(s);return n?.scrollIntoView({block:"nearest"}),n?.click(),n!==null}startRejecting=()=>{this.rejecting=!0};stopRejecting=()=>{this.rejecting=!1,this.updateComplete.then(async()=>{let e=this.renderRoot.querySelector("meup-approve-form");await e?.updateComplete,(e?.renderRoot??this.renderRoot).querySelector(".button.bad")?.focus()})};async approve({request:e,grant:s}){if(!await this.send(e)||s===null)return;let r=await this.shell.send(s),n=u(this.proposal.from);this.shell.toast(r.ok?`Approved, and access granted to ${n}`:`Approved once. No access for ${n}: ${r.refusal}`)}async send(e){if(this.error=this.guard.refusal(this.content(this.proposal)),this.error!=="")return!1;this.busy=!0;let s=await this.shell.send(e);return this.busy=!1,s.ok?(this.rejecting=!1,this.dispatchEvent(new CustomEvent("decided",{bubbles:!0,composed:!0})),!0):(this.error=s.refusal,!1)}};$("meup-proposal-card",N);export{N as a};
//# sourceMappingURL=/assets/chunk-N3AH64IB.js.map
