import{a as $}from"/assets/chunk-7XFUXPUY.js";import{b,c as S}from"/assets/chunk-QPG4LOSN.js";import{a as R}from"/assets/chunk-J55DHFYE.js";import"/assets/chunk-JNMGVPRD.js";import"/assets/chunk-ZMV4Z3JM.js";import{d as w}from"/assets/chunk-E2LKP2F4.js";import{a as P,e as g,f as H,h as A,k as L}from"/assets/chunk-IGEW5526.js";import"/assets/chunk-SUG44J2H.js";import{f as k,m as T,n as M}from"/assets/chunk-VSIX4I2Q.js";import{C as f,F as p,K as q,M as E,Q as v,b as x,c as n,f as c}from"/assets/chunk-6D3SX3BW.js";var I=200,D=30,O=1e3,G=15e3,K={chat:["chat","chat.*"],reasoning:["reasoning.*"],calls:["mcp.request","mcp.response"],proposals:["mcp.proposal","mcp.reject","mcp.withdraw"],other:["x.*"]},d={text:"",kinds:[],from:"",context:null,within:0},u=class{constructor(e,t,s=new S,a=$){this.space=e;this.now=t;this.api=s;this.clock=a}space;now;api;clock;query=d;phase="idle";hits=[];searched="";error="";refused=!1;next="";partial=!1;behind=!1;visits=0;request=null;run=0;cancel=()=>{};listeners=new Set;subscribe(e){return this.listeners.add(e),this.phase==="building"&&this.search(),()=>{this.listeners.delete(e),this.listeners.size===0&&this.phase==="building"&&this.cancel()}}set(e,t=0){if(this.query={...this.query,...e},this.stop(),this.query.text.trim()===""){this.hits=[],this.phase="idle",this.changed();return}this.phase="searching",t===0?this.search():this.cancel=this.clock.after(t,()=>this.search()),this.changed()}visited(e){e!==this.visits&&this.query!==d&&(this.set(d),this.query=d),this.visits=e}search(){this.stop(),this.query.text.trim()!==""&&(this.request=this.compile(),this.load(this.request,[]))}more(){this.request===null||this.next===""||this.phase==="searching"||(this.stop(),this.load({...this.request,cursor:this.next},this.hits))}stop(){this.run++,this.cancel(),this.cancel=()=>{}}compile(){let{text:e,kinds:t,from:s,context:a,within:r}=this.query;return{text:z(e),limit:D,...t.length>0&&{kinds:t.flatMap(h=>K[h])},...s!==""&&{from:[s]},...a===""?{main:!0}:a!==null&&{contexts:[a]},...r>0&&{since:new Date(this.now()-r).toISOString()}}}async load(e,t){let s=++this.run,a=this.query.text.trim();this.phase!=="building"&&(this.phase="searching",this.error=""),this.changed();try{let r=await this.api.search(this.space,e);if(s!==this.run)return;let h=new Set(t.map(l=>l.id));this.hits=[...t,...r.hits.filter(l=>!h.has(l.id))],this.searched=a,this.next=r.next===e.cursor?"":r.next,this.partial=r.partial,this.behind=r.behind,this.phase="done",this.error=""}catch(r){if(s!==this.run)return;this.failed(r,t)}this.changed()}failed(e,t){if(this.hits=t,t.length===0&&(this.next=""),this.error=e instanceof Error?e.message:String(e),this.refused=!1,!(e instanceof b)){this.phase="failed";return}let{error:s,message:a,retry_after_ms:r=0}=e.refusal;this.refused=s==="bad_request",(this.refused||s==="unavailable")&&a!==""&&(this.error=a),this.phase=e.status===0?"offline":s==="unavailable"&&r>0?"building":"failed",!(this.phase!=="building"||this.listeners.size===0)&&(this.cancel=this.clock.after(Math.min(Math.max(r,O),G),()=>this.search()))}changed(){for(let e of this.listeners)e()}},Q=/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;function z(o){let e=o.trim();if((e.split('"').length-1)%2===1)return e.endsWith('"')?e.slice(0,-1).trim()||e:`${e}"`;let t=/(?:^|\s)([\p{L}\p{N}]{2,})$/u.exec(o)?.[1]??"";return t===""||Q.test(t)?e:`${e}*`}var N=x`
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
  .choices {
    display: flex;
    flex-wrap: wrap;
    gap: var(--space-2);
  }
  .choices select {
    flex: 1 1 8.5rem;
    width: 8.5rem;
    min-width: 0;
    font-size: var(--text-s);
    text-overflow: ellipsis;
  }
  ol[data-old="true"] {
    opacity: 0.6;
  }
  .count {
    margin: var(--space-4) 0 var(--space-1);
    overflow-wrap: anywhere;
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
`;var U=5e3,Y=/^(?:chat|reasoning|mcp)(?:\.|$)/,W=50,j=[["chat","Messages"],["reasoning","Reasoning"],["calls","Calls"],["proposals","Proposals"],["other","Other"]],m=36e5,V=[[0,"Any time"],[m,"Last hour"],[24*m,"Last 24 hours"],[168*m,"Last 7 days"],[720*m,"Last 30 days"]],_=new WeakMap;function F(o){let e=_.get(o);return e===void 0&&(e=new u(o.space,()=>o.now()),_.set(o,e)),e}var y=class extends k{static styles=[P,L,N];session=null;end=()=>{};disconnectedCallback(){super.disconnectedCallback(),this.end(),this.session=null}willUpdate(e){this.session===null&&(this.session=F(this.shell),this.end=this.session.subscribe(()=>this.requestUpdate())),this.session.visited(this.shell.visits);let t=this.params?.text;e.has("params")&&t!==void 0&&this.session.set({text:t})}updated(e){if(!e.has("params"))return;let t=this.renderRoot.querySelector("#words");t?.focus(),t?.select()}render(){let e=this.session,{query:t}=e;return n`<form role="search" class="stack" @submit=${this.submitted} @keydown=${this.intoResults}>
        <div>
          <label class="unseen" for="words">Search for</label>
          <input id="words" class="field" type="search" autocomplete="off" maxlength="200" enterkeyhint="search" placeholder='Words or "a phrase"' .value=${t.text} @input=${this.typed} />
        </div>
        <div class="row" role="group" aria-label="Search in">
          ${j.map(([s,a])=>n`<button type="button" class="toggle" aria-pressed=${t.kinds.includes(s)?"true":"false"} @click=${()=>this.flip(s)}>${a}</button>`)}
        </div>
        ${this.choices(e)}
      </form>
      ${this.results(e)}`}choices(e){let{from:t,context:s,within:a}=e.query,r=[...this.state.participants.keys()].sort(),h=this.state.roots.slice(-W).reverse(),l=i=>i.target.value;return n`<div class="choices">
      <label class="unseen" for="from">From</label>
      <select id="from" @change=${i=>e.set({from:l(i)})}>
        <option value="" .selected=${t===""}>From anyone</option>
        ${r.map(i=>n`<option value=${i} .selected=${t===i}>From ${v(i)}</option>`)}
      </select>
      <label class="unseen" for="context">In</label>
      <select id="context" @change=${i=>e.set({context:l(i)==="*"?null:l(i)})}>
        <option value="*" .selected=${s===null}>Everywhere</option>
        <option value="" .selected=${s===""}>Main conversation</option>
        ${h.map(i=>n`<option value=${i} .selected=${s===i}>${E(this.contextName(i))}</option>`)}
      </select>
      <label class="unseen" for="within">Sent</label>
      <select id="within" @change=${i=>e.set({within:Number(l(i))})}>
        ${V.map(([i,C])=>n`<option value=${i} .selected=${a===i}>${C}</option>`)}
      </select>
    </div>`}contextName(e){let t=this.state.blocks.get(e);return f(t?.message||e,60)}results(e){let{hits:t,phase:s}=e,a=s==="searching"&&e.searched!==e.query.text.trim();return n`<p class="count" role="status">${this.summary(e)}</p>
      ${this.trouble(e)}
      <ol data-old=${a} aria-busy=${s==="searching"?"true":"false"} @keydown=${this.walk}>${R(t,r=>r.id,r=>this.line(r))}</ol>
      ${this.further(e)}`}summary(e){switch(e.phase){case"idle":return"Search messages, reasoning, calls and results.";case"searching":return"Searching…";case"building":return"Preparing search…";case"done":return e.hits.length===0?`No results for “${f(e.searched,60)}”`:`${g(e.hits.length,"result")}${e.next===""?"":" or more"}`;default:return e.hits.length===0?"":g(e.hits.length,"result")}}trouble(e){if(e.phase==="building"){let t=/(\d+) %/u.exec(e.error)?.[1];return n`<div class="further">
        ${t===void 0?n`<progress aria-label="Indexing"></progress>`:n`<progress aria-label="Indexing" max="100" value=${t}></progress>`}
        <p class="quiet">${t===void 0?"Messages are being indexed.":`${t}% of the messages are indexed.`} Your search starts automatically.</p>
      </div>`}return e.phase!=="offline"&&e.phase!=="failed"?c:n`<div class="further"><p class="refused" role="alert">${p(e.error)}</p>${e.refused?c:n`<button class="button" @click=${()=>e.next===""?e.search():e.more()}>Try again</button>`}</div>`}line(e){let t=w(e.ts);return n`<li>
      <button class="hit" @click=${()=>{this.show(e)}}>
        <span class="row"><span class="name">${e.from===this.shell.you?"You":v(e.from)}</span><span class="kind">${p(e.kind)}</span><time title=${T(t)}>${M(t,this.shell.now())}</time></span>
        <span class="excerpt">${e.parts.map(s=>s.match?n`<em>${p(s.text)}</em>`:p(s.text))}${e.cut?" …":c}</span>
      </button>
      ${H(this.shell,e.id)}
    </li>`}async show(e){let{oldest:t}=this.shell.state;Y.test(e.kind)&&(t===0||e.seq>t-U)&&await A(this.shell,e.id,"")||this.shell.open("envelope",{id:e.id})}further(e){return e.phase!=="done"?c:e.next!==""?n`<div class="further"><button class="button" @click=${()=>e.more()}>Load more</button></div>`:e.behind?n`<div class="further"><p class="quiet">The newest messages are not indexed yet.</p><button class="button" @click=${()=>e.search()}>Search again</button></div>`:e.partial?n`<p class="further quiet">There may be more results. Add words or filters.</p>`:c}typed=e=>{this.session?.set({text:e.target.value},I)};submitted=e=>{e.preventDefault(),this.session?.search()};flip(e){let t=this.session?.query.kinds??[];this.session?.set({kinds:t.includes(e)?t.filter(s=>s!==e):[...t,e]})}intoResults=e=>{e.key!=="ArrowDown"||e.target.id!=="words"||(e.preventDefault(),this.renderRoot.querySelector(".hit")?.focus())};walk=e=>{let t={ArrowDown:1,ArrowUp:-1}[e.key];if(t===void 0||!e.target.matches(".hit"))return;e.preventDefault();let s=[...this.renderRoot.querySelectorAll(".hit")],a=s.indexOf(e.target)+t;(a<0?this.renderRoot.querySelector("#words"):s[a])?.focus()}};q("meup-search",y);export{y as Search};
//# sourceMappingURL=/assets/search-DEKMR4TE.js.map
