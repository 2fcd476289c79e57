import{a as $}from"/assets/chunk-DPQISRPQ.js";import{a as f,h as w}from"/assets/chunk-J3SUXPBW.js";import{a as b,b as c,e as k,f as d,k as x,l as R}from"/assets/chunk-F47N3N7M.js";import{d as v,g as n,j as g,l as p}from"/assets/chunk-2KYN7COM.js";import{P as l,R as y,a as h,b as t,e as a}from"/assets/chunk-HZSDP42Y.js";var T=200,u=class extends n{static properties={...n.properties,text:{state:!0},asked:{state:!0},trouble:{state:!0}};static styles=[b,R,h`
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
    `];constructor(){super(),this.text="",this.asked=new Set,this.trouble=""}render(){let e=this.params?.id,o=[...this.state.participants.values()].filter(s=>e===void 0||s.id===e),i=o.filter(s=>s.tools.length>0).sort((s,m)=>Number(m.present)-Number(s.present)||s.id.localeCompare(m.id)),r=o.filter(s=>s.present&&s.tools.length===0&&s.id!==this.desk.you&&$(s.capabilities,"mcp.response"));return t`
      ${e===void 0?a:t`<p class="row quiet">Only those of ${l(e)}. <button class="words" @click=${()=>this.desk.open("tools")}>Show all</button></p>`}
      ${i.length===0?t`<p class="empty">No tools yet</p>`:t`<label class="unseen" for="find">Find a tool</label>
            <input id="find" class="field" type="search" placeholder="Find a tool" .value=${this.text} @input=${s=>this.text=s.target.value} />`}
      ${i.map(s=>this.owner(s))} ${this.others(r)} ${x(this.trouble)}
    `}owner(e){let o=v(this.text),i=e.tools.filter(r=>o.every(s=>`${r.name} ${r.title} ${r.description}`.toLowerCase().includes(s)));return i.length===0?a:t`<section aria-label=${l(e.id)}>
      <div class="row owner">${d(e.id,e.agent)}<span class="name grow">${l(e.id)}</span><span class="faint">${k(i.length,"tool")}${e.present?"":", offline"}</span></div>
      <ul class="tools">${i.slice(0,T).map(r=>this.tool(r))}</ul>
      ${i.length>T?t`<p class="faint">More tools match. Refine the filter.</p>`:a}
    </section>`}tool(e){return t`<li>
      <div class="row">
        <code>${c(e.name)}</code>
        ${e.readOnly===!0?t`<span class="chip">read-only</span>`:a} ${e.destructive===!0?t`<span class="chip bad">destructive</span>`:a}
      </div>
      ${e.title===""||e.title===e.name?a:t`<p class="small">${p(e.title)}</p>`} ${e.description===""?a:t`<p class="quiet">${p(e.description)}</p>`}
      ${e.inputSchema===void 0?a:t`<details><summary>Arguments</summary><pre tabindex="0">${c(y(e.inputSchema).slice(0,5e4))}</pre></details>`}
    </li>`}others(e){return e.length===0||this.desk.past?a:this.desk.may("mcp.request")?t`<h3 class="section">Not listed yet</h3>
      <ul>
        ${e.map(o=>t`<li class="ask">
            ${d(o.id,o.agent)}<span class="grow">${l(o.id)}</span>
            ${this.asked.has(o.id)?t`<span class="faint" role="status">Requested. No response yet.</span>`:t`<button class="button small" aria-label=${`Request tools of ${l(o.id)}`} @click=${()=>{this.ask(o.id)}}>Request</button>`}
          </li>`)}
      </ul>`:t`<p class="quiet section">You cannot request tool lists.</p>`}async ask(e){this.trouble="";let o=await this.desk.send(w(e,f()));o.ok?this.asked=new Set([...this.asked,e]):this.trouble=o.refusal}};g("meup-tools",u);export{u as Tools};
//# sourceMappingURL=/assets/tools-56KKL4JR.js.map
