import{a as J}from"/assets/chunk-6Y6Z4I6S.js";import{a as K}from"/assets/chunk-4OTQ6SRE.js";import{c as j}from"/assets/chunk-MUJT3LMS.js";import{a as I}from"/assets/chunk-HES76WNY.js";import"/assets/chunk-ZMURKRDC.js";import{c as _,d as U,i as y}from"/assets/chunk-NGBXH4TM.js";import{a as W,e as X,h as Y,k as G}from"/assets/chunk-KBYAXHMJ.js";import"/assets/chunk-OMM35DFZ.js";import{f as A,n as V}from"/assets/chunk-TZMTLOK3.js";import{C as g,F as h,K as B,N as D,Q as H,b as z,c as d,d as T,f,m as k,r as S,s as q,v as u,w as R}from"/assets/chunk-UUO2J6FF.js";var E={model:"",input:null,output:null,tokens:null,cost:null,currency:""},Q=2e3;function Z(t,e=100){let n=new Map;for(let s=t.roots.length-1;s>=0&&n.size<e;s--){let a=t.blocks.get(t.roots[s]);if(a===void 0||a.status==="idle")continue;let o=j(t,a.path);n.has(o)||n.set(o,{id:o,title:tt(t,o),at:a.startedAt})}return[...n.values()]}function tt(t,e){let n=t.blocks.get(e);return g(t.messages.get(e)?.text||n?.message||n?.opener||e,100)}function et(t,e,n,s){let a=t.messages.get(e),o=(a?.blocks??[e]).flatMap(c=>t.blocks.get(c)??[]);if(o.length===0)return null;let l=[];for(let c of o)nt(t,c,0,n,s,l);for(let c of a?.replies??[]){let p=t.messages.get(c);p!==void 0&&p.answers.length>0&&l.push(v("message",p.id,0,"Answer",p.from,p.begunAt,p.at,p.id))}let r=Math.min(a?.at??Number.POSITIVE_INFINITY,...l.map(c=>c.start)),i=l.filter(c=>c.type==="call");return{id:e,title:tt(t,e),start:r,end:Math.max(r+1,...l.map(c=>c.end)),spans:l,calls:i.length,failed:i.filter(c=>c.state==="failed").length,waited:o.reduce((c,p)=>c+_(t,p,n).ms,0),usage:l.map(c=>c.usage).reduce(at,E)}}function nt(t,e,n,s,a,o){if(o.length>=Q)return;let l=e.status==="reasoning",[r,i]=C(e.metadata??{},e.startedAt),c=i>r,p=e.endedAt??(l?Math.max(s,e.lastAt):e.lastAt),x=e.conclusion===null?E:M(S(u(a(e.conclusion.id)?.payload??{},"metadata")));o.push({...v("context",e.path,n,g(e.message||"Reasoning",120),J(e),r,c?i:Math.max(r,p),e.path),state:l?"running":e.status==="complete"||e.status==="collapsed"?"done":"ended",usage:at(M(e.metadata??{}),x)});for(let m of e.steps){if(o.length>=Q)return;let w=m.type==="block"?t.blocks.get(m.path):void 0;w!==void 0?nt(t,w,n+1,s,a,o):m.type==="call"?o.push(dt(t,e,m,n+1,s,a,c)):m.type!=="block"&&o.push(ct(m,n+1,c))}}function ct(t,e,n){if(t.type==="said")return v("message",t.key,e,g(t.text,120),t.from,t.at,t.at,t.key);let s=S(u(t.payload,"metadata")),a=g(t.text||t.questions.join(" ")||t.kind,120),[o,l]=n?C(s,t.at):[t.at,t.at];return{...v("thought",t.key,e,a,t.from,o,l,t.id||t.key),usage:M(s)}}function dt(t,e,n,s,a,o,l){let r=n.call,i=r.outcome==="pending"&&e.status==="reasoning",c=r.endedAt??(i?Math.max(a,r.startedAt):r.startedAt),p=r.proposed&&r.decidedBy===""&&i,x=r.proposed?t.proposals.get(r.id)?.decidedAt??r.endedAt:r.startedAt,m=o(r.rationaleId)??R(o(r.id)??ut).map(o).find(it=>it!==void 0),w=S(u(m?.payload??{},"metadata")),[N,F]=l?C(w,r.startedAt):[0,0],b=N===F?v("call",n.key,s,r.tool,r.from,r.startedAt,c,n.key):v("call",n.key,s,r.tool,r.from,N,F,n.key);return{...b,waitedUntil:p?b.end:Math.min(Math.max(b.start,x??b.start),b.end),state:i?"running":r.failed||r.outcome==="error"?"failed":r.outcome==="success"||r.outcome==="fulfilled"?"done":"ended",usage:M(w)}}var ut={id:"",ts:"",from:"",kind:"",payload:{}};function v(t,e,n,s,a,o,l,r){return{key:e,type:t,depth:n,label:s,from:a,start:o,end:l,waitedUntil:o,state:"done",usage:E,place:r}}function C(t,e){let n=U(k(u(t,"started_at"))),s=U(k(u(t,"ended_at")));return n>0&&s>=n?[n,s]:[e,e]}function M(t){let e=u(t,"usage"),n=q(e)?e:{},s=$(u(n,"input_tokens")),a=$(u(n,"output_tokens")),o=s===null&&a===null?$(u(t,"tokens")):(s??0)+(a??0);return{model:g(k(u(t,"model")),60),input:s,output:a,tokens:o,cost:$(u(t,"cost"))??$(u(t,"cost_usd")),currency:g(k(u(t,"currency")),8)||"USD"}}function $(t){return typeof t=="number"&&Number.isFinite(t)&&t>=0?t:null}function at(t,e){let n=(o,l)=>o===null?l:l===null?o:o+l,s=t.cost===null||e.cost===null||t.currency===e.currency;return{model:[...new Set([...t.model.split(", "),...e.model.split(", ")])].filter(o=>o!=="").slice(0,4).join(", "),input:n(t.input,e.input),output:n(t.output,e.output),tokens:n(t.tokens,e.tokens),cost:s?n(t.cost,e.cost):t.cost,currency:t.cost===null?e.currency:t.currency}}var st=z`
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
    display: grid;
    grid-template-columns: repeat(4, minmax(0, 1fr));
    color: var(--faint);
    font-size: var(--text-xs);
    font-variant-numeric: tabular-nums;
    white-space: nowrap;
  }
  .ticks span,
  .track {
    border-left: 1px solid var(--line);
  }
  .ticks span {
    padding-left: 0.2rem;
    overflow: hidden;
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
`;var P=1e3,pt=300,O=class extends A{static properties={...A.properties,chosen:{state:!0},other:{state:!0},all:{state:!0}};static styles=[W,G,st];shownFor=null;running=!1;stopTicker;constructor(){super(),this.chosen="",this.other="",this.all=!1}connectedCallback(){super.connectedCallback(),this.stopTicker=K(()=>{this.running&&this.requestUpdate()})}disconnectedCallback(){super.disconnectedCallback(),this.stopTicker?.()}willUpdate(){this.shownFor!==this.params&&(this.shownFor=this.params,this.chosen=this.params?.id??"",this.other="")}render(){let e=Z(this.state),n=this.chosen||e[0]?.id||"",s=this.read(n);if(s===null)return d`<div class="empty"><p>No reasoning yet</p><p class="quiet">A trace shows how long each step of an answer took.</p></div>`;let a=this.other===""?null:this.read(this.other);this.running=[s,a].some(r=>r?.spans.some(i=>i.state==="running")===!0);let o=r=>I(e,i=>i.id,i=>d`<option value=${i.id} .selected=${i.id===r}>${h(i.title)} (${V(i.at,this.shell.now()||Date.now())})</option>`),l=e.some(r=>r.id===n)?f:d`<option value=${n} .selected=${!0}>${h(s.title)}</option>`;return d`<div class="stack">
      <label class="field-label">Turn<select @change=${r=>this.chosen=r.target.value}>${l}${o(n)}</select></label>
      <label class="field-label">Compare with<select @change=${r=>this.other=r.target.value}><option value="" .selected=${this.other===""}>Nothing</option>${o(this.other)}</select></label>
      ${a===null?gt(s):ft(s,a)}
      ${this.waterfall(s,a===null?s.end-s.start:rt(s,a))}
      ${a===null?f:this.waterfall(a,rt(s,a))}
    </div>`}read(e){let{shell:n}=this,s=new Map(n.envelopes.map(a=>[a.id,a]));return et(this.state,e,n.now(),a=>s.get(a))}waterfall(e,n){let s=this.all?e.spans:e.spans.slice(0,pt);return d`<section aria-label=${`Trace of ${h(e.title)}`}>
      <h3 class="title">${D(e.title)}</h3>
      <div class="axis" aria-hidden="true"><span></span><span class="ticks">${[0,.25,.5,.75].map(a=>d`<span>${y(n*a)}</span>`)}</span></div>
      <ol class="spans">${I(s,a=>a.key,a=>this.row(e,a,n))}</ol>
      ${s.length<e.spans.length?d`<p><button class="words" @click=${()=>this.all=!0}>Show all ${e.spans.length.toLocaleString()} steps</button></p>`:f}
    </section>`}row(e,n,s){let a=l=>(l-e.start)/s*P,o=(l,r,i)=>r<=l?f:T`<rect class=${i} x=${a(l).toFixed(2)} y="3" width=${Math.max(3,a(r)-a(l)).toFixed(2)} height="10"/>`;return d`<li class="span" data-type=${n.type} data-depth=${Math.min(n.depth,5)}>
      <button class="label" @click=${()=>{Y(this.shell,n.place)}}>
        <span class="what">${n.type==="call"?d`<code>${h(n.label)}</code>`:D(n.label)}</span>
        <span class="facts">${mt(n)}</span>
      </button>
      <svg class="track" viewBox="0 0 ${P} 16" preserveAspectRatio="none" aria-hidden="true">
        ${n.end<=n.start?T`<rect class="point" x=${Math.min(a(n.start),P-4).toFixed(2)} y="3" width="4" height="10"/>`:d`${o(n.start,n.waitedUntil,"waited")}${o(n.waitedUntil,n.end,`bar ${n.type} ${n.state}`)}`}
      </svg>
    </li>`}};function rt(t,e){return Math.max(t.end-t.start,e.end-e.start)}function mt(t){let e=t.end>t.start?y(t.end-t.start):"",n=t.waitedUntil>t.start?`waited ${y(t.waitedUntil-t.start)}`:"",s=t.state==="failed"?"failed":t.state==="running"?"running":"";return[t.depth===0||t.type==="message"?H(t.from):"",e,n,s,...ht(t.usage)].filter(a=>a!=="").join(" · ")}function ht(t){return[h(t.model),ot(t),lt(t)]}function ot(t){return t.tokens===null?"":t.input===null||t.output===null?`${t.tokens.toLocaleString()} tokens`:`${t.input.toLocaleString()} in, ${t.output.toLocaleString()} out`}function lt(t){return t.cost===null?"":`${t.cost.toLocaleString(void 0,{maximumFractionDigits:4})} ${h(t.currency)}`}function gt(t){return d`<dl class="totals">${L(t).map(([e,n])=>d`<div><dt>${e}</dt><dd>${n}</dd></div>`)}</dl>
    ${t.usage.tokens===null?d`<p class="faint">The agent reported no tokens.</p>`:f}`}function L(t){return[["Duration",y(t.end-t.start)],["Waiting",t.waited===0?"":y(t.waited)],["Steps",String(t.spans.length)],["Calls",t.failed===0?String(t.calls):`${t.calls}, ${t.failed} failed`],["Tokens",ot(t.usage)],["Cost",lt(t.usage)],["Model",h(t.usage.model)]].filter(e=>e[1]!=="")}function ft(t,e){let n=new Map(L(t)),s=new Map(L(e)),a=[...new Set([...n.keys(),...s.keys()])],o=(e.end-e.start)/(t.end-t.start),l=Math.round((o-1)*100),r=l===0?"the same time":o>3?`${o.toLocaleString(void 0,{maximumFractionDigits:1})} times as long`:`${Math.abs(l)}% ${l>0?"longer":"less"}`;return d`<div class="table" tabindex="0" role="group" aria-label="Comparison"><table>
      <thead><tr><td></td><th scope="col">This turn</th><th scope="col">The other</th></tr></thead>
      <tbody>${a.map(i=>d`<tr><th scope="row">${i}</th><td>${n.get(i)??"–"}</td><td>${s.get(i)??"–"}</td></tr>`)}</tbody>
    </table></div>
    <p class="quiet">The other took ${r}, with ${X(e.calls,"call")} instead of ${t.calls.toLocaleString()}.</p>`}B("meup-trace",O);export{O as TracePanel};
//# sourceMappingURL=/assets/trace-LW3HUJDM.js.map
