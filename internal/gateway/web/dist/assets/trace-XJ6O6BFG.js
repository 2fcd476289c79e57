import"/assets/chunk-6ZNCV7PM.js";import{b as ce,e as fe,h as ye}from"/assets/chunk-A6MEP4FH.js";import{a as te,d as se}from"/assets/chunk-5YS5OUQ4.js";import"/assets/chunk-WZMFREFR.js";import{a as ge}from"/assets/chunk-4OTQ6SRE.js";import"/assets/chunk-KNIQMFNN.js";import{d as ie}from"/assets/chunk-3MSPWXVT.js";import{a as N}from"/assets/chunk-6GCCJIKO.js";import"/assets/chunk-HNWDCN46.js";import"/assets/chunk-3DFMKDLG.js";import"/assets/chunk-ORJRSZWE.js";import"/assets/chunk-6T7LMJBO.js";import{a as pe,b as F,e as ue,g as me,i as L,k as he}from"/assets/chunk-FOM3HLSD.js";import"/assets/chunk-FJKFMZIY.js";import{c as Z,d as q,i as f,j as ee,r as P,u as O,v as U,y as le,z as de}from"/assets/chunk-DCI4EF6C.js";import{D as C,F as ne,G as g,L as ae,O as E,R as oe,T as re,b as Y,c as p,d as w,f as m,i as K,n as S,s as T,t as J,w as h,x as Q}from"/assets/chunk-FL6C67XG.js";var R={model:"",input:null,output:null,tokens:null,cost:null,currency:"",uncounted:0},ve=2e3,Ee=8;function z(t,e=100){let s=new Map;for(let o=t.roots.length-1;o>=0&&s.size<e;o--){let l=t.blocks.get(t.roots[o]);if(l===void 0||l.status==="idle")continue;let r=se(t,l.path);s.has(r)||s.set(r,{id:r,title:we(t,r),at:l.startedAt})}return[...s.values()]}function we(t,e){let s=t.blocks.get(e);return v(t.messages.get(e)?.text||s?.message||"",s?.opener??e,100)}function v(t,e,s=120){return C(g(t.slice(0,8*s)),s)||e}function $e(t,e,s,o){let l=t.messages.get(e),r=(l?.blocks??[e]).flatMap(c=>t.blocks.get(c)??[]);if(r.length===0)return null;let i=[];for(let c of r)be(t,c,0,s,o,i);for(let c of l?.replies??[]){let u=t.messages.get(c);u!==void 0&&u.answers.length>0&&i.push({...x("message",u.id,0,"Answer",u.from,u.begunAt,u.at,u.id),text:u.text,envelopes:I(["Message",u.id])})}let n=Ce(i),a=Math.min(l?.at??Number.POSITIVE_INFINITY,...n.map(c=>c.start)),d=n.filter(c=>c.type==="call");return{id:e,title:we(t,e),start:a,end:Math.max(a+1,...n.map(c=>c.end)),spans:n,calls:d.length,failed:d.filter(c=>c.state==="failed").length,waited:r.reduce((c,u)=>c+Z(t,u,s).ms,0),usage:n.map(c=>c.usage).reduce(Me,R)}}function be(t,e,s,o,l,r){if(r.length>=ve)return;let i=e.status==="reasoning",[n,a]=_(e.metadata??{},e.startedAt),d=a>n,c=e.endedAt??(i?Math.max(o,e.lastAt):e.lastAt),u=l((e.conclusion??e.cancelled)?.id??""),$=u?.context===e.path?A(T(h(u.payload,"metadata"))):R;r.push({...x("context",e.path,s,v(e.message,"Reasoning"),te(e),n,d?a:Math.max(n,c),e.path),text:e.message,conclusion:e.conclusion?.text??e.cancelled?.reason??"",envelopes:I(["Start",e.opened?e.id:""],["Conclusion",e.conclusion?.id??""],["Cancellation",e.cancelled?.id??""]),state:i?"running":e.status==="complete"||e.status==="collapsed"?"done":"ended",usage:Me(A(e.metadata??{}),$)});for(let y of e.steps){if(r.length>=ve)return;let k=y.type==="block"?t.blocks.get(y.path):void 0;k!==void 0?be(t,k,s+1,o,l,r):y.type==="call"?r.push(Ae(t,e,y,s+1,o,l,d)):y.type!=="block"&&r.push(Ue(y,s+1,d))}}function Ue(t,e,s){if(t.type==="said")return{...x("message",t.key,e,v(t.text,"Message"),t.from,t.at,t.at,t.key),text:t.text,envelopes:I(["Message",t.id])};let o=T(h(t.payload,"metadata")),[l,r]=s?_(o,t.at):[t.at,t.at],i=t.text||t.questions.join(`
`);return{...x("thought",t.key,e,v(i,C(t.kind)),t.from,l,r,t.id||t.key),text:i,envelopes:I(["Thought",t.id]),usage:A(o)}}function Ae(t,e,s,o,l,r,i){let n=s.call,a=n.outcome==="pending"&&e.status==="reasoning",d=n.endedAt??(a?Math.max(l,n.startedAt):n.startedAt),c=n.proposed&&n.decidedBy===""&&a,u=t.proposals.get(n.id),$=n.proposed?u?.decidedAt??n.endedAt:n.startedAt,y=r(n.rationaleId)??Q(r(n.id)??Re).map(r).find(De=>De!==void 0),k=T(h(y?.payload??{},"metadata")),[X,G]=i?_(k,n.startedAt):[0,0],[xe,Ie]=X===G?[n.startedAt,d]:[X,G],M=x("call",s.key,o,v(n.tool,"(no name)"),n.from,xe,Ie,s.key);return{...M,text:n.rationale,call:n,envelopes:I(["Reason",n.rationaleId],[n.proposed?"Proposal":"Request",n.id],["Request",u?.request??""],["Response",n.responseId]),waitedUntil:c?M.end:Math.min(Math.max(M.start,$??M.start),M.end),state:a?"running":n.failed||n.outcome==="error"?"failed":n.outcome==="success"||n.outcome==="fulfilled"?"done":"ended",usage:A(k)}}var Re={id:"",ts:"",from:"",kind:"",payload:{}};function x(t,e,s,o,l,r,i,n){return{key:e,type:t,depth:s,label:o,argument:"",text:"",conclusion:"",call:null,envelopes:[],from:l,start:r,end:i,waitedUntil:r,state:"done",usage:R,place:n}}function I(...t){return t.filter(([,e])=>e!=="")}function Ce(t){let e=new Map,s=new Map;for(let r of t){if(r.call===null)continue;let i=new Map(Object.entries(T(r.call.args)).slice(0,Ee).map(([n,a])=>[n,ke(a)]));s.set(r,i),e.set(r.label,e.get(r.label)??[]),e.get(r.label)?.push(i)}let o=new Map([...e].map(([r,i])=>[r,[...i[0]?.keys()??[]].find(n=>i.some(a=>a.get(n)!==i[0]?.get(n)))])),l=new Set;return t.map(r=>{let i=s.get(r);if(i===void 0)return r;let n=r.call?.rationaleId??"",a=n!==""&&l.has(n);return l.add(n),{...r,argument:i.get(o.get(r.label)??"")||[...i.values()].find(d=>d!=="")||"",usage:a?R:r.usage}})}function ke(t){return Array.isArray(t)?t.slice(0,3).map(e=>Array.isArray(e)?"":ke(e)).filter(e=>e!=="").join(", "):typeof t=="string"?v(t,"",80):typeof t=="number"||typeof t=="boolean"||t instanceof K?String(t):""}var qe=20,Pe=.15;function B(t,e){let s=e?Oe(t.spans):[],o=t.end-t.start-s.reduce((a,[d,c])=>a+c-d,0),l=Math.max(1,o*Pe/Math.max(1,s.length)),r=s.filter(([a,d])=>d-a>2*l).sort((a,d)=>d[1]-d[0]-(a[1]-a[0])),i=0,n=r.slice(0,qe).sort((a,d)=>a[0]-d[0]).map(([a,d])=>{let c=a-t.start-i;return i+=d-a-l,{from:a,to:d,at:c,length:l}});return{length:t.end-t.start-i,folds:n,at:a=>n.reduce((d,c)=>d-Math.min(1,Math.max(0,(a-c.from)/(c.to-c.from)))*(c.to-c.from-c.length),a-t.start),marks:a=>ee(a-n.length*l).map(([d,c])=>[n.reduce((u,$)=>u>$.at?u+$.length:u,d),c])}}function Oe(t){let e=[],s=[],o=[];for(let i of[...t].reverse()){let n=o[i.depth+1]===!0;o.length=Math.min(o.length,i.depth+1);let a=i.waitedUntil>i.start;a&&e.push([i.start,i.waitedUntil]),!n&&(!a||i.end>i.waitedUntil)&&s.push([i.waitedUntil,i.end]),o[i.depth]=o[i.depth]===!0||a||n}s.sort((i,n)=>i[0]-n[0]);let l=[],r=Number.NEGATIVE_INFINITY;for(let[i,n]of e.sort((a,d)=>a[0]-d[0])){let a=Math.max(i,r);for(let[d,c]of s)c<a||d>=n||(d>a&&l.push([a,d]),a=Math.max(a,c));n>a&&l.push([a,n]),r=Math.max(r,n)}return l}function _(t,e){let s=q(S(h(t,"started_at"))),o=q(S(h(t,"ended_at")));return s>0&&o>=s?[s,o]:[e,e]}function A(t){let e=h(t,"usage"),s=J(e)?e:{},o=b(h(s,"input_tokens")),l=b(h(s,"output_tokens")),r=o===null&&l===null?b(h(t,"tokens")):(o??0)+(l??0);return{model:v(S(h(t,"model")),"",60),input:o,output:l,tokens:r,cost:b(h(t,"cost"))??b(h(t,"cost_usd")),currency:v(S(h(t,"currency")),"USD",8),uncounted:b(h(t,"uncounted"))??0}}function b(t){return typeof t=="number"&&Number.isFinite(t)&&t>=0?t:null}function Me(t,e){let s=(r,i)=>r===null?i:i===null?r:r+i,o=t.cost===null||e.cost===null||t.currency===e.currency;return{model:[...new Set([...t.model.split(", "),...e.model.split(", ")])].filter(r=>r!=="").slice(0,4).join(", "),input:s(t.input,e.input),output:s(t.output,e.output),tokens:s(t.tokens,e.tokens),cost:o?s(t.cost,e.cost):t.cost,currency:t.cost===null?e.currency:t.currency,uncounted:t.uncounted+e.uncounted}}var Se=Y`
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
`;var D=1e3,Ne=300,Fe=900,Le=new Intl.DateTimeFormat(void 0,{hour:"2-digit",minute:"2-digit",second:"2-digit",fractionalSecondDigits:3}),j=class extends P{static properties={...P.properties,all:{state:!0},missing:{state:!0},raw:{state:!0},scaled:{state:!0},beside:{state:!0}};static styles=[pe,he,Se];width=new ResizeObserver(([e])=>this.beside=(e?.contentRect.width??0)>=Fe);requested="";scrolledTo="";running=!1;stopTicker;constructor(){super(),this.all=!1,this.missing="",this.raw="",this.scaled=!1,this.beside=!1}connectedCallback(){super.connectedCallback(),this.width.observe(this),this.stopTicker=ge(()=>{this.running&&this.requestUpdate()})}disconnectedCallback(){super.disconnectedCallback(),this.width.disconnect(),this.stopTicker?.()}get turn(){return this.params?.id??""}get other(){return this.params?.other??""}get step(){return this.params?.step??""}choose(e){let s=this.turn||z(this.state,1)[0]?.id||"";this.shell.open("trace",{id:s,other:this.other,step:"",...e})}willUpdate(e){e.has("params")&&(this.raw="")}updated(){this.scrollToStep();for(let e of[this.turn,this.other])e!==""&&this.state.head>0&&this.read(e)===null&&this.load(e)}async scrollToStep(){let e=this.renderRoot.querySelector(".span[data-open=true]");this.scrolledTo===this.step||e===null&&this.step!==""||(this.scrolledTo=this.step,e?.scrollIntoView({block:"nearest"}),await ce(2),e?.scrollIntoView({block:"nearest"}))}async load(e){this.requested!==e&&(this.requested=e,await this.shell.load(e)||(this.missing=e))}render(){let e=z(this.state),s=this.turn||e[0]?.id||"",o=this.read(s);if(o===null&&this.turn!==""&&this.missing!==this.turn)return p`<p class="empty">Loading…</p>`;if(o===null&&this.turn!=="")return p`<p class="empty">This turn is not in the available history.</p>`;if(o===null)return p`<div class="empty"><p>No reasoning yet</p><p class="quiet">A trace shows how long each step of an answer took.</p></div>`;let l=this.other===""?null:this.read(this.other);this.running=[o,l].some(n=>n?.spans.some(a=>a.state==="running")===!0);let r=n=>N(e,a=>a.id,a=>p`<option value=${a.id} .selected=${a.id===n}>${g(a.title)} (${de(a.at,this.shell.now()||Date.now())})</option>`),i=e.some(n=>n.id===s)?m:p`<option value=${s} .selected=${!0}>${g(o.title)}</option>`;return p`<div class="stack">
      <label class="field-label">Turn<select @change=${n=>this.choose({id:n.target.value})}>${i}${r(s)}</select></label>
      <label class="field-label">Compare with<select @change=${n=>this.choose({other:n.target.value})}><option value="" .selected=${this.other===""}>Nothing</option>${r(this.other)}</select></label>
      ${l===null?_e(o):je(o,l)}
      ${this.waterfalls(l===null?[o]:[o,l])}
    </div>`}waterfalls(e){let s=e.map(d=>B(d,!this.scaled)),o=Math.max(...s.map(d=>d.length)),l=s.flatMap(d=>d.folds).reduce((d,c)=>d+c.to-c.from,0),r=l>0||this.scaled&&e.some(d=>B(d,!0).folds.length>0),i=e.findIndex(d=>d.spans.some(c=>c.key===this.step)),n=e[i]?.spans.find(d=>d.key===this.step),a=n===void 0?m:this.inspector(e[i],n);return p`${r?p`<p class="quiet">${l>0?`${f(l)} of waiting is folded.`:"Waiting is to scale."} <button class="words" @click=${()=>this.scaled=!this.scaled}>${l>0?"Show to scale":"Fold"}</button></p>`:m}
      <div class="both" data-beside=${this.beside&&n!==void 0} @keydown=${this.key}>
        <div class="stack">${e.map((d,c)=>this.waterfall(d,s[c],o,c===i&&!this.beside?a:m))}</div>
        ${this.beside?a:m}
      </div>`}read(e){let{shell:s}=this,o=new Map(s.envelopes.map(l=>[l.id,l]));return $e(this.state,e,s.now(),l=>o.get(l))}waterfall(e,s,o,l){let r=this.all?e.spans:e.spans.slice(0,Ne),i=n=>`${(n/o*100).toFixed(2)}%`;return p`<section aria-label=${`Trace of ${g(e.title)}`}>
      <h3 class="title">${E(e.title)}</h3>
      <div class="axis" aria-hidden="true"><span></span><svg class="ticks">
        ${s.folds.map(n=>w`<rect class="fold" x=${i(n.at)} width=${i(n.length)} height="100%"/>`)}
        ${s.marks(o).map(([n,a])=>w`<line x1=${i(n)} x2=${i(n)} y2="100%"/>${n/o>.8?m:w`<text x=${i(n)} dx="4" y="1.05em">${a}</text>`}`)}
      </svg></div>
      <ol class="spans">${N(r,n=>n.key,n=>this.row(n,s,o,n.key===this.step?l:m))}</ol>
      ${r.length<e.spans.length?p`<p><button class="words" @click=${()=>this.all=!0}>Show all ${e.spans.length.toLocaleString()} steps</button></p>`:m}
    </section>`}row(e,s,o,l){let r=a=>s.at(a)/o*D,i=(a,d,c)=>d<=a?m:w`<rect class=${c} x=${r(a).toFixed(2)} y="3" width=${Math.max(3,r(d)-r(a)).toFixed(2)} height="10"/>`,n=e.key===this.step;return p`<li class="span" data-type=${e.type} data-depth=${Math.min(e.depth,5)} data-open=${n}>
      <button class="label" aria-expanded=${n?"true":"false"} @click=${()=>this.choose({step:n?"":e.key})}>
        <span class="what">${e.type==="call"?p`<code>${g(e.label)}</code>${e.argument===""?m:p` <code class="argument">${ne(e.argument)}</code>`}`:E(e.label)}</span>
        <span class="facts">${ze(e)}</span>
      </button>
      <svg class="track" viewBox="0 0 ${D} 16" preserveAspectRatio="none" aria-hidden="true">
        ${s.folds.map(a=>w`<rect class="fold" x=${(a.at/o*D).toFixed(2)} width=${(a.length/o*D).toFixed(2)} height="16"/>`)}
        ${e.end<=e.start?w`<rect class="point" x=${Math.min(r(e.start),D-4).toFixed(2)} y="3" width="4" height="10"/>`:p`${i(e.start,e.waitedUntil,"waited")}${i(e.waitedUntil,e.end,`bar ${e.type} ${e.state}`)}`}
      </svg>
      ${l}
    </li>`}key=e=>{e.key!=="Escape"||this.step===""||(e.preventDefault(),this.renderRoot.querySelector(".span[data-open=true] .label")?.focus(),this.choose({}))};inspector(e,s){let{call:o}=s,l=(n,a)=>p`<h4>${n}</h4><pre tabindex="0" aria-label=${n}>${U(a,F)}</pre>`,r=(n,a)=>a===""?m:p`<h4>${n}</h4><p class="prose">${U(a)}</p>`,i=(n,a)=>p`<button class="button small" aria-expanded=${this.raw===a?"true":"false"} @click=${()=>this.raw=this.raw===a?"":a}>${O("raw")} ${n}</button>`;return p`<section class="inspector" aria-label="Step">
      <div class="inspector-head"><h3>${o===null?E(s.label):p`<code>${F(o.tool||s.label)}</code>`}</h3><button class="small-icon" title="Close" aria-label="Close step" @click=${()=>this.choose({})}>${O("close")}</button></div>
      <dl class="known">${this.known(e,s).map(([n,a])=>p`<dt>${n}</dt><dd>${a}</dd>`)}</dl>
      ${r(o===null?"Text":"Reason",o===null&&s.text===s.label?"":s.text)} ${r(s.state==="ended"?"Reason of the end":"Conclusion",s.conclusion)}
      ${o===null?m:p`${l("Arguments",re(o.args??null))} ${o.result===void 0?m:l(s.state==="failed"?"Error":"Result",ye(o.result))}`}
      ${s.envelopes.length===0?m:p`<h4>Envelopes</h4><div class="row">${s.envelopes.map(([n,a])=>i(n,a))}</div>`}
      <p>${me(this.shell,s.place)}</p>
      ${this.raw===""?m:p`<meup-envelope .inside=${!0} .shell=${this.shell} .state=${this.state} .params=${{id:this.raw}}></meup-envelope>`}
    </section>`}known(e,s){let{call:o}=s,l=n=>p`<time datetime=${new Date(n).toISOString()} title=${le(n)}>${Le.format(n)}</time>`,r=o===null?[]:o.answeredBy===""?o.to:[o.answeredBy],i=o===null?"":`${fe(o,this.shell.you,s.state!=="running")}${o.decidedBy===""||o.outcome==="pending"?"":` by ${ie(o.decidedBy,this.shell.you)}`}`;return[["By",L(this.shell,[s.from])],...r.length===0?[]:[["To",L(this.shell,r)]],["Started",p`${l(s.start)} <span class="quiet">after ${f(s.start-e.start)}</span>`],...s.end<=s.start||s.state==="running"?[]:[["Ended",l(s.end)]],["Duration",s.end>s.start?f(s.end-s.start):""],["Waiting",s.waitedUntil>s.start?f(s.waitedUntil-s.start):""],["Outcome",o===null||o.reason===""?i:p`${i}: ${U(o.reason)}`],["Model",g(s.usage.model)],["Tokens",W(s.usage)],["Cost",H(s.usage)]].filter(([,n])=>n!=="")}};function ze(t){let e=t.end>t.start?f(t.end-t.start):"",s=t.waitedUntil>t.start?`waited ${f(t.waitedUntil-t.start)}`:"",o=t.state==="failed"?"failed":t.state==="running"?"running":"";return[t.depth===0||t.type==="message"?oe(t.from):"",e,s,o,...Be(t.usage)].filter(l=>l!=="").join(" · ")}function Be(t){return[g(t.model),W(t),H(t)]}function W(t){if(t.tokens===null)return"";let e=t.input===null||t.output===null?`${t.tokens.toLocaleString()} tokens`:`${t.input.toLocaleString()} in, ${t.output.toLocaleString()} out`;return Te(t)+e}function H(t){return t.cost===null?"":`${Te(t)}${t.cost.toLocaleString(void 0,{maximumFractionDigits:4})} ${g(t.currency)}`}function Te(t){return t.uncounted>0?"≥ ":""}function _e(t){return p`<dl class="totals">${V(t).map(([e,s])=>p`<div><dt>${e}</dt><dd>${s}</dd></div>`)}</dl>
    ${t.usage.tokens===null?p`<p class="faint">The agent reported no tokens.</p>`:m}`}function V(t){return[["Duration",f(t.end-t.start)],["Waiting",t.waited===0?"":f(t.waited)],["Steps",String(t.spans.length)],["Calls",t.failed===0?String(t.calls):`${t.calls}, ${t.failed} failed`],["Tokens",W(t.usage)],["Cost",H(t.usage)],["Model",g(t.usage.model)]].filter(e=>e[1]!=="")}function je(t,e){let s=new Map(V(t)),o=new Map(V(e)),l=[...new Set([...s.keys(),...o.keys()])],r=(e.end-e.start)/(t.end-t.start),i=Math.round((r-1)*100),n=i===0?"the same time":r>3?`${r.toLocaleString(void 0,{maximumFractionDigits:1})} times as long`:i<-90?"less than a tenth of the time":`${Math.abs(i)}% ${i>0?"longer":"less"}`;return p`<div class="table" tabindex="0" role="group" aria-label="Comparison"><table>
      <thead><tr><td></td><th scope="col">This turn</th><th scope="col">The other</th></tr></thead>
      <tbody>${l.map(a=>p`<tr><th scope="row">${a}</th><td>${s.get(a)??"–"}</td><td>${o.get(a)??"–"}</td></tr>`)}</tbody>
    </table></div>
    <p class="quiet">The other took ${n}, with ${ue(e.calls,"call")} instead of ${t.calls.toLocaleString()}.</p>`}ae("meup-trace",j);export{j as TracePanel};
//# sourceMappingURL=/assets/trace-XJ6O6BFG.js.map
