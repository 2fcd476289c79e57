import{a as O}from"/assets/chunk-3C55F4QY.js";import{a as g}from"/assets/chunk-6KPK6ELU.js";import{b as q}from"/assets/chunk-757P6I2J.js";import{a as x}from"/assets/chunk-J3ND4NAU.js";import{b as C,c as N}from"/assets/chunk-GAG7OMNE.js";import{A}from"/assets/chunk-LBYF6DKE.js";import"/assets/chunk-DCOLHRT3.js";import{a as M,c as _,g as $,h as d,o as E}from"/assets/chunk-ETTXQQKV.js";import{a as P}from"/assets/chunk-MYHS66OQ.js";import{A as F,z as m}from"/assets/chunk-EBKTHAOW.js";import{H as T,I as R,J as S,L,N as f,R as h,b as k,c as s,f as o,o as l}from"/assets/chunk-6QAC3HRB.js";function z(a){let t=[],e=l(a.rate),i=l(a.burst);e!==null&&t.push(`${I(e)}${i===null?"":`, ${i.toLocaleString()} at once`}.`);for(let u of Array.isArray(a.kinds)?a.kinds.slice(0,32):[]){let b=l(u.rate);b!==null&&t.push(`Of ${T(String(u.kind))}: ${I(b).toLowerCase()}, ${(l(u.burst)??0).toLocaleString()} at once.`)}let r=l(a.bytes_per_second);r!==null&&t.push(`${U(r)} a second.`);let c=l(a.message_bytes);c!==null&&t.push(`${U(c)} in one message.`);let n=l(a.connections);n!==null&&t.push(`${d(n,"connection")} at the same time.`);let p=l(a.open_contexts);p!==null&&t.push(`${d(p,"open context")} at the same time.`);let y=l(a.context_depth);return y!==null&&t.push(`Contexts nested up to ${y} levels deep.`),t}function I(a){return a>=1||a<=0?`${d(a,"envelope")} a second`:`An envelope every ${Math.round(1/a)} seconds`}function U(a){if(a<1024)return d(a,"byte");let t=a/(1024*1024);return t>=1?`${Y(t)} MiB`:`${Y(a/1024)} KiB`}function Y(a){return a.toLocaleString(void 0,{maximumFractionDigits:1})}var V=50,v=4,j=3,w=class extends m{static properties={...m.properties,showAll:{state:!0}};static styles=[M,E,k`
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
    `];shownFor=null;constructor(){super();let t=0;new q(this,()=>{let e=[...this.shell.state.grants.values()],i=t;t=e.filter(r=>!A(r,this.shell.now())).length,t!==i&&this.requestUpdate()})}render(){let t=[...this.shell.state.participants.values()].filter(n=>n.id!==x),e=t.filter(n=>n.present).sort((n,p)=>+(p.id===this.shell.you)-+(n.id===this.shell.you)||n.id.localeCompare(p.id)),i=t.filter(n=>!n.present).sort((n,p)=>(p.lastAt??0)-(n.lastAt??0)),r=i.findIndex(n=>n.id===this.params?.id)+1,c=this.showAll===!0?i.length:Math.max(V,r);return s`
      ${this.shell.past?s`<p class="warning">Past presence is not recorded. This is the current presence.</p>`:o}
      <h3 class="section">${d(e.length,"participant")} online</h3>
      <ul>${g(e,n=>n.id,n=>this.one(n))}</ul>
      ${i.length===0?o:s`<h3 class="section">Offline</h3>`}
      <ul class="away">${g(i.slice(0,c),n=>n.id,n=>this.one(n))}</ul>
      ${i.length>c?s`<button class="words" @click=${()=>this.showAll=!0}>Show all ${i.length.toLocaleString()}</button>`:o}
    `}one(t){let e=t.id===this.shell.you;return s`<li data-id=${t.id} aria-current=${this.params?.id===t.id?"true":o}>
      <div class="row">
        ${P(t.id,t.agent)}
        <div class="grow">
          <p class="name">${h(t.id)}${e&&t.id!=="you"?s` <span class="quiet">(you)</span>`:o}</p>
          ${t.lastAt===null||e?o:s`<p class="last">last active ${$(t.lastAt)}</p>`}
        </div>
      </div>
      <div class="about">${this.chips(t)} ${this.activity(t)} ${this.rights(t)} ${e?this.limits():this.acts(t)}</div>
    </li>`}chips(t){let e=S(t.id,this.shell.state.participants.keys()),i=[t.agent?s`<span class="chip accent">agent</span>`:o,t.paused?s`<span class="chip wait">paused${t.pausedUntil===null?"":s`&nbsp;until ${$(t.pausedUntil)}`}</span>`:o,t.kicked?s`<span class="chip bad">removed</span>`:o,t.status===""?o:s`<span class="chip">${f(t.status.slice(0,60))}</span>`,R(t.id)&&t.id!==this.shell.you?s`<span class="chip wait">looks like a system name</span>`:o,e.length>0?s`<span class="chip wait">looks like ${h(e[0]??"")}</span>`:o].filter(r=>r!==o);return i.length===0?o:s`<div class="chips">${i}</div>`}activity(t){let e=t.tools.slice(0,v).map((r,c)=>s`${c===0?"":", "}<code>${h(r.name)}</code>`),i=t.tools.length>v?` and ${t.tools.length-v} more`:"";return e.length===0&&!t.agent&&t.description===""?o:s`<p class="does">${t.description!==""?f(t.description):t.agent?"Reasons about questions and answers them.":o} ${e.length===0?o:s`Runs ${e}${i}.`}</p>`}rights(t){if(t.capabilities.length===0&&!t.present)return s`<p class="faint">Capabilities are unknown while offline.</p>`;let e=C(N(t,this.shell.state.grants.values(),this.shell.now())),i=r=>s`<div class="sentences">${r.map(c=>s`<p>${_(c)}</p>`)}</div>`;return e.length<=j?i(e):s`<details ?open=${this.params?.id===t.id}><summary>${e.length} capabilities</summary>${i(e)}</details>`}limits(){let t=z(this.shell.state.you?.limits??{});return t.length===0?s`<p class="faint">You have no sending limits.</p>`:s`<details><summary>Your limits</summary><div class="sentences">${t.map(e=>s`<p>${e}</p>`)}</div></details>`}acts(t){let{shell:e}=this,i=e.view.from.length===1&&e.view.from[0]===t.id;return s`<div class="row">
      ${t.present&&e.may("chat")&&!e.past?s`<button class="words small" aria-label=${`Mention ${h(t.id)}`} @click=${()=>e.mention(t.id)}>Mention</button>`:o}
      ${t.envelopes===0&&!i?o:s`<button class="words small" aria-label=${`Filter messages of ${h(t.id)}`} aria-pressed=${i?"true":"false"} @click=${()=>this.only(t.id,i)}>Filter messages</button>`}
      ${t.tools.length===0?o:s`<button class="words small" @click=${()=>e.open("tools",{id:t.id})}>${d(t.tools.length,"tool")}</button>`}
    </div>`}only(t,e){let{view:i}=this.shell,r={...i,from:e?[]:[t]};this.shell.setView(O(r)?r:F),this.requestUpdate()}updated(){let t=this.params?.id;if(this.shownFor===this.params||t===void 0)return;let e=this.renderRoot.querySelector(`li[data-id="${CSS.escape(t)}"]`);e!==null&&(this.shownFor=this.params,e.scrollIntoView({block:"nearest"}))}};L("meup-participants",w);export{w as Participants};
