import{a as Q}from"/assets/chunk-DLLJASZW.js";import{a as Z}from"/assets/chunk-4OTQ6SRE.js";import{c as H}from"/assets/chunk-JWUF7E6V.js";import{a as C}from"/assets/chunk-J55DHFYE.js";import"/assets/chunk-JNMGVPRD.js";import{c as j,d as D,i as $,j as B}from"/assets/chunk-E2LKP2F4.js";import{a as Y,e as G,h as J,k as K}from"/assets/chunk-IGEW5526.js";import"/assets/chunk-SUG44J2H.js";import{f as I,n as X}from"/assets/chunk-VSIX4I2Q.js";import{C as A,F as m,K as V,N as E,Q as W,b as q,c as d,d as b,f as g,m as k,r as M,s as R,v as u,w as _}from"/assets/chunk-6D3SX3BW.js";var P={model:"",input:null,output:null,tokens:null,cost:null,currency:"",uncounted:0},tt=2e3;function et(t,e=100){let n=new Map;for(let s=t.roots.length-1;s>=0&&n.size<e;s--){let a=t.blocks.get(t.roots[s]);if(a===void 0||a.status==="idle")continue;let o=H(t,a.path);n.has(o)||n.set(o,{id:o,title:nt(t,o),at:a.startedAt})}return[...n.values()]}function nt(t,e){let n=t.blocks.get(e);return f(t.messages.get(e)?.text||n?.message||"",n?.opener??e,100)}function f(t,e,n=120){return A(m(t.slice(0,8*n)),n)||e}function at(t,e,n,s){let a=t.messages.get(e),o=(a?.blocks??[e]).flatMap(c=>t.blocks.get(c)??[]);if(o.length===0)return null;let l=[];for(let c of o)st(t,c,0,n,s,l);for(let c of a?.replies??[]){let p=t.messages.get(c);p!==void 0&&p.answers.length>0&&l.push(S("message",p.id,0,"Answer",p.from,p.begunAt,p.at,p.id))}let r=Math.min(a?.at??Number.POSITIVE_INFINITY,...l.map(c=>c.start)),i=l.filter(c=>c.type==="call");return{id:e,title:nt(t,e),start:r,end:Math.max(r+1,...l.map(c=>c.end)),spans:l,calls:i.length,failed:i.filter(c=>c.state==="failed").length,waited:o.reduce((c,p)=>c+j(t,p,n).ms,0),usage:l.map(c=>c.usage).reduce(ot,P)}}function st(t,e,n,s,a,o){if(o.length>=tt)return;let l=e.status==="reasoning",[r,i]=O(e.metadata??{},e.startedAt),c=i>r,p=e.endedAt??(l?Math.max(s,e.lastAt):e.lastAt),x=a((e.conclusion??e.cancelled)?.id??""),U=x?.context===e.path?T(M(u(x.payload,"metadata"))):P;o.push({...S("context",e.path,n,f(e.message,"Reasoning"),Q(e),r,c?i:Math.max(r,p),e.path),state:l?"running":e.status==="complete"||e.status==="collapsed"?"done":"ended",usage:ot(T(e.metadata??{}),U)});for(let h of e.steps){if(o.length>=tt)return;let v=h.type==="block"?t.blocks.get(h.path):void 0;v!==void 0?st(t,v,n+1,s,a,o):h.type==="call"?o.push(gt(t,e,h,n+1,s,a,c)):h.type!=="block"&&o.push(ht(h,n+1,c))}}function ht(t,e,n){if(t.type==="said")return S("message",t.key,e,f(t.text,"Message"),t.from,t.at,t.at,t.key);let s=M(u(t.payload,"metadata")),[a,o]=n?O(s,t.at):[t.at,t.at];return{...S("thought",t.key,e,f(t.text||t.questions.join(" "),A(t.kind)),t.from,a,o,t.id||t.key),usage:T(s)}}function gt(t,e,n,s,a,o,l){let r=n.call,i=r.outcome==="pending"&&e.status==="reasoning",c=r.endedAt??(i?Math.max(a,r.startedAt):r.startedAt),p=r.proposed&&r.decidedBy===""&&i,x=r.proposed?t.proposals.get(r.id)?.decidedAt??r.endedAt:r.startedAt,U=o(r.rationaleId)??_(o(r.id)??ft).map(o).find(mt=>mt!==void 0),h=M(u(U?.payload??{},"metadata")),[v,z]=l?O(h,r.startedAt):[0,0],[ut,pt]=v===z?[r.startedAt,c]:[v,z],w=S("call",n.key,s,f(r.tool,"(no name)"),r.from,ut,pt,n.key);return{...w,waitedUntil:p?w.end:Math.min(Math.max(w.start,x??w.start),w.end),state:i?"running":r.failed||r.outcome==="error"?"failed":r.outcome==="success"||r.outcome==="fulfilled"?"done":"ended",usage:T(h)}}var ft={id:"",ts:"",from:"",kind:"",payload:{}};function S(t,e,n,s,a,o,l,r){return{key:e,type:t,depth:n,label:s,from:a,start:o,end:l,waitedUntil:o,state:"done",usage:P,place:r}}function O(t,e){let n=D(k(u(t,"started_at"))),s=D(k(u(t,"ended_at")));return n>0&&s>=n?[n,s]:[e,e]}function T(t){let e=u(t,"usage"),n=R(e)?e:{},s=y(u(n,"input_tokens")),a=y(u(n,"output_tokens")),o=s===null&&a===null?y(u(t,"tokens")):(s??0)+(a??0);return{model:f(k(u(t,"model")),"",60),input:s,output:a,tokens:o,cost:y(u(t,"cost"))??y(u(t,"cost_usd")),currency:f(k(u(t,"currency")),"USD",8),uncounted:y(u(t,"uncounted"))??0}}function y(t){return typeof t=="number"&&Number.isFinite(t)&&t>=0?t:null}function ot(t,e){let n=(o,l)=>o===null?l:l===null?o:o+l,s=t.cost===null||e.cost===null||t.currency===e.currency;return{model:[...new Set([...t.model.split(", "),...e.model.split(", ")])].filter(o=>o!=="").slice(0,4).join(", "),input:n(t.input,e.input),output:n(t.output,e.output),tokens:n(t.tokens,e.tokens),cost:s?n(t.cost,e.cost):t.cost,currency:t.cost===null?e.currency:t.currency,uncounted:t.uncounted+e.uncounted}}var rt=q`
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
`;var F=1e3,yt=300,L=class extends I{static properties={...I.properties,chosen:{state:!0},other:{state:!0},all:{state:!0}};static styles=[Y,K,rt];shownFor=null;running=!1;stopTicker;constructor(){super(),this.chosen="",this.other="",this.all=!1}connectedCallback(){super.connectedCallback(),this.stopTicker=Z(()=>{this.running&&this.requestUpdate()})}disconnectedCallback(){super.disconnectedCallback(),this.stopTicker?.()}willUpdate(){this.shownFor!==this.params&&(this.shownFor=this.params,this.chosen=this.params?.id??"",this.other="")}render(){let e=et(this.state),n=this.chosen||e[0]?.id||"",s=this.read(n);if(s===null)return d`<div class="empty"><p>No reasoning yet</p><p class="quiet">A trace shows how long each step of an answer took.</p></div>`;let a=this.other===""?null:this.read(this.other);this.running=[s,a].some(r=>r?.spans.some(i=>i.state==="running")===!0);let o=r=>C(e,i=>i.id,i=>d`<option value=${i.id} .selected=${i.id===r}>${m(i.title)} (${X(i.at,this.shell.now()||Date.now())})</option>`),l=e.some(r=>r.id===n)?g:d`<option value=${n} .selected=${!0}>${m(s.title)}</option>`;return d`<div class="stack">
      <label class="field-label">Turn<select @change=${r=>this.chosen=r.target.value}>${l}${o(n)}</select></label>
      <label class="field-label">Compare with<select @change=${r=>this.other=r.target.value}><option value="" .selected=${this.other===""}>Nothing</option>${o(this.other)}</select></label>
      ${a===null?bt(s):kt(s,a)}
      ${this.waterfall(s,a===null?s.end-s.start:lt(s,a))}
      ${a===null?g:this.waterfall(a,lt(s,a))}
    </div>`}read(e){let{shell:n}=this,s=new Map(n.envelopes.map(a=>[a.id,a]));return at(this.state,e,n.now(),a=>s.get(a))}waterfall(e,n){let s=this.all?e.spans:e.spans.slice(0,yt);return d`<section aria-label=${`Trace of ${m(e.title)}`}>
      <h3 class="title">${E(e.title)}</h3>
      <div class="axis" aria-hidden="true"><span></span><svg class="ticks">${B(n).map(([a,o])=>{let l=`${(a/n*100).toFixed(2)}%`;return b`<line x1=${l} x2=${l} y2="100%"/>${a/n>.8?g:b`<text x=${l} dx="4" y="1.05em">${o}</text>`}`})}</svg></div>
      <ol class="spans">${C(s,a=>a.key,a=>this.row(e,a,n))}</ol>
      ${s.length<e.spans.length?d`<p><button class="words" @click=${()=>this.all=!0}>Show all ${e.spans.length.toLocaleString()} steps</button></p>`:g}
    </section>`}row(e,n,s){let a=l=>(l-e.start)/s*F,o=(l,r,i)=>r<=l?g:b`<rect class=${i} x=${a(l).toFixed(2)} y="3" width=${Math.max(3,a(r)-a(l)).toFixed(2)} height="10"/>`;return d`<li class="span" data-type=${n.type} data-depth=${Math.min(n.depth,5)}>
      <button class="label" @click=${()=>{J(this.shell,n.place)}}>
        <span class="what">${n.type==="call"?d`<code>${m(n.label)}</code>`:E(n.label)}</span>
        <span class="facts">${vt(n)}</span>
      </button>
      <svg class="track" viewBox="0 0 ${F} 16" preserveAspectRatio="none" aria-hidden="true">
        ${n.end<=n.start?b`<rect class="point" x=${Math.min(a(n.start),F-4).toFixed(2)} y="3" width="4" height="10"/>`:d`${o(n.start,n.waitedUntil,"waited")}${o(n.waitedUntil,n.end,`bar ${n.type} ${n.state}`)}`}
      </svg>
    </li>`}};function lt(t,e){return Math.max(t.end-t.start,e.end-e.start)}function vt(t){let e=t.end>t.start?$(t.end-t.start):"",n=t.waitedUntil>t.start?`waited ${$(t.waitedUntil-t.start)}`:"",s=t.state==="failed"?"failed":t.state==="running"?"running":"";return[t.depth===0||t.type==="message"?W(t.from):"",e,n,s,...wt(t.usage)].filter(a=>a!=="").join(" · ")}function wt(t){return[m(t.model),it(t),ct(t)]}function it(t){if(t.tokens===null)return"";let e=t.input===null||t.output===null?`${t.tokens.toLocaleString()} tokens`:`${t.input.toLocaleString()} in, ${t.output.toLocaleString()} out`;return dt(t)+e}function ct(t){return t.cost===null?"":`${dt(t)}${t.cost.toLocaleString(void 0,{maximumFractionDigits:4})} ${m(t.currency)}`}function dt(t){return t.uncounted>0?"≥ ":""}function bt(t){return d`<dl class="totals">${N(t).map(([e,n])=>d`<div><dt>${e}</dt><dd>${n}</dd></div>`)}</dl>
    ${t.usage.tokens===null?d`<p class="faint">The agent reported no tokens.</p>`:g}`}function N(t){return[["Duration",$(t.end-t.start)],["Waiting",t.waited===0?"":$(t.waited)],["Steps",String(t.spans.length)],["Calls",t.failed===0?String(t.calls):`${t.calls}, ${t.failed} failed`],["Tokens",it(t.usage)],["Cost",ct(t.usage)],["Model",m(t.usage.model)]].filter(e=>e[1]!=="")}function kt(t,e){let n=new Map(N(t)),s=new Map(N(e)),a=[...new Set([...n.keys(),...s.keys()])],o=(e.end-e.start)/(t.end-t.start),l=Math.round((o-1)*100),r=l===0?"the same time":o>3?`${o.toLocaleString(void 0,{maximumFractionDigits:1})} times as long`:l<-90?"less than a tenth of the time":`${Math.abs(l)}% ${l>0?"longer":"less"}`;return d`<div class="table" tabindex="0" role="group" aria-label="Comparison"><table>
      <thead><tr><td></td><th scope="col">This turn</th><th scope="col">The other</th></tr></thead>
      <tbody>${a.map(i=>d`<tr><th scope="row">${i}</th><td>${n.get(i)??"–"}</td><td>${s.get(i)??"–"}</td></tr>`)}</tbody>
    </table></div>
    <p class="quiet">The other took ${r}, with ${G(e.calls,"call")} instead of ${t.calls.toLocaleString()}.</p>`}V("meup-trace",L);export{L as TracePanel};
//# sourceMappingURL=/assets/trace-KJANEOI6.js.map
