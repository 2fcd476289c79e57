import{a as f}from"/assets/chunk-3C55F4QY.js";import{a as N,h as i,k as R,o as C}from"/assets/chunk-ETTXQQKV.js";import"/assets/chunk-MYHS66OQ.js";import{A as m,B as T,E as O,k as $,s as b,x as S,z as u}from"/assets/chunk-EBKTHAOW.js";import{D as y,G as k,L as P,R as g,b as w,c as s,f as c}from"/assets/chunk-6QAC3HRB.js";var V=w`
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
`;var j=60,v=class extends u{static properties={...u.properties,most:{state:!0},closed:{state:!0},tick:{state:!0}};static styles=[N,C,V];made=null;constructor(){super(),this.most=j,this.closed=new Set,this.tick=0}get nodes(){return this.made?.of!==this.state&&(this.made={of:this.state,nodes:S(this.state)}),this.made.nodes}render(){let{nodes:e}=this,t=e.slice(-this.most).reverse();return s`
      ${this.choices()}
      <h3 class="section">${e.length===0?"Contexts":i(e.length,"context")}</h3>
      ${e.length===0?s`<p class="empty">No reasoning yet</p>`:s`<ul class="tree">${t.map(n=>this.node(n))}</ul>`}
      ${e.length>this.most?s`<button class="words" @click=${()=>this.most+=j}>Show older</button>`:c}
    `}choices(){let e=this.shell.view,t=e.contexts.length===1&&e.contexts[0]==="",n=f(e);return s`<section class="card stack" aria-labelledby="filter">
      <h3 id="filter">Filter of the conversation</h3>
      <label class="check"><input type="checkbox" .checked=${t} @change=${()=>this.set({contexts:t?[]:[""]})} /> Main conversation only</label>
      <label class="check"><input type="checkbox" .checked=${e.conclusionsOnly} @change=${()=>this.set({conclusionsOnly:!e.conclusionsOnly})} /> Starts and conclusions only</label>
      ${n?s`<div class="row in-force"><span class="grow small">${A(e)}</span><button class="button small" @click=${()=>this.set(m)}>Show all</button></div>`:s`<p class="quiet">All messages are shown. Proposals awaiting approval and mentions of you are never hidden.</p>`}
    </section>`}node(e){let t=e.block,n=this.shell.view,a=n.contexts.includes(e.path),d=n.exclude.includes(e.path),l=!this.closed.has(e.path),r=E(t),x=this.shell.now(),p=$(this.state,t,x),q=p.since!==null||t.status==="cancelled"||t.status==="stopped";return s`<li>
      <div class="node" data-out=${d} data-only=${a}>
        ${e.children.length===0?s`<span class="twig"></span>`:s`<button class="twig" aria-expanded=${l?"true":"false"} aria-label=${`${i(e.below,"context")} within`} @click=${()=>this.fold(e.path)}>${O("chevron")}</button>`}
        <button class="title grow" title="Show in conversation" @click=${()=>{R(this.shell,e.path)}}>${r}</button>
        <p class="meta">
          <span class="chip ${q?"wait":t.status==="reasoning"?"accent":""}">${b(t,x,p,p.pending.some(h=>T(this.shell,h)))}</span>
          <span>${t.opener===""?"unknown":g(t.opener)}</span>
          ${t.counts.calls===0?c:s`<span>${i(t.counts.calls,"call")}</span>`}
        </p>
        <div class="acts" role="group" aria-label=${r}>
          <button class="toggle" aria-pressed=${a?"true":"false"} @click=${()=>this.flip("contexts",e.path)}>Only this</button>
          <button class="toggle" aria-pressed=${d?"true":"false"} @click=${()=>this.flip("exclude",e.path)}>Hide</button>
        </div>
      </div>
      ${l&&e.children.length>0?s`<ul>${e.children.map(h=>this.node(h))}</ul>`:c}
    </li>`}fold(e){let t=new Set(this.closed);t.delete(e)||t.add(e),this.closed=t}flip(e,t){let n=this.shell.view,a=e==="contexts"?"exclude":"contexts",l=n[e].includes(t)?n[e].filter(r=>r!==t):[...n[e].filter(r=>r!==""),t];this.set({[e]:l,[a]:n[a].filter(r=>r!==t)})}set(e){let t={...this.shell.view,...e};this.shell.setView(f(t)?t:m),this.tick++}};function E(o){return y(k(o.message||o.approach||o.conclusion?.text||o.id),90)}function A(o){let e=[];o.contexts.length===1&&o.contexts[0]===""?e.push("only the main conversation"):o.contexts.length>0&&e.push(`only ${i(o.contexts.length,"context")}`),o.exclude.length>0&&e.push(`without ${i(o.exclude.length,"context")}`),o.conclusionsOnly&&e.push("starts and conclusions only"),o.from.length>0&&e.push(`only messages of ${o.from.map(g).join(", ")}`);let t=e.join(", ");return`${t.charAt(0).toUpperCase()}${t.slice(1)}.`}P("meup-contexts",v);export{v as Contexts};
