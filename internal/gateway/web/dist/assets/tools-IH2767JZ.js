import{a as $}from"/assets/chunk-A25SEGJP.js";import{a as f}from"/assets/chunk-SK65YZIR.js";import{f as R}from"/assets/chunk-HWHIP42O.js";import"/assets/chunk-7YJZIPSA.js";import"/assets/chunk-TZLAFC3M.js";import{a as w,b as d,h as b,m as q,o as x}from"/assets/chunk-ETTXQQKV.js";import{a as p}from"/assets/chunk-MYHS66OQ.js";import{F as c,w as v,z as n}from"/assets/chunk-EBKTHAOW.js";import{L as g,R as l,T as y,b as h,c as t,f as o}from"/assets/chunk-6QAC3HRB.js";var k=200,u=class extends n{static properties={...n.properties,text:{state:!0},requested:{state:!0},error:{state:!0}};static styles=[w,x,h`
      .owner {
        margin: var(--space-5) 0 var(--space-2);
      }
      .tools > li {
        display: grid;
        gap: var(--space-1);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .tools > li:last-child {
        border-bottom: 0;
      }
      .tools code {
        font-weight: 600;
      }
      .ask {
        display: flex;
        align-items: center;
        gap: var(--space-2);
        padding: var(--space-2) 0;
      }
    `];constructor(){super(),this.text="",this.requested=new Set,this.error=""}render(){let e=this.params?.id,r=[...this.state.participants.values()].filter(s=>e===void 0||s.id===e),i=r.filter(s=>s.tools.length>0).sort((s,m)=>Number(m.present)-Number(s.present)||s.id.localeCompare(m.id)),a=r.filter(s=>s.present&&s.tools.length===0&&s.id!==this.shell.you&&$(s.capabilities,"mcp.response"));return t`
      ${e===void 0?o:t`<p class="row quiet">Only tools of ${l(e)}. <button class="words" @click=${()=>this.shell.open("tools")}>Show all</button></p>`}
      ${i.length===0?t`<p class="empty">No tools yet</p>`:t`<label class="unseen" for="find">Find a tool</label>
            <input id="find" class="field" type="search" placeholder="Find a tool" .value=${this.text} @input=${s=>this.text=s.target.value} />`}
      ${i.map(s=>this.owner(s))} ${this.others(a)} ${q(this.error)}
    `}owner(e){let r=v(this.text),i=e.tools.filter(a=>r.every(s=>`${a.name} ${a.title} ${a.description}`.toLowerCase().includes(s)));return i.length===0?o:t`<section aria-label=${l(e.id)}>
      <div class="row owner">${p(e.id,e.agent)}<span class="name grow">${l(e.id)}</span><span class="faint">${b(i.length,"tool")}${e.present?"":", offline"}</span></div>
      <ul class="tools">${i.slice(0,k).map(a=>this.tool(a))}</ul>
      ${i.length>k?t`<p class="faint">More tools match. Refine the filter.</p>`:o}
    </section>`}tool(e){return t`<li>
      <div class="row">
        <code>${d(e.name)}</code>
        ${e.readOnly===!0?t`<span class="chip">read-only</span>`:o} ${e.destructive===!0?t`<span class="chip bad">destructive</span>`:o}
      </div>
      ${e.title===""||e.title===e.name?o:t`<p class="small">${c(e.title)}</p>`} ${e.description===""?o:t`<p class="quiet">${c(e.description)}</p>`}
      ${e.inputSchema===void 0?o:t`<details><summary>Arguments</summary><pre tabindex="0">${d(y(e.inputSchema).slice(0,5e4))}</pre></details>`}
    </li>`}others(e){return e.length===0||this.shell.past?o:this.shell.may("mcp.request")?t`<h3 class="section">Not listed yet</h3>
      <ul>
        ${e.map(r=>t`<li class="ask">
            ${p(r.id,r.agent)}<span class="grow">${l(r.id)}</span>
            ${this.requested.has(r.id)?t`<span class="faint" role="status">Requested. No response yet.</span>`:t`<button class="button small" aria-label=${`Request tools of ${l(r.id)}`} @click=${()=>{this.ask(r.id)}}>Request</button>`}
          </li>`)}
      </ul>`:t`<p class="quiet section">You cannot request tool lists.</p>`}async ask(e){this.error="";let r=await this.shell.send(R(e,f()));r.ok?this.requested=new Set([...this.requested,e]):this.error=r.refusal}};g("meup-tools",u);export{u as Tools};
