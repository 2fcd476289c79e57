import{a as K}from"/assets/chunk-FVM2SPCZ.js";import{c as w}from"/assets/chunk-QAMOA7OT.js";import{a as _,i as z,j as U,k as W,l as B,m as J,n as V}from"/assets/chunk-WC643RJW.js";import{a as Y}from"/assets/chunk-UDHAXBXK.js";import{b as $}from"/assets/chunk-5S4HJWRR.js";import{a as g}from"/assets/chunk-NVPWSKKJ.js";import"/assets/chunk-MTRC2KP5.js";import{b as F}from"/assets/chunk-DXQ3ABBQ.js";import{a as v}from"/assets/chunk-CUBI55NZ.js";import{e as j}from"/assets/chunk-G43XG7NS.js";import{a as u,c as Z,d as T,e as x,f as Q,g as I,k as h,l as b}from"/assets/chunk-E5LNYIV6.js";import{g as l,j as m,l as S}from"/assets/chunk-SRANVCBR.js";import{L as y,P as n,a as c,b as i,e as r,i as N,r as q,s as H,v as G}from"/assets/chunk-EZPMOHX2.js";var D=[["talk","Talk",["chat","chat.*"]],["reason","Reason for everybody to see",["reasoning.*","stream.*"]],["propose","Propose calls and take them back",["mcp.proposal","mcp.withdraw"]],["tool","Call one tool",[]],["call","Call all tools",["mcp.request","mcp.response"]],["decide","Decide on proposals",["mcp.request","mcp.reject"]],["observe","See what is said to others",["observe"]],["own","Something else…",[]]],C=[[300,"5 minutes"],[600,"10 minutes"],[3600,"1 hour"],[28800,"8 hours"],[86400,"1 day"],[604800,"7 days"],[0,"Until it is taken back"]],k={usual:"talk",tool:"",owner:"",method:"",own:""};function E(o){return o.usual==="tool"?ee(o):o.usual==="own"?te(o.own.trim()):D.find(([e])=>e===o.usual)?.[2]??[]}function ee(o){let e=o.method!==""&&o.method!=="tools/call";return!e&&o.tool.trim()===""?"Say which tool.":[{kind:"mcp.request",payload:e?{method:o.method}:{method:"tools/call",params:{name:o.tool.trim()}},...o.owner!==""&&{to:[o.owner]}}]}function te(o){if(o==="")return"Write a kind, such as chat or reasoning/*, or a capability as JSON.";if(!/^[[{]/.test(o))return/^\S{1,256}$/.test(o)?[o]:"A kind has no spaces in it.";let e;try{e=N(o)}catch{return"That is not JSON."}let t=Array.isArray(e)?e:[e];return t.every(a=>typeof a=="string"&&a!==""||H(a)&&typeof G(q(a),"kind")=="string")&&t.length>0&&t.length<=64?t:"A capability is a text, or an object with a kind; at most 64 of them."}function R(o,e){let t=(s,a)=>e({...o,[a]:s.target.value});return i`<label class="field-label">What they may do
      <select @change=${s=>t(s,"usual")}>
        ${D.map(([s,a])=>i`<option value=${s} .selected=${s===o.usual}>${a}</option>`)}
      </select>
    </label>
    ${o.usual!=="tool"?r:i`${o.method!==""&&o.method!=="tools/call"?i`<p class="quiet">The method <code>${o.method}</code>.</p>`:i`<label class="field-label">The tool's name, * for any letters<input class="field" autocapitalize="off" spellcheck="false" maxlength="256" .value=${o.tool} @input=${s=>t(s,"tool")} /></label>`}
          <label class="field-label">Of whom (empty: of anybody)<input class="field" autocapitalize="off" spellcheck="false" maxlength="128" .value=${o.owner} @input=${s=>t(s,"owner")} /></label>`}
    ${o.usual!=="own"?r:i`<label class="field-label">A kind, or a capability as JSON<textarea rows="3" autocapitalize="off" spellcheck="false" maxlength="8000" placeholder="reasoning/*" .value=${o.own} @input=${s=>t(s,"own")}></textarea></label>`}`}var P=class extends l{static properties={...l.properties,recipient:{state:!0},choice:{state:!0},seconds:{state:!0},busy:{state:!0},trouble:{state:!0}};static styles=[u,b,c`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];constructor(){super(),this.recipient="",this.choice=k,this.seconds=600,this.busy=!1,this.trouble=""}willUpdate(e){let{recipient:t,tool:s,owner:a,method:d}=this.params??{};!e.has("params")||t===void 0||t===""||(this.recipient=t,this.choice={...k,usual:"tool",tool:s??"",owner:a??"",method:d??""},this.seconds=600,this.updateComplete.then(()=>this.scrollIntoView({block:"nearest"})))}render(){let e=[...this.state.participants.values()].filter(s=>s.id!==g&&s.id!==this.desk.you&&!s.kicked).sort((s,a)=>Number(a.present)-Number(s.present)||s.id.localeCompare(a.id)),t=E(this.choice);return i`<form @submit=${s=>{this.submit(s,t)}}>
      <label class="field-label">To whom
        <select @change=${s=>this.recipient=s.target.value}>
          <option value="" .selected=${this.recipient===""}>Choose…</option>
          ${e.map(s=>i`<option value=${s.id} .selected=${s.id===this.recipient}>${n(s.id)}${s.present?"":" (not here)"}</option>`)}
        </select>
      </label>
      ${R(this.choice,s=>this.choice=s)}
      <label class="field-label">For how long
        <select @change=${s=>this.seconds=Number(s.target.value)}>
          ${C.map(([s,a])=>i`<option value=${s} .selected=${s===this.seconds}>${a}</option>`)}
        </select>
      </label>
      <label class="field-label">Why (everybody can read it)<input class="field" name="reason" maxlength="500" /></label>
      ${typeof t=="string"?r:i`<div class="sentences" aria-label="In words">${v(t).map(s=>i`<p>${y(s)}</p>`)}</div>`} ${h(this.trouble)}
      <div class="row"><button class="button main" type="submit" ?disabled=${this.busy}>${this.busy?"Giving…":"Give"}</button></div>
    </form>`}async submit(e,t){e.preventDefault();let s=e.target;if(this.trouble=this.recipient===""?"Say to whom.":typeof t=="string"?t:"",this.trouble!==""||typeof t=="string")return;this.busy=!0;let a=await this.desk.send(z(this.recipient,t,this.seconds,String(new FormData(s).get("reason")??"").trim()));if(this.busy=!1,!a.ok){this.trouble=a.refusal;return}this.desk.say(`${n(this.recipient)} has the right now.`),this.recipient="",this.choice=k;for(let d of s.querySelectorAll("input"))d.value=""}};m("meup-grant-form",P);var se=50,A=class extends l{static properties={...l.properties,asking:{state:!0},busy:{state:!0},trouble:{state:!0},second:{state:!0}};static styles=[u,b,c`
      ul ul {
        margin-left: var(--space-2);
        padding-left: var(--space-3);
        border-left: 2px solid var(--line);
      }
      .grant {
        display: grid;
        gap: var(--space-1);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .confirm {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-3);
        border-radius: var(--round-m);
        background: var(--bad-soft);
      }
    `];end=()=>{};book=null;connectedCallback(){super.connectedCallback(),this.end=Y(()=>{[...this.grants.values()].some(e=>e.expiresAt!==null&&e.revoked===null)&&(this.second=Math.floor(this.desk.now()/1e3))})}disconnectedCallback(){super.disconnectedCallback(),this.end()}render(){let e=this.desk.now(),t=[...this.grants.values()],s=t.filter(p=>$(p,e)),a=t.filter(p=>!$(p,e)).reverse(),d=new Set(s.map(p=>p.id)),f=s.filter(p=>!p.via.some(X=>d.has(X)));return i`
      ${this.book===null||this.book.done?r:this.book.trouble===""?i`<p class="faint">Looking for older ones…</p>`:h(`Older ones could not be read. ${this.book.trouble}`)}
      ${s.length===0?i`<p class="quiet">No right that was given here is in force. What the configuration gives is shown with the participants.</p>`:i`<ul>${f.map(p=>this.branch(p,d,new Set))}</ul>`}
      ${a.length===0?r:i`<details class="section"><summary>${x(a.length,"grant")} no longer in force</summary><ul>${a.slice(0,se).map(p=>i`<li>${this.past(p)}</li>`)}</ul></details>`}
    `}get grants(){return!this.state.hasOlder||this.desk.past?this.state.grants:(this.book??=new K(this.desk.space,["capability.grant","capability.revoke"]),this.state.oldest>0&&this.book.trouble===""&&this.book.load(this.state.oldest,()=>this.requestUpdate()),this.book.with(this.desk.envelopes)?.grants??this.state.grants)}branch(e,t,s){let a=new Set([...s,e.id]),d=e.derived.flatMap(f=>this.grants.get(f)??[]).filter(f=>t.has(f.id)&&!a.has(f.id)&&f.via.find(p=>t.has(p))===e.id);return i`<li>${this.grant(e)}${d.length===0?r:i`<ul>${d.map(f=>this.branch(f,t,a))}</ul>`}</li>`}grant(e){let t=this.desk.may("capability.revoke")&&!this.desk.past,s=this.desk.now();return i`<div class="grant">
      ${this.head(e)}
      <div class="row">
        <span class="chip ${e.expiresAt===null?"":"wait"}">${e.expiresAt===null?"until it is taken back":`ends in ${j(Math.ceil((e.expiresAt-s)/1e3))}`}</span>
        ${e.via.length>1?i`<span class="faint">from ${e.via.length} grants</span>`:r} ${e.narrowed?i`<span class="chip">narrowed</span>`:r}
        <span class="grow"></span>
        ${t&&this.asking!==e.id?i`<button class="button small bad" aria-label=${`Take back what ${n(e.recipient)} was given`} @click=${()=>this.ask(e.id)}>Take back…</button>`:r}
        ${I(this.desk,e.id)}
      </div>
      ${this.asking===e.id?this.confirm(e):r}
    </div>`}head(e){let t=e.by===this.desk.you?"you":w(e.by);return i`<p><span class="name">${e.recipient===this.desk.you?"You":w(e.recipient)}</span> <span class="quiet">by ${t}</span> ${T(e.at)}</p>
      <div class="sentences">${v(e.capabilities).map(s=>i`<p>${y(s)}</p>`)}</div>
      ${e.reason===""?r:i`<p class="faint">${S(e.reason)}</p>`}`}past(e){let t=e.revoked===null?i`ran out ${T(e.expiresAt??0)}`:i`taken back by ${w(e.revoked.by)} ${T(e.revoked.at)}${e.revoked.reason===""?r:i`: ${S(e.revoked.reason)}`}`;return i`<div class="grant">${this.head(e)}<p class="row faint"><span class="grow">${t}</span>${I(this.desk,e.id)}</p></div>`}confirm(e){let t=this.dependants(e.id,new Set);return i`<div class="confirm" role="group" aria-label="Take back" @keydown=${this.key}>
      <p class="small">${n(e.recipient)} can no longer do this from the next moment on.${t===0?"":` ${x(t,"grant")} that came from it may end with it.`}</p>
      ${h(this.trouble??"")}
      <div class="row">
        <button class="button bad yes" ?disabled=${this.busy} @click=${()=>{this.take(e)}}>Take back</button>
        <button class="button" @click=${()=>this.ask("")}>Leave it</button>
      </div>
    </div>`}dependants(e,t){for(let s of this.grants.get(e)?.derived??[]){let a=this.grants.get(s);a===void 0||t.has(s)||!$(a,this.desk.now())||(t.add(s),this.dependants(s,t))}return t.size}ask(e){this.asking=e,this.trouble="",e!==""&&this.updateComplete.then(()=>this.renderRoot.querySelector(".yes")?.focus())}async take(e){this.busy=!0;let t=await this.desk.send(U(e.recipient,e.id,""));this.busy=!1,t.ok?this.ask(""):this.trouble=t.refusal}key=e=>{e.key==="Escape"&&(e.preventDefault(),this.ask(""))}};m("meup-grants",A);var L=class extends l{static properties={...l.properties,choice:{state:!0},seconds:{state:!0},busy:{state:!0},trouble:{state:!0},given:{state:!0}};static styles=[u,b,c`
      form {
        display: grid;
        gap: var(--space-3);
      }
      .token {
        font-family: var(--mono);
        overflow-wrap: anywhere;
        user-select: all;
      }
    `];api=new F;constructor(){super(),this.choice=k,this.seconds=86400,this.busy=!1,this.trouble="",this.given=null}disconnectedCallback(){super.disconnectedCallback(),this.given=null}render(){if(this.given!==null)return this.taken(this.given);let e=E(this.choice);return i`<form @submit=${t=>{this.submit(t,e)}}>
      <label class="field-label">Name<input class="field" name="name" autocomplete="off" autocapitalize="off" spellcheck="false" required pattern="[A-Za-z0-9._:\\-]{1,128}" title="Letters, digits, . _ : -" maxlength="128" /></label>
      ${R(this.choice,t=>this.choice=t)}
      <label class="field-label">For how long
        <select @change=${t=>this.seconds=Number(t.target.value)}>
          ${C.map(([t,s])=>i`<option value=${t} .selected=${t===this.seconds}>${s}</option>`)}
        </select>
      </label>
      ${typeof e=="string"?r:i`<div class="sentences" aria-label="In words">${v(e).map(t=>i`<p>${y(t)}</p>`)}</div>`} ${h(this.trouble)}
      <div class="row"><button class="button main" type="submit" ?disabled=${this.busy}>${this.busy?"Inviting…":"Invite"}</button></div>
    </form>`}taken(e){return i`<div class="card stack" role="group" aria-label=${e.token===""?"Invited again":"The invitation's token"}>
      ${e.token===""?i`<p>${n(e.name)} may come in again, with the way of signing in that it had before. There is no new token.</p>`:i`<p>${n(e.name)} gets in with this token. It is shown this once.</p><pre class="token" tabindex="0">${e.token}</pre>`}
      <div class="row">
        ${e.token===""?r:i`<button class="button main take" @click=${()=>{Z(this.desk,e.token,"The token is copied.")}}>Copy the token</button>`}
        <button class="button" @click=${()=>this.given=null}>${e.token===""?"Done":"Done, forget it"}</button>
      </div>
    </div>`}async submit(e,t){e.preventDefault();let s=String(new FormData(e.target).get("name")??"").trim();if(this.trouble=typeof t=="string"?t:"",typeof t!="string"){this.busy=!0;try{let a=await this.api.send(this.desk.space,_(),B(s,t,this.seconds,""));this.given={name:s,token:a.token??""},this.updateComplete.then(()=>this.renderRoot.querySelector(".take")?.focus())}catch(a){this.trouble=a instanceof Error?a.message:String(a)}finally{this.busy=!1}}}};m("meup-invite-form",L);var O=class extends l{static properties={...l.properties,asking:{state:!0},busy:{state:!0},trouble:{state:!0}};static styles=[u,b,c`
      li {
        padding: var(--space-2) 0;
        border-bottom: 1px solid var(--line);
      }
      .confirm {
        display: grid;
        gap: var(--space-2);
        margin-top: var(--space-2);
        padding: var(--space-3);
        border-radius: var(--round-m);
        background: var(--bad-soft);
      }
    `];render(){let e=[...this.state.participants.values()].filter(t=>t.id!==g&&t.id!==this.desk.you).sort((t,s)=>Number(s.present)-Number(t.present)||t.id.localeCompare(s.id));return e.length===0?i`<p class="quiet">Nobody else is known here.</p>`:i`${this.asking?r:h(this.trouble??"")}
      <ul>${e.slice(0,200).map(t=>i`<li>${this.one(t)}</li>`)}</ul>`}one(e){let{desk:t}=this;return i`<div class="row">
        ${Q(e.id,e.agent)}
        <span class="grow"><span class="name">${n(e.id)}</span> ${e.kicked?i`<span class="chip bad">removed</span>`:e.paused?i`<span class="chip wait">paused</span>`:e.present?r:i`<span class="faint">not here</span>`}</span>
        ${e.kicked||e.paused||!t.may("participant.pause")?r:i`<button class="button small" ?disabled=${this.busy} aria-label=${`Pause ${n(e.id)}`} @click=${()=>{this.send(J([e.id]))}}>Pause</button>`}
        ${e.paused&&t.may("participant.resume")?i`<button class="button small" ?disabled=${this.busy} aria-label=${`Let ${n(e.id)} go on`} @click=${()=>{this.send(V([e.id]))}}>Let go on</button>`:r}
        ${e.kicked||!t.may("space.kick")||this.asking===e.id?r:i`<button class="button small bad" aria-label=${`Remove ${n(e.id)}`} @click=${()=>this.ask(e.id)}>Remove…</button>`}
      </div>
      ${this.asking===e.id?this.confirm(e):r}`}confirm(e){return i`<form class="confirm" @submit=${t=>{this.takeOut(t,e.id)}} @keydown=${this.key}>
      <p class="small">Every connection of ${n(e.id)} is closed, and its tokens let nobody in until it is invited again.</p>
      <label class="field-label">Why (everybody can read it)<input class="field" name="reason" maxlength="500" /></label>
      ${h(this.trouble??"")}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>Remove ${n(e.id)}</button>
        <button class="button" type="button" @click=${()=>this.ask("")}>Leave it</button>
      </div>
    </form>`}ask(e){this.asking=e,this.trouble="",e!==""&&this.updateComplete.then(()=>this.renderRoot.querySelector(".confirm input")?.focus())}async takeOut(e,t){e.preventDefault();let s=String(new FormData(e.target).get("reason")??"").trim();await this.send(W(t,s))&&this.ask("")}async send(e){this.busy=!0,this.trouble="";let t=await this.desk.send(e);return this.busy=!1,t.ok||(this.trouble=t.refusal),t.ok}key=e=>{e.key==="Escape"&&(e.preventDefault(),this.ask(""))}};m("meup-moderation",O);var M=class extends l{static styles=[u,b,c`
      .part {
        border-top: 1px solid var(--line);
      }
      .part > summary {
        width: auto;
        padding: var(--space-3) 0;
        color: var(--ink);
        font-size: var(--text-m);
        font-weight: 600;
      }
      .part[open] {
        padding-bottom: var(--space-4);
      }
      meup-grants {
        margin-bottom: var(--space-4);
      }
    `];render(){let{desk:e,state:t}=this,s=d=>!e.past&&e.may(d),a=(this.params?.recipient??"")!=="";return i`
      ${e.past?i`<p class="warning">The talk shows the past. Rights are shown as they were then, and nothing can be done here.</p>`:r}
      <h3 class="section">Rights given here</h3>
      <meup-grants .desk=${e} .state=${t}></meup-grants>
      ${s("capability.grant")?this.folded("Give a right",i`<meup-grant-form .desk=${e} .state=${t} .params=${this.params}></meup-grant-form>`,a):r}
      ${s("space.invite")?this.folded("Invite somebody",i`<meup-invite-form .desk=${e} .state=${t}></meup-invite-form>`):r}
      ${s("space.kick")||s("participant.pause")?this.folded("Pause or remove",i`<meup-moderation .desk=${e} .state=${t}></meup-moderation>`):r}
    `}folded(e,t,s=!1){return i`<details class="part" ?open=${s}><summary>${e}</summary>${t}</details>`}};m("meup-operator",M);export{M as Operator};
//# sourceMappingURL=/assets/operator-6AJNSDOL.js.map
