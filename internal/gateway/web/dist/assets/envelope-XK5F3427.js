import{a as b}from"/assets/chunk-JCVKINCP.js";import{a as T,b as a,c as l,i as r,j as S,l as q}from"/assets/chunk-F47N3N7M.js";import{g as d,j as y,o as x}from"/assets/chunk-2KYN7COM.js";import{P as $,R as g,a as u,b as s,e as o,m,r as v,s as f,t as k,v as n,w}from"/assets/chunk-HZSDP42Y.js";var I=5e4,R=32,p=class extends d{static properties={...d.properties,held:{state:!0},whole:{state:!0},missing:{state:!0},all:{state:!0}};static styles=[T,q,u`
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
      pre {
        max-height: none;
      }
      .words {
        overflow-wrap: anywhere;
      }
    `];trail=[];asked="";get wanted(){return this.params?.id??""}willUpdate(t){t.has("params")&&this.wanted!==this.asked&&this.load(this.wanted)}async load(t){this.asked!==""&&this.trail.at(-1)!==this.asked&&this.trail.push(this.asked),this.trail.at(-1)===t&&this.trail.pop(),this.trail.length>R&&this.trail.shift(),this.asked=t,this.held=null,this.whole=void 0,this.missing=!1,this.all=!1;let e=await this.desk.envelope(t);if(this.asked!==t||(this.held=e,this.missing=e===null,e?.seq===void 0))return;let i=await this.fetch(e);this.asked===t&&(this.whole=i)}async fetch(t){try{let e=await this.desk.get(`envelopes?since=${(t.seq??1)-1}&limit=1`);return k(n(v(e),"envelopes")).find(i=>f(i)&&m(n(i,"id"))===t.id)}catch{return}}render(){let{held:t}=this;if(this.wanted==="")return s`<p class="empty">Select a message or a step to see its envelope.</p>`;if(this.missing===!0)return this.none();if(t==null)return s`<p class="empty">Loading…</p>`;let e=g(this.whole??t),i=e.length>I&&this.all!==!0;return s`<div class="stack">
      ${this.back()} ${this.facts(t)}
      <div class="row">
        <button class="button small" @click=${()=>{l(this.desk,e,"Envelope copied")}}>Copy JSON</button>
        <button class="button small" @click=${()=>{l(this.desk,this.desk.link(t.id),"Link copied")}}>Copy link</button>
        <button class="words small" @click=${()=>{r(this.desk,t.id)}}>Show in conversation</button>
      </div>
      <pre tabindex="0" aria-label="The envelope as JSON">${a(i?e.slice(0,I):e)}</pre>
      ${i?s`<button class="words small" @click=${()=>this.all=!0}>Show all ${e.length.toLocaleString()} characters</button>`:o}
      <p class="faint">${t.seq===void 0?"Not stored in the log.":this.whole===void 0?"As parsed by this page.":"As stored by the gateway."}</p>
    </div>`}none(){return s`<div class="empty stack">
      ${this.back()}
      <p>This envelope is not loaded.</p>
      <p><button class="button" @click=${()=>{this.find()}}>Search older messages</button></p>
    </div>`}async find(){let t=this.wanted;await r(this.desk,t)&&this.load(t)}back(){let t=this.trail.at(-1);return t===void 0?o:s`<p><button class="words small" @click=${()=>this.show(t)}>Back</button></p>`}show(t){this.desk.open("envelope",{id:t})}facts(t){let e=t.to??[],i=w(t),c=b(t.ts);return s`<dl>
      <dt>Kind</dt>
      <dd><code>${a(t.kind)}</code></dd>
      <dt>From</dt>
      <dd>${t.from===this.desk.you?"you":$(t.from)}${e.length===0?"":`, to ${S(this.desk,e)}`}</dd>
      ${c===0?o:s`<dt>Time</dt><dd>${x(c)}</dd>`}
      ${t.seq===void 0?o:s`<dt>Sequence</dt><dd>${t.seq.toLocaleString()}</dd>`}
      ${t.context===void 0?o:s`<dt>Context</dt><dd><button class="words" @click=${()=>{r(this.desk,t.context??"")}}>${a(t.context)}</button></dd>`}
      ${i.length===0?o:s`<dt>Correlates to</dt><dd class="stack">${i.map(h=>s`<button class="words" @click=${()=>this.show(h)}>${a(h)}</button>`)}</dd>`}
    </dl>`}};y("meup-envelope",p);export{p as EnvelopePanel};
//# sourceMappingURL=/assets/envelope-XK5F3427.js.map
