import{b as we}from"/assets/chunk-ECF2UMDL.js";import{a as he}from"/assets/chunk-WSRHGKTO.js";import{d as te}from"/assets/chunk-XJBGAAQ3.js";import{a as B,b as le}from"/assets/chunk-TCDORIUB.js";import{a as ce,b as _,c as ue}from"/assets/chunk-WYQFOF2J.js";import{a as re,c as O,d as oe}from"/assets/chunk-LI2ITUN5.js";import{a as $e}from"/assets/chunk-ON4TZD4S.js";import{a as me,b as fe,c as ge,d as ye,e as be,g as ve}from"/assets/chunk-5EHFS64F.js";import{a as N}from"/assets/chunk-SK65YZIR.js";import{b as R}from"/assets/chunk-7YJZIPSA.js";import{a as E,b as f,d as L,e as pe,f as V,g as de,j as q,k as S}from"/assets/chunk-PCHDFJCC.js";import{a as ie}from"/assets/chunk-MYHS66OQ.js";import{a as I,u as ae,v as x}from"/assets/chunk-LBX2FACT.js";import{E as se,J as H,L as w,N as D,O as ne,R as u,T as h,b as T,c as i,f as l,h as $,j as P,l as k,t as b}from"/assets/chunk-6QAC3HRB.js";var He=8,Be=3600,xe=600,Ve=256;function Ee(t){return je(t)===null?["once","pattern"]:["once",...t.context===""?[]:["context"],"minutes","pattern"]}function A(t){let s=(b(t.args)?Object.entries(t.args):[]).filter(r=>typeof r[1]=="string"&&/^[\w-]+$/u.test(r[0])).slice(0,He);return{tool:v(t.tool),args:Object.fromEntries(s.map(([r,n])=>[r,v(n)])),seconds:xe}}function v(t){return/^[\p{L}\p{N}_.][^*!?[\]{}\\]*$/u.test(t)?t:`/^${t.replace(/[\\^$.*+?()[\]{}|/-]/gu,"\\$&").replaceAll(`
`,"\\n")}$/`}function U(t,e,s,r){if(e==="once")return null;let n={kind:"mcp.request",to:[v(s)]},o=t.method==="tools/call";if(e!=="pattern"){let p=je(t);if(p===null)return null;let m={method:v(t.method),...o&&{params:{name:v(t.tool),...p}}};return{...n,payload:m,...e==="context"&&{context:v(Ue(t))}}}let a=Object.fromEntries(Object.entries(r.args).filter(([,p])=>p!=="")),c=Object.keys(a).length===0?{}:o?{arguments:a}:a;return{...n,payload:{method:v(t.method),params:{...o&&{name:r.tool},...c}}}}function Se(t,e,s,r){let n=U(t,e,s,r);if(n===null)return null;let o=e==="context"?Be:e==="minutes"?xe:r.seconds;return{...ve(t.from,[n],o,`allowed with the approval of ${t.tool}`),correlationId:t.id}}function je(t){if(t.method!=="tools/call"||!b(t.args)||!("command"in t.args))return{};let e=t.args.command;if(typeof e!="string")return null;let s=v(e);return s!==e&&new TextEncoder().encode(s).length>Ve?null:{arguments:{command:s}}}function Ue(t){return t.context.split("/")[0]??""}var z=["path","file_path","filePath","filename","file"],Re=[["old_string","new_string"],["old_str","new_str"],["oldText","newText"],["old_text","new_text"]],Xe=["content","contents","file_text","text"],ze=["patch","diff"],Ge=/write|create|save|append|put_file/iu,Ye=5e3,Je=1e6;function Te(t,e){if(!b(e))return null;let s=z.find(o=>typeof e[o]=="string"&&e[o]!==""),r=s===void 0?null:Ke(t,e);if(s===void 0||r===null||r.changes.length===0||r.changes.some(o=>o.length>2*Ye))return null;let n=new Set([s,...r.keys]);return{path:String(e[s]),changes:r.changes,rest:Object.fromEntries(Object.entries(e).filter(([o])=>!n.has(o)))}}function Ke(t,e){for(let[o,a]of Re){let c=Ae(e,o,a);if(c!==null)return{changes:[c],keys:[o,a]}}let s=e.edits;if(Array.isArray(s)){let o=s.map(a=>b(a)&&Object.keys(a).length===2?Re.map(([c,p])=>Ae(a,c,p)).find(c=>c!==null)??null:null);return o.every(a=>a!==null)?{changes:o,keys:["edits"]}:null}let r=ze.find(o=>typeof e[o]=="string"&&/^@@ /mu.test(String(e[o])));if(r!==void 0)return{changes:[We(String(e[r]))],keys:[r]};let n=Ge.test(t)?Xe.find(o=>typeof e[o]=="string"):void 0;return n===void 0?null:{changes:[M(String(e[n])).map(o=>({sign:"+",text:o}))],keys:[n]}}function Ae(t,e,s){let r=t[e],n=t[s];return typeof r=="string"&&typeof n=="string"?G(r,n):null}function We(t){let e=M(t);return et(e.at(-1)===""?e.slice(0,-1):e)??e.map(Qe)}function Qe(t){let e=t.charAt(0);return(e==="+"||e==="-")&&!Pe.test(t)?{sign:e,text:t.slice(1)}:{sign:"@",text:t}}var Pe=/^(?:--- |\+\+\+ |diff --git |index [0-9a-f]+\.\.[0-9a-f]+)/u,Ze=/^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/u;function et(t){let e=[],s=0,r=0;for(let n of t){let o=n.charAt(0),a=s>0||r>0,c=a?null:Ze.exec(n);if(c!==null&&(s=Number(c[1]??"1"),r=Number(c[2]??"1")),c!==null||!a&&Pe.test(n)||n==="\\ No newline at end of file"){e.push({sign:"@",text:n});continue}if(!a||o!==" "&&o!=="+"&&o!=="-"||(o!=="+"&&s--,o!=="-"&&r--,s<0||r<0))return null;e.push({sign:o,text:n.slice(1)})}return s>0||r>0?null:e}function M(t){return t===""?[]:t.split(`
`)}function G(t,e){let s=M(t),r=M(e),n=0;for(;n<s.length&&n<r.length&&s[n]===r[n];)n++;let o=0;for(;o<s.length-n&&o<r.length-n&&s[s.length-1-o]===r[r.length-1-o];)o++;let a=tt(s.slice(n,s.length-o),r.slice(n,r.length-o));return[...s.slice(0,n).map(X),...a,...s.slice(s.length-o).map(X)]}function X(t){return{sign:" ",text:t}}function tt(t,e){let s=d=>({sign:"-",text:d}),r=d=>({sign:"+",text:d});if(t.length*e.length>Je||t.length===0||e.length===0)return[...t.map(s),...e.map(r)];let n=e.length+1,o=new Uint32Array((t.length+1)*n),a=(d,g)=>o[d*n+g]??0;for(let d=t.length-1;d>=0;d--)for(let g=e.length-1;g>=0;g--)o[d*n+g]=t[d]===e[g]?a(d+1,g+1)+1:Math.max(a(d+1,g),a(d,g+1));let c=[],p=0,m=0;for(;p<t.length&&m<e.length;)t[p]===e[m]?(c.push(X(t[p++])),m++):a(p+1,m)>=a(p,m+1)?c.push(s(t[p++])):c.push(r(e[m++]));return[...c,...t.slice(p).map(s),...e.slice(m).map(r)]}var ke=4,Oe=1e3,De={command:"sh",cmd:"sh",bash:"sh",shell:"sh",script:"sh",sql:"sql",python:"python",javascript:"javascript",patch:"diff",diff:"diff",code:"",source:"",source_code:"",snippet:"",content:"",contents:"",file_text:"",body:"",text:""},st=/^(?:content|contents|file_text|body|text)$/u,nt=/^\s*(?:select|insert\s+into|update|delete\s+from|with|create|alter|drop)\s/iu;function Le(t){let e=[];return Y(e,"",t,0,{}),e.length>Oe?[qe("",t)]:e}function Y(t,e,s,r,n){if(!(t.length>Oe))if(r<=ke&&b(s)&&Object.keys(s).length>0)for(let[o,a]of Object.entries(s))a!==void 0&&Y(t,rt(e,o),a,r+1,s);else r<=ke&&Array.isArray(s)&&s.some(o=>b(o)&&Object.keys(o).length>0||typeof o=="string"&&o.includes(`
`))?s.forEach((o,a)=>Y(t,`${e}[${a}]`,o,r+1,{})):typeof s=="string"&&!ot(s)?t.push({name:e,value:s,...it(e,s,n)}):t.push(qe(e,s))}function qe(t,e){return{name:t,value:e,as:"json",language:"json"}}function rt(t,e){return/^[^\s.[\]"]+$/u.test(e)?t===""?e:`${t}.${e}`:`${t}[${JSON.stringify(e)}]`}function ot(t){if(t===""||!t.includes(`
`)&&t!==t.trim()||t.trim()==="")return!0;if(!/^\s*(?:[-0-9"{[]|true|false|null)/u.test(t))return!1;try{return P(t),!0}catch{return!1}}function it(t,e,s){let r=t.slice(t.lastIndexOf(".")+1);if(r==="query"&&nt.test(e))return{as:"code",language:"sql"};let n=Object.hasOwn(De,r)?De[r]:void 0;if(n===void 0)return{as:"text",language:""};let o=n||at(s);return o===""&&st.test(r)?{as:"text",language:o}:{as:"code",language:o}}function at(t){let e=t.language??t.lang;if(typeof e=="string"&&B(e))return e;let s=z.map(n=>t[n]).find(n=>typeof n=="string"),r=/\.([a-z0-9]+)$/iu.exec(typeof s=="string"?s:"")?.[1]??"";return B(r)?r:""}var C=2e4,_e=3,Me=60;function K(t){return t.method==="tools/call"&&R(t.method,t.params)===t.args}function Ce(t,e,s){let r=R(t.method,t.params)??{},n=K(t),o=n?l:i`<h3>Parameters of <code>${f(t.method)}</code></h3>`;if(s){let y=h(r),j=e||y.length<=C?0:y.length;return{view:i`${o}<pre class="value">${Fe(j===0?y:y.slice(0,C),"json")}</pre>`,cut:j}}let a=n?Te(t.tool,t.args):null,c=Le(a===null?r:a.rest).map(y=>({...y,text:y.as==="json"?ct(y.value):String(y.value)})),p=c.length===1&&c[0]?.name===""&&c[0].text==="{}",m=c.reduce((y,j)=>y+j.name.length+j.text.length,0),d=e||m<=C?0:m,g=p?a===null?i`<p class="quiet">No arguments</p>`:l:i`<dl class="fields">${lt(c,d===0?1/0:C)}</dl>`;return{view:i`${o}${a===null?l:dt(a)}${g}`,cut:d}}function lt(t,e){let s=[],r=e;for(let n of t){if(r<=0)break;let o=n.text.length>Me||n.text.includes(`
`);s.push(i`<div class="arg" ?data-long=${o} data-as=${n.as}>${n.name===""?l:i`<dt>${f(n.name)}</dt>`}<dd>${pt(n,n.text.slice(0,r))}</dd></div>`),r-=n.name.length+n.text.length}return s}function ct(t){let e=k(t);return e.length<=Me?e:h(t)}function pt(t,e){let s=e.endsWith(`
`)?`
`:"";return t.as==="text"?i`<div class="value">${J(e)}${s}</div>`:i`<pre class="value">${Fe(e,t.language)}${s}</pre>`}function Fe(t,e){return le(t,e).map(s=>s.type===""?J(s.text):i`<span class=${`code-${s.type}`}>${J(s.text)}</span>`)}function J(t){return t.includes("\r")?t.split(`
`).map((e,s)=>[s===0?"":`
`,f(e)]):f(t)}function dt(t){return Ie(i`<code>${f(t.path)}</code>`,`Changes of ${t.path}`,t.changes)}function F(t,e){return Ie("Changed arguments","Changed arguments",[G(h(t),h(e))])}function Ie(t,e,s){let r=n=>s.flat().filter(o=>o.sign===n).length;return i`<div class="edit">
    <p class="edit-head">${t} <span class="added">+${r("+").toLocaleString()}</span> <span class="removed">−${r("-").toLocaleString()}</span></p>
    <div class="diff" role="group" aria-label=${e}>${s.map((n,o)=>i`${o===0?l:i`<span class="line fold">⋯</span>`}${ht(n).map(ut)}`)}</div>
  </div>`}function ut(t){return typeof t=="number"?i`<span class="line fold">⋯ ${pe(t,"unchanged line")}</span>`:i`<span class="line" data-sign=${t.sign}><span class="sign">${t.sign}</span>${f(t.text)}</span>`}function ht(t){let e=new Set;t.forEach((r,n)=>{if(r.sign!==" ")for(let o=n-_e;o<=n+_e;o++)e.add(o)});let s=[];return t.forEach((r,n)=>{let o=s.at(-1);e.has(n)?s.push(r):typeof o=="number"?s[s.length-1]=o+1:s.push(1)}),s}function W(t,e){let s;try{s=P(e)}catch(n){return`Invalid JSON: ${n instanceof Error?n.message:String(n)}`}let r=typeof s=="object"&&s!==null&&!Array.isArray(s);return t.method==="tools/call"&&!r?"Arguments are a JSON object.":{args:s}}var mt={once:"Once",context:"In this context",minutes:"For 10 minutes",pattern:"By pattern…"},Q=class extends ${static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},busy:{attribute:!1},mayReject:{attribute:!1},scope:{state:!0},patterns:{state:!0},chosenHost:{state:!0},editing:{state:!0},edited:{state:!0},error:{state:!0}};static styles=[E,S,_,T`
      form {
        display: grid;
        gap: var(--space-3);
      }
      .scope {
        position: relative; /* contains the unseen label */
        flex: 1 1 4.75rem; /* in a narrow card it fills the line */
        max-width: 11rem;
        font-size: var(--text-s);
      }
      .scope select {
        min-height: 2rem;
        padding-block: 0;
      }
      @container (max-width: 22rem) {
        .row {
          gap: var(--space-1);
        }
        .button {
          padding: 0 0.6rem;
        }
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
    `];shownFor="";constructor(){super(),this.scope="once",this.patterns=null,this.chosenHost="",this.editing=!1,this.edited="",this.error=""}willUpdate(e){!e.has("proposal")||this.shownFor===this.proposal.id||(this.shownFor=this.proposal.id,this.patterns=A(this.proposal),this.scope="once",this.editing=!1)}get runner(){let e=this.proposal;return e.owner||(I(this.state.participants.values(),e,this.shell.you).includes(this.chosenHost)?this.chosenHost:"")}get mayGrant(){return this.shell.may("capability.grant")&&this.shell.may("mcp.request")&&this.proposal.from!==this.shell.you}render(){let e=this.proposal,s=this.runner;return i`<form @submit=${this.submit} @keydown=${this.key}>
      ${e.owner===""?this.hosts(s):l} ${this.editing?this.editor():l} ${this.mayGrant&&this.scope==="pattern"?this.patternFields():l}
      <div class="row">
        <button class="button main" type="submit" ?disabled=${this.busy||s===""}>${this.busy?"Sending…":this.editing?"Approve edited call":"Approve"}</button>
        ${this.mayGrant&&!this.editing?this.scopes():l}
        ${this.shell.may("mcp.request")?i`<button class="button" type="button" name="edit" @click=${this.edit}>${this.editing?"Cancel edit":"Edit"}</button>`:l}
        ${this.mayReject?i`<button class="button bad" type="button" ?disabled=${this.busy} @click=${()=>this.dispatchEvent(new CustomEvent("reject"))}>Reject…</button>`:l}
      </div>
      <p class="faint">${this.consequence(s)}</p>
      ${q(this.error)}
    </form>`}scopes(){return i`<label class="scope"><span class="unseen">Allow</span>
      <select name="scope" @change=${e=>this.scope=e.target.value}>
        ${Ee(this.proposal).map(e=>i`<option value=${e} .selected=${e===this.scope}>${mt[e]}</option>`)}
      </select>
    </label>`}hosts(e){return i`<label class="field-label">The proposal does not name the participant that runs this tool.
      <select @change=${s=>this.chosenHost=s.target.value}>
        <option value="" .selected=${e===""}>Choose a participant</option>
        ${I(this.state.participants.values(),this.proposal,this.shell.you).map(s=>i`<option value=${s} .selected=${s===e}>${u(s)}</option>`)}
      </select>
    </label>`}editor(){let e=this.proposal,s=h(e.args??{}),r=this.edited===s?"":W(e,this.edited);return i`<label class="field-label">Arguments to send
        <textarea name="args" spellcheck="false" rows="8" .defaultValue=${s} @input=${n=>this.edited=n.target.value}></textarea>
      </label>
      ${typeof r=="string"||h(r.args)===s?l:F(e.args??{},r.args)}`}patternFields(){let e=this.patterns??A(this.proposal),s=this.proposal.method==="tools/call";return i`<fieldset>
      <legend class="quiet">${u(this.proposal.from)} may then call, without approval:</legend>
      ${s?i`<label class="field-label">Tool<input class="field pattern" required maxlength="512" .value=${e.tool} @input=${r=>this.patterns={...e,tool:r.target.value}} /></label>`:l}
      ${Object.entries(e.args).map(([r,n])=>i`<label class="field-label">${r}<input class="field pattern" placeholder="Any value" maxlength="4096" .value=${n} @input=${o=>this.patterns={...e,args:{...e.args,[r]:o.target.value}}} /></label>`)}
      <label class="field-label">Duration
        <select @change=${r=>this.patterns={...e,seconds:Number(r.target.value)}}>
          ${we.map(([r,n])=>i`<option value=${r} .selected=${r===e.seconds}>${n}</option>`)}
        </select>
      </label>
    </fieldset>`}consequence(e){let s=this.proposal,r=s.owner!==""?"":e===""?" to the participant that you choose":` to ${u(e)}`,n=`Approving sends ${this.editing?"the edited":"exactly this"} call in your name${r}.`,o=this.mayGrant&&!this.editing?U(s,this.scope,e,this.patterns??A(s)):null;if(o===null)return this.mayReject?n:`${n} You cannot reject it.`;let a=this.scope==="context"?" Ends after an hour at the latest.":"";return i`${n}${this.mayReject?"":" You cannot reject it."} <b>${u(s.from)}</b> then needs no approval for this: ${$e([o]).map(c=>D(c))}${a}`}edit=()=>{this.editing=!this.editing,this.edited=h(this.proposal.args??{}),this.error="",this.dispatchEvent(new CustomEvent("editing",{detail:this.editing})),this.updateComplete.then(()=>this.renderRoot.querySelector(this.editing?"textarea":".button.main")?.focus())};key=e=>{e.key!=="Escape"||!this.editing||(e.preventDefault(),this.edit())};submit=e=>{e.preventDefault();let s=this.proposal,r=this.runner;if(this.error="",!this.editing){let o=this.mayGrant?Se(s,this.scope,r,this.patterns??A(s)):null;this.emit({request:fe(s,N(),r),grant:o});return}let n=W(s,this.renderRoot.querySelector("textarea")?.value??"");typeof n=="string"?this.error=n:this.emit({request:ge(s,N(),n.args,r),grant:null})};emit(e){this.dispatchEvent(new CustomEvent("approval",{detail:e}))}};w("meup-approve-form",Q);function ft(t,e){let s=t.decidedBy===""?"":` by ${oe(t.decidedBy,e)}`;switch(t.status){case"pending":return{tone:"wait",sign:"decide",words:"Awaiting approval"};case"approved":return t.done?t.failed?{tone:"bad",sign:"stop",words:`Approved${s}, failed`}:{tone:"good",sign:"check",words:`Approved${s}, done`}:{tone:"good",sign:"run",words:`Approved${s}, running`};case"rejected":return{tone:"bad",sign:"cross",words:`Rejected${s}`};case"withdrawn":return{tone:"quiet",sign:"reply",words:`Withdrawn${s}`};case"expired":return{tone:"wait",sign:"time",words:t.lapsed&&(t.decidedAt??0)<(t.expiresAt??1/0)?"Expired: the reasoning ended without a decision":"Expired: no decision in time"};case"settled":return{tone:"quiet",sign:"people",words:`Already decided${s}`}}}function Ne(t,e){let s=ft(t,e);return i`<div class="fate" data-tone=${s.tone}>
    <p class="row">${s.sign==="run"?i`<span class="spinner" aria-hidden="true"></span>`:ae(s.sign)}<b class="grow">${s.words}</b>${t.decidedAt===null?l:L(t.decidedAt)}</p>
    ${gt(t)} ${yt(t)} ${bt(t)}
  </div>`}function gt(t){if(t.status==="approved"||t.status==="expired"||t.reason===""&&t.explanation==="")return l;let e=t.reason==="other"&&t.explanation!==""?"":t.reason.replaceAll("_"," ");return i`<p class="small">${x(e)}${t.explanation===""?l:i`${e===""?"":": "}${x(t.explanation)}`}</p>`}function yt(t){return t.approvedArgs===void 0?l:i`<p class="small">Approved with different arguments:</p>
    ${F(R(t.method,t.params)??{},t.approvedArgs)}`}function bt(t){return t.done?i`<p class="small">${x(te(t.result,t.summary)||"No content")}</p>
    ${t.result===void 0?l:i`<details><summary>Result</summary><pre tabindex="0">${f(h(t.result).slice(0,5e4))}</pre></details>`}`:l}var vt={disagree:"Disagree",unsafe:"Unsafe",inappropriate:"Inappropriate",policy:"Against policy",duplicate:"Already done",invalid:"Invalid",no_longer_needed:"No longer needed",busy:"Not now",other:"Other"},Z=class extends ${static properties={shell:{attribute:!1},proposal:{attribute:!1},busy:{attribute:!1},messageMissing:{state:!0}};static styles=[E,S,T`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];render(){return i`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Reason
        <select name="reason">
          ${me.map(e=>i`<option value=${e}>${vt[e]}</option>`)}
        </select>
      </label>
      <label class="field-label">Message to ${u(this.proposal.from)}
        <textarea name="words" rows="2" maxlength="2000" aria-invalid=${this.messageMissing===!0?"true":"false"} @input=${()=>this.messageMissing=!1}></textarea>
      </label>
      ${this.messageMissing===!0?i`<p class="refused" role="alert">Enter a message.</p>`:l}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>${this.busy?"Sending…":"Reject"}</button>
        <button class="button" type="button" @click=${this.cancel}>Cancel</button>
      </div>
    </form>`}firstUpdated(){this.renderRoot.querySelector("textarea")?.focus()}submit=e=>{e.preventDefault();let s=new FormData(e.target),r=String(s.get("reason")??""),n=String(s.get("words")??"").trim();this.messageMissing=r==="other"&&n==="",this.messageMissing||this.dispatchEvent(new CustomEvent("draft",{detail:ye(this.proposal,r,n)}))};key=e=>{if(e.key==="Enter"&&(e.ctrlKey||e.metaKey))e.currentTarget.requestSubmit();else if(e.key==="Escape")this.cancel();else return;e.preventDefault()};cancel=()=>{this.dispatchEvent(new CustomEvent("cancel"))}};w("meup-reject-form",Z);var ee=class extends ${static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},past:{attribute:!1},chosen:{type:Boolean,reflect:!0},inline:{type:Boolean},held:{type:Boolean,reflect:!0},rejecting:{state:!0},busy:{state:!0},error:{state:!0},whole:{state:!0},raw:{state:!0},clipped:{state:!0},editing:{state:!0}};static styles=[E,S,_,ue];guard=new ce(this);args={view:i``,cut:0};measured=null;sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.measureArgs()));willUpdate(e){["proposal","whole","raw"].some(s=>e.has(s))&&(this.args=Ce(this.proposal,this.whole===!0,this.raw===!0)),e.has("held")&&(this.style.minHeight=this.held===!0&&this.hasUpdated?`${this.getBoundingClientRect().height}px`:"",this.held&&(this.error=""))}updated(){this.guard.watch(this.proposal.status==="pending"&&!this.past?this.content(this.proposal):"");let e=this.renderRoot.querySelector(".args > div");e!==this.measured&&(this.measured!==null&&this.sizes.unobserve(this.measured),e!==null&&this.sizes.observe(e),this.measured=e)}measureArgs(){let e=this.renderRoot.querySelector(".args");this.clipped=e!==null&&e.scrollHeight>e.clientHeight+1}content(e){return k([e.id,e.from,e.method,e.params??null,e.owner,e.rationale])}render(){let e=this.proposal,s=e.status==="pending",r=e.owner===""?l:i` on <span class="name">${f(e.owner)}</span>`;return i`<article class="card" data-status=${e.status} aria-label=${`${O(e.from)} proposes ${u(e.tool)}`}>
      <header>
        ${this.inline?l:ie(e.from,!0)}
        <p class="grow"><span class="name">${u(e.from)}</span> ${re(e.from)} ${s?"wants":"wanted"} to call <code class="tool">${f(e.tool)}</code>${r}${e.rationale===""?".":", because:"}</p>
      </header>
      ${e.rationale===""?l:i`<p class="why">${x(e.rationale,n=>ne(n,D))}</p>`} ${this.warnings(e)} ${this.argsBox(e)}
      ${e.to.length===0?l:i`<p class="faint">Sent only to ${e.to.map(n=>n===this.shell.you?"you":O(n)).join(", ")}.</p>`}
      ${s?this.decision(e):Ne(e,this.shell.you)} ${q(this.error??"")}
      ${this.inline?l:i`<footer class="row">${de(this.shell,e.id)}<span class="grow"></span>${V(this.shell,e.id)}</footer>`}
    </article>`}argsBox(e){let{view:s,cut:r}=this.args,n=e.status==="pending",o=i`<span class="grow"></span>${n&&e.expiresAt!==null?i`<meup-time-left class="faint" .at=${e.expiresAt} .now=${()=>this.shell.now()}></meup-time-left>`:L(e.at)} ${this.inline?V(this.shell,e.id):l}`;if(n&&this.editing===!0&&K(e))return i`<div class="row under">${o}</div>`;let a=this.whole===!0,c=r>0?`Show all ${r.toLocaleString()} characters`:this.clipped===!0&&!a?"Show all":"";return i`<div class="args" role="group" aria-label="Arguments" tabindex="0" ?data-whole=${a} ?data-clipped=${c!==""}><div>${he([s],()=>s)}</div></div>
      <div class="row under">
        ${c===""?l:i`<button class="words small" @click=${()=>this.whole=!0}>${c}</button>`}
        <button class="words small" name="raw" aria-label=${this.raw===!0?"Show as fields":"Show as JSON"} @click=${()=>this.raw=!this.raw}>${this.raw===!0?"Fields":"JSON"}</button>
        ${o}
      </div>`}warnings(e){let s=[];se(e.tool+e.owner+h(e.params??null))&&s.push("This call contains invisible characters. They are shown as codes.");let r=[...this.state.participants.values()].flatMap(a=>a.tools.map(c=>c.name)),[n]=r.includes(e.tool)?[]:H(e.tool,r);n!==void 0&&s.push(`The tool's name looks like ${u(n)}, but is different.`);let[o]=e.owner===""||this.state.participants.has(e.owner)?[]:H(e.owner,this.state.participants.keys());return o!==void 0&&s.push(`The owner's name looks like ${u(o)}, but is different.`),s.length===0?l:i`${s.map(a=>i`<p class="warning">${a}</p>`)}`}decision(e){if(this.past)return i`<p class="faint">You are viewing the past. Proposals cannot be decided here.</p>`;if(this.rejecting===!0)return i`<meup-reject-form .busy=${this.busy===!0} @cancel=${this.stopRejecting} .shell=${this.shell} .proposal=${e} @draft=${n=>{this.send(n.detail)}}></meup-reject-form>`;let{present:s=!1}=this.state.participants.get(e.from)??{},r=s||e.from===this.shell.you?l:i`<p class="faint">${O(e.from)} is offline and may not see the decision.</p>`;return i`${r}${e.from===this.shell.you?this.own(e):this.others(e)}`}own(e){return this.shell.may("mcp.withdraw")?i`<div class="row"><button class="button" ?disabled=${this.busy} @click=${()=>{this.send(be(e))}}>Withdraw</button> <span class="quiet">You proposed this.</span></div>`:i`<p class="quiet">You proposed this. Others decide.</p>`}others(e){let{shell:s}=this,r=s.may("decide"),n=r||s.may("mcp.request"),o=r||s.may("mcp.reject");return!n&&!o?i`<p class="quiet">You cannot decide this: you may neither call tools nor reject proposals.</p>`:n?i`<meup-approve-form .shell=${s} .proposal=${e} .state=${this.state} .busy=${this.busy===!0} .mayReject=${o} @approval=${a=>{this.approve(a.detail)}} @reject=${this.startRejecting} @editing=${a=>this.editing=a.detail}></meup-approve-form>`:i`<div class="row"><button class="button bad" ?disabled=${this.busy} @click=${this.startRejecting}>Reject…</button></div><p class="faint">You can reject this. Approving it requires the right to call tools.</p>`}press(e){let s={a:".button.main",r:".button.bad",e:"button[name=edit]"}[e],r=this.renderRoot.querySelector("meup-approve-form")?.renderRoot??this.renderRoot,n=s===void 0?null:r.querySelector(s);return n?.scrollIntoView({block:"nearest"}),n?.click(),n!==null}startRejecting=()=>{this.editing=!1,this.rejecting=!0};stopRejecting=()=>{this.rejecting=!1,this.updateComplete.then(async()=>{let e=this.renderRoot.querySelector("meup-approve-form");await e?.updateComplete,(e?.renderRoot??this.renderRoot).querySelector(".button.bad")?.focus()})};async approve({request:e,grant:s}){if(!await this.send(e)||s===null)return;let r=await this.shell.send(s),n=u(this.proposal.from);this.shell.toast(r.ok?`Approved, and access granted to ${n}`:`Approved once. No access for ${n}: ${r.refusal}`)}async send(e){if(this.error=this.guard.refusal(this.content(this.proposal)),this.error!=="")return!1;this.busy=!0;let s=await this.shell.send(e);return this.busy=!1,s.ok?(this.rejecting=!1,this.dispatchEvent(new CustomEvent("decided",{bubbles:!0,composed:!0})),!0):(this.error=s.refusal,!1)}};w("meup-proposal-card",ee);export{ee as a};
