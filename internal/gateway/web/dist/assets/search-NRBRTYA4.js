import{a as N}from"/assets/chunk-HTKOR7DS.js";import{a as E}from"/assets/chunk-A23KGBUT.js";import{b as S,c as k}from"/assets/chunk-EFS45AHP.js";import{a as M}from"/assets/chunk-6KPK6ELU.js";import"/assets/chunk-DCOLHRT3.js";import{a as O,h as g,i as H,k as L,o as I}from"/assets/chunk-ETTXQQKV.js";import"/assets/chunk-MYHS66OQ.js";import{I as P,J as A,l as $,z as T}from"/assets/chunk-EBKTHAOW.js";import{D as f,G as d,L as q,N as R,R as v,b,c as o,f as c}from"/assets/chunk-6QAC3HRB.js";var _=200,y=200,U=30,z=1e3,Y=15e3,C={chat:["chat","chat.*"],reasoning:["reasoning.*"],calls:["mcp.request","mcp.response"],proposals:["mcp.proposal","mcp.reject","mcp.withdraw"],other:["x.*"]},p={text:"",kinds:[],from:"",context:null,within:0},D="/";function x(r){let e={text:r.text.trim(),kinds:r.kinds.join(","),from:r.from,context:r.context===""?D:r.context??"",within:r.within===0?"":String(r.within)};return Object.fromEntries(Object.entries(e).filter(([,t])=>t!==""))}function G(r){let e=Number(r.within??0);return{text:(r.text??"").slice(0,y),kinds:(r.kinds??"").split(",").filter(t=>Object.hasOwn(C,t)),from:r.from??"",context:r.context===D?"":r.context??null,within:Number.isSafeInteger(e)&&e>0?e:0}}var u=class{constructor(e,t,s=new k,a=E){this.space=e;this.now=t;this.api=s;this.clock=a}space;now;api;clock;query=p;phase="idle";hits=[];searched="";error="";refused=!1;next="";partial=!1;behind=!1;visits=0;request=null;run=0;cancel=()=>{};listeners=new Set;subscribe(e){return this.listeners.add(e),this.phase==="building"&&this.search(),()=>{this.listeners.delete(e),this.listeners.size===0&&this.phase==="building"&&this.cancel()}}set(e,t=0){if(this.query={...this.query,...e},this.stop(),this.query.text.trim()===""){this.hits=[],this.phase="idle",this.changed();return}this.phase="searching",t===0?this.search():this.cancel=this.clock.after(t,()=>this.search()),this.changed()}visited(e){e!==this.visits&&this.query!==p&&(this.set(p),this.query=p),this.visits=e}search(){this.stop(),this.query.text.trim()!==""&&(this.request=this.compile(),this.load(this.request,[]))}more(){this.request===null||this.next===""||this.phase==="searching"||(this.stop(),this.load({...this.request,cursor:this.next},this.hits))}stop(){this.run++,this.cancel(),this.cancel=()=>{}}compile(){let{text:e,kinds:t,from:s,context:a,within:i}=this.query;return{text:X(e),limit:U,...t.length>0&&{kinds:t.flatMap(h=>C[h])},...s!==""&&{from:[s]},...a===""?{main:!0}:a!==null&&{contexts:[a]},...i>0&&{since:new Date(this.now()-i).toISOString()}}}async load(e,t){let s=++this.run,a=this.query.text.trim();this.phase!=="building"&&(this.phase="searching",this.error=""),this.changed();try{let i=await this.api.search(this.space,e);if(s!==this.run)return;let h=new Set(t.map(l=>l.id));this.hits=[...t,...i.hits.filter(l=>!h.has(l.id))],this.searched=a,this.next=i.next===e.cursor?"":i.next,this.partial=i.partial,this.behind=i.behind,this.phase="done",this.error=""}catch(i){if(s!==this.run)return;this.failed(i,t)}this.changed()}failed(e,t){if(this.hits=t,t.length===0&&(this.next=""),this.error=e instanceof Error?e.message:String(e),this.refused=!1,!(e instanceof S)){this.phase="failed";return}let{error:s,message:a,retry_after_ms:i=0}=e.refusal;this.refused=s==="bad_request",(this.refused||s==="unavailable")&&a!==""&&(this.error=a),this.phase=e.status===0?"offline":s==="unavailable"&&i>0?"building":"failed",!(this.phase!=="building"||this.listeners.size===0)&&(this.cancel=this.clock.after(Math.min(Math.max(i,z),Y),()=>this.search()))}changed(){for(let e of this.listeners)e()}},W=/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;function X(r){let e=r.trim();if((e.split('"').length-1)%2===1)return e.endsWith('"')?e.slice(0,-1).trim()||e:`${e}"`;let t=/(?:^|\s)([\p{L}\p{N}]{2,})$/u.exec(r)?.[1]??"";return t===""||W.test(t)?e:`${e}*`}var K=b`
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
`;var V=5e3,F=/^(?:chat|reasoning|mcp)(?:\.|$)/,B=50,J=[["chat","Messages"],["reasoning","Reasoning"],["calls","Calls"],["proposals","Proposals"],["other","Other"]],m=36e5,Z=[[0,"Any time"],[m,"Last hour"],[24*m,"Last 24 hours"],[168*m,"Last 7 days"],[720*m,"Last 30 days"]],Q=new WeakMap;function ee(r){let e=Q.get(r);return e===void 0&&(e=new u(r.space,()=>r.now()),Q.set(r,e)),e}var w=class extends T{static styles=[O,I,K];session=null;written={};end=()=>{};disconnectedCallback(){super.disconnectedCallback(),this.end(),this.session=null}willUpdate(e){this.session===null&&(this.session=ee(this.shell),this.end=this.session.subscribe(()=>this.requestUpdate())),this.session.visited(this.shell.visits),e.has("params")&&Object.keys(this.params??{}).length>0&&!this.inAddress(this.session)&&this.session.set(G(this.params))}write(e){e.phase==="searching"||this.inAddress(e)||(this.written=x(e.query),this.shell.open("search",this.written,!0))}inAddress(e){return new URLSearchParams(x(e.query)).toString()===new URLSearchParams(this.params).toString()}updated(e){if(this.write(this.session),!e.has("params")||this.params===this.written)return;let t=this.renderRoot.querySelector("#words");t?.focus(),t?.select()}render(){let e=this.session,{query:t}=e;return o`<form role="search" class="stack" @submit=${this.submitted} @keydown=${this.intoResults}>
        <div>
          <label class="unseen" for="words">Search for</label>
          <input id="words" class="field" type="search" autocomplete="off" maxlength=${y} enterkeyhint="search" placeholder='Words or "a phrase"' .value=${t.text} @input=${this.typed} />
        </div>
        <div class="row" role="group" aria-label="Search in">
          ${J.map(([s,a])=>o`<button type="button" class="toggle" aria-pressed=${t.kinds.includes(s)?"true":"false"} @click=${()=>this.flip(s)}>${a}</button>`)}
        </div>
        ${this.choices(e)}
      </form>
      ${this.results(e)}`}choices(e){let{from:t,context:s,within:a}=e.query,i=[...this.state.participants.keys()].sort(),h=this.state.roots.slice(-B).reverse(),l=n=>n.target.value;return o`<div class="choices">
      <label class="unseen" for="from">From</label>
      <select id="from" @change=${n=>e.set({from:l(n)})}>
        <option value="" .selected=${t===""}>From anyone</option>
        ${i.map(n=>o`<option value=${n} .selected=${t===n}>From ${v(n)}</option>`)}
      </select>
      <label class="unseen" for="context">In</label>
      <select id="context" @change=${n=>e.set({context:l(n)==="*"?null:l(n)})}>
        <option value="*" .selected=${s===null}>Everywhere</option>
        <option value="" .selected=${s===""}>Main conversation</option>
        ${h.map(n=>o`<option value=${n} .selected=${s===n}>${R(this.contextName(n))}</option>`)}
      </select>
      <label class="unseen" for="within">Sent</label>
      <select id="within" @change=${n=>e.set({within:Number(l(n))})}>
        ${Z.map(([n,j])=>o`<option value=${n} .selected=${a===n}>${j}</option>`)}
      </select>
    </div>`}contextName(e){let t=this.state.blocks.get(e);return f(t?.message||e,60)}results(e){let{hits:t,phase:s}=e,a=s==="searching"&&e.searched!==e.query.text.trim();return o`<p class="count" role="status">${this.summary(e)}</p>
      ${this.trouble(e)}
      <ol data-old=${a} aria-busy=${s==="searching"?"true":"false"} @keydown=${this.walk}>${M(t,i=>i.id,i=>this.line(i))}</ol>
      ${this.further(e)}`}summary(e){switch(e.phase){case"idle":return"Search messages, reasoning, calls and results.";case"searching":return"Searching…";case"building":return"Preparing search…";case"done":return e.hits.length===0?`No results for “${f(e.searched,60)}”`:`${g(e.hits.length,"result")}${e.next===""?"":" or more"}`;default:return e.hits.length===0?"":g(e.hits.length,"result")}}trouble(e){if(e.phase==="building"){let t=/(\d+) %/u.exec(e.error)?.[1];return o`<div class="further">
        ${t===void 0?o`<progress aria-label="Indexing"></progress>`:o`<progress aria-label="Indexing" max="100" value=${t}></progress>`}
        <p class="quiet">${t===void 0?"Messages are being indexed.":`${t}% of the messages are indexed.`} Your search starts automatically.</p>
      </div>`}return e.phase!=="offline"&&e.phase!=="failed"?c:o`<div class="further"><p class="refused" role="alert">${d(e.error)}</p>${e.refused?c:o`<button class="button" @click=${()=>e.next===""?e.search():e.more()}>Try again</button>`}</div>`}line(e){let t=$(e.ts);return o`<li>
      <button class="hit" @click=${()=>{this.show(e)}}>
        <span class="row"><span class="name">${e.from===this.shell.you?"You":v(e.from)}</span><span class="kind">${N(e.kind)}</span><time title=${P(t)}>${A(t,this.shell.now())}</time></span>
        <span class="excerpt">${e.parts.map(s=>s.match?o`<em>${d(s.text)}</em>`:d(s.text))}${e.cut?" …":c}</span>
      </button>
      ${H(this.shell,e.id)}
    </li>`}async show(e){let{oldest:t}=this.shell.state;F.test(e.kind)&&(t===0||e.seq>t-V)&&await L(this.shell,e.id,"")||this.shell.open("envelope",{id:e.id})}further(e){return e.phase!=="done"?c:e.next!==""?o`<div class="further"><button class="button" @click=${()=>e.more()}>Load more</button></div>`:e.behind?o`<div class="further"><p class="quiet">The newest messages are not indexed yet.</p><button class="button" @click=${()=>e.search()}>Search again</button></div>`:e.partial?o`<p class="further quiet">There may be more results. Add words or filters.</p>`:c}typed=e=>{this.session?.set({text:e.target.value},_)};submitted=e=>{e.preventDefault(),this.session?.search()};flip(e){let t=this.session?.query.kinds??[];this.session?.set({kinds:t.includes(e)?t.filter(s=>s!==e):[...t,e]})}intoResults=e=>{e.key!=="ArrowDown"||e.target.id!=="words"||(e.preventDefault(),this.renderRoot.querySelector(".hit")?.focus())};walk=e=>{let t={ArrowDown:1,ArrowUp:-1}[e.key];if(t===void 0||!e.target.matches(".hit"))return;e.preventDefault();let s=[...this.renderRoot.querySelectorAll(".hit")],a=s.indexOf(e.target)+t;(a<0?this.renderRoot.querySelector("#words"):s[a])?.focus()}};q("meup-search",w);export{w as Search};
