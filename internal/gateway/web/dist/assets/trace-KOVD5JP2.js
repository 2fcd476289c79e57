import{a as K}from"/assets/chunk-6NQLMBXF.js";import{a as Q}from"/assets/chunk-4OTQ6SRE.js";import{c as B}from"/assets/chunk-VFXF3NCR.js";import{a as I}from"/assets/chunk-J55DHFYE.js";import"/assets/chunk-JNMGVPRD.js";import{c as _,d as U,i as $,j}from"/assets/chunk-E2LKP2F4.js";import{a as X,e as Y,h as G,k as J}from"/assets/chunk-IGEW5526.js";import"/assets/chunk-SUG44J2H.js";import{f as A,n as W}from"/assets/chunk-VSIX4I2Q.js";import{C as g,F as h,K as H,N as D,Q as V,b as z,c as d,d as b,f,m as k,r as x,s as q,v as u,w as R}from"/assets/chunk-6D3SX3BW.js";var E={model:"",input:null,output:null,tokens:null,cost:null,currency:""},Z=2e3;function tt(t,e=100){let n=new Map;for(let s=t.roots.length-1;s>=0&&n.size<e;s--){let a=t.blocks.get(t.roots[s]);if(a===void 0||a.status==="idle")continue;let r=B(t,a.path);n.has(r)||n.set(r,{id:r,title:et(t,r),at:a.startedAt})}return[...n.values()]}function et(t,e){let n=t.blocks.get(e);return g(t.messages.get(e)?.text||n?.message||n?.opener||e,100)}function nt(t,e,n,s){let a=t.messages.get(e),r=(a?.blocks??[e]).flatMap(c=>t.blocks.get(c)??[]);if(r.length===0)return null;let l=[];for(let c of r)at(t,c,0,n,s,l);for(let c of a?.replies??[]){let p=t.messages.get(c);p!==void 0&&p.answers.length>0&&l.push(y("message",p.id,0,"Answer",p.from,p.begunAt,p.at,p.id))}let o=Math.min(a?.at??Number.POSITIVE_INFINITY,...l.map(c=>c.start)),i=l.filter(c=>c.type==="call");return{id:e,title:et(t,e),start:o,end:Math.max(o+1,...l.map(c=>c.end)),spans:l,calls:i.length,failed:i.filter(c=>c.state==="failed").length,waited:r.reduce((c,p)=>c+_(t,p,n).ms,0),usage:l.map(c=>c.usage).reduce(st,E)}}function at(t,e,n,s,a,r){if(r.length>=Z)return;let l=e.status==="reasoning",[o,i]=C(e.metadata??{},e.startedAt),c=i>o,p=e.endedAt??(l?Math.max(s,e.lastAt):e.lastAt),T=e.conclusion===null?E:M(x(u(a(e.conclusion.id)?.payload??{},"metadata")));r.push({...y("context",e.path,n,g(e.message||"Reasoning",120),K(e),o,c?i:Math.max(o,p),e.path),state:l?"running":e.status==="complete"||e.status==="collapsed"?"done":"ended",usage:st(M(e.metadata??{}),T)});for(let m of e.steps){if(r.length>=Z)return;let v=m.type==="block"?t.blocks.get(m.path):void 0;v!==void 0?at(t,v,n+1,s,a,r):m.type==="call"?r.push(ut(t,e,m,n+1,s,a,c)):m.type!=="block"&&r.push(dt(m,n+1,c))}}function dt(t,e,n){if(t.type==="said")return y("message",t.key,e,g(t.text,120),t.from,t.at,t.at,t.key);let s=x(u(t.payload,"metadata")),a=g(t.text||t.questions.join(" ")||t.kind,120),[r,l]=n?C(s,t.at):[t.at,t.at];return{...y("thought",t.key,e,a,t.from,r,l,t.id||t.key),usage:M(s)}}function ut(t,e,n,s,a,r,l){let o=n.call,i=o.outcome==="pending"&&e.status==="reasoning",c=o.endedAt??(i?Math.max(a,o.startedAt):o.startedAt),p=o.proposed&&o.decidedBy===""&&i,T=o.proposed?t.proposals.get(o.id)?.decidedAt??o.endedAt:o.startedAt,m=r(o.rationaleId)??R(r(o.id)??pt).map(r).find(ct=>ct!==void 0),v=x(u(m?.payload??{},"metadata")),[L,N]=l?C(v,o.startedAt):[0,0],w=L===N?y("call",n.key,s,o.tool,o.from,o.startedAt,c,n.key):y("call",n.key,s,o.tool,o.from,L,N,n.key);return{...w,waitedUntil:p?w.end:Math.min(Math.max(w.start,T??w.start),w.end),state:i?"running":o.failed||o.outcome==="error"?"failed":o.outcome==="success"||o.outcome==="fulfilled"?"done":"ended",usage:M(v)}}var pt={id:"",ts:"",from:"",kind:"",payload:{}};function y(t,e,n,s,a,r,l,o){return{key:e,type:t,depth:n,label:s,from:a,start:r,end:l,waitedUntil:r,state:"done",usage:E,place:o}}function C(t,e){let n=U(k(u(t,"started_at"))),s=U(k(u(t,"ended_at")));return n>0&&s>=n?[n,s]:[e,e]}function M(t){let e=u(t,"usage"),n=q(e)?e:{},s=S(u(n,"input_tokens")),a=S(u(n,"output_tokens")),r=s===null&&a===null?S(u(t,"tokens")):(s??0)+(a??0);return{model:g(k(u(t,"model")),60),input:s,output:a,tokens:r,cost:S(u(t,"cost"))??S(u(t,"cost_usd")),currency:g(k(u(t,"currency")),8)||"USD"}}function S(t){return typeof t=="number"&&Number.isFinite(t)&&t>=0?t:null}function st(t,e){let n=(r,l)=>r===null?l:l===null?r:r+l,s=t.cost===null||e.cost===null||t.currency===e.currency;return{model:[...new Set([...t.model.split(", "),...e.model.split(", ")])].filter(r=>r!=="").slice(0,4).join(", "),input:n(t.input,e.input),output:n(t.output,e.output),tokens:n(t.tokens,e.tokens),cost:s?n(t.cost,e.cost):t.cost,currency:t.cost===null?e.currency:t.currency}}var ot=z`
  :host {
    container-type: inline-size;
  }
  .title {
    margin-bottom: var(--space-2);
    overflow-wrap: anywhere;
  }
  .totals {
    display: flex;
    flex-wrap: wrap;
    gap: var(--space-2) var(--space-5);
    font-size: var(--text-s);
  }
  dt {
    color: var(--quiet);
    font-size: var(--text-xs);
  }
  dd {
    font-variant-numeric: tabular-nums;
    overflow-wrap: anywhere;
  }
  .axis,
  .span {
    display: grid;
    grid-template-columns: minmax(0, 11fr) minmax(0, 13fr);
    gap: var(--space-3);
    align-items: center;
  }
  .ticks {
    width: 100%;
    height: 1.5em;
    font-size: var(--text-xs);
    font-variant-numeric: tabular-nums;
  }
  .ticks text {
    fill: var(--faint);
  }
  .ticks line {
    stroke: var(--line);
  }
  .track {
    border-left: 1px solid var(--line);
  }
  .span {
    border-top: 1px solid var(--line);
    content-visibility: auto;
    contain-intrinsic-size: auto 2.6rem;
  }
  .label {
    display: grid;
    min-width: 0;
    padding: 0.2rem 0;
    font-size: var(--text-s);
    line-height: 1.35;
  }
  .label:hover .what {
    text-decoration: underline;
    text-underline-offset: 0.2em;
  }
  .what,
  .facts {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .span[data-type="thought"] .what {
    color: var(--quiet);
  }
  .facts {
    color: var(--faint);
    font-size: var(--text-xs);
    font-variant-numeric: tabular-nums;
  }
  .facts:empty {
    display: none;
  }
  .span[data-depth="0"] .what {
    font-weight: 600;
  }
  .span[data-depth="1"] .label {
    padding-left: 0.6rem;
  }
  .span[data-depth="2"] .label {
    padding-left: 1.2rem;
  }
  .span[data-depth="3"] .label {
    padding-left: 1.8rem;
  }
  .span:is([data-depth="4"], [data-depth="5"]) .label {
    padding-left: 2.4rem;
  }
  .track {
    width: 100%;
    height: 1rem;
  }
  .bar {
    fill: var(--accent);
  }
  .bar.context {
    fill: color-mix(in srgb, var(--accent) 35%, var(--ground));
  }
  .bar.failed {
    fill: var(--bad);
  }
  .waited {
    fill: color-mix(in srgb, var(--wait) 55%, var(--ground));
  }
  .point {
    fill: var(--edge);
  }
  .table {
    overflow-x: auto;
  }
  table {
    width: 100%;
    border-collapse: collapse;
    font-size: var(--text-s);
    font-variant-numeric: tabular-nums;
  }
  th,
  td {
    padding: var(--space-1) var(--space-2) var(--space-1) 0;
    border-bottom: 1px solid var(--line);
    text-align: left;
    font-weight: 400;
  }
  thead th,
  tbody th {
    color: var(--quiet);
  }
  @container (max-width: 26rem) {
    .axis,
    .span {
      grid-template-columns: minmax(0, 1fr);
      gap: 0;
    }
    .axis > :first-child {
      display: none;
    }
    .track {
      margin-bottom: 0.3rem;
    }
  }
`;var P=1e3,mt=300,O=class extends A{static properties={...A.properties,chosen:{state:!0},other:{state:!0},all:{state:!0}};static styles=[X,J,ot];shownFor=null;running=!1;stopTicker;constructor(){super(),this.chosen="",this.other="",this.all=!1}connectedCallback(){super.connectedCallback(),this.stopTicker=Q(()=>{this.running&&this.requestUpdate()})}disconnectedCallback(){super.disconnectedCallback(),this.stopTicker?.()}willUpdate(){this.shownFor!==this.params&&(this.shownFor=this.params,this.chosen=this.params?.id??"",this.other="")}render(){let e=tt(this.state),n=this.chosen||e[0]?.id||"",s=this.read(n);if(s===null)return d`<div class="empty"><p>No reasoning yet</p><p class="quiet">A trace shows how long each step of an answer took.</p></div>`;let a=this.other===""?null:this.read(this.other);this.running=[s,a].some(o=>o?.spans.some(i=>i.state==="running")===!0);let r=o=>I(e,i=>i.id,i=>d`<option value=${i.id} .selected=${i.id===o}>${h(i.title)} (${W(i.at,this.shell.now()||Date.now())})</option>`),l=e.some(o=>o.id===n)?f:d`<option value=${n} .selected=${!0}>${h(s.title)}</option>`;return d`<div class="stack">
      <label class="field-label">Turn<select @change=${o=>this.chosen=o.target.value}>${l}${r(n)}</select></label>
      <label class="field-label">Compare with<select @change=${o=>this.other=o.target.value}><option value="" .selected=${this.other===""}>Nothing</option>${r(this.other)}</select></label>
      ${a===null?gt(s):yt(s,a)}
      ${this.waterfall(s,a===null?s.end-s.start:rt(s,a))}
      ${a===null?f:this.waterfall(a,rt(s,a))}
    </div>`}read(e){let{shell:n}=this,s=new Map(n.envelopes.map(a=>[a.id,a]));return nt(this.state,e,n.now(),a=>s.get(a))}waterfall(e,n){let s=this.all?e.spans:e.spans.slice(0,mt);return d`<section aria-label=${`Trace of ${h(e.title)}`}>
      <h3 class="title">${D(e.title)}</h3>
      <div class="axis" aria-hidden="true"><span></span><svg class="ticks">${j(n).map(([a,r])=>{let l=`${(a/n*100).toFixed(2)}%`;return b`<line x1=${l} x2=${l} y2="100%"/>${a/n>.8?f:b`<text x=${l} dx="4" y="1.05em">${r}</text>`}`})}</svg></div>
      <ol class="spans">${I(s,a=>a.key,a=>this.row(e,a,n))}</ol>
      ${s.length<e.spans.length?d`<p><button class="words" @click=${()=>this.all=!0}>Show all ${e.spans.length.toLocaleString()} steps</button></p>`:f}
    </section>`}row(e,n,s){let a=l=>(l-e.start)/s*P,r=(l,o,i)=>o<=l?f:b`<rect class=${i} x=${a(l).toFixed(2)} y="3" width=${Math.max(3,a(o)-a(l)).toFixed(2)} height="10"/>`;return d`<li class="span" data-type=${n.type} data-depth=${Math.min(n.depth,5)}>
      <button class="label" @click=${()=>{G(this.shell,n.place)}}>
        <span class="what">${n.type==="call"?d`<code>${h(n.label)}</code>`:D(n.label)}</span>
        <span class="facts">${ht(n)}</span>
      </button>
      <svg class="track" viewBox="0 0 ${P} 16" preserveAspectRatio="none" aria-hidden="true">
        ${n.end<=n.start?b`<rect class="point" x=${Math.min(a(n.start),P-4).toFixed(2)} y="3" width="4" height="10"/>`:d`${r(n.start,n.waitedUntil,"waited")}${r(n.waitedUntil,n.end,`bar ${n.type} ${n.state}`)}`}
      </svg>
    </li>`}};function rt(t,e){return Math.max(t.end-t.start,e.end-e.start)}function ht(t){let e=t.end>t.start?$(t.end-t.start):"",n=t.waitedUntil>t.start?`waited ${$(t.waitedUntil-t.start)}`:"",s=t.state==="failed"?"failed":t.state==="running"?"running":"";return[t.depth===0||t.type==="message"?V(t.from):"",e,n,s,...ft(t.usage)].filter(a=>a!=="").join(" · ")}function ft(t){return[h(t.model),lt(t),it(t)]}function lt(t){return t.tokens===null?"":t.input===null||t.output===null?`${t.tokens.toLocaleString()} tokens`:`${t.input.toLocaleString()} in, ${t.output.toLocaleString()} out`}function it(t){return t.cost===null?"":`${t.cost.toLocaleString(void 0,{maximumFractionDigits:4})} ${h(t.currency)}`}function gt(t){return d`<dl class="totals">${F(t).map(([e,n])=>d`<div><dt>${e}</dt><dd>${n}</dd></div>`)}</dl>
    ${t.usage.tokens===null?d`<p class="faint">The agent reported no tokens.</p>`:f}`}function F(t){return[["Duration",$(t.end-t.start)],["Waiting",t.waited===0?"":$(t.waited)],["Steps",String(t.spans.length)],["Calls",t.failed===0?String(t.calls):`${t.calls}, ${t.failed} failed`],["Tokens",lt(t.usage)],["Cost",it(t.usage)],["Model",h(t.usage.model)]].filter(e=>e[1]!=="")}function yt(t,e){let n=new Map(F(t)),s=new Map(F(e)),a=[...new Set([...n.keys(),...s.keys()])],r=(e.end-e.start)/(t.end-t.start),l=Math.round((r-1)*100),o=l===0?"the same time":r>3?`${r.toLocaleString(void 0,{maximumFractionDigits:1})} times as long`:l<-90?"less than a tenth of the time":`${Math.abs(l)}% ${l>0?"longer":"less"}`;return d`<div class="table" tabindex="0" role="group" aria-label="Comparison"><table>
      <thead><tr><td></td><th scope="col">This turn</th><th scope="col">The other</th></tr></thead>
      <tbody>${a.map(i=>d`<tr><th scope="row">${i}</th><td>${n.get(i)??"–"}</td><td>${s.get(i)??"–"}</td></tr>`)}</tbody>
    </table></div>
    <p class="quiet">The other took ${o}, with ${Y(e.calls,"call")} instead of ${t.calls.toLocaleString()}.</p>`}H("meup-trace",O);export{O as TracePanel};
//# sourceMappingURL=/assets/trace-KOVD5JP2.js.map
