import"/assets/chunk-HRQSP5AD.js";import{b as de,e as ge,h as fe}from"/assets/chunk-TBIEQM3X.js";import{a as te,d as ae}from"/assets/chunk-LHIUFMJM.js";import"/assets/chunk-TB3K4NA7.js";import"/assets/chunk-XJBGAAQ3.js";import"/assets/chunk-66XVKS3H.js";import"/assets/chunk-TZLAFC3M.js";import"/assets/chunk-LI2ITUN5.js";import{a as N}from"/assets/chunk-6KPK6ELU.js";import{b as he}from"/assets/chunk-757P6I2J.js";import"/assets/chunk-J3ND4NAU.js";import{a as ce,b as F,h as pe,j as ue,l as L,o as me}from"/assets/chunk-ETTXQQKV.js";import"/assets/chunk-MYHS66OQ.js";import{E as O,F as U,I as ie,J as le,k as Z,l as q,q as f,r as ee,z as P}from"/assets/chunk-EBKTHAOW.js";import{D as C,F as ne,G as g,L as se,O as E,R as oe,T as re,b as Y,c as p,d as w,f as m,i as K,n as S,s as T,t as J,w as h,x as Q}from"/assets/chunk-6QAC3HRB.js";var R={model:"",input:null,output:null,tokens:null,cost:null,currency:"",uncounted:0},ye=2e3,De=8;function z(t,e=100){let a=new Map;for(let o=t.roots.length-1;o>=0&&a.size<e;o--){let l=t.blocks.get(t.roots[o]);if(l===void 0||l.status==="idle")continue;let r=ae(t,l.path);a.has(r)||a.set(r,{id:r,title:ve(t,r),at:l.startedAt})}return[...a.values()]}function ve(t,e){let a=t.blocks.get(e);return v(t.messages.get(e)?.text||a?.message||"",a?.opener??e,100)}function v(t,e,a=120){return C(g(t.slice(0,8*a)),a)||e}function we(t,e,a,o){let l=t.messages.get(e),r=(l?.blocks??[e]).flatMap(c=>t.blocks.get(c)??[]);if(r.length===0)return null;let i=[];for(let c of r)be(t,c,0,a,o,i);for(let c of l?.replies??[]){let u=t.messages.get(c);u!==void 0&&u.answers.length>0&&i.push({...x("message",u.id,0,"Answer",u.from,u.begunAt,u.at,u.id),text:u.text,envelopes:I(["Message",u.id])})}let n=Re(i),s=Math.min(l?.at??Number.POSITIVE_INFINITY,...n.map(c=>c.start)),d=n.filter(c=>c.type==="call");return{id:e,title:ve(t,e),start:s,end:Math.max(s+1,...n.map(c=>c.end)),spans:n,calls:d.length,failed:d.filter(c=>c.state==="failed").length,waited:r.reduce((c,u)=>c+Z(t,u,a).ms,0),usage:n.map(c=>c.usage).reduce(ke,R)}}function be(t,e,a,o,l,r){if(r.length>=ye)return;let i=e.status==="reasoning",[n,s]=_(e.metadata??{},e.startedAt),d=s>n,c=e.endedAt??(i?Math.max(o,e.lastAt):e.lastAt),u=l((e.conclusion??e.cancelled)?.id??""),b=u?.context===e.path?A(T(h(u.payload,"metadata"))):R;r.push({...x("context",e.path,a,v(e.message,"Reasoning"),te(e),n,d?s:Math.max(n,c),e.path),text:e.message,conclusion:e.conclusion?.text??e.cancelled?.reason??"",envelopes:I(["Start",e.opened?e.id:""],["Conclusion",e.conclusion?.id??""],["Cancellation",e.cancelled?.id??""]),state:i?"running":e.status==="complete"||e.status==="collapsed"?"done":"ended",usage:ke(A(e.metadata??{}),b)});for(let y of e.steps){if(r.length>=ye)return;let k=y.type==="block"?t.blocks.get(y.path):void 0;k!==void 0?be(t,k,a+1,o,l,r):y.type==="call"?r.push(Ue(t,e,y,a+1,o,l,d)):y.type!=="block"&&r.push(Ee(y,a+1,d))}}function Ee(t,e,a){if(t.type==="said")return{...x("message",t.key,e,v(t.text,"Message"),t.from,t.at,t.at,t.key),text:t.text,envelopes:I(["Message",t.id])};let o=T(h(t.payload,"metadata")),[l,r]=a?_(o,t.at):[t.at,t.at],i=t.text||t.questions.join(`
`);return{...x("thought",t.key,e,v(i,C(t.kind)),t.from,l,r,t.id||t.key),text:i,envelopes:I(["Thought",t.id]),usage:A(o)}}function Ue(t,e,a,o,l,r,i){let n=a.call,s=n.outcome==="pending"&&e.status==="reasoning",d=n.endedAt??(s?Math.max(l,n.startedAt):n.startedAt),c=n.proposed&&n.decidedBy===""&&s,u=t.proposals.get(n.id),b=n.proposed?u?.decidedAt??n.endedAt:n.startedAt,y=r(n.rationaleId)??Q(r(n.id)??Ae).map(r).find(Ie=>Ie!==void 0),k=T(h(y?.payload??{},"metadata")),[X,G]=i?_(k,n.startedAt):[0,0],[Te,xe]=X===G?[n.startedAt,d]:[X,G],M=x("call",a.key,o,v(n.tool,"(no name)"),n.from,Te,xe,a.key);return{...M,text:n.rationale,call:n,envelopes:I(["Reason",n.rationaleId],[n.proposed?"Proposal":"Request",n.id],["Request",u?.request??""],["Response",n.responseId]),waitedUntil:c?M.end:Math.min(Math.max(M.start,b??M.start),M.end),state:s?"running":n.failed||n.outcome==="error"?"failed":n.outcome==="success"||n.outcome==="fulfilled"?"done":"ended",usage:A(k)}}var Ae={id:"",ts:"",from:"",kind:"",payload:{}};function x(t,e,a,o,l,r,i,n){return{key:e,type:t,depth:a,label:o,argument:"",text:"",conclusion:"",call:null,envelopes:[],from:l,start:r,end:i,waitedUntil:r,state:"done",usage:R,place:n}}function I(...t){return t.filter(([,e])=>e!=="")}function Re(t){let e=new Map,a=new Map;for(let r of t){if(r.call===null)continue;let i=new Map(Object.entries(T(r.call.args)).slice(0,De).map(([n,s])=>[n,$e(s)]));a.set(r,i),e.set(r.label,e.get(r.label)??[]),e.get(r.label)?.push(i)}let o=new Map([...e].map(([r,i])=>[r,[...i[0]?.keys()??[]].find(n=>i.some(s=>s.get(n)!==i[0]?.get(n)))])),l=new Set;return t.map(r=>{let i=a.get(r);if(i===void 0)return r;let n=r.call?.rationaleId??"",s=n!==""&&l.has(n);return l.add(n),{...r,argument:i.get(o.get(r.label)??"")||[...i.values()].find(d=>d!=="")||"",usage:s?R:r.usage}})}function $e(t){return Array.isArray(t)?t.slice(0,3).map(e=>Array.isArray(e)?"":$e(e)).filter(e=>e!=="").join(", "):typeof t=="string"?v(t,"",80):typeof t=="number"||typeof t=="boolean"||t instanceof K?String(t):""}var Ce=20,qe=.15;function B(t,e){let a=e?Pe(t.spans):[],o=t.end-t.start-a.reduce((s,[d,c])=>s+c-d,0),l=Math.max(1,o*qe/Math.max(1,a.length)),r=a.filter(([s,d])=>d-s>2*l).sort((s,d)=>d[1]-d[0]-(s[1]-s[0])),i=0,n=r.slice(0,Ce).sort((s,d)=>s[0]-d[0]).map(([s,d])=>{let c=s-t.start-i;return i+=d-s-l,{from:s,to:d,at:c,length:l}});return{length:t.end-t.start-i,folds:n,at:s=>n.reduce((d,c)=>d-Math.min(1,Math.max(0,(s-c.from)/(c.to-c.from)))*(c.to-c.from-c.length),s-t.start),marks:s=>ee(s-n.length*l).map(([d,c])=>[n.reduce((u,b)=>u>b.at?u+b.length:u,d),c])}}function Pe(t){let e=[],a=[],o=[];for(let i of[...t].reverse()){let n=o[i.depth+1]===!0;o.length=Math.min(o.length,i.depth+1);let s=i.waitedUntil>i.start;s&&e.push([i.start,i.waitedUntil]),!n&&(!s||i.end>i.waitedUntil)&&a.push([i.waitedUntil,i.end]),o[i.depth]=o[i.depth]===!0||s||n}a.sort((i,n)=>i[0]-n[0]);let l=[],r=Number.NEGATIVE_INFINITY;for(let[i,n]of e.sort((s,d)=>s[0]-d[0])){let s=Math.max(i,r);for(let[d,c]of a)c<s||d>=n||(d>s&&l.push([s,d]),s=Math.max(s,c));n>s&&l.push([s,n]),r=Math.max(r,n)}return l}function _(t,e){let a=q(S(h(t,"started_at"))),o=q(S(h(t,"ended_at")));return a>0&&o>=a?[a,o]:[e,e]}function A(t){let e=h(t,"usage"),a=J(e)?e:{},o=$(h(a,"input_tokens")),l=$(h(a,"output_tokens")),r=o===null&&l===null?$(h(t,"tokens")):(o??0)+(l??0);return{model:v(S(h(t,"model")),"",60),input:o,output:l,tokens:r,cost:$(h(t,"cost"))??$(h(t,"cost_usd")),currency:v(S(h(t,"currency")),"USD",8),uncounted:$(h(t,"uncounted"))??0}}function $(t){return typeof t=="number"&&Number.isFinite(t)&&t>=0?t:null}function ke(t,e){let a=(r,i)=>r===null?i:i===null?r:r+i,o=t.cost===null||e.cost===null||t.currency===e.currency;return{model:[...new Set([...t.model.split(", "),...e.model.split(", ")])].filter(r=>r!=="").slice(0,4).join(", "),input:a(t.input,e.input),output:a(t.output,e.output),tokens:a(t.tokens,e.tokens),cost:o?a(t.cost,e.cost):t.cost,currency:t.cost===null?e.currency:t.currency,uncounted:t.uncounted+e.uncounted}}var Me=Y`
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
  .both[data-beside="true"] {
    display: grid;
    grid-template-columns: minmax(0, 3fr) minmax(0, 2fr);
    gap: var(--space-5);
    align-items: start;
  }
  .axis,
  .span {
    display: grid;
    grid-template-columns: minmax(0, 13fr) minmax(0, 11fr);
    column-gap: var(--space-3);
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
  .argument {
    color: var(--quiet);
  }
  .span[data-open="true"] > .label {
    color: var(--accent-strong);
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
  .fold {
    fill: var(--wait-soft);
  }
  .inspector {
    grid-column: 1 / -1;
    display: grid;
    gap: var(--space-2);
    min-width: 0;
    margin-bottom: var(--space-3);
    padding: var(--space-3) var(--space-4) var(--space-4);
    border: 1px solid var(--line);
    border-radius: var(--round-m);
    background: var(--raised);
    font-size: var(--text-s);
  }
  .both > .inspector {
    grid-column: auto;
    position: sticky;
    top: 0;
    max-height: calc(100dvh - 6rem);
    overflow: auto;
  }
  .inspector-head {
    display: flex;
    align-items: start;
    justify-content: space-between;
    gap: var(--space-2);
  }
  .inspector h3 {
    overflow-wrap: anywhere;
    color: var(--ink);
  }
  .inspector h4 {
    margin: var(--space-1) 0 0;
    color: var(--quiet);
    font-size: var(--text-xs);
    font-weight: 600;
  }
  .inspector .prose {
    overflow-wrap: anywhere;
    white-space: pre-wrap;
  }
  .known {
    display: grid;
    grid-template-columns: auto minmax(0, 1fr);
    gap: 0 var(--space-4);
    align-items: baseline;
  }
  .known time {
    color: inherit;
    font-size: inherit;
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
  @container (min-width: 40rem) {
    .axis,
    .span {
      grid-template-columns: minmax(0, 3fr) minmax(0, 2fr);
    }
    .what {
      display: -webkit-box;
      -webkit-box-orient: vertical;
      -webkit-line-clamp: 2;
      white-space: normal;
    }
  }
  @container (max-width: 26rem) {
    .axis,
    .span {
      grid-template-columns: minmax(0, 1fr);
    }
    .axis > :first-child {
      display: none;
    }
    .track {
      margin-bottom: 0.3rem;
    }
  }
`;var D=1e3,Oe=300,Ne=900,Fe=new Intl.DateTimeFormat(void 0,{hour:"2-digit",minute:"2-digit",second:"2-digit",fractionalSecondDigits:3}),j=class extends P{static properties={...P.properties,all:{state:!0},missing:{state:!0},raw:{state:!0},scaled:{state:!0},beside:{state:!0}};static styles=[ce,me,Me];width=new ResizeObserver(([e])=>this.beside=(e?.contentRect.width??0)>=Ne);requested="";scrolledTo="";running=!1;constructor(){super(),this.all=!1,this.missing="",this.raw="",this.scaled=!1,this.beside=!1,new he(this,()=>{this.running&&this.requestUpdate()})}connectedCallback(){super.connectedCallback(),this.width.observe(this)}disconnectedCallback(){super.disconnectedCallback(),this.width.disconnect()}get turn(){return this.params?.id??""}get other(){return this.params?.other??""}get step(){return this.params?.step??""}choose(e){let a=this.turn||z(this.state,1)[0]?.id||"";this.shell.open("trace",{id:a,other:this.other,step:"",...e})}willUpdate(e){e.has("params")&&(this.raw="")}updated(){this.scrollToStep();for(let e of[this.turn,this.other])e!==""&&this.state.head>0&&this.read(e)===null&&this.load(e)}async scrollToStep(){let e=this.renderRoot.querySelector(".span[data-open=true]");this.scrolledTo===this.step||e===null&&this.step!==""||(this.scrolledTo=this.step,e?.scrollIntoView({block:"nearest"}),await de(2),e?.scrollIntoView({block:"nearest"}))}async load(e){this.requested!==e&&(this.requested=e,await this.shell.load(e)||(this.missing=e))}render(){let e=z(this.state),a=this.turn||e[0]?.id||"",o=this.read(a);if(o===null&&this.turn!==""&&this.missing!==this.turn)return p`<p class="empty">Loading…</p>`;if(o===null&&this.turn!=="")return p`<p class="empty">This turn is not in the available history.</p>`;if(o===null)return p`<div class="empty"><p>No reasoning yet</p><p class="quiet">A trace shows how long each step of an answer took.</p></div>`;let l=this.other===""?null:this.read(this.other);this.running=[o,l].some(n=>n?.spans.some(s=>s.state==="running")===!0);let r=n=>N(e,s=>s.id,s=>p`<option value=${s.id} .selected=${s.id===n}>${g(s.title)} (${le(s.at,this.shell.now()||Date.now())})</option>`),i=e.some(n=>n.id===a)?m:p`<option value=${a} .selected=${!0}>${g(o.title)}</option>`;return p`<div class="stack">
      <label class="field-label">Turn<select @change=${n=>this.choose({id:n.target.value})}>${i}${r(a)}</select></label>
      <label class="field-label">Compare with<select @change=${n=>this.choose({other:n.target.value})}><option value="" .selected=${this.other===""}>Nothing</option>${r(this.other)}</select></label>
      ${l===null?Be(o):_e(o,l)}
      ${this.waterfalls(l===null?[o]:[o,l])}
    </div>`}waterfalls(e){let a=e.map(d=>B(d,!this.scaled)),o=Math.max(...a.map(d=>d.length)),l=a.flatMap(d=>d.folds).reduce((d,c)=>d+c.to-c.from,0),r=l>0||this.scaled&&e.some(d=>B(d,!0).folds.length>0),i=e.findIndex(d=>d.spans.some(c=>c.key===this.step)),n=e[i]?.spans.find(d=>d.key===this.step),s=n===void 0?m:this.inspector(e[i],n);return p`${r?p`<p class="quiet">${l>0?`${f(l)} of waiting is folded.`:"Waiting is to scale."} <button class="words" @click=${()=>this.scaled=!this.scaled}>${l>0?"Show to scale":"Fold"}</button></p>`:m}
      <div class="both" data-beside=${this.beside&&n!==void 0} @keydown=${this.key}>
        <div class="stack">${e.map((d,c)=>this.waterfall(d,a[c],o,c===i&&!this.beside?s:m))}</div>
        ${this.beside?s:m}
      </div>`}read(e){let{shell:a}=this,o=new Map(a.envelopes.map(l=>[l.id,l]));return we(this.state,e,a.now(),l=>o.get(l))}waterfall(e,a,o,l){let r=this.all?e.spans:e.spans.slice(0,Oe),i=n=>`${(n/o*100).toFixed(2)}%`;return p`<section aria-label=${`Trace of ${g(e.title)}`}>
      <h3 class="title">${E(e.title)}</h3>
      <div class="axis" aria-hidden="true"><span></span><svg class="ticks">
        ${a.folds.map(n=>w`<rect class="fold" x=${i(n.at)} width=${i(n.length)} height="100%"/>`)}
        ${a.marks(o).map(([n,s])=>w`<line x1=${i(n)} x2=${i(n)} y2="100%"/>${n/o>.8?m:w`<text x=${i(n)} dx="4" y="1.05em">${s}</text>`}`)}
      </svg></div>
      <ol class="spans">${N(r,n=>n.key,n=>this.row(n,a,o,n.key===this.step?l:m))}</ol>
      ${r.length<e.spans.length?p`<p><button class="words" @click=${()=>this.all=!0}>Show all ${e.spans.length.toLocaleString()} steps</button></p>`:m}
    </section>`}row(e,a,o,l){let r=s=>a.at(s)/o*D,i=(s,d,c)=>d<=s?m:w`<rect class=${c} x=${r(s).toFixed(2)} y="3" width=${Math.max(3,r(d)-r(s)).toFixed(2)} height="10"/>`,n=e.key===this.step;return p`<li class="span" data-type=${e.type} data-depth=${Math.min(e.depth,5)} data-open=${n}>
      <button class="label" aria-expanded=${n?"true":"false"} @click=${()=>this.choose({step:n?"":e.key})}>
        <span class="what">${e.type==="call"?p`<code>${g(e.label)}</code>${e.argument===""?m:p` <code class="argument">${ne(e.argument)}</code>`}`:E(e.label)}</span>
        <span class="facts">${Le(e)}</span>
      </button>
      <svg class="track" viewBox="0 0 ${D} 16" preserveAspectRatio="none" aria-hidden="true">
        ${a.folds.map(s=>w`<rect class="fold" x=${(s.at/o*D).toFixed(2)} width=${(s.length/o*D).toFixed(2)} height="16"/>`)}
        ${e.end<=e.start?w`<rect class="point" x=${Math.min(r(e.start),D-4).toFixed(2)} y="3" width="4" height="10"/>`:p`${i(e.start,e.waitedUntil,"waited")}${i(e.waitedUntil,e.end,`bar ${e.type} ${e.state}`)}`}
      </svg>
      ${l}
    </li>`}key=e=>{e.key!=="Escape"||this.step===""||(e.preventDefault(),this.renderRoot.querySelector(".span[data-open=true] .label")?.focus(),this.choose({}))};inspector(e,a){let{call:o}=a,l=(n,s)=>p`<h4>${n}</h4><pre tabindex="0" aria-label=${n}>${U(s,F)}</pre>`,r=(n,s)=>s===""?m:p`<h4>${n}</h4><p class="prose">${U(s)}</p>`,i=(n,s)=>p`<button class="button small" aria-expanded=${this.raw===s?"true":"false"} @click=${()=>this.raw=this.raw===s?"":s}>${O("raw")} ${n}</button>`;return p`<section class="inspector" aria-label="Step">
      <div class="inspector-head"><h3>${o===null?E(a.label):p`<code>${F(o.tool||a.label)}</code>`}</h3><button class="small-icon" title="Close" aria-label="Close step" @click=${()=>this.choose({})}>${O("close")}</button></div>
      <dl class="known">${this.known(e,a).map(([n,s])=>p`<dt>${n}</dt><dd>${s}</dd>`)}</dl>
      ${r(o===null?"Text":"Reason",o===null&&a.text===a.label?"":a.text)} ${r(a.state==="ended"?"Reason of the end":"Conclusion",a.conclusion)}
      ${o===null?m:p`${l("Arguments",re(o.args??null))} ${o.result===void 0?m:l(a.state==="failed"?"Error":"Result",fe(o.result))}`}
      ${a.envelopes.length===0?m:p`<h4>Envelopes</h4><div class="row">${a.envelopes.map(([n,s])=>i(n,s))}</div>`}
      <p>${ue(this.shell,a.place)}</p>
      ${this.raw===""?m:p`<meup-envelope .inside=${!0} .shell=${this.shell} .state=${this.state} .params=${{id:this.raw}}></meup-envelope>`}
    </section>`}known(e,a){let{call:o}=a,l=n=>p`<time datetime=${new Date(n).toISOString()} title=${ie(n)}>${Fe.format(n)}</time>`,r=o===null?[]:o.answeredBy===""?o.to:[o.answeredBy],i=o===null?"":ge(o,this.shell.you,a.state!=="running");return[["By",L(this.shell,[a.from])],...r.length===0?[]:[["To",L(this.shell,r)]],["Started",p`${l(a.start)} <span class="quiet">after ${f(a.start-e.start)}</span>`],...a.end<=a.start||a.state==="running"?[]:[["Ended",l(a.end)]],["Duration",a.end>a.start?f(a.end-a.start):""],["Waiting",a.waitedUntil>a.start?f(a.waitedUntil-a.start):""],["Outcome",o===null||o.reason===""?i:p`${i}: ${U(o.reason)}`],["Model",g(a.usage.model)],["Tokens",H(a.usage)],["Cost",W(a.usage)]].filter(([,n])=>n!=="")}};function Le(t){let e=t.end>t.start?f(t.end-t.start):"",a=t.waitedUntil>t.start?`waited ${f(t.waitedUntil-t.start)}`:"",o=t.state==="failed"?"failed":t.state==="running"?"running":"";return[t.depth===0||t.type==="message"?oe(t.from):"",e,a,o,...ze(t.usage)].filter(l=>l!=="").join(" · ")}function ze(t){return[g(t.model),H(t),W(t)]}function H(t){if(t.tokens===null)return"";let e=t.input===null||t.output===null?`${t.tokens.toLocaleString()} tokens`:`${t.input.toLocaleString()} in, ${t.output.toLocaleString()} out`;return Se(t)+e}function W(t){return t.cost===null?"":`${Se(t)}${t.cost.toLocaleString(void 0,{maximumFractionDigits:4})} ${g(t.currency)}`}function Se(t){return t.uncounted>0?"≥ ":""}function Be(t){return p`<dl class="totals">${V(t).map(([e,a])=>p`<div><dt>${e}</dt><dd>${a}</dd></div>`)}</dl>
    ${t.usage.tokens===null?p`<p class="faint">The agent reported no tokens.</p>`:m}`}function V(t){return[["Duration",f(t.end-t.start)],["Waiting",t.waited===0?"":f(t.waited)],["Steps",String(t.spans.length)],["Calls",t.failed===0?String(t.calls):`${t.calls}, ${t.failed} failed`],["Tokens",H(t.usage)],["Cost",W(t.usage)],["Model",g(t.usage.model)]].filter(e=>e[1]!=="")}function _e(t,e){let a=new Map(V(t)),o=new Map(V(e)),l=[...new Set([...a.keys(),...o.keys()])],r=(e.end-e.start)/(t.end-t.start),i=Math.round((r-1)*100),n=i===0?"the same time":r>3?`${r.toLocaleString(void 0,{maximumFractionDigits:1})} times as long`:i<-90?"less than a tenth of the time":`${Math.abs(i)}% ${i>0?"longer":"less"}`;return p`<div class="table" tabindex="0" role="group" aria-label="Comparison"><table>
      <thead><tr><td></td><th scope="col">This turn</th><th scope="col">The other</th></tr></thead>
      <tbody>${l.map(s=>p`<tr><th scope="row">${s}</th><td>${a.get(s)??"–"}</td><td>${o.get(s)??"–"}</td></tr>`)}</tbody>
    </table></div>
    <p class="quiet">The other took ${n}, with ${pe(e.calls,"call")} instead of ${t.calls.toLocaleString()}.</p>`}se("meup-trace",j);export{j as TracePanel};
