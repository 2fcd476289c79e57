import{a as P}from"/assets/chunk-BQZSSSW2.js";import{e as g}from"/assets/chunk-2HHCFZGH.js";import{a as S}from"/assets/chunk-VGI3KD2Z.js";import{a as k}from"/assets/chunk-R36RVHWM.js";import"/assets/chunk-G43XG7NS.js";import{a as W,d as $,e as c,f as _,l as E}from"/assets/chunk-UPOQ4R7X.js";import{g as h,h as x,j as T}from"/assets/chunk-6EMUX4FK.js";import{G as A,H as R,I as L,J as f,N as m,a as b,b as s,e as o,m as l}from"/assets/chunk-TCJD24SY.js";function Y(n){let t=[],e=l(n.rate),a=l(n.burst);e!==null&&t.push(`${F(e)}${a===null?"":`, ${a.toLocaleString()} at once`}.`);for(let u of Array.isArray(n.kinds)?n.kinds.slice(0,32):[]){let w=l(u.rate);w!==null&&t.push(`Of ${A(String(u.kind))}: ${F(w).toLowerCase()}, ${(l(u.burst)??0).toLocaleString()} at once.`)}let r=l(n.bytes_per_second);r!==null&&t.push(`${M(r)} a second.`);let d=l(n.message_bytes);d!==null&&t.push(`${M(d)} in one message.`);let i=l(n.connections);i!==null&&t.push(`${c(i,"connection")} at the same time.`);let p=l(n.open_contexts);p!==null&&t.push(`${c(p,"line")} of reasoning open at the same time.`);let v=l(n.context_depth);return v!==null&&t.push(`Lines of reasoning within one another up to ${v} deep.`),t}function F(n){return n>=1||n<=0?`${c(n,"envelope")} a second`:`An envelope every ${Math.round(1/n)} seconds`}function M(n){if(n<1024)return c(n,"byte");let t=n/(1024*1024);return t>=1?`${N(t)} MiB`:`${N(n/1024)} KiB`}function N(n){return n.toLocaleString(void 0,{maximumFractionDigits:1})}var q=50,C=3,y=class extends h{static properties={...h.properties,everybody:{state:!0}};static styles=[W,E,b`
      li {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
      }
      li:last-child {
        border-bottom: 0;
      }
      li[aria-current="true"] {
        margin: 0 calc(-1 * var(--space-3));
        padding: var(--space-3);
        border-radius: var(--round-m);
        background: var(--accent-soft);
      }
      .away .monogram {
        opacity: 0.75;
      }
      .about {
        display: grid;
        gap: var(--space-2);
        padding-left: 2.5rem;
      }
      .chips {
        display: flex;
        flex-wrap: wrap;
        gap: var(--space-1);
      }
    `];shownFor=null;render(){let t=[...this.desk.state.participants.values()].filter(i=>i.id!==S),e=t.filter(i=>i.present).sort((i,p)=>+(p.id===this.desk.you)-+(i.id===this.desk.you)||i.id.localeCompare(p.id)),a=t.filter(i=>!i.present).sort((i,p)=>(p.lastAt??0)-(i.lastAt??0)),r=a.findIndex(i=>i.id===this.params?.id)+1,d=this.everybody===!0?a.length:Math.max(q,r);return s`
      ${this.desk.past?s`<p class="warning">Nothing is known of who was here then. These are here now.</p>`:o}
      <h3 class="section">${c(e.length,"participant is","participants are")} here</h3>
      <ul>${g(e,i=>i.id,i=>this.one(i))}</ul>
      ${a.length===0?o:s`<h3 class="section">Not here now</h3>`}
      <ul class="away">${g(a.slice(0,d),i=>i.id,i=>this.one(i))}</ul>
      ${a.length>d?s`<button class="words" @click=${()=>this.everybody=!0}>Show all ${a.length.toLocaleString()}</button>`:o}
    `}one(t){let e=t.id===this.desk.you;return s`<li data-id=${t.id} aria-current=${this.params?.id===t.id?"true":o}>
      <div class="row">
        ${_(t.id,t.agent)}
        <span class="name grow">${m(t.id)}${e&&t.id!=="you"?s` <span class="quiet">(you)</span>`:o}</span>
        ${t.lastAt===null||e?o:s`<span class="faint">last said something ${$(t.lastAt)}</span>`}
      </div>
      <div class="about">${this.chips(t)} ${this.rights(t)} ${e?this.limits():this.acts(t)}</div>
    </li>`}chips(t){let e=L(t.id,this.desk.state.participants.keys()),a=[t.agent?s`<span class="chip accent">agent</span>`:o,t.paused?s`<span class="chip wait">paused${t.pausedUntil===null?"":s`&nbsp;until ${$(t.pausedUntil)}`}</span>`:o,t.kicked?s`<span class="chip bad">removed</span>`:o,t.status===""?o:s`<span class="chip">${f(t.status.slice(0,60))}</span>`,R(t.id)&&t.id!==this.desk.you?s`<span class="chip wait">looks like a word of the page</span>`:o,e.length>0?s`<span class="chip wait">looks like ${m(e[0]??"")}</span>`:o].filter(r=>r!==o);return a.length===0?o:s`<div class="chips">${a}</div>`}rights(t){if(t.capabilities.length===0&&!t.present)return s`<p class="faint">What it may do is not known while it is away.</p>`;let e=k(t.capabilities),a=r=>s`<div class="sentences">${r.map(d=>s`<p>${f(d)}</p>`)}</div>`;return e.length<=C?a(e):s`<details ?open=${this.params?.id===t.id}><summary>May do ${e.length} things</summary>${a(e)}</details>`}limits(){let t=Y(this.desk.state.you?.limits??{});return t.length===0?s`<p class="faint">There are no limits on what you send.</p>`:s`<details><summary>Your limits</summary><div class="sentences">${t.map(e=>s`<p>${e}</p>`)}</div></details>`}acts(t){let{desk:e}=this,a=e.view.from.length===1&&e.view.from[0]===t.id;return s`<div class="row">
      ${t.present&&e.may("chat")&&!e.past?s`<button class="words small" aria-label=${`Write to ${m(t.id)}`} @click=${()=>e.mention(t.id)}>Write to</button>`:o}
      ${t.envelopes===0&&!a?o:s`<button class="words small" aria-pressed=${a?"true":"false"} aria-label=${`Show only what ${m(t.id)} says`} @click=${()=>this.only(t.id,a)}>${a?"Show everybody":"Show only this one"}</button>`}
      ${t.tools.length===0?o:s`<button class="words small" @click=${()=>e.open("tools",{id:t.id})}>${c(t.tools.length,"tool")}</button>`}
    </div>`}only(t,e){let{view:a}=this.desk,r={...a,from:e?[]:[t]};this.desk.setView(P(r)?r:x),this.requestUpdate()}updated(){let t=this.params?.id;if(this.shownFor===this.params||t===void 0)return;let e=this.renderRoot.querySelector(`li[data-id="${CSS.escape(t)}"]`);e!==null&&(this.shownFor=this.params,e.scrollIntoView({block:"nearest"}))}};T("meup-participants",y);export{y as Participants};
//# sourceMappingURL=/assets/participants-2YX4PM2H.js.map
