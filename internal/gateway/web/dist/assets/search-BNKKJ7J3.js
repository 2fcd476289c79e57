import{f as $}from"/assets/chunk-F7WK7OJI.js";import{a as E}from"/assets/chunk-ALBL35XD.js";import"/assets/chunk-P5U7LOJ6.js";import"/assets/chunk-ZOFRZT6E.js";import{a as v}from"/assets/chunk-JCVKINCP.js";import{a as w,e as h,g as x,i as F,k as T,l as S}from"/assets/chunk-QK33B7QW.js";import{a as g,e as y,g as d,j as b,n as k,o as c}from"/assets/chunk-JMS4VLKT.js";import{F as a,O as p,a as m,b as s,e as f}from"/assets/chunk-WMDUFPNJ.js";var R=m`
  .toggle {
    min-height: 1.625rem;
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
  .count {
    margin: var(--space-4) 0 var(--space-1);
    color: var(--quiet);
    font-size: var(--text-s);
  }
  li {
    display: flex;
    align-items: start;
    gap: var(--space-1);
    border-bottom: 1px solid var(--line);
  }
  .hit {
    flex: 1;
    display: grid;
    gap: 0.1rem;
    min-width: 0;
    padding: var(--space-2) 0;
  }
  li .small-icon {
    margin-top: var(--space-2);
  }
  .hit:hover .excerpt {
    color: var(--ink);
  }
  .kind {
    color: var(--faint);
    font-size: var(--text-xs);
  }
  .excerpt {
    color: var(--quiet);
    font-size: var(--text-s);
    overflow-wrap: anywhere;
    display: -webkit-box;
    overflow: hidden;
    -webkit-box-orient: vertical;
    -webkit-line-clamp: 3;
  }
  .excerpt em {
    border-radius: 0.2em;
    background: var(--wait-soft);
    color: var(--wait);
    font-style: normal;
    font-weight: 600;
  }
  .further {
    display: grid;
    gap: var(--space-2);
    justify-items: start;
    margin-top: var(--space-4);
  }
  progress {
    width: 100%;
    accent-color: var(--accent);
  }
`;var l=200,H=120,G=[["chat","Messages"],["reasoning","Reasoning"],["calls","Calls"],["proposals","Proposals"],["rights","Rights"],["other","Other"]],u=class extends d{static properties={...d.properties,filter:{state:!0},older:{state:!0},tick:{state:!0}};static styles=[w,S,R];loader=null;timer;made=null;constructor(){super(),this.filter=g,this.older=[],this.tick=0}disconnectedCallback(){super.disconnectedCallback(),clearTimeout(this.timer),this.loader?.stop()}willUpdate(e){let t=this.params?.text;e.has("params")&&t!==void 0&&this.setFilter({text:t})}updated(e){e.has("params")&&this.renderRoot.querySelector("#words")?.focus()}get hits(){let{filter:e}=this,{head:t,oldest:r}=this.shell.state;return(this.made?.filter!==e||this.made.head!==t||this.made.oldest!==r)&&(this.made={filter:e,head:t,oldest:r,hits:P(this.shell.envelopes,e,l)}),this.made.hits}get hasQuery(){let{text:e,kinds:t,from:r}=this.filter;return e.trim()!==""||t.length>0||r.length>0}render(){let{filter:e}=this,t=[...this.state.participants.keys()].sort();return s`<form role="search" class="stack" @submit=${r=>r.preventDefault()}>
        <div>
          <label class="unseen" for="words">Search for</label>
          <input id="words" class="field" type="search" autocomplete="off" placeholder='Words, or "several together"' .value=${e.text} @input=${this.typed} />
        </div>
        <div class="row" role="group" aria-label="Search in">
          ${G.map(([r,o])=>s`<button type="button" class="toggle" aria-pressed=${e.kinds.includes(r)?"true":"false"} @click=${()=>this.flip(r)}>${o}</button>`)}
        </div>
        <label class="unseen" for="from">From</label>
        <select id="from" @change=${r=>this.by(r.target.value)}>
          <option value="" .selected=${e.from.length===0}>From anyone</option>
          ${t.map(r=>s`<option value=${r} .selected=${e.from.includes(r)}>By ${p(r)}</option>`)}
        </select>
      </form>
      ${this.hasQuery?this.results():s`<p class="empty">Searches loaded messages, reasoning, arguments and results as you type.</p>`}`}results(){let{hits:e}=this,t=[...e,...this.older];return s`<p class="count" role="status">${t.length===0?"No results":`${h(t.length,"result")}${e.length>=l?" or more":""}`}</p>
      <ol>${$(t,r=>r.id,r=>this.line(r))}</ol>
      ${this.further()}`}line(e){let[t,r]=e.mark,o=v(e.ts);return s`<li>
      <button class="hit" @click=${()=>{F(this.shell,e.id)}}>
        <span class="row"><span class="name">${e.from===this.shell.you?"You":p(e.from)}</span><span class="kind">${a(e.kind)}</span><time title=${c(o)}>${k(o)}</time></span>
        <span class="excerpt">${a(e.excerpt.slice(0,t))}${r>t?s`<em>${a(e.excerpt.slice(t,r))}</em>`:f}${a(e.excerpt.slice(r))}</span>
      </button>
      ${x(this.shell,e.id)}
    </li>`}further(){let{loader:e}=this,t=e===null||e.progress.loaded===0?"":`Searched ${h(e.progress.loaded,"older entry","older entries")}${e.progress.oldest===0?"":`, back to ${c(e.progress.oldest)}`}.`;return e?.running===!0?s`<div class="further" role="status"><progress aria-label="Searching older messages"></progress><p class="quiet">${t||"Searching older messages…"}</p><button class="button small" @click=${this.stop}>Stop</button></div>`:e?.progress.done===!0?s`<p class="further quiet" role="status">${t} This is the beginning.</p>`:this.shell.state.hasOlder?s`<div class="further"><p class="quiet">${t}</p>${T(e?.error??"")}<button class="button" @click=${this.more}>Search older messages</button></div>`:s`<p class="further quiet">The whole log was searched.</p>`}more=()=>{this.loader??=new E(this.shell.space,this.shell.state.oldest,t=>this.page(t));let{loader:e}=this;e.run(()=>this.tick++),this.tick++};page(e){let t=new Set(this.older.map(r=>r.id));return this.older=[...this.older,...P(e,this.filter,l).filter(r=>!t.has(r.id))],this.tick++,this.older.length<l*2}stop=()=>{this.loader?.stop()};typed=e=>{let{value:t}=e.target;clearTimeout(this.timer),this.timer=setTimeout(()=>this.setFilter({text:t}),H)};flip(e){let{kinds:t}=this.filter,r=e==="other"?["other","people","streams"]:[e];this.setFilter({kinds:t.includes(e)?t.filter(o=>!r.includes(o)):[...t,...r]})}by(e){this.setFilter({from:e===""?[]:[e]})}setFilter(e){this.filter={...this.filter,...e},this.loader?.stop(),this.loader=null,this.older=[]}};function P(n,e,t){let r=y(n,e,t),o=new Map,q=new Set(r.map(i=>i.id));for(let i of n)q.has(i.id)&&o.set(i.id,i.ts);return r.map(i=>({...i,ts:o.get(i.id)??""}))}b("meup-search",u);export{u as Search};
//# sourceMappingURL=/assets/search-BNKKJ7J3.js.map
