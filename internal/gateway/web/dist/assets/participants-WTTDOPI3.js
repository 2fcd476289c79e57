import{a as E}from"/assets/chunk-E6W2NQYK.js";import{a as g}from"/assets/chunk-3H3GXAVX.js";import"/assets/chunk-QVKAVH7C.js";import{b as _}from"/assets/chunk-BCKDFRY2.js";import"/assets/chunk-CXOYBXQ3.js";import"/assets/chunk-26ODUJTJ.js";import{a as x}from"/assets/chunk-J3ND4NAU.js";import{a as P,d as $,e as p,k as M}from"/assets/chunk-JOT7OIPQ.js";import{a as L}from"/assets/chunk-MYHS66OQ.js";import{r as f,s as S}from"/assets/chunk-YBPMD7R5.js";import{H as A,I as R,J as T,L as F,N as m,R as u,b as k,c as s,f as o,o as l}from"/assets/chunk-6QAC3HRB.js";function I(a){let t=[],e=l(a.rate),i=l(a.burst);e!==null&&t.push(`${C(e)}${i===null?"":`, ${i.toLocaleString()} at once`}.`);for(let h of Array.isArray(a.kinds)?a.kinds.slice(0,32):[]){let b=l(h.rate);b!==null&&t.push(`Of ${A(String(h.kind))}: ${C(b).toLowerCase()}, ${(l(h.burst)??0).toLocaleString()} at once.`)}let r=l(a.bytes_per_second);r!==null&&t.push(`${O(r)} a second.`);let c=l(a.message_bytes);c!==null&&t.push(`${O(c)} in one message.`);let n=l(a.connections);n!==null&&t.push(`${p(n,"connection")} at the same time.`);let d=l(a.open_contexts);d!==null&&t.push(`${p(d,"open context")} at the same time.`);let y=l(a.context_depth);return y!==null&&t.push(`Contexts nested up to ${y} levels deep.`),t}function C(a){return a>=1||a<=0?`${p(a,"envelope")} a second`:`An envelope every ${Math.round(1/a)} seconds`}function O(a){if(a<1024)return p(a,"byte");let t=a/(1024*1024);return t>=1?`${q(t)} MiB`:`${q(a/1024)} KiB`}function q(a){return a.toLocaleString(void 0,{maximumFractionDigits:1})}var N=50,v=4,Y=3,w=class extends f{static properties={...f.properties,showAll:{state:!0}};static styles=[P,M,k`
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
      .does {
        font-size: var(--text-s);
        overflow-wrap: anywhere;
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
    `];shownFor=null;render(){let t=[...this.shell.state.participants.values()].filter(n=>n.id!==x),e=t.filter(n=>n.present).sort((n,d)=>+(d.id===this.shell.you)-+(n.id===this.shell.you)||n.id.localeCompare(d.id)),i=t.filter(n=>!n.present).sort((n,d)=>(d.lastAt??0)-(n.lastAt??0)),r=i.findIndex(n=>n.id===this.params?.id)+1,c=this.showAll===!0?i.length:Math.max(N,r);return s`
      ${this.shell.past?s`<p class="warning">Past presence is not recorded. This is the current presence.</p>`:o}
      <h3 class="section">${p(e.length,"participant")} online</h3>
      <ul>${g(e,n=>n.id,n=>this.one(n))}</ul>
      ${i.length===0?o:s`<h3 class="section">Offline</h3>`}
      <ul class="away">${g(i.slice(0,c),n=>n.id,n=>this.one(n))}</ul>
      ${i.length>c?s`<button class="words" @click=${()=>this.showAll=!0}>Show all ${i.length.toLocaleString()}</button>`:o}
    `}one(t){let e=t.id===this.shell.you;return s`<li data-id=${t.id} aria-current=${this.params?.id===t.id?"true":o}>
      <div class="row">
        ${L(t.id,t.agent)}
        <div class="grow">
          <p class="name">${u(t.id)}${e&&t.id!=="you"?s` <span class="quiet">(you)</span>`:o}</p>
          ${t.lastAt===null||e?o:s`<p class="last">last active ${$(t.lastAt)}</p>`}
        </div>
      </div>
      <div class="about">${this.chips(t)} ${this.activity(t)} ${this.rights(t)} ${e?this.limits():this.acts(t)}</div>
    </li>`}chips(t){let e=T(t.id,this.shell.state.participants.keys()),i=[t.agent?s`<span class="chip accent">agent</span>`:o,t.paused?s`<span class="chip wait">paused${t.pausedUntil===null?"":s`&nbsp;until ${$(t.pausedUntil)}`}</span>`:o,t.kicked?s`<span class="chip bad">removed</span>`:o,t.status===""?o:s`<span class="chip">${m(t.status.slice(0,60))}</span>`,R(t.id)&&t.id!==this.shell.you?s`<span class="chip wait">looks like a system name</span>`:o,e.length>0?s`<span class="chip wait">looks like ${u(e[0]??"")}</span>`:o].filter(r=>r!==o);return i.length===0?o:s`<div class="chips">${i}</div>`}activity(t){let e=t.tools.slice(0,v).map((r,c)=>s`${c===0?"":", "}<code>${u(r.name)}</code>`),i=t.tools.length>v?` and ${t.tools.length-v} more`:"";return e.length===0&&!t.agent&&t.description===""?o:s`<p class="does">${t.description!==""?m(t.description):t.agent?"Reasons about questions and answers them.":o} ${e.length===0?o:s`Runs ${e}${i}.`}</p>`}rights(t){if(t.capabilities.length===0&&!t.present)return s`<p class="faint">Capabilities are unknown while offline.</p>`;let e=_(t.capabilities),i=r=>s`<div class="sentences">${r.map(c=>s`<p>${m(c)}</p>`)}</div>`;return e.length<=Y?i(e):s`<details ?open=${this.params?.id===t.id}><summary>${e.length} capabilities</summary>${i(e)}</details>`}limits(){let t=I(this.shell.state.you?.limits??{});return t.length===0?s`<p class="faint">You have no sending limits.</p>`:s`<details><summary>Your limits</summary><div class="sentences">${t.map(e=>s`<p>${e}</p>`)}</div></details>`}acts(t){let{shell:e}=this,i=e.view.from.length===1&&e.view.from[0]===t.id;return s`<div class="row">
      ${t.present&&e.may("chat")&&!e.past?s`<button class="words small" aria-label=${`Mention ${u(t.id)}`} @click=${()=>e.mention(t.id)}>Mention</button>`:o}
      ${t.envelopes===0&&!i?o:s`<button class="words small" aria-label=${`Filter messages of ${u(t.id)}`} aria-pressed=${i?"true":"false"} @click=${()=>this.only(t.id,i)}>Filter messages</button>`}
      ${t.tools.length===0?o:s`<button class="words small" @click=${()=>e.open("tools",{id:t.id})}>${p(t.tools.length,"tool")}</button>`}
    </div>`}only(t,e){let{view:i}=this.shell,r={...i,from:e?[]:[t]};this.shell.setView(E(r)?r:S),this.requestUpdate()}updated(){let t=this.params?.id;if(this.shownFor===this.params||t===void 0)return;let e=this.renderRoot.querySelector(`li[data-id="${CSS.escape(t)}"]`);e!==null&&(this.shownFor=this.params,e.scrollIntoView({block:"nearest"}))}};F("meup-participants",w);export{w as Participants};
