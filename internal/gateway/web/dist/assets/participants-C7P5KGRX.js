import{a as P}from"/assets/chunk-M4YN6SZT.js";import{f as g}from"/assets/chunk-KA7DWMWM.js";import{a as x}from"/assets/chunk-TN2TU4HK.js";import"/assets/chunk-W6CGRAPH.js";import{a as k}from"/assets/chunk-O2BIRNYA.js";import"/assets/chunk-JCVKINCP.js";import{a as M,d as v,e as c,f as _,l as E}from"/assets/chunk-F47N3N7M.js";import{g as h,h as S,j as T}from"/assets/chunk-2KYN7COM.js";import{H as A,I as R,J as L,L as f,P as u,a as w,b as s,e as r,n as l}from"/assets/chunk-HZSDP42Y.js";function q(n){let t=[],e=l(n.rate),a=l(n.burst);e!==null&&t.push(`${F(e)}${a===null?"":`, ${a.toLocaleString()} at once`}.`);for(let m of Array.isArray(n.kinds)?n.kinds.slice(0,32):[]){let b=l(m.rate);b!==null&&t.push(`Of ${A(String(m.kind))}: ${F(b).toLowerCase()}, ${(l(m.burst)??0).toLocaleString()} at once.`)}let o=l(n.bytes_per_second);o!==null&&t.push(`${Y(o)} a second.`);let d=l(n.message_bytes);d!==null&&t.push(`${Y(d)} in one message.`);let i=l(n.connections);i!==null&&t.push(`${c(i,"connection")} at the same time.`);let p=l(n.open_contexts);p!==null&&t.push(`${c(p,"line")} of reasoning open at the same time.`);let y=l(n.context_depth);return y!==null&&t.push(`Lines of reasoning within one another up to ${y} deep.`),t}function F(n){return n>=1||n<=0?`${c(n,"envelope")} a second`:`An envelope every ${Math.round(1/n)} seconds`}function Y(n){if(n<1024)return c(n,"byte");let t=n/(1024*1024);return t>=1?`${C(t)} MiB`:`${C(n/1024)} KiB`}function C(n){return n.toLocaleString(void 0,{maximumFractionDigits:1})}var I=50,N=3,$=class extends h{static properties={...h.properties,everybody:{state:!0}};static styles=[M,E,w`
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
    `];shownFor=null;render(){let t=[...this.desk.state.participants.values()].filter(i=>i.id!==x),e=t.filter(i=>i.present).sort((i,p)=>+(p.id===this.desk.you)-+(i.id===this.desk.you)||i.id.localeCompare(p.id)),a=t.filter(i=>!i.present).sort((i,p)=>(p.lastAt??0)-(i.lastAt??0)),o=a.findIndex(i=>i.id===this.params?.id)+1,d=this.everybody===!0?a.length:Math.max(I,o);return s`
      ${this.desk.past?s`<p class="warning">Past presence is not recorded. This is the current presence.</p>`:r}
      <h3 class="section">${c(e.length,"participant")} online</h3>
      <ul>${g(e,i=>i.id,i=>this.one(i))}</ul>
      ${a.length===0?r:s`<h3 class="section">Offline</h3>`}
      <ul class="away">${g(a.slice(0,d),i=>i.id,i=>this.one(i))}</ul>
      ${a.length>d?s`<button class="words" @click=${()=>this.everybody=!0}>Show all ${a.length.toLocaleString()}</button>`:r}
    `}one(t){let e=t.id===this.desk.you;return s`<li data-id=${t.id} aria-current=${this.params?.id===t.id?"true":r}>
      <div class="row">
        ${_(t.id,t.agent)}
        <div class="grow">
          <p class="name">${u(t.id)}${e&&t.id!=="you"?s` <span class="quiet">(you)</span>`:r}</p>
          ${t.lastAt===null||e?r:s`<p class="last">last active ${v(t.lastAt)}</p>`}
        </div>
      </div>
      <div class="about">${this.chips(t)} ${this.rights(t)} ${e?this.limits():this.acts(t)}</div>
    </li>`}chips(t){let e=L(t.id,this.desk.state.participants.keys()),a=[t.agent?s`<span class="chip accent">agent</span>`:r,t.paused?s`<span class="chip wait">paused${t.pausedUntil===null?"":s`&nbsp;until ${v(t.pausedUntil)}`}</span>`:r,t.kicked?s`<span class="chip bad">removed</span>`:r,t.status===""?r:s`<span class="chip">${f(t.status.slice(0,60))}</span>`,R(t.id)&&t.id!==this.desk.you?s`<span class="chip wait">looks like a system name</span>`:r,e.length>0?s`<span class="chip wait">looks like ${u(e[0]??"")}</span>`:r].filter(o=>o!==r);return a.length===0?r:s`<div class="chips">${a}</div>`}rights(t){if(t.capabilities.length===0&&!t.present)return s`<p class="faint">Capabilities are unknown while offline.</p>`;let e=k(t.capabilities),a=o=>s`<div class="sentences">${o.map(d=>s`<p>${f(d)}</p>`)}</div>`;return e.length<=N?a(e):s`<details ?open=${this.params?.id===t.id}><summary>${e.length} capabilities</summary>${a(e)}</details>`}limits(){let t=q(this.desk.state.you?.limits??{});return t.length===0?s`<p class="faint">You have no sending limits.</p>`:s`<details><summary>Your limits</summary><div class="sentences">${t.map(e=>s`<p>${e}</p>`)}</div></details>`}acts(t){let{desk:e}=this,a=e.view.from.length===1&&e.view.from[0]===t.id;return s`<div class="row">
      ${t.present&&e.may("chat")&&!e.past?s`<button class="words small" aria-label=${`Mention ${u(t.id)}`} @click=${()=>e.mention(t.id)}>Mention</button>`:r}
      ${t.envelopes===0&&!a?r:s`<button class="words small" aria-pressed=${a?"true":"false"} @click=${()=>this.only(t.id,a)}>Show only messages of ${u(t.id)}</button>`}
      ${t.tools.length===0?r:s`<button class="words small" @click=${()=>e.open("tools",{id:t.id})}>${c(t.tools.length,"tool")}</button>`}
    </div>`}only(t,e){let{view:a}=this.desk,o={...a,from:e?[]:[t]};this.desk.setView(P(o)?o:S),this.requestUpdate()}updated(){let t=this.params?.id;if(this.shownFor===this.params||t===void 0)return;let e=this.renderRoot.querySelector(`li[data-id="${CSS.escape(t)}"]`);e!==null&&(this.shownFor=this.params,e.scrollIntoView({block:"nearest"}))}};T("meup-participants",$);export{$ as Participants};
//# sourceMappingURL=/assets/participants-C7P5KGRX.js.map
