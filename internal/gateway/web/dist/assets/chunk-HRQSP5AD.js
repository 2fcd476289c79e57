import{a as T,b as r,f as m,k as h,l as q,o as S}from"/assets/chunk-ETTXQQKV.js";import{I as x,l as $,z as u}from"/assets/chunk-EBKTHAOW.js";import{L as g,R as k,T as y,b as f,c as s,f as o,n as p,s as d,t as w,u as c,w as n,x as b}from"/assets/chunk-6QAC3HRB.js";var E=5e4,I=32,v=class extends u{static properties={...u.properties,inside:{attribute:!1},held:{state:!0},whole:{state:!0},missing:{state:!0},all:{state:!0}};static styles=[T,S,f`
      dl {
        display: grid;
        grid-template-columns: auto minmax(0, 1fr);
        gap: var(--space-1) var(--space-3);
        font-size: var(--text-s);
        overflow-wrap: anywhere;
      }
      dt {
        color: var(--quiet);
      }
      dd.stack {
        gap: var(--space-1);
      }
      pre {
        max-height: none;
      }
      .words {
        overflow-wrap: anywhere;
      }
    `];trail=[];asked="";get wanted(){return this.params?.id??""}willUpdate(t){t.has("params")&&this.wanted!==this.asked&&this.load(this.wanted)}async load(t){this.asked!==""&&this.trail.at(-1)!==this.asked&&this.trail.push(this.asked),this.trail.at(-1)===t&&this.trail.pop(),this.trail.length>I&&this.trail.shift(),this.asked=t,this.held=null,this.whole=void 0,this.missing=!1,this.all=!1;let e=await this.shell.envelope(t);if(this.asked!==t||(this.held=e,this.missing=e===null,e?.seq===void 0))return;let i=await this.fetch(e);this.asked===t&&(this.whole=i)}async fetch(t){try{let e=await this.shell.get(`envelopes?since=${(t.seq??1)-1}&limit=1`);return c(n(d(e),"envelopes")).find(i=>w(i)&&p(n(i,"id"))===t.id)}catch{return}}render(){let{held:t}=this;if(this.wanted==="")return s`<p class="empty">Select a message or a step to see its envelope.</p>`;if(this.missing===!0)return this.none();if(t==null)return s`<p class="empty">Loading…</p>`;let e=y(this.whole??t),i=e.length>E&&this.all!==!0;return s`<div class="stack">
      ${this.back()} ${this.facts(t)}
      <div class="row">
        <button class="button small" @click=${()=>{m(this.shell,e,"Envelope copied")}}>Copy JSON</button>
        <button class="button small" @click=${()=>{m(this.shell,this.shell.link(t.id),"Link copied")}}>Copy link</button>
        ${this.inside===!0?o:s`<button class="words small" @click=${()=>{h(this.shell,t.id)}}>Show in conversation</button>`}
        ${t.seq===void 0?o:s`<span class="row"><button class="words small" @click=${()=>{this.step(t,-1)}}>Previous</button><button class="words small" @click=${()=>{this.step(t,1)}}>Next</button></span>`}
      </div>
      <pre tabindex="0" aria-label="The envelope as JSON">${r(i?e.slice(0,E):e)}</pre>
      ${i?s`<button class="words small" @click=${()=>this.all=!0}>Show all ${e.length.toLocaleString()} characters</button>`:o}
      <p class="faint">${t.seq===void 0?"Not stored in the log.":this.whole===void 0?"As parsed by this page.":"As stored by the gateway."}</p>
    </div>`}async step(t,e){let i=t.seq??0;try{let a=await this.shell.get(e>0?`envelopes?since=${i}&limit=1`:`envelopes?before=${i}&order=desc&limit=1`),l=c(n(d(a),"envelopes")).map(P=>p(n(d(P),"id")))[0];l===void 0?this.shell.toast(e>0?"This is the newest envelope":"This is the oldest envelope"):this.show(l)}catch(a){this.shell.toast(a instanceof Error?a.message:String(a))}}none(){return s`<div class="empty stack">
      ${this.back()}
      <p>This envelope is not loaded.</p>
      <p><button class="button" @click=${()=>{this.find()}}>Search older messages</button></p>
    </div>`}async find(){let t=this.wanted;await h(this.shell,t)&&this.load(t)}back(){let t=this.trail.at(-1);return t===void 0?o:s`<p><button class="words small" @click=${()=>this.show(t)}>Back</button></p>`}show(t){this.shell.open("envelope",{id:t})}facts(t){let e=t.to??[],i=b(t),a=$(t.ts);return s`<dl>
      <dt>Kind</dt>
      <dd><code>${r(t.kind)}</code></dd>
      <dt>From</dt>
      <dd>${t.from===this.shell.you?"you":k(t.from)}${e.length===0?"":`, to ${q(this.shell,e)}`}</dd>
      ${a===0?o:s`<dt>Time</dt><dd>${x(a)}</dd>`}
      ${t.seq===void 0?o:s`<dt>Sequence</dt><dd>${t.seq.toLocaleString()}</dd>`}
      ${t.context===void 0?o:s`<dt>Context</dt><dd><button class="words" @click=${()=>{h(this.shell,t.context??"")}}>${r(t.context)}</button></dd>`}
      ${i.length===0?o:s`<dt>Correlates to</dt><dd class="stack">${i.map(l=>s`<button class="words" @click=${()=>this.show(l)}>${r(l)}</button>`)}</dd>`}
    </dl>`}};g("meup-envelope",v);export{v as a};
