import{a as S,c as L}from"/assets/chunk-7PHNI6D5.js";import"/assets/chunk-66XVKS3H.js";import{a as F,c as T}from"/assets/chunk-LI2ITUN5.js";import"/assets/chunk-757P6I2J.js";import"/assets/chunk-J3ND4NAU.js";import{a as j,b as h,g as D,i as N,m as q,o as I}from"/assets/chunk-ETTXQQKV.js";import{a as E}from"/assets/chunk-MYHS66OQ.js";import{F as O}from"/assets/chunk-EBKTHAOW.js";import{E as x,L as R,R as f,b as v,c as i,f as c,h as w,l as y,n as u,s as m,t as k,u as b,w as d}from"/assets/chunk-6QAC3HRB.js";function M(n){let e=m(n),t=m(d(m(d(e,"_meta")),"meup/server")),r=m(d(e,"requestedSchema")),s=b(d(r,"required")),a=u(d(e,"url")),l=a!==""?[]:Object.entries(m(d(r,"properties"))).map(([o,p])=>Y(o,m(p),s.includes(o)));return{message:u(d(e,"message")),url:a,server:u(d(t,"title"))||u(d(t,"name")),fields:l.includes(null)?null:l}}function Y(n,e,t){let r=u(e.type),s=A(e.enum,e.enumNames,e.oneOf);if(r==="array"){let o=m(e.items);r="choices",s=A(o.enum,o.enumNames,o.anyOf)}else r==="string"&&s.length>0&&(r="choice");if(!["string","number","integer","boolean","choice","choices"].includes(r))return null;let a=r==="choices"?e.minItems:e.minLength,l=r==="choices"?e.maxItems:e.maxLength;return{name:n,label:u(e.title)||n,description:u(e.description),type:r,required:t,format:u(e.format),options:s,least:Number(a??0)||0,most:Number(l??0)||0,minimum:e.minimum===void 0?null:Number(e.minimum),maximum:e.maximum===void 0?null:Number(e.maximum),initial:e.default}}function A(n,e,t){let r=b(e);return[...b(n).map((a,l)=>({value:u(a),title:u(r[l])||u(a)})),...b(t).flatMap(a=>k(a)?[{value:u(a.const),title:u(a.title)||u(a.const)}]:[])]}function P(n,e){let t=e[0]?.trim()??"";if(n.type==="boolean")return{value:e.length>0};if(n.type==="choices")return e.length===0&&!n.required?{value:void 0}:e.length<n.least||n.most>0&&e.length>n.most?{wrong:`Choose ${_(n)}.`}:{value:e};if(t==="")return n.required?{wrong:"Enter a value."}:{value:void 0};if(n.type==="choice")return{value:t};if(n.type==="number"||n.type==="integer"){let s=Number(t);return!Number.isFinite(s)||n.type==="integer"&&!Number.isSafeInteger(s)?{wrong:n.type==="integer"?"Enter a whole number.":"Enter a number."}:n.minimum!==null&&s<n.minimum?{wrong:`Enter at least ${n.minimum}.`}:n.maximum!==null&&s>n.maximum?{wrong:`Enter at most ${n.maximum}.`}:{value:s}}let r=[...t].length;return r<n.least||n.most>0&&r>n.most?{wrong:`Enter ${_(n)} characters.`}:{value:t}}function _(n){return n.most===0?`at least ${n.least}`:`${n.least} to ${n.most}`}function U(n){let e=[n.message,...(n.fields??[]).flatMap(t=>[t.name,t.label,t.description])].join(`
`);return/pass(?:word|phrase|code|wd)|secret|token|api[ _-]?key|private[ _-]?key|credential|\bpin\b|\bcvv\b|credit[ _-]?card|kennwort|passwort|contraseña|mot de passe/iu.test(e)}function g(n,e,t){return{kind:"mcp.response",to:[n.from],correlationId:n.id,...n.context!==""&&{context:n.context},payload:{jsonrpc:"2.0",id:n.rpc,result:{action:e,...t!==void 0&&{content:t}}}}}var z={email:"email",uri:"url",date:"date"},$=class extends w{static properties={shell:{attribute:!1},elicitation:{attribute:!1},past:{attribute:!1},busy:{state:!0},error:{state:!0},wrong:{state:!0}};static styles=[j,I,L,v`
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
    `];guard=new S(this);updated(){this.guard.watch(this.past?"":this.content())}content(){return y([this.elicitation.id,this.elicitation.params??null])}render(){let e=this.elicitation,t=M(e.params);return i`<article class="card" data-status="pending" aria-label=${`${T(e.from)} asks you`}>
      <header class="row">
        ${E(e.from,!0)}
        <div class="grow"><span class="name">${f(e.from)}</span> ${F(e.from)} <span class="quiet">asks you${t.server===""?c:i`, for a server that it calls “${h(t.server.replace(/[“”]/gu,"'"))}”`}</span></div>
        ${D(e.at)} ${N(this.shell,e.id)}
      </header>
      ${t.message===""?c:i`<p class="why">${O(t.message,r=>h(r))}</p>`} ${this.warnings(t)}
      ${this.past?i`<p class="faint">You are viewing the past. Questions cannot be answered here.</p>`:this.shell.may("mcp.response")?this.inputs(e,t):i`<p class="quiet">You cannot answer: this requires the right to send mcp.response.</p>`}
      ${q(this.error??"")}
    </article>`}warnings(e){let t=e.url===""?`Your answer goes to ${f(this.elicitation.from)} and stays in the log of this space, where others may read it.`:"The page is not part of this space. Check its address before you enter anything.";return i`${e.url===""&&U(e)?i`<p class="warning"><b>This form may ask for a secret.</b> Do not enter passwords or keys: the answer is not hidden.</p>`:c}
      ${x(e.message+e.url+y(this.elicitation.params??null))?i`<p class="warning">This question contains invisible characters. They are shown as codes.</p>`:c}
      <p class="faint">${t}</p>`}inputs(e,t){let r=e.expiresAt===null?c:i`<p class="faint"><meup-time-left .at=${e.expiresAt} .now=${()=>this.shell.now()}></meup-time-left></p>`;return t.fields===null?i`<p class="refused">This form cannot be shown.</p>${r}<div class="row">${this.others()}</div>`:i`<form novalidate @submit=${s=>this.submit(s,t)}>
      ${t.url===""?t.fields.map((s,a)=>this.field(s,a)):this.link(t.url)} ${r}
      <div class="row"><button class="button main" type="submit" ?disabled=${this.busy}>${this.busy?"Sending…":t.url===""?"Send answer":"I have opened it"}</button> ${this.others()}</div>
    </form>`}others(){return i`<button class="button" type="button" ?disabled=${this.busy} @click=${()=>{this.send(g(this.elicitation,"decline"))}}>Decline</button>
      <button class="button" type="button" ?disabled=${this.busy} @click=${()=>{this.send(g(this.elicitation,"cancel"))}}>Dismiss</button>`}link(e){let t=URL.canParse(e)?new URL(e):null,r=t!==null&&["localhost","127.0.0.1","[::1]"].includes(t.hostname);return t===null||t.username!==""||t.password!==""||t.protocol!=="https:"&&!(t.protocol==="http:"&&r)?i`<p class="refused address">The address is not safe to open: ${h(e)}</p>`:i`<p class="address">Opens <b>${t.host}</b>: <a href=${t.href} target="_blank" rel="noopener noreferrer nofollow">${h(t.href)}</a></p>`}field(e,t){let r=this.wrong?.[e.name]??"",s=i`${e.description===""?c:i`<p class="faint" id=${`about-${t}`}>${h(e.description)}</p>`}${r===""?c:i`<p class="refused" role="alert">${r}</p>`}`;return i`<div class="field-block" data-field=${e.name}>${this.control(e,t,r!=="")}${s}</div>`}control(e,t,r){let s=i`<span>${h(e.label)}${e.required||e.type==="boolean"?c:i` <span class="faint">optional</span>`}</span>`,a=`f${t}`,l=e.description===""?c:`about-${t}`;switch(e.type){case"boolean":return i`<label class="check"><input type="checkbox" name=${a} ?checked=${e.initial===!0} aria-describedby=${l} /> ${s}</label>`;case"choice":return i`<label class="field-label">${s}
          <select name=${a} aria-invalid=${r} aria-describedby=${l}>
            <option value="" ?selected=${e.initial===void 0}></option>
            ${e.options.map(o=>i`<option value=${o.value} ?selected=${e.initial===o.value}>${o.title}</option>`)}
          </select></label>`;case"choices":return i`<fieldset aria-describedby=${l}><legend>${s}</legend>
          ${e.options.map(o=>i`<label class="check"><input type="checkbox" name=${a} value=${o.value} ?checked=${Array.isArray(e.initial)&&e.initial.includes(o.value)} /> ${h(o.title)}</label>`)}
        </fieldset>`;default:{let o=e.type!=="string",p=e.initial===void 0?"":String(e.initial);return i`<label class="field-label">${s}
          <input class="field" name=${a} type=${o?"text":z[e.format]??"text"} inputmode=${o?"decimal":c} autocomplete="off" autocapitalize="off" spellcheck="false" value=${p} aria-invalid=${r} aria-describedby=${l} /></label>`}}}submit(e,t){e.preventDefault();let r=new FormData(e.target),s=Object.create(null),a=Object.create(null);(t.fields??[]).forEach((l,o)=>{let p=P(l,r.getAll(`f${o}`).map(String));"wrong"in p?a[l.name]=p.wrong:p.value!==void 0&&(s[l.name]=p.value)}),this.wrong=a,Object.keys(a).length===0&&this.send(g(this.elicitation,"accept",t.url===""?s:void 0))}async send(e){if(this.error=this.guard.refusal(this.content()),this.error!=="")return;this.busy=!0;let t=await this.shell.send(e);this.busy=!1,t.ok?this.dispatchEvent(new CustomEvent("answered",{bubbles:!0,composed:!0})):this.error=t.refusal}};R("meup-elicitation-card",$);export{$ as ElicitationCard};
