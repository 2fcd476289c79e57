import{a as m}from"/assets/chunk-H5JUJ5AH.js";import"/assets/chunk-MTRC2KP5.js";import{g as x}from"/assets/chunk-G43XG7NS.js";import{a as k,e as a,i as S,l as T}from"/assets/chunk-E5LNYIV6.js";import{f as w,g as h,h as p,j as y,k as b}from"/assets/chunk-SRANVCBR.js";import{C as v,G as $,P as u,a as f,b as s,e as l}from"/assets/chunk-EZPMOHX2.js";var O=f`
  .in-force {
    padding: var(--space-2) var(--space-3);
    border-radius: var(--round-m);
    background: var(--accent-soft);
    color: var(--accent-strong);
  }
  .tree ul {
    margin-left: 0.7rem;
    padding-left: var(--space-2);
    border-left: 1px solid var(--line);
  }
  .node {
    display: grid;
    grid-template-columns: 1.5rem minmax(0, 1fr);
    padding: var(--space-2) 0;
  }
  .node[data-only="true"] .title {
    color: var(--accent-strong);
  }
  .node[data-out="true"] .title {
    text-decoration: line-through;
    color: var(--faint);
  }
  .twig {
    display: inline-grid;
    place-items: center;
    width: 1.5rem;
    height: 1.5rem;
    border-radius: var(--round-s);
    color: var(--quiet);
  }
  button.twig:hover {
    background: var(--sunk);
  }
  .twig svg.icon {
    width: 0.875rem;
    height: 0.875rem;
    transition: rotate 120ms;
  }
  .twig[aria-expanded="true"] svg {
    rotate: 90deg;
  }
  .title {
    font-weight: 500;
    overflow-wrap: anywhere;
  }
  .title:hover {
    text-decoration: underline;
    text-underline-offset: 0.2em;
  }
  .meta,
  .acts {
    grid-column: 2;
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0 var(--space-2);
    color: var(--quiet);
    font-size: var(--text-xs);
  }
  .acts {
    gap: var(--space-1);
    margin-top: var(--space-1);
  }
  .toggle {
    min-height: 1.5rem;
    padding: 0 var(--space-2);
    border: 1px solid var(--line);
    border-radius: 1rem;
    color: var(--quiet);
    font-size: var(--text-xs);
  }
  .toggle:hover {
    border-color: var(--edge);
    color: var(--ink);
  }
  .toggle[aria-pressed="true"] {
    border-color: var(--accent);
    background: var(--accent-soft);
    color: var(--accent-strong);
    font-weight: 600;
  }
`;var P=60,g=class extends h{static properties={...h.properties,most:{state:!0},closed:{state:!0},tick:{state:!0}};static styles=[k,T,O];made=null;constructor(){super(),this.most=P,this.closed=new Set,this.tick=0}get nodes(){return this.made?.of!==this.state&&(this.made={of:this.state,nodes:w(this.state)}),this.made.nodes}render(){let{nodes:t}=this,e=t.slice(-this.most).reverse();return s`
      ${this.choices()}
      <h3 class="section">${t.length===0?"Contexts":a(t.length,"context")}</h3>
      ${t.length===0?s`<p class="empty">Nobody has reasoned in what is loaded.</p>`:s`<ul class="tree">${e.map(n=>this.node(n))}</ul>`}
      ${t.length>this.most?s`<button class="words" @click=${()=>this.most+=P}>Show older ones</button>`:l}
    `}choices(){let t=this.desk.view,e=t.contexts.length===1&&t.contexts[0]==="",n=m(t);return s`<div class="stack">
      <label class="check"><input type="checkbox" .checked=${e} @change=${()=>this.set({contexts:e?[]:[""]})} /> Only the main conversation</label>
      <label class="check"><input type="checkbox" .checked=${t.conclusionsOnly} @change=${()=>this.set({conclusionsOnly:!t.conclusionsOnly})} /> Of each context only its start and conclusion</label>
      ${n?s`<div class="row in-force"><span class="grow small">${j(t)}</span><button class="button small" @click=${()=>this.set(p)}>Show everything</button></div>`:s`<p class="quiet">Everything is shown. What waits for a decision and what names you always is.</p>`}
    </div>`}node(t){let e=t.block,n=this.desk.view,i=n.contexts.includes(t.path),d=n.exclude.includes(t.path),c=!this.closed.has(t.path),r=R(e);return s`<li>
      <div class="node" data-out=${d} data-only=${i}>
        ${t.children.length===0?s`<span class="twig"></span>`:s`<button class="twig" aria-expanded=${c?"true":"false"} aria-label=${`${a(t.below,"context")} within`} @click=${()=>this.fold(t.path)}>${b("chevron")}</button>`}
        <button class="title grow" title="Show in the talk" @click=${()=>{S(this.desk,t.path)}}>${r}</button>
        <p class="meta">
          <span class="chip ${e.status==="reasoning"?"accent":e.status==="cancelled"||e.status==="stopped"?"wait":""}">${x(e,this.desk.now())}</span>
          <span>${e.opener===""?"nobody yet":u(e.opener)}</span>
          ${e.counts.calls===0?l:s`<span>${a(e.counts.calls,"call")}</span>`}
        </p>
        <div class="acts" role="group" aria-label=${r}>
          <button class="toggle" aria-pressed=${i?"true":"false"} @click=${()=>this.flip("contexts",t.path)}>Only this</button>
          <button class="toggle" aria-pressed=${d?"true":"false"} @click=${()=>this.flip("exclude",t.path)}>Leave out</button>
        </div>
      </div>
      ${c&&t.children.length>0?s`<ul>${t.children.map(N=>this.node(N))}</ul>`:l}
    </li>`}fold(t){let e=new Set(this.closed);e.delete(t)||e.add(t),this.closed=e}flip(t,e){let n=this.desk.view,i=t==="contexts"?"exclude":"contexts",c=n[t].includes(e)?n[t].filter(r=>r!==e):[...n[t].filter(r=>r!==""),e];this.set({[t]:c,[i]:n[i].filter(r=>r!==e)})}set(t){let e={...this.desk.view,...t};this.desk.setView(m(e)?e:p),this.tick++}};function R(o){return v($(o.message||o.approach||o.conclusion?.text||o.id),90)}function j(o){let t=[];o.contexts.length===1&&o.contexts[0]===""?t.push("only the main conversation"):o.contexts.length>0&&t.push(`only ${a(o.contexts.length,"context")}`),o.exclude.length>0&&t.push(`without ${a(o.exclude.length,"context")}`),o.conclusionsOnly&&t.push("starts and conclusions alone"),o.from.length>0&&t.push(`only what ${o.from.map(u).join(", ")} ${o.from.length===1?"says":"say"}`),o.kinds.length>0&&t.push(`only ${o.kinds.join(", ")}`),o.text.trim()!==""&&t.push("only what has certain words");let e=t.join(", ");return`${e.charAt(0).toUpperCase()}${e.slice(1)}.`}y("meup-contexts",g);export{g as Contexts};
//# sourceMappingURL=/assets/contexts-WGMLCID2.js.map
