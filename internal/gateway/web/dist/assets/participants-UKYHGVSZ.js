import{a as g}from"/assets/chunk-J55DHFYE.js";import"/assets/chunk-JNMGVPRD.js";import{a as k}from"/assets/chunk-ZMV4Z3JM.js";import{a as x}from"/assets/chunk-ORJRSZWE.js";import{a as M}from"/assets/chunk-ZBXETYR5.js";import"/assets/chunk-E2LKP2F4.js";import{a as P,d as v,e as c,k as E}from"/assets/chunk-IGEW5526.js";import{a as L}from"/assets/chunk-SUG44J2H.js";import{f as h,g as F}from"/assets/chunk-VSIX4I2Q.js";import{G as A,H as S,I as T,K as R,M as f,Q as u,b as y,c as s,f as r,n as l}from"/assets/chunk-6D3SX3BW.js";function N(n){let t=[],e=l(n.rate),a=l(n.burst);e!==null&&t.push(`${_(e)}${a===null?"":`, ${a.toLocaleString()} at once`}.`);for(let m of Array.isArray(n.kinds)?n.kinds.slice(0,32):[]){let b=l(m.rate);b!==null&&t.push(`Of ${A(String(m.kind))}: ${_(b).toLowerCase()}, ${(l(m.burst)??0).toLocaleString()} at once.`)}let o=l(n.bytes_per_second);o!==null&&t.push(`${C(o)} a second.`);let p=l(n.message_bytes);p!==null&&t.push(`${C(p)} in one message.`);let i=l(n.connections);i!==null&&t.push(`${c(i,"connection")} at the same time.`);let d=l(n.open_contexts);d!==null&&t.push(`${c(d,"open context")} at the same time.`);let w=l(n.context_depth);return w!==null&&t.push(`Contexts nested up to ${w} levels deep.`),t}function _(n){return n>=1||n<=0?`${c(n,"envelope")} a second`:`An envelope every ${Math.round(1/n)} seconds`}function C(n){if(n<1024)return c(n,"byte");let t=n/(1024*1024);return t>=1?`${I(t)} MiB`:`${I(n/1024)} KiB`}function I(n){return n.toLocaleString(void 0,{maximumFractionDigits:1})}var Y=50,q=3,$=class extends h{static properties={...h.properties,showAll:{state:!0}};static styles=[P,E,y`
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
    `];shownFor=null;render(){let t=[...this.shell.state.participants.values()].filter(i=>i.id!==x),e=t.filter(i=>i.present).sort((i,d)=>+(d.id===this.shell.you)-+(i.id===this.shell.you)||i.id.localeCompare(d.id)),a=t.filter(i=>!i.present).sort((i,d)=>(d.lastAt??0)-(i.lastAt??0)),o=a.findIndex(i=>i.id===this.params?.id)+1,p=this.showAll===!0?a.length:Math.max(Y,o);return s`
      ${this.shell.past?s`<p class="warning">Past presence is not recorded. This is the current presence.</p>`:r}
      <h3 class="section">${c(e.length,"participant")} online</h3>
      <ul>${g(e,i=>i.id,i=>this.one(i))}</ul>
      ${a.length===0?r:s`<h3 class="section">Offline</h3>`}
      <ul class="away">${g(a.slice(0,p),i=>i.id,i=>this.one(i))}</ul>
      ${a.length>p?s`<button class="words" @click=${()=>this.showAll=!0}>Show all ${a.length.toLocaleString()}</button>`:r}
    `}one(t){let e=t.id===this.shell.you;return s`<li data-id=${t.id} aria-current=${this.params?.id===t.id?"true":r}>
      <div class="row">
        ${L(t.id,t.agent)}
        <div class="grow">
          <p class="name">${u(t.id)}${e&&t.id!=="you"?s` <span class="quiet">(you)</span>`:r}</p>
          ${t.lastAt===null||e?r:s`<p class="last">last active ${v(t.lastAt)}</p>`}
        </div>
      </div>
      <div class="about">${this.chips(t)} ${this.rights(t)} ${e?this.limits():this.acts(t)}</div>
    </li>`}chips(t){let e=T(t.id,this.shell.state.participants.keys()),a=[t.agent?s`<span class="chip accent">agent</span>`:r,t.paused?s`<span class="chip wait">paused${t.pausedUntil===null?"":s`&nbsp;until ${v(t.pausedUntil)}`}</span>`:r,t.kicked?s`<span class="chip bad">removed</span>`:r,t.status===""?r:s`<span class="chip">${f(t.status.slice(0,60))}</span>`,S(t.id)&&t.id!==this.shell.you?s`<span class="chip wait">looks like a system name</span>`:r,e.length>0?s`<span class="chip wait">looks like ${u(e[0]??"")}</span>`:r].filter(o=>o!==r);return a.length===0?r:s`<div class="chips">${a}</div>`}rights(t){if(t.capabilities.length===0&&!t.present)return s`<p class="faint">Capabilities are unknown while offline.</p>`;let e=k(t.capabilities),a=o=>s`<div class="sentences">${o.map(p=>s`<p>${f(p)}</p>`)}</div>`;return e.length<=q?a(e):s`<details ?open=${this.params?.id===t.id}><summary>${e.length} capabilities</summary>${a(e)}</details>`}limits(){let t=N(this.shell.state.you?.limits??{});return t.length===0?s`<p class="faint">You have no sending limits.</p>`:s`<details><summary>Your limits</summary><div class="sentences">${t.map(e=>s`<p>${e}</p>`)}</div></details>`}acts(t){let{shell:e}=this,a=e.view.from.length===1&&e.view.from[0]===t.id;return s`<div class="row">
      ${t.present&&e.may("chat")&&!e.past?s`<button class="words small" aria-label=${`Mention ${u(t.id)}`} @click=${()=>e.mention(t.id)}>Mention</button>`:r}
      ${t.envelopes===0&&!a?r:s`<button class="words small" aria-label=${`Filter messages of ${u(t.id)}`} aria-pressed=${a?"true":"false"} @click=${()=>this.only(t.id,a)}>Filter messages</button>`}
      ${t.tools.length===0?r:s`<button class="words small" @click=${()=>e.open("tools",{id:t.id})}>${c(t.tools.length,"tool")}</button>`}
    </div>`}only(t,e){let{view:a}=this.shell,o={...a,from:e?[]:[t]};this.shell.setView(M(o)?o:F),this.requestUpdate()}updated(){let t=this.params?.id;if(this.shownFor===this.params||t===void 0)return;let e=this.renderRoot.querySelector(`li[data-id="${CSS.escape(t)}"]`);e!==null&&(this.shownFor=this.params,e.scrollIntoView({block:"nearest"}))}};R("meup-participants",$);export{$ as Participants};
//# sourceMappingURL=/assets/participants-UKYHGVSZ.js.map
