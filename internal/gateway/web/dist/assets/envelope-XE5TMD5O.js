import{a as k}from"/assets/chunk-JCVKINCP.js";import{a as T,b as a,c as d,i as l,j as S,l as q}from"/assets/chunk-QK33B7QW.js";import{g as n,j as y,o as x}from"/assets/chunk-JMS4VLKT.js";import{O as $,Q as g,a as u,b as s,e as o,l as m,q as v,r as f,s as w,u as r,v as b}from"/assets/chunk-WMDUFPNJ.js";var I=5e4,R=32,h=class extends n{static properties={...n.properties,held:{state:!0},whole:{state:!0},missing:{state:!0},all:{state:!0}};static styles=[T,q,u`
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
    `];trail=[];asked="";get wanted(){return this.params?.id??""}willUpdate(t){t.has("params")&&this.wanted!==this.asked&&this.load(this.wanted)}async load(t){this.asked!==""&&this.trail.at(-1)!==this.asked&&this.trail.push(this.asked),this.trail.at(-1)===t&&this.trail.pop(),this.trail.length>R&&this.trail.shift(),this.asked=t,this.held=null,this.whole=void 0,this.missing=!1,this.all=!1;let e=await this.shell.envelope(t);if(this.asked!==t||(this.held=e,this.missing=e===null,e?.seq===void 0))return;let i=await this.fetch(e);this.asked===t&&(this.whole=i)}async fetch(t){try{let e=await this.shell.get(`envelopes?since=${(t.seq??1)-1}&limit=1`);return w(r(v(e),"envelopes")).find(i=>f(i)&&m(r(i,"id"))===t.id)}catch{return}}render(){let{held:t}=this;if(this.wanted==="")return s`<p class="empty">Select a message or a step to see its envelope.</p>`;if(this.missing===!0)return this.none();if(t==null)return s`<p class="empty">Loading…</p>`;let e=g(this.whole??t),i=e.length>I&&this.all!==!0;return s`<div class="stack">
      ${this.back()} ${this.facts(t)}
      <div class="row">
        <button class="button small" @click=${()=>{d(this.shell,e,"Envelope copied")}}>Copy JSON</button>
        <button class="button small" @click=${()=>{d(this.shell,this.shell.link(t.id),"Link copied")}}>Copy link</button>
        <button class="words small" @click=${()=>{l(this.shell,t.id)}}>Show in conversation</button>
      </div>
      <pre tabindex="0" aria-label="The envelope as JSON">${a(i?e.slice(0,I):e)}</pre>
      ${i?s`<button class="words small" @click=${()=>this.all=!0}>Show all ${e.length.toLocaleString()} characters</button>`:o}
      <p class="faint">${t.seq===void 0?"Not stored in the log.":this.whole===void 0?"As parsed by this page.":"As stored by the gateway."}</p>
    </div>`}none(){return s`<div class="empty stack">
      ${this.back()}
      <p>This envelope is not loaded.</p>
      <p><button class="button" @click=${()=>{this.find()}}>Search older messages</button></p>
    </div>`}async find(){let t=this.wanted;await l(this.shell,t)&&this.load(t)}back(){let t=this.trail.at(-1);return t===void 0?o:s`<p><button class="words small" @click=${()=>this.show(t)}>Back</button></p>`}show(t){this.shell.open("envelope",{id:t})}facts(t){let e=t.to??[],i=b(t),p=k(t.ts);return s`<dl>
      <dt>Kind</dt>
      <dd><code>${a(t.kind)}</code></dd>
      <dt>From</dt>
      <dd>${t.from===this.shell.you?"you":$(t.from)}${e.length===0?"":`, to ${S(this.shell,e)}`}</dd>
      ${p===0?o:s`<dt>Time</dt><dd>${x(p)}</dd>`}
      ${t.seq===void 0?o:s`<dt>Sequence</dt><dd>${t.seq.toLocaleString()}</dd>`}
      ${t.context===void 0?o:s`<dt>Context</dt><dd><button class="words" @click=${()=>{l(this.shell,t.context??"")}}>${a(t.context)}</button></dd>`}
      ${i.length===0?o:s`<dt>Correlates to</dt><dd class="stack">${i.map(c=>s`<button class="words" @click=${()=>this.show(c)}>${a(c)}</button>`)}</dd>`}
    </dl>`}};y("meup-envelope",h);export{h as EnvelopePanel};
//# sourceMappingURL=/assets/envelope-XE5TMD5O.js.map
