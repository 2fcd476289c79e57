import{a as w,b as k,c as R,d}from"/assets/chunk-WNL4AD7M.js";import{b as O}from"/assets/chunk-KXOUVKQ6.js";import"/assets/chunk-4OTQ6SRE.js";import{a as F}from"/assets/chunk-KMOPH7HM.js";import{a as g,c as y}from"/assets/chunk-3MSPWXVT.js";import"/assets/chunk-ORJRSZWE.js";import{a as E,b as c,d as S,f as D,j,k as q}from"/assets/chunk-FOM3HLSD.js";import{a as T}from"/assets/chunk-FJKFMZIY.js";import{v as x}from"/assets/chunk-DCI4EF6C.js";import{E as f,L as v,R as h,b,c as s,f as n,h as $,l as u}from"/assets/chunk-FL6C67XG.js";var A={email:"email",uri:"url",date:"date"},m=class extends ${static properties={shell:{attribute:!1},elicitation:{attribute:!1},past:{attribute:!1},busy:{state:!0},error:{state:!0},wrong:{state:!0}};static styles=[E,q,O,b`
      form,
      .field-block {
        display: grid;
        gap: var(--space-3);
      }
      .field-block {
        gap: var(--space-1);
      }
      fieldset {
        display: grid;
        gap: var(--space-1);
        margin: 0;
        padding: 0;
        border: 0;
      }
      legend {
        padding: 0;
        color: var(--quiet);
        font-size: var(--text-s);
      }
      .address {
        overflow-wrap: anywhere;
      }
    `];guard=new F(this);updated(){this.guard.watch(this.past?"":this.content())}content(){return u([this.elicitation.id,this.elicitation.params??null])}render(){let e=this.elicitation,t=w(e.params);return s`<article class="card" data-status="pending" aria-label=${`${y(e.from)} asks you`}>
      <header class="row">
        ${T(e.from,!0)}
        <div class="grow"><span class="name">${h(e.from)}</span> ${g(e.from)} <span class="quiet">asks you${t.server===""?n:s`, for a server that it calls “${c(t.server.replace(/[“”]/gu,"'"))}”`}</span></div>
        ${S(e.at)} ${D(this.shell,e.id)}
      </header>
      ${t.message===""?n:s`<p class="why">${x(t.message,i=>c(i))}</p>`} ${this.warnings(t)}
      ${this.past?s`<p class="faint">You are viewing the past. Questions cannot be answered here.</p>`:this.shell.may("mcp.response")?this.inputs(e,t):s`<p class="quiet">You cannot answer: this requires the right to send mcp.response.</p>`}
      ${j(this.error??"")}
    </article>`}warnings(e){let t=e.url===""?`Your answer goes to ${h(this.elicitation.from)} and stays in the log of this space, where others may read it.`:"The page is not part of this space. Check its address before you enter anything.";return s`${e.url===""&&R(e)?s`<p class="warning"><b>This form may ask for a secret.</b> Do not enter passwords or keys: the answer is not hidden.</p>`:n}
      ${f(e.message+e.url+u(this.elicitation.params??null))?s`<p class="warning">This question contains invisible characters. They are shown as codes.</p>`:n}
      <p class="faint">${t}</p>`}inputs(e,t){let i=e.expiresAt===null?n:s`<p class="faint"><meup-time-left .at=${e.expiresAt} .now=${()=>this.shell.now()}></meup-time-left></p>`;return t.fields===null?s`<p class="refused">This form cannot be shown.</p>${i}<div class="row">${this.others()}</div>`:s`<form novalidate @submit=${a=>this.submit(a,t)}>
      ${t.url===""?t.fields.map((a,l)=>this.field(a,l)):this.link(t.url)} ${i}
      <div class="row"><button class="button main" type="submit" ?disabled=${this.busy}>${this.busy?"Sending…":t.url===""?"Send answer":"I have opened it"}</button> ${this.others()}</div>
    </form>`}others(){return s`<button class="button" type="button" ?disabled=${this.busy} @click=${()=>{this.send(d(this.elicitation,"decline"))}}>Decline</button>
      <button class="button" type="button" ?disabled=${this.busy} @click=${()=>{this.send(d(this.elicitation,"cancel"))}}>Dismiss</button>`}link(e){let t=URL.canParse(e)?new URL(e):null,i=t!==null&&["localhost","127.0.0.1","[::1]"].includes(t.hostname);return t===null||t.username!==""||t.password!==""||t.protocol!=="https:"&&!(t.protocol==="http:"&&i)?s`<p class="refused address">The address is not safe to open: ${c(e)}</p>`:s`<p class="address">Opens <b>${t.host}</b>: <a href=${t.href} target="_blank" rel="noopener noreferrer nofollow">${c(t.href)}</a></p>`}field(e,t){let i=this.wrong?.[e.name]??"",a=s`${e.description===""?n:s`<p class="faint" id=${`about-${t}`}>${c(e.description)}</p>`}${i===""?n:s`<p class="refused" role="alert">${i}</p>`}`;return s`<div class="field-block" data-field=${e.name}>${this.control(e,t,i!=="")}${a}</div>`}control(e,t,i){let a=s`<span>${c(e.label)}${e.required||e.type==="boolean"?n:s` <span class="faint">optional</span>`}</span>`,l=`f${t}`,o=e.description===""?n:`about-${t}`;switch(e.type){case"boolean":return s`<label class="check"><input type="checkbox" name=${l} ?checked=${e.initial===!0} aria-describedby=${o} /> ${a}</label>`;case"choice":return s`<label class="field-label">${a}
          <select name=${l} aria-invalid=${i} aria-describedby=${o}>
            <option value="" ?selected=${e.initial===void 0}></option>
            ${e.options.map(r=>s`<option value=${r.value} ?selected=${e.initial===r.value}>${r.title}</option>`)}
          </select></label>`;case"choices":return s`<fieldset aria-describedby=${o}><legend>${a}</legend>
          ${e.options.map(r=>s`<label class="check"><input type="checkbox" name=${l} value=${r.value} ?checked=${Array.isArray(e.initial)&&e.initial.includes(r.value)} /> ${c(r.title)}</label>`)}
        </fieldset>`;default:{let r=e.type!=="string",p=e.initial===void 0?"":String(e.initial);return s`<label class="field-label">${a}
          <input class="field" name=${l} type=${r?"text":A[e.format]??"text"} inputmode=${r?"decimal":n} autocomplete="off" autocapitalize="off" spellcheck="false" value=${p} aria-invalid=${i} aria-describedby=${o} /></label>`}}}submit(e,t){e.preventDefault();let i=new FormData(e.target),a=Object.create(null),l=Object.create(null);(t.fields??[]).forEach((o,r)=>{let p=k(o,i.getAll(`f${r}`).map(String));"wrong"in p?l[o.name]=p.wrong:p.value!==void 0&&(a[o.name]=p.value)}),this.wrong=l,Object.keys(l).length===0&&this.send(d(this.elicitation,"accept",t.url===""?a:void 0))}async send(e){if(this.error=this.guard.refusal(this.content()),this.error!=="")return;this.busy=!0;let t=await this.shell.send(e);this.busy=!1,t.ok?this.dispatchEvent(new CustomEvent("answered",{bubbles:!0,composed:!0})):this.error=t.refusal}};v("meup-elicitation-card",m);export{m as ElicitationCard};
//# sourceMappingURL=/assets/elicitation-card-QOGVAO4H.js.map
