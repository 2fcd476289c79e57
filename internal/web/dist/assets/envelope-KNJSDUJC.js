import{a as b}from"/assets/chunk-G43XG7NS.js";import{a as x,b as a,c as l,i as n,j as S,l as q}from"/assets/chunk-E5LNYIV6.js";import{g as d,j as $,o as T}from"/assets/chunk-SRANVCBR.js";import{P as g,R as y,a as u,b as s,e as o,m,r as f,s as v,t as k,v as r,w}from"/assets/chunk-EZPMOHX2.js";var A=5e4,I=32,h=class extends d{static properties={...d.properties,held:{state:!0},whole:{state:!0},missing:{state:!0},all:{state:!0}};static styles=[x,q,u`
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
    `];trail=[];asked="";get wanted(){return this.params?.id??""}willUpdate(t){t.has("params")&&this.wanted!==this.asked&&this.load(this.wanted)}async load(t){this.asked!==""&&this.trail.at(-1)!==this.asked&&this.trail.push(this.asked),this.trail.at(-1)===t&&this.trail.pop(),this.trail.length>I&&this.trail.shift(),this.asked=t,this.held=null,this.whole=void 0,this.missing=!1,this.all=!1;let e=await this.desk.envelope(t);if(this.asked!==t||(this.held=e,this.missing=e===null,e?.seq===void 0))return;let i=await this.fetch(e);this.asked===t&&(this.whole=i)}async fetch(t){try{let e=await this.desk.get(`envelopes?since=${(t.seq??1)-1}&limit=1`);return k(r(f(e),"envelopes")).find(i=>v(i)&&m(r(i,"id"))===t.id)}catch{return}}render(){let{held:t}=this;if(this.wanted==="")return s`<p class="empty">Open an envelope at a message or a step.</p>`;if(this.missing===!0)return this.none();if(t==null)return s`<p class="empty">Looking for it…</p>`;let e=y(this.whole??t),i=e.length>A&&this.all!==!0;return s`<div class="stack">
      ${this.back()} ${this.facts(t)}
      <div class="row">
        <button class="button small" @click=${()=>{l(this.desk,e,"The envelope is copied.")}}>Copy the JSON</button>
        <button class="button small" @click=${()=>{l(this.desk,this.desk.link(t.id),"The link is copied.")}}>Copy the link</button>
        <button class="words small" @click=${()=>{n(this.desk,t.id)}}>Show in the talk</button>
      </div>
      <pre tabindex="0" aria-label="The envelope as JSON">${a(i?e.slice(0,A):e)}</pre>
      ${i?s`<button class="words small" @click=${()=>this.all=!0}>Show all ${e.length.toLocaleString()} characters</button>`:o}
      <p class="faint">${t.seq===void 0?"The log does not keep it.":this.whole===void 0?"As this page has read it.":"As the gateway keeps it."}</p>
    </div>`}none(){return s`<div class="empty stack">
      ${this.back()}
      <p>This envelope is not among what is loaded.</p>
      <p><button class="button" @click=${()=>{this.find()}}>Look for it further back</button></p>
    </div>`}async find(){let t=this.wanted;await n(this.desk,t)&&this.load(t)}back(){let t=this.trail.at(-1);return t===void 0?o:s`<p><button class="words small" @click=${()=>this.show(t)}>Back to the one before</button></p>`}show(t){this.desk.open("envelope",{id:t})}facts(t){let e=t.to??[],i=w(t),p=b(t.ts);return s`<dl>
      <dt>Kind</dt>
      <dd><code>${a(t.kind)}</code></dd>
      <dt>From</dt>
      <dd>${t.from===this.desk.you?"you":g(t.from)}${e.length===0?"":`, to ${S(this.desk,e)}`}</dd>
      ${p===0?o:s`<dt>At</dt><dd>${T(p)}</dd>`}
      ${t.seq===void 0?o:s`<dt>Place</dt><dd>${t.seq.toLocaleString()}</dd>`}
      ${t.context===void 0?o:s`<dt>Context</dt><dd><button class="words" @click=${()=>{n(this.desk,t.context??"")}}>${a(t.context)}</button></dd>`}
      ${i.length===0?o:s`<dt>About</dt><dd class="stack">${i.map(c=>s`<button class="words" @click=${()=>this.show(c)}>${a(c)}</button>`)}</dd>`}
    </dl>`}};$("meup-envelope",h);export{h as EnvelopePanel};
//# sourceMappingURL=/assets/envelope-KNJSDUJC.js.map
