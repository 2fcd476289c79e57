import{a as $}from"/assets/chunk-BGXXBCPF.js";import{a as f,h as g}from"/assets/chunk-WC643RJW.js";import{a as k,b as c,e as b,f as d,k as x,l as T}from"/assets/chunk-E5LNYIV6.js";import{d as v,g as n,j as y,l as p}from"/assets/chunk-SRANVCBR.js";import{P as l,R as w,a as h,b as t,e as o}from"/assets/chunk-EZPMOHX2.js";var P=200,m=class extends n{static properties={...n.properties,text:{state:!0},asked:{state:!0},trouble:{state:!0}};static styles=[k,T,h`
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
    `];constructor(){super(),this.text="",this.asked=new Set,this.trouble=""}render(){let e=this.params?.id,a=[...this.state.participants.values()].filter(s=>e===void 0||s.id===e),r=a.filter(s=>s.tools.length>0).sort((s,u)=>Number(u.present)-Number(s.present)||s.id.localeCompare(u.id)),i=a.filter(s=>s.present&&s.tools.length===0&&s.id!==this.desk.you&&$(s.capabilities,"mcp.response"));return t`
      ${e===void 0?o:t`<p class="row quiet">Only those of ${l(e)}. <button class="words" @click=${()=>this.desk.open("tools")}>Show all</button></p>`}
      ${r.length===0?t`<p class="empty">No list of tools was seen here.</p>`:t`<label class="unseen" for="find">Find a tool</label>
            <input id="find" class="field" type="search" placeholder="Find a tool" .value=${this.text} @input=${s=>this.text=s.target.value} />`}
      ${r.map(s=>this.owner(s))} ${this.others(i)} ${x(this.trouble)}
    `}owner(e){let a=v(this.text),r=e.tools.filter(i=>a.every(s=>`${i.name} ${i.title} ${i.description}`.toLowerCase().includes(s)));return r.length===0?o:t`<section aria-label=${l(e.id)}>
      <div class="row owner">${d(e.id,e.agent)}<span class="name grow">${l(e.id)}</span><span class="faint">${b(r.length,"tool")}${e.present?"":", not here now"}</span></div>
      <ul class="tools">${r.slice(0,P).map(i=>this.tool(i))}</ul>
      ${r.length>P?t`<p class="faint">Not all are shown: search for a name.</p>`:o}
    </section>`}tool(e){return t`<li>
      <div class="row">
        <code>${c(e.name)}</code>
        ${e.readOnly===!0?t`<span class="chip">says it only reads</span>`:o} ${e.destructive===!0?t`<span class="chip bad">can destroy</span>`:o}
      </div>
      ${e.title===""||e.title===e.name?o:t`<p class="small">${p(e.title)}</p>`} ${e.description===""?o:t`<p class="quiet">${p(e.description)}</p>`}
      ${e.inputSchema===void 0?o:t`<details><summary>Arguments</summary><pre tabindex="0">${c(w(e.inputSchema).slice(0,5e4))}</pre></details>`}
    </li>`}others(e){return e.length===0||this.desk.past?o:this.desk.may("mcp.request")?t`<h3 class="section">Not known yet</h3>
      <ul>
        ${e.map(a=>t`<li class="ask">
            ${d(a.id,a.agent)}<span class="grow">${l(a.id)}</span>
            ${this.asked.has(a.id)?t`<span class="faint" role="status">Asked. No answer yet.</span>`:t`<button class="button small" aria-label=${`Ask ${l(a.id)} for its tools`} @click=${()=>{this.ask(a.id)}}>Ask</button>`}
          </li>`)}
      </ul>`:t`<p class="quiet section">You may not ask the others for their tools.</p>`}async ask(e){this.trouble="";let a=await this.desk.send(g(e,f()));a.ok?this.asked=new Set([...this.asked,e]):this.trouble=a.refusal}};y("meup-tools",m);export{m as Tools};
//# sourceMappingURL=/assets/tools-YAH4MM3I.js.map
