import{a as be}from"/assets/chunk-WSRHGKTO.js";import{d as oe}from"/assets/chunk-XJBGAAQ3.js";import{a as J,b as he}from"/assets/chunk-TCDORIUB.js";import{a as fe,b as q,c as ye}from"/assets/chunk-WYQFOF2J.js";import{a as pe,c as O,d as ce}from"/assets/chunk-LI2ITUN5.js";import{a as Re}from"/assets/chunk-X5D5OQI6.js";import{a as ve,b as $e,c as we,d as Se,e as xe,g as Ee}from"/assets/chunk-5EHFS64F.js";import{a as B}from"/assets/chunk-SK65YZIR.js";import{b as A}from"/assets/chunk-7YJZIPSA.js";import{a as E,b as m,d as L,e as me,f as z,g as ge,j as C,k as R}from"/assets/chunk-PCHDFJCC.js";import{a as de}from"/assets/chunk-MYHS66OQ.js";import{a as H,u as ue,v as x}from"/assets/chunk-LBX2FACT.js";import{D as ie,E as ae,J as U,L as S,N as D,O as le,Q as V,R as h,T as f,b as k,c as o,f as p,h as v,j as $,l as P,n as T,s as w,t as b,u as re,w as N}from"/assets/chunk-6QAC3HRB.js";var G=[[600,"for 10 minutes"],[3600,"for an hour"],[28800,"for 8 hours"],[0,"in this context"]],ze=8;function je(s){return re(N(w(s),"scopes")).flatMap(e=>{let{id:t,title:n,capability:r}=w(e);return b(r)?[{id:T(t),title:T(n),capability:r}]:[]})}function Ae(s,e){let t=e.find(c=>c.id==="similar")??e.find(c=>c.id==="same"),n=t&&w(w(t.capability.payload).params),r=n&&(s.method==="tools/call"?w(n.arguments):n),a=(b(s.args)?Object.entries(s.args):[]).filter(c=>typeof c[1]=="string"&&/^[\w-]+$/u.test(c[0])).slice(0,ze),l=(c,u)=>{if(r===void 0)return I(u);let d=N(r,c)??"";return typeof d=="string"?d:JSON.stringify(d)};return{tool:n?T(n.name):I(s.tool),args:Object.fromEntries(a.map(([c,u])=>[c,l(c,u)]))}}function I(s){return/^[\p{L}\p{N}_.][^*!?[\]{}\\]*$/u.test(s)?s:`/^${s.replace(/[\\^$.*+?()[\]{}|/-]/gu,"\\$&").replaceAll(`
`,"\\n")}$/`}function ke(s,e,t){let n=Object.fromEntries(Object.entries(t.args).flatMap(([a,l])=>l===""?[]:[[a,l.startsWith('{"$')?$(l):l]])),r=s.method==="tools/call",i=Object.keys(n).length===0?{}:r?{arguments:n}:n;return{kind:"mcp.request",to:[I(e)],payload:{method:I(s.method),params:{...r&&{name:t.tool},...i}}}}function Pe(s,e,t){let n=t>0?e:{...e,context:s.context.split("/")[0]??""};return{...Ee(s.from,[n],t||3600,`allowed with the approval of ${s.tool}`),correlationId:s.id}}var Y=["path","file_path","filePath","filename","file"],Te=[["old_string","new_string"],["old_str","new_str"],["oldText","newText"],["old_text","new_text"]],Ge=["content","contents","file_text","text"],We=["patch","diff"],Ye=/write|create|save|append|put_file/iu,Xe=5e3,Ke=1e6;function Oe(s,e){if(!b(e))return null;let t=Y.find(i=>typeof e[i]=="string"&&e[i]!==""),n=t===void 0?null:Qe(s,e);if(t===void 0||n===null||n.changes.length===0||n.changes.some(i=>i.length>2*Xe))return null;let r=new Set([t,...n.keys]);return{path:String(e[t]),changes:n.changes,rest:Object.fromEntries(Object.entries(e).filter(([i])=>!r.has(i)))}}function Qe(s,e){for(let[i,a]of Te){let l=De(e,i,a);if(l!==null)return{changes:[l],keys:[i,a]}}let t=e.edits;if(Array.isArray(t)){let i=t.map(a=>b(a)&&Object.keys(a).length===2?Te.map(([l,c])=>De(a,l,c)).find(l=>l!==null)??null:null);return i.every(a=>a!==null)?{changes:i,keys:["edits"]}:null}let n=We.find(i=>typeof e[i]=="string"&&/^@@ /mu.test(String(e[i])));if(n!==void 0)return{changes:[Ze(String(e[n]))],keys:[n]};let r=Ye.test(s)?Ge.find(i=>typeof e[i]=="string"):void 0;return r===void 0?null:{changes:[M(String(e[r])).map(i=>({sign:"+",text:i}))],keys:[r]}}function De(s,e,t){let n=s[e],r=s[t];return typeof n=="string"&&typeof r=="string"?X(n,r):null}function Ze(s){let e=M(s);return st(e.at(-1)===""?e.slice(0,-1):e)??e.map(et)}function et(s){let e=s.charAt(0);return(e==="+"||e==="-")&&!Le.test(s)?{sign:e,text:s.slice(1)}:{sign:"@",text:s}}var Le=/^(?:--- |\+\+\+ |diff --git |index [0-9a-f]+\.\.[0-9a-f]+)/u,tt=/^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/u;function st(s){let e=[],t=0,n=0;for(let r of s){let i=r.charAt(0),a=t>0||n>0,l=a?null:tt.exec(r);if(l!==null&&(t=Number(l[1]??"1"),n=Number(l[2]??"1")),l!==null||!a&&Le.test(r)||r==="\\ No newline at end of file"){e.push({sign:"@",text:r});continue}if(!a||i!==" "&&i!=="+"&&i!=="-"||(i!=="+"&&t--,i!=="-"&&n--,t<0||n<0))return null;e.push({sign:i,text:r.slice(1)})}return t>0||n>0?null:e}function M(s){return s===""?[]:s.split(`
`)}function X(s,e){let t=M(s),n=M(e),r=0;for(;r<t.length&&r<n.length&&t[r]===n[r];)r++;let i=0;for(;i<t.length-r&&i<n.length-r&&t[t.length-1-i]===n[n.length-1-i];)i++;let a=nt(t.slice(r,t.length-i),n.slice(r,n.length-i));return[...t.slice(0,r).map(W),...a,...t.slice(t.length-i).map(W)]}function W(s){return{sign:" ",text:s}}function nt(s,e){let t=d=>({sign:"-",text:d}),n=d=>({sign:"+",text:d});if(s.length*e.length>Ke||s.length===0||e.length===0)return[...s.map(t),...e.map(n)];let r=e.length+1,i=new Uint32Array((s.length+1)*r),a=(d,g)=>i[d*r+g]??0;for(let d=s.length-1;d>=0;d--)for(let g=e.length-1;g>=0;g--)i[d*r+g]=s[d]===e[g]?a(d+1,g+1)+1:Math.max(a(d+1,g),a(d,g+1));let l=[],c=0,u=0;for(;c<s.length&&u<e.length;)s[c]===e[u]?(l.push(W(s[c++])),u++):a(c+1,u)>=a(c,u+1)?l.push(t(s[c++])):l.push(n(e[u++]));return[...l,...s.slice(c).map(t),...e.slice(u).map(n)]}var Ce=4,Ie=1e3,qe={command:"sh",cmd:"sh",bash:"sh",shell:"sh",script:"sh",sql:"sql",python:"python",javascript:"javascript",patch:"diff",diff:"diff",code:"",source:"",source_code:"",snippet:"",content:"",contents:"",file_text:"",body:"",text:""},rt=/^(?:content|contents|file_text|body|text)$/u,it=/^\s*(?:select|insert\s+into|update|delete\s+from|with|create|alter|drop)\s/iu;function Me(s){let e=[];return K(e,"",s,0,{}),e.length>Ie?[_e("",s)]:e}function K(s,e,t,n,r){if(!(s.length>Ie))if(n<=Ce&&b(t)&&Object.keys(t).length>0)for(let[i,a]of Object.entries(t))a!==void 0&&K(s,ot(e,i),a,n+1,t);else n<=Ce&&Array.isArray(t)&&t.some(i=>b(i)&&Object.keys(i).length>0||typeof i=="string"&&i.includes(`
`))?t.forEach((i,a)=>K(s,`${e}[${a}]`,i,n+1,{})):typeof t=="string"&&!at(t)?s.push({name:e,value:t,...lt(e,t,r)}):s.push(_e(e,t))}function _e(s,e){return{name:s,value:e,as:"json",language:"json"}}function ot(s,e){return/^[^\s.[\]"]+$/u.test(e)?s===""?e:`${s}.${e}`:`${s}[${JSON.stringify(e)}]`}function at(s){if(s===""||!s.includes(`
`)&&s!==s.trim()||s.trim()==="")return!0;if(!/^\s*(?:[-0-9"{[]|true|false|null)/u.test(s))return!1;try{return $(s),!0}catch{return!1}}function lt(s,e,t){let n=s.slice(s.lastIndexOf(".")+1);if(n==="query"&&it.test(e))return{as:"code",language:"sql"};let r=Object.hasOwn(qe,n)?qe[n]:void 0;if(r===void 0)return{as:"text",language:""};let i=r||pt(t);return i===""&&rt.test(n)?{as:"text",language:i}:{as:"code",language:i}}function pt(s){let e=s.language??s.lang;if(typeof e=="string"&&J(e))return e;let t=Y.map(r=>s[r]).find(r=>typeof r=="string"),n=/\.([a-z0-9]+)$/iu.exec(typeof t=="string"?t:"")?.[1]??"";return J(n)?n:""}var _=2e4,Fe=3,Ne=60;function Z(s){return s.method==="tools/call"&&A(s.method,s.params)===s.args}function He(s,e,t){let n=A(s.method,s.params)??{},r=Z(s),i=r?p:o`<h3>Parameters of <code>${m(s.method)}</code></h3>`;if(t){let y=f(n),j=e||y.length<=_?0:y.length;return{view:o`${i}<pre class="value">${Be(j===0?y:y.slice(0,_),"json")}</pre>`,cut:j}}let a=r?Oe(s.tool,s.args):null,l=Me(a===null?n:a.rest).map(y=>({...y,text:y.as==="json"?dt(y.value):String(y.value)})),c=l.length===1&&l[0]?.name===""&&l[0].text==="{}",u=l.reduce((y,j)=>y+j.name.length+j.text.length,0),d=e||u<=_?0:u,g=c?a===null?o`<p class="quiet">No arguments</p>`:p:o`<dl class="fields">${ct(l,d===0?1/0:_)}</dl>`;return{view:o`${i}${a===null?p:ht(a)}${g}`,cut:d}}function ct(s,e){let t=[],n=e;for(let r of s){if(n<=0)break;let i=r.text.length>Ne||r.text.includes(`
`);t.push(o`<div class="arg" ?data-long=${i} data-as=${r.as}>${r.name===""?p:o`<dt>${m(r.name)}</dt>`}<dd>${ut(r,r.text.slice(0,n))}</dd></div>`),n-=r.name.length+r.text.length}return t}function dt(s){let e=P(s);return e.length<=Ne?e:f(s)}function ut(s,e){let t=e.endsWith(`
`)?`
`:"";return s.as==="text"?o`<div class="value">${Q(e)}${t}</div>`:o`<pre class="value">${Be(e,s.language)}${t}</pre>`}function Be(s,e){return he(s,e).map(t=>t.type===""?Q(t.text):o`<span class=${`code-${t.type}`}>${Q(t.text)}</span>`)}function Q(s){return s.includes("\r")?s.split(`
`).map((e,t)=>[t===0?"":`
`,m(e)]):m(s)}function ht(s){return Ue(o`<code>${m(s.path)}</code>`,`Changes of ${s.path}`,s.changes)}function F(s,e){return Ue("Changed arguments","Changed arguments",[X(f(s),f(e))])}function Ue(s,e,t){let n=r=>t.flat().filter(i=>i.sign===r).length;return o`<div class="edit">
    <p class="edit-head">${s} <span class="added">+${n("+").toLocaleString()}</span> <span class="removed">−${n("-").toLocaleString()}</span></p>
    <div class="diff" role="group" aria-label=${e}>${t.map((r,i)=>o`${i===0?p:o`<span class="line fold">⋯</span>`}${mt(r).map(ft)}`)}</div>
  </div>`}function ft(s){return typeof s=="number"?o`<span class="line fold">⋯ ${me(s,"unchanged line")}</span>`:o`<span class="line" data-sign=${s.sign}><span class="sign">${s.sign}</span>${m(s.text)}</span>`}function mt(s){let e=new Set;s.forEach((n,r)=>{if(n.sign!==" ")for(let i=r-Fe;i<=r+Fe;i++)e.add(i)});let t=[];return s.forEach((n,r)=>{let i=t.at(-1);e.has(r)?t.push(n):typeof i=="number"?t[t.length-1]=i+1:t.push(1)}),t}function ee(s,e){let t;try{t=$(e)}catch(r){return`Invalid JSON: ${r instanceof Error?r.message:String(r)}`}let n=typeof t=="object"&&t!==null&&!Array.isArray(t);return s.method==="tools/call"&&!n?"Arguments are a JSON object.":{args:t}}var Ve="A pattern is no valid JSON.",te=class extends v{static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},busy:{attribute:!1},mayReject:{attribute:!1},scope:{state:!0},scopes:{state:!0},span:{state:!0},patterns:{state:!0},chosenHost:{state:!0},editing:{state:!0},edited:{state:!0},error:{state:!0}};static styles=[E,R,q,k`
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
    `];shownFor="";constructor(){super(),this.scope="once",this.scopes=[],this.span=600,this.patterns=null,this.chosenHost="",this.editing=!1,this.edited="",this.error=""}willUpdate(){let{proposal:e,runner:t}=this,n=`${e.id} ${t}`;this.shownFor!==n&&(this.shownFor.startsWith(`${e.id} `)||(this.editing=!1),this.shownFor=n,this.scope="once",this.scopes=[],this.span=600,this.patterns=null,!(!this.mayGrant||t==="")&&this.shell.get(`proposals/${encodeURIComponent(e.id)}/scopes?to=${encodeURIComponent(t)}`).then(r=>{this.shownFor===n&&(this.scopes=je(r))},()=>{}))}get runner(){let e=this.proposal;return e.owner||(H(this.state.participants.values(),e,this.shell.you).includes(this.chosenHost)?this.chosenHost:"")}get mayGrant(){return this.shell.may("capability.grant")&&this.shell.may("mcp.request")&&this.proposal.from!==this.shell.you}render(){let e=this.proposal,t=this.runner;return o`<form @submit=${this.submit} @keydown=${this.key}>
      ${e.owner===""?this.hosts(t):p} ${this.editing?this.editor():p} ${this.mayGrant&&this.scope==="pattern"?this.patternFields():p}
      <div class="row">
        <button class="button main" type="submit" ?disabled=${this.busy||t===""}>${this.busy?"Sending…":this.editing?"Approve edited call":"Approve"}</button>
        ${this.mayGrant&&!this.editing?this.choices():p}
        ${this.shell.may("mcp.request")?o`<button class="button" type="button" name="edit" @click=${this.edit}>${this.editing?"Cancel edit":"Edit"}</button>`:p}
        ${this.mayReject?o`<button class="button bad" type="button" ?disabled=${this.busy} @click=${()=>this.dispatchEvent(new CustomEvent("reject"))}>Reject…</button>`:p}
      </div>
      <p class="faint">${this.consequence(t)}</p>
      ${C(this.error)}
    </form>`}choices(){let{scopes:e}=this,t=e.map(i=>[i.id,ie(V(i.title),90)]),n=t.filter(([i])=>i==="any"),r=[["once","Once"],...t.filter(i=>!n.includes(i)),["pattern","By pattern…"],...n];return o`<label class="scope"><span class="unseen">Allow</span>
        <select name="scope" @change=${i=>this.scope=i.target.value}>
          ${r.map(([i,a])=>o`<option value=${i} .selected=${i===this.scope}>${a}</option>`)}
        </select>
      </label>
      ${this.scope==="once"?p:o`<label class="scope"><span class="unseen">Duration</span>
            <select name="span" @change=${i=>this.span=Number(i.target.value)}>
              ${G.filter(([i])=>i>0||this.proposal.context!=="").map(([i,a])=>o`<option value=${i} .selected=${i===this.span}>${a}</option>`)}
            </select>
          </label>`}`}get written(){return this.patterns??Ae(this.proposal,this.scopes)}added(e){return!this.mayGrant||this.editing?null:this.scope==="pattern"?ke(this.proposal,e,this.written):this.scopes.find(t=>t.id===this.scope)?.capability??null}hosts(e){return o`<label class="field-label">The proposal does not name the participant that runs this tool.
      <select @change=${t=>this.chosenHost=t.target.value}>
        <option value="" .selected=${e===""}>Choose a participant</option>
        ${H(this.state.participants.values(),this.proposal,this.shell.you).map(t=>o`<option value=${t} .selected=${t===e}>${h(t)}</option>`)}
      </select>
    </label>`}editor(){let e=this.proposal,t=f(e.args??{}),n=this.edited===t?"":ee(e,this.edited);return o`<label class="field-label">Arguments to send
        <textarea name="args" spellcheck="false" rows="8" .defaultValue=${t} @input=${r=>this.edited=r.target.value}></textarea>
      </label>
      ${typeof n=="string"||f(n.args)===t?p:F(e.args??{},n.args)}`}patternFields(){let e=this.written,t=this.proposal.method==="tools/call";return o`<fieldset>
      <legend class="quiet">${h(this.proposal.from)} may then call, without approval:</legend>
      ${t?o`<label class="field-label">Tool<input class="field pattern" required maxlength="512" .value=${e.tool} @input=${n=>this.patterns={...e,tool:n.target.value}} /></label>`:p}
      ${Object.entries(e.args).map(([n,r])=>o`<label class="field-label">${n}<input class="field pattern" placeholder="Any value" maxlength="4096" .value=${r} @input=${i=>this.patterns={...e,args:{...e.args,[n]:i.target.value}}} /></label>`)}
    </fieldset>`}consequence(e){let t=this.proposal,n=t.owner!==""?"":e===""?" to the participant that you choose":` to ${h(e)}`,r=`Approving sends ${this.editing?"the edited":"exactly this"} call in your name${n}.`,i=this.mayReject?r:`${r} You cannot reject it.`,a=this.words(e);return a===null?i:o`${i} <b>${h(t.from)}</b> then needs no approval for this, ${G.find(([l])=>l===this.span)?.[1]}: ${a}${this.span===0?" Ends after an hour at the latest.":""}`}words(e){let t=this.scopes.find(n=>n.id===this.scope);try{let n=this.added(e);return n===null?null:t===void 0?Re([n]).map(r=>D(r)):`${V(t.title)}.`}catch{return Ve}}edit=()=>{this.editing=!this.editing,this.edited=f(this.proposal.args??{}),this.error="",this.dispatchEvent(new CustomEvent("editing",{detail:this.editing})),this.updateComplete.then(()=>this.renderRoot.querySelector(this.editing?"textarea":".button.main")?.focus())};key=e=>{e.key!=="Escape"||!this.editing||(e.preventDefault(),this.edit())};submit=e=>{e.preventDefault();let t=this.proposal,n=this.runner;if(this.error="",!this.editing){try{let i=this.added(n);this.emit({request:$e(t,B(),n),grant:i&&Pe(t,i,this.span)})}catch{this.error=Ve}return}let r=ee(t,this.renderRoot.querySelector("textarea")?.value??"");typeof r=="string"?this.error=r:this.emit({request:we(t,B(),r.args,n),grant:null})};emit(e){this.dispatchEvent(new CustomEvent("approval",{detail:e}))}};S("meup-approve-form",te);function gt(s,e){let t=s.decidedBy===""?"":` by ${ce(s.decidedBy,e)}`;switch(s.status){case"pending":return{tone:"wait",sign:"decide",words:"Awaiting approval"};case"approved":return s.done?s.failed?{tone:"bad",sign:"stop",words:`Approved${t}, failed`}:{tone:"good",sign:"check",words:`Approved${t}, done`}:{tone:"good",sign:"run",words:`Approved${t}, running`};case"rejected":return{tone:"bad",sign:"cross",words:`Rejected${t}`};case"withdrawn":return{tone:"quiet",sign:"reply",words:`Withdrawn${t}`};case"expired":return{tone:"wait",sign:"time",words:s.lapsed&&(s.decidedAt??0)<(s.expiresAt??1/0)?"Expired: the reasoning ended without a decision":"Expired: no decision in time"};case"settled":return{tone:"quiet",sign:"people",words:`Already decided${t}`}}}function Je(s,e){let t=gt(s,e);return o`<div class="fate" data-tone=${t.tone}>
    <p class="row">${t.sign==="run"?o`<span class="spinner" aria-hidden="true"></span>`:ue(t.sign)}<b class="grow">${t.words}</b>${s.decidedAt===null?p:L(s.decidedAt)}</p>
    ${yt(s)} ${bt(s)} ${vt(s)}
  </div>`}function yt(s){if(s.status==="approved"||s.status==="expired"||s.reason===""&&s.explanation==="")return p;let e=s.reason==="other"&&s.explanation!==""?"":s.reason.replaceAll("_"," ");return o`<p class="small">${x(e)}${s.explanation===""?p:o`${e===""?"":": "}${x(s.explanation)}`}</p>`}function bt(s){return s.approvedArgs===void 0?p:o`<p class="small">Approved with different arguments:</p>
    ${F(A(s.method,s.params)??{},s.approvedArgs)}`}function vt(s){return s.done?o`<p class="small">${x(oe(s.result,s.summary)||"No content")}</p>
    ${s.result===void 0?p:o`<details><summary>Result</summary><pre tabindex="0">${m(f(s.result).slice(0,5e4))}</pre></details>`}`:p}var $t={disagree:"Disagree",unsafe:"Unsafe",inappropriate:"Inappropriate",policy:"Against policy",duplicate:"Already done",invalid:"Invalid",no_longer_needed:"No longer needed",busy:"Not now",other:"Other"},se=class extends v{static properties={shell:{attribute:!1},proposal:{attribute:!1},busy:{attribute:!1},messageMissing:{state:!0}};static styles=[E,R,k`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];render(){return o`<form @submit=${this.submit} @keydown=${this.key}>
      <label class="field-label">Reason
        <select name="reason">
          ${ve.map(e=>o`<option value=${e}>${$t[e]}</option>`)}
        </select>
      </label>
      <label class="field-label">Message to ${h(this.proposal.from)}
        <textarea name="words" rows="2" maxlength="2000" aria-invalid=${this.messageMissing===!0?"true":"false"} @input=${()=>this.messageMissing=!1}></textarea>
      </label>
      ${this.messageMissing===!0?o`<p class="refused" role="alert">Enter a message.</p>`:p}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>${this.busy?"Sending…":"Reject"}</button>
        <button class="button" type="button" @click=${this.cancel}>Cancel</button>
      </div>
    </form>`}firstUpdated(){this.renderRoot.querySelector("textarea")?.focus()}submit=e=>{e.preventDefault();let t=new FormData(e.target),n=String(t.get("reason")??""),r=String(t.get("words")??"").trim();this.messageMissing=n==="other"&&r==="",this.messageMissing||this.dispatchEvent(new CustomEvent("draft",{detail:Se(this.proposal,n,r)}))};key=e=>{if(e.key==="Enter"&&(e.ctrlKey||e.metaKey))e.currentTarget.requestSubmit();else if(e.key==="Escape")this.cancel();else return;e.preventDefault()};cancel=()=>{this.dispatchEvent(new CustomEvent("cancel"))}};S("meup-reject-form",se);var ne=class extends v{static properties={shell:{attribute:!1},proposal:{attribute:!1},state:{attribute:!1},past:{attribute:!1},chosen:{type:Boolean,reflect:!0},inline:{type:Boolean},held:{type:Boolean,reflect:!0},rejecting:{state:!0},busy:{state:!0},error:{state:!0},whole:{state:!0},raw:{state:!0},clipped:{state:!0},editing:{state:!0}};static styles=[E,R,q,ye];guard=new fe(this);args={view:o``,cut:0};measured=null;sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.measureArgs()));willUpdate(e){["proposal","whole","raw"].some(t=>e.has(t))&&(this.args=He(this.proposal,this.whole===!0,this.raw===!0)),e.has("held")&&(this.style.minHeight=this.held===!0&&this.hasUpdated?`${this.getBoundingClientRect().height}px`:"",this.held&&(this.error=""))}updated(){this.guard.watch(this.proposal.status==="pending"&&!this.past?this.content(this.proposal):"");let e=this.renderRoot.querySelector(".args > div");e!==this.measured&&(this.measured!==null&&this.sizes.unobserve(this.measured),e!==null&&this.sizes.observe(e),this.measured=e)}measureArgs(){let e=this.renderRoot.querySelector(".args");this.clipped=e!==null&&e.scrollHeight>e.clientHeight+1}content(e){return P([e.id,e.from,e.method,e.params??null,e.owner,e.rationale])}render(){let e=this.proposal,t=e.status==="pending",n=e.owner===""?p:o` on <span class="name">${m(e.owner)}</span>`;return o`<article class="card" data-status=${e.status} aria-label=${`${O(e.from)} proposes ${h(e.tool)}`}>
      <header>
        ${this.inline?p:de(e.from,!0)}
        <p class="grow"><span class="name">${h(e.from)}</span> ${pe(e.from)} ${t?"wants":"wanted"} to call <code class="tool">${m(e.tool)}</code>${n}${e.rationale===""?".":", because:"}</p>
      </header>
      ${e.rationale===""?p:o`<p class="why">${x(e.rationale,r=>le(r,D))}</p>`} ${this.warnings(e)} ${this.argsBox(e)}
      ${e.to.length===0?p:o`<p class="faint">Sent only to ${e.to.map(r=>r===this.shell.you?"you":O(r)).join(", ")}.</p>`}
      ${t?this.decision(e):Je(e,this.shell.you)} ${C(this.error??"")}
      ${this.inline?p:o`<footer class="row">${ge(this.shell,e.id)}<span class="grow"></span>${z(this.shell,e.id)}</footer>`}
    </article>`}argsBox(e){let{view:t,cut:n}=this.args,r=e.status==="pending",i=o`<span class="grow"></span>${r&&e.expiresAt!==null?o`<meup-time-left class="faint" .at=${e.expiresAt} .now=${()=>this.shell.now()}></meup-time-left>`:L(e.at)} ${this.inline?z(this.shell,e.id):p}`;if(r&&this.editing===!0&&Z(e))return o`<div class="row under">${i}</div>`;let a=this.whole===!0,l=n>0?`Show all ${n.toLocaleString()} characters`:this.clipped===!0&&!a?"Show all":"";return o`<div class="args" role="group" aria-label="Arguments" tabindex="0" ?data-whole=${a} ?data-clipped=${l!==""}><div>${be([t],()=>t)}</div></div>
      <div class="row under">
        ${l===""?p:o`<button class="words small" @click=${()=>this.whole=!0}>${l}</button>`}
        <button class="words small" name="raw" aria-label=${this.raw===!0?"Show as fields":"Show as JSON"} @click=${()=>this.raw=!this.raw}>${this.raw===!0?"Fields":"JSON"}</button>
        ${i}
      </div>`}warnings(e){let t=[];ae(e.tool+e.owner+f(e.params??null))&&t.push("This call contains invisible characters. They are shown as codes.");let n=[...this.state.participants.values()].flatMap(a=>a.tools.map(l=>l.name)),[r]=n.includes(e.tool)?[]:U(e.tool,n);r!==void 0&&t.push(`The tool's name looks like ${h(r)}, but is different.`);let[i]=e.owner===""||this.state.participants.has(e.owner)?[]:U(e.owner,this.state.participants.keys());return i!==void 0&&t.push(`The owner's name looks like ${h(i)}, but is different.`),t.length===0?p:o`${t.map(a=>o`<p class="warning">${a}</p>`)}`}decision(e){if(this.past)return o`<p class="faint">You are viewing the past. Proposals cannot be decided here.</p>`;if(this.rejecting===!0)return o`<meup-reject-form .busy=${this.busy===!0} @cancel=${this.stopRejecting} .shell=${this.shell} .proposal=${e} @draft=${r=>{this.send(r.detail)}}></meup-reject-form>`;let{present:t=!1}=this.state.participants.get(e.from)??{},n=t||e.from===this.shell.you?p:o`<p class="faint">${O(e.from)} is offline and may not see the decision.</p>`;return o`${n}${e.from===this.shell.you?this.own(e):this.others(e)}`}own(e){return this.shell.may("mcp.withdraw")?o`<div class="row"><button class="button" ?disabled=${this.busy} @click=${()=>{this.send(xe(e))}}>Withdraw</button> <span class="quiet">You proposed this.</span></div>`:o`<p class="quiet">You proposed this. Others decide.</p>`}others(e){let{shell:t}=this,n=t.may("decide"),r=n||t.may("mcp.request"),i=n||t.may("mcp.reject");return!r&&!i?o`<p class="quiet">You cannot decide this: you may neither call tools nor reject proposals.</p>`:r?o`<meup-approve-form .shell=${t} .proposal=${e} .state=${this.state} .busy=${this.busy===!0} .mayReject=${i} @approval=${a=>{this.approve(a.detail)}} @reject=${this.startRejecting} @editing=${a=>this.editing=a.detail}></meup-approve-form>`:o`<div class="row"><button class="button bad" ?disabled=${this.busy} @click=${this.startRejecting}>Reject…</button></div><p class="faint">You can reject this. Approving it requires the right to call tools.</p>`}press(e){let t={a:".button.main",r:".button.bad",e:"button[name=edit]"}[e],n=this.renderRoot.querySelector("meup-approve-form")?.renderRoot??this.renderRoot,r=t===void 0?null:n.querySelector(t);return r?.scrollIntoView({block:"nearest"}),r?.click(),r!==null}startRejecting=()=>{this.editing=!1,this.rejecting=!0};stopRejecting=()=>{this.rejecting=!1,this.updateComplete.then(async()=>{let e=this.renderRoot.querySelector("meup-approve-form");await e?.updateComplete,(e?.renderRoot??this.renderRoot).querySelector(".button.bad")?.focus()})};async approve({request:e,grant:t}){if(!await this.send(e)||t===null)return;let n=await this.shell.send(t),r=h(this.proposal.from);this.shell.toast(n.ok?`Approved, and access granted to ${r}`:`Approved once. No access for ${r}: ${n.refusal}`)}async send(e){if(this.error=this.guard.refusal(this.content(this.proposal)),this.error!=="")return!1;this.busy=!0;let t=await this.shell.send(e);return this.busy=!1,t.ok?(this.rejecting=!1,this.dispatchEvent(new CustomEvent("decided",{bubbles:!0,composed:!0})),!0):(this.error=t.refusal,!1)}};S("meup-proposal-card",ne);export{ne as a};
