import{a as P}from"/assets/chunk-H5JUJ5AH.js";import{f as g}from"/assets/chunk-U57DGMFF.js";import{a as x}from"/assets/chunk-NVPWSKKJ.js";import"/assets/chunk-MTRC2KP5.js";import{a as k}from"/assets/chunk-CUBI55NZ.js";import"/assets/chunk-G43XG7NS.js";import{a as W,d as v,e as c,f as _,l as E}from"/assets/chunk-E5LNYIV6.js";import{g as h,h as S,j as T}from"/assets/chunk-SRANVCBR.js";import{H as A,I as R,J as L,L as f,P as u,a as b,b as s,e as o,n as l}from"/assets/chunk-EZPMOHX2.js";function Y(a){let t=[],e=l(a.rate),n=l(a.burst);e!==null&&t.push(`${F(e)}${n===null?"":`, ${n.toLocaleString()} at once`}.`);for(let m of Array.isArray(a.kinds)?a.kinds.slice(0,32):[]){let w=l(m.rate);w!==null&&t.push(`Of ${A(String(m.kind))}: ${F(w).toLowerCase()}, ${(l(m.burst)??0).toLocaleString()} at once.`)}let r=l(a.bytes_per_second);r!==null&&t.push(`${M(r)} a second.`);let d=l(a.message_bytes);d!==null&&t.push(`${M(d)} in one message.`);let i=l(a.connections);i!==null&&t.push(`${c(i,"connection")} at the same time.`);let p=l(a.open_contexts);p!==null&&t.push(`${c(p,"line")} of reasoning open at the same time.`);let y=l(a.context_depth);return y!==null&&t.push(`Lines of reasoning within one another up to ${y} deep.`),t}function F(a){return a>=1||a<=0?`${c(a,"envelope")} a second`:`An envelope every ${Math.round(1/a)} seconds`}function M(a){if(a<1024)return c(a,"byte");let t=a/(1024*1024);return t>=1?`${N(t)} MiB`:`${N(a/1024)} KiB`}function N(a){return a.toLocaleString(void 0,{maximumFractionDigits:1})}var q=50,C=3,$=class extends h{static properties={...h.properties,everybody:{state:!0}};static styles=[W,E,b`
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
        border: 1px dashed var(--edge);
        background: none;
        color: var(--faint);
      }
      .about {
        display: grid;
        gap: var(--space-2);
        padding-left: 2.5rem;
      }
      .last {
        color: var(--faint);
        font-size: var(--text-xs);
        line-height: 1.4;
      }
      .words {
        overflow-wrap: anywhere;
      }
      .words[aria-pressed="true"] {
        padding: 0 var(--space-2);
        border-radius: var(--round-s);
        background: var(--accent-soft);
        color: var(--accent-strong);
      }
      .chips {
        display: flex;
        flex-wrap: wrap;
        gap: var(--space-1);
      }
    `];shownFor=null;render(){let t=[...this.desk.state.participants.values()].filter(i=>i.id!==x),e=t.filter(i=>i.present).sort((i,p)=>+(p.id===this.desk.you)-+(i.id===this.desk.you)||i.id.localeCompare(p.id)),n=t.filter(i=>!i.present).sort((i,p)=>(p.lastAt??0)-(i.lastAt??0)),r=n.findIndex(i=>i.id===this.params?.id)+1,d=this.everybody===!0?n.length:Math.max(q,r);return s`
      ${this.desk.past?s`<p class="warning">Nothing is known of who was here then. These are here now.</p>`:o}
      <h3 class="section">${c(e.length,"participant is","participants are")} here</h3>
      <ul>${g(e,i=>i.id,i=>this.one(i))}</ul>
      ${n.length===0?o:s`<h3 class="section">Not here now</h3>`}
      <ul class="away">${g(n.slice(0,d),i=>i.id,i=>this.one(i))}</ul>
      ${n.length>d?s`<button class="words" @click=${()=>this.everybody=!0}>Show all ${n.length.toLocaleString()}</button>`:o}
    `}one(t){let e=t.id===this.desk.you;return s`<li data-id=${t.id} aria-current=${this.params?.id===t.id?"true":o}>
      <div class="row">
        ${_(t.id,t.agent)}
        <div class="grow">
          <p class="name">${u(t.id)}${e&&t.id!=="you"?s` <span class="quiet">(you)</span>`:o}</p>
          ${t.lastAt===null||e?o:s`<p class="last">last said something ${v(t.lastAt)}</p>`}
        </div>
      </div>
      <div class="about">${this.chips(t)} ${this.rights(t)} ${e?this.limits():this.acts(t)}</div>
    </li>`}chips(t){let e=L(t.id,this.desk.state.participants.keys()),n=[t.agent?s`<span class="chip accent">agent</span>`:o,t.paused?s`<span class="chip wait">paused${t.pausedUntil===null?"":s`&nbsp;until ${v(t.pausedUntil)}`}</span>`:o,t.kicked?s`<span class="chip bad">removed</span>`:o,t.status===""?o:s`<span class="chip">${f(t.status.slice(0,60))}</span>`,R(t.id)&&t.id!==this.desk.you?s`<span class="chip wait">looks like a word of the page</span>`:o,e.length>0?s`<span class="chip wait">looks like ${u(e[0]??"")}</span>`:o].filter(r=>r!==o);return n.length===0?o:s`<div class="chips">${n}</div>`}rights(t){if(t.capabilities.length===0&&!t.present)return s`<p class="faint">What it may do is not known while it is away.</p>`;let e=k(t.capabilities),n=r=>s`<div class="sentences">${r.map(d=>s`<p>${f(d)}</p>`)}</div>`;return e.length<=C?n(e):s`<details ?open=${this.params?.id===t.id}><summary>May do ${e.length} things</summary>${n(e)}</details>`}limits(){let t=Y(this.desk.state.you?.limits??{});return t.length===0?s`<p class="faint">There are no limits on what you send.</p>`:s`<details><summary>Your limits</summary><div class="sentences">${t.map(e=>s`<p>${e}</p>`)}</div></details>`}acts(t){let{desk:e}=this,n=e.view.from.length===1&&e.view.from[0]===t.id;return s`<div class="row">
      ${t.present&&e.may("chat")&&!e.past?s`<button class="words small" aria-label=${`Write to ${u(t.id)}`} @click=${()=>e.mention(t.id)}>Write to</button>`:o}
      ${t.envelopes===0&&!n?o:s`<button class="words small" aria-pressed=${n?"true":"false"} @click=${()=>this.only(t.id,n)}>Show only what ${u(t.id)} says</button>`}
      ${t.tools.length===0?o:s`<button class="words small" @click=${()=>e.open("tools",{id:t.id})}>${c(t.tools.length,"tool")}</button>`}
    </div>`}only(t,e){let{view:n}=this.desk,r={...n,from:e?[]:[t]};this.desk.setView(P(r)?r:S),this.requestUpdate()}updated(){let t=this.params?.id;if(this.shownFor===this.params||t===void 0)return;let e=this.renderRoot.querySelector(`li[data-id="${CSS.escape(t)}"]`);e!==null&&(this.shownFor=this.params,e.scrollIntoView({block:"nearest"}))}};T("meup-participants",$);export{$ as Participants};
//# sourceMappingURL=/assets/participants-NHW2JHUG.js.map
