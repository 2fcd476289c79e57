import{a as W,b as R,c as $,d as E}from"/assets/chunk-ECF2UMDL.js";import{a as V}from"/assets/chunk-UEF7LGCS.js";import"/assets/chunk-QID4COQ6.js";import{c as H}from"/assets/chunk-EFS45AHP.js";import{a as O}from"/assets/chunk-SK65YZIR.js";import"/assets/chunk-XJBGAAQ3.js";import{g as z,h as j,m as U,n as _,o as Y,p as K}from"/assets/chunk-HWHIP42O.js";import"/assets/chunk-7YJZIPSA.js";import"/assets/chunk-TZLAFC3M.js";import{c as w}from"/assets/chunk-LI2ITUN5.js";import{b as F}from"/assets/chunk-757P6I2J.js";import{a as g}from"/assets/chunk-J3ND4NAU.js";import{b as y}from"/assets/chunk-GAG7OMNE.js";import{A as k}from"/assets/chunk-LBYF6DKE.js";import"/assets/chunk-DCOLHRT3.js";import{a as u,c as b,f as q,g as T,h as C,i as D,m as h,o as v}from"/assets/chunk-ETTXQQKV.js";import{a as G}from"/assets/chunk-MYHS66OQ.js";import{F as x,p as L,z as l}from"/assets/chunk-EBKTHAOW.js";import{L as m,R as o,b as d,c as i,f as r}from"/assets/chunk-6QAC3HRB.js";function S(n,e){let t=(s,a)=>e({...n,[a]:s.target.value});return i`<label class="field-label">Access
      <select @change=${s=>t(s,"usual")}>
        ${W.map(([s,a])=>i`<option value=${s} .selected=${s===n.usual}>${a}</option>`)}
      </select>
    </label>
    ${n.usual!=="tool"?r:i`${n.method!==""&&n.method!=="tools/call"?i`<p class="quiet">The method <code>${n.method}</code>.</p>`:i`<label class="field-label">Tool name (* matches any characters)<input class="field" autocapitalize="off" spellcheck="false" maxlength="256" .value=${n.tool} @input=${s=>t(s,"tool")} /></label>`}
          <label class="field-label">Tool host (empty: any)<input class="field" autocapitalize="off" spellcheck="false" maxlength="128" .value=${n.owner} @input=${s=>t(s,"owner")} /></label>`}
    ${n.usual!=="own"?r:i`<label class="field-label">Kind, or capability as JSON<textarea rows="3" autocapitalize="off" spellcheck="false" maxlength="8000" placeholder="reasoning/*" .value=${n.own} @input=${s=>t(s,"own")}></textarea></label>`}`}var P=class extends l{static properties={...l.properties,recipient:{state:!0},choice:{state:!0},seconds:{state:!0},busy:{state:!0},error:{state:!0}};static styles=[u,v,d`
      form {
        display: grid;
        gap: var(--space-3);
      }
    `];constructor(){super(),this.recipient="",this.choice=$,this.seconds=600,this.busy=!1,this.error=""}willUpdate(e){let{recipient:t,tool:s,owner:a,method:c}=this.params??{};!e.has("params")||t===void 0||t===""||(this.recipient=t,this.choice={...$,usual:"tool",tool:s??"",owner:a??"",method:c??""},this.seconds=600,this.updateComplete.then(()=>this.scrollIntoView({block:"nearest"})))}render(){let e=[...this.state.participants.values()].filter(s=>s.id!==g&&s.id!==this.shell.you&&!s.kicked).sort((s,a)=>Number(a.present)-Number(s.present)||s.id.localeCompare(a.id)),t=E(this.choice);return i`<form @submit=${s=>{this.submit(s,t)}}>
      <label class="field-label">Participant
        <select @change=${s=>this.recipient=s.target.value}>
          <option value="" .selected=${this.recipient===""}>Choose…</option>
          ${e.map(s=>i`<option value=${s.id} .selected=${s.id===this.recipient}>${o(s.id)}${s.present?"":" (offline)"}</option>`)}
        </select>
      </label>
      ${S(this.choice,s=>this.choice=s)}
      <label class="field-label">Duration
        <select @change=${s=>this.seconds=Number(s.target.value)}>
          ${R.map(([s,a])=>i`<option value=${s} .selected=${s===this.seconds}>${a}</option>`)}
        </select>
      </label>
      <label class="field-label">Reason (visible to everyone)<input class="field" name="reason" maxlength="500" /></label>
      ${typeof t=="string"?r:i`<div class="sentences" aria-label="Summary">${y(t).map(s=>i`<p>${b(s)}</p>`)}</div>`} ${h(this.error)}
      <div class="row"><button class="button main" type="submit" ?disabled=${this.busy}>${this.busy?"Granting…":"Grant access"}</button></div>
    </form>`}async submit(e,t){e.preventDefault();let s=e.target;if(this.error=this.recipient===""?"Choose a participant.":typeof t=="string"?t:"",this.error!==""||typeof t=="string")return;this.busy=!0;let a=await this.shell.send(z(this.recipient,t,this.seconds,String(new FormData(s).get("reason")??"").trim()));if(this.busy=!1,!a.ok){this.error=a.refusal;return}this.shell.toast(`Access granted to ${o(this.recipient)}`),this.recipient="",this.choice=$;for(let c of s.querySelectorAll("input"))c.value=""}};m("meup-grant-form",P);var J=50,I=class extends l{static properties={...l.properties,asking:{state:!0},busy:{state:!0},error:{state:!0},second:{state:!0}};static styles=[u,v,d`
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
    `];olderState=null;constructor(){super(),new F(this,()=>{[...this.grants.values()].some(e=>e.expiresAt!==null&&e.revoked===null)&&(this.second=Math.floor(this.shell.now()/1e3))})}render(){let e=this.shell.now(),t=[...this.grants.values()],s=t.filter(p=>k(p,e)),a=t.filter(p=>!k(p,e)).reverse(),c=new Set(s.map(p=>p.id)),f=s.filter(p=>!p.via.some(B=>c.has(B)));return i`
      ${this.olderState===null||this.olderState.done?r:this.olderState.error===""?i`<p class="faint">Loading older grants…</p>`:h(`Older grants could not be loaded. ${this.olderState.error}`)}
      ${s.length===0?i`<p class="quiet">No active grants. Configured capabilities are listed under Participants.</p>`:i`<ul>${f.map(p=>this.branch(p,c,new Set))}</ul>`}
      ${a.length===0?r:i`<details class="section"><summary>${C(a.length,"grant")} no longer in force</summary><ul>${a.slice(0,J).map(p=>i`<li>${this.past(p)}</li>`)}</ul></details>`}
    `}get grants(){return!this.state.hasOlder||this.shell.past?this.state.grants:(this.olderState??=new V(this.shell.space,["capability.grant","capability.revoke"]),this.state.oldest>0&&this.olderState.error===""&&this.olderState.load(this.state.oldest,()=>this.requestUpdate()),this.olderState.with(this.shell.envelopes)?.grants??this.state.grants)}branch(e,t,s){let a=new Set([...s,e.id]),c=e.derived.flatMap(f=>this.grants.get(f)??[]).filter(f=>t.has(f.id)&&!a.has(f.id)&&f.via.find(p=>t.has(p))===e.id);return i`<li>${this.grant(e)}${c.length===0?r:i`<ul>${c.map(f=>this.branch(f,t,a))}</ul>`}</li>`}grant(e){let t=this.shell.may("capability.revoke")&&!this.shell.past,s=this.shell.now();return i`<div class="grant">
      ${this.head(e)}
      <div class="row">
        <span class="chip ${e.expiresAt===null?"":"wait"}">${e.expiresAt===null?"until revoked":`ends in ${L(Math.ceil((e.expiresAt-s)/1e3))}`}</span>
        ${e.via.length>1?i`<span class="faint">from ${e.via.length} grants</span>`:r} ${e.narrowed?i`<span class="chip">narrowed</span>`:r}
        <span class="grow"></span>
        ${t&&this.asking!==e.id?i`<button class="button small bad" aria-label=${`Revoke the grant to ${o(e.recipient)}`} @click=${()=>this.ask(e.id)}>Revoke…</button>`:r}
        ${D(this.shell,e.id)}
      </div>
      ${this.asking===e.id?this.confirm(e):r}
    </div>`}head(e){let t=e.by===this.shell.you?"you":w(e.by);return i`<p><span class="name">${e.recipient===this.shell.you?"You":w(e.recipient)}</span> <span class="quiet">by ${t}</span> ${T(e.at)}</p>
      <div class="sentences">${y(e.capabilities).map(s=>i`<p>${b(s)}</p>`)}</div>
      ${e.reason===""?r:i`<p class="faint">${x(e.reason)}</p>`}`}past(e){let t=e.revoked===null?i`expired ${T(e.expiresAt??0)}`:i`revoked by ${w(e.revoked.by)} ${T(e.revoked.at)}${e.revoked.reason===""?r:i`: ${x(e.revoked.reason)}`}`;return i`<div class="grant">${this.head(e)}<p class="row faint"><span class="grow">${t}</span>${D(this.shell,e.id)}</p></div>`}confirm(e){let t=this.dependants(e.id,new Set);return i`<div class="confirm" role="group" aria-label="Revoke" @keydown=${this.key}>
      <p class="small">${o(e.recipient)} loses this access immediately.${t===0?"":` ${C(t,"grant")} that came from it may end with it.`}</p>
      ${h(this.error??"")}
      <div class="row">
        <button class="button bad yes" ?disabled=${this.busy} @click=${()=>{this.sendRevocation(e)}}>Revoke</button>
        <button class="button" @click=${()=>this.ask("")}>Cancel</button>
      </div>
    </div>`}dependants(e,t){for(let s of this.grants.get(e)?.derived??[]){let a=this.grants.get(s);a===void 0||t.has(s)||!k(a,this.shell.now())||(t.add(s),this.dependants(s,t))}return t.size}ask(e){this.asking=e,this.error="",e!==""&&this.updateComplete.then(()=>this.renderRoot.querySelector(".yes")?.focus())}async sendRevocation(e){this.busy=!0;let t=await this.shell.send(j(e.recipient,e.id,""));this.busy=!1,t.ok?this.ask(""):this.error=t.refusal}key=e=>{e.key==="Escape"&&(e.preventDefault(),this.ask(""))}};m("meup-grants",I);var A=class extends l{static properties={...l.properties,choice:{state:!0},seconds:{state:!0},busy:{state:!0},error:{state:!0},invitation:{state:!0}};static styles=[u,v,d`
      form {
        display: grid;
        gap: var(--space-3);
      }
      .token {
        font-family: var(--mono);
        overflow-wrap: anywhere;
        user-select: all;
      }
    `];api=new H;constructor(){super(),this.choice=$,this.seconds=86400,this.busy=!1,this.error="",this.invitation=null}disconnectedCallback(){super.disconnectedCallback(),this.invitation=null}render(){if(this.invitation!==null)return this.result(this.invitation);let e=E(this.choice);return i`<form @submit=${t=>{this.submit(t,e)}}>
      <label class="field-label">Name<input class="field" name="name" autocomplete="off" autocapitalize="off" spellcheck="false" required pattern="[A-Za-z0-9._:\\-]{1,128}" title="Letters, digits, . _ : -" maxlength="128" /></label>
      ${S(this.choice,t=>this.choice=t)}
      <label class="field-label">Duration
        <select @change=${t=>this.seconds=Number(t.target.value)}>
          ${R.map(([t,s])=>i`<option value=${t} .selected=${t===this.seconds}>${s}</option>`)}
        </select>
      </label>
      ${typeof e=="string"?r:i`<div class="sentences" aria-label="Summary">${y(e).map(t=>i`<p>${b(t)}</p>`)}</div>`} ${h(this.error)}
      <div class="row"><button class="button main" type="submit" ?disabled=${this.busy}>${this.busy?"Inviting…":"Invite"}</button></div>
    </form>`}result(e){return i`<div class="card stack" role="group" aria-label=${e.token===""?"Invited again":"The invitation's token"}>
      ${e.token===""?i`<p>${o(e.name)} can rejoin with its existing sign-in. There is no new token.</p>`:i`<p>${o(e.name)} signs in with this token. It is shown only once.</p><pre class="token" tabindex="0">${e.token}</pre>`}
      <div class="row">
        ${e.token===""?r:i`<button class="button main take" @click=${()=>{q(this.shell,e.token,"Token copied")}}>Copy token</button>`}
        <button class="button" @click=${()=>this.invitation=null}>Done</button>
      </div>
    </div>`}async submit(e,t){e.preventDefault();let s=String(new FormData(e.target).get("name")??"").trim();if(this.error=typeof t=="string"?t:"",typeof t!="string"){this.busy=!0;try{let a=await this.api.send(this.shell.space,O(),_(s,t,this.seconds,""));this.invitation={name:s,token:a.token??""},this.updateComplete.then(()=>this.renderRoot.querySelector(".take")?.focus())}catch(a){this.error=a instanceof Error?a.message:String(a)}finally{this.busy=!1}}}};m("meup-invite-form",A);var M=class extends l{static properties={...l.properties,asking:{state:!0},busy:{state:!0},error:{state:!0}};static styles=[u,v,d`
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
    `];render(){let e=[...this.state.participants.values()].filter(t=>t.id!==g&&t.id!==this.shell.you).sort((t,s)=>Number(s.present)-Number(t.present)||t.id.localeCompare(s.id));return e.length===0?i`<p class="quiet">No other participants</p>`:i`${this.asking?r:h(this.error??"")}
      <ul>${e.slice(0,200).map(t=>i`<li>${this.one(t)}</li>`)}</ul>`}one(e){let{shell:t}=this;return i`<div class="row">
        ${G(e.id,e.agent)}
        <span class="grow"><span class="name">${o(e.id)}</span> ${e.kicked?i`<span class="chip bad">removed</span>`:e.paused?i`<span class="chip wait">paused</span>`:e.present?r:i`<span class="faint">offline</span>`}</span>
        ${e.kicked||e.paused||!t.may("participant.pause")?r:i`<button class="button small" ?disabled=${this.busy} aria-label=${`Pause ${o(e.id)}`} @click=${()=>{this.send(Y([e.id]))}}>Pause</button>`}
        ${e.paused&&t.may("participant.resume")?i`<button class="button small" ?disabled=${this.busy} aria-label=${`Resume ${o(e.id)}`} @click=${()=>{this.send(K([e.id]))}}>Resume</button>`:r}
        ${e.kicked||!t.may("space.kick")||this.asking===e.id?r:i`<button class="button small bad" aria-label=${`Remove ${o(e.id)}`} @click=${()=>this.ask(e.id)}>Remove…</button>`}
      </div>
      ${this.asking===e.id?this.confirm(e):r}`}confirm(e){return i`<form class="confirm" @submit=${t=>{this.removeParticipant(t,e.id)}} @keydown=${this.key}>
      <p class="small">All connections of ${o(e.id)} are closed, and its tokens stop working until it is invited again.</p>
      <label class="field-label">Reason (visible to everyone)<input class="field" name="reason" maxlength="500" /></label>
      ${h(this.error??"")}
      <div class="row">
        <button class="button bad" type="submit" ?disabled=${this.busy}>Remove ${o(e.id)}</button>
        <button class="button" type="button" @click=${()=>this.ask("")}>Cancel</button>
      </div>
    </form>`}ask(e){this.asking=e,this.error="",e!==""&&this.updateComplete.then(()=>this.renderRoot.querySelector(".confirm input")?.focus())}async removeParticipant(e,t){e.preventDefault();let s=String(new FormData(e.target).get("reason")??"").trim();await this.send(U(t,s))&&this.ask("")}async send(e){this.busy=!0,this.error="";let t=await this.shell.send(e);return this.busy=!1,t.ok||(this.error=t.refusal),t.ok}key=e=>{e.key==="Escape"&&(e.preventDefault(),this.ask(""))}};m("meup-moderation",M);var N=class extends l{static styles=[u,v,d`
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
    `];render(){let{shell:e,state:t}=this,s=c=>!e.past&&e.may(c),a=(this.params?.recipient??"")!=="";return i`
      ${e.past?i`<p class="warning">You are viewing the past. Access is shown as it was and cannot be changed.</p>`:r}
      <h3 class="section">Active grants</h3>
      <meup-grants .shell=${e} .state=${t}></meup-grants>
      ${s("capability.grant")?this.folded("Grant access",i`<meup-grant-form .shell=${e} .state=${t} .params=${this.params}></meup-grant-form>`,a):r}
      ${s("space.invite")?this.folded("Invite a participant",i`<meup-invite-form .shell=${e} .state=${t}></meup-invite-form>`):r}
      ${s("space.kick")||s("participant.pause")?this.folded("Pause or remove",i`<meup-moderation .shell=${e} .state=${t}></meup-moderation>`):r}
    `}folded(e,t,s=!1){return i`<details class="part" ?open=${s}><summary>${e}</summary>${t}</details>`}};m("meup-operator",N);export{N as Operator};
