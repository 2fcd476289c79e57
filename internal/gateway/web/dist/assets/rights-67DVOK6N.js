import{b as c}from"/assets/chunk-GAG7OMNE.js";import"/assets/chunk-LBYF6DKE.js";import"/assets/chunk-DCOLHRT3.js";import{a as m,c as d}from"/assets/chunk-ETTXQQKV.js";import"/assets/chunk-MYHS66OQ.js";import"/assets/chunk-EBKTHAOW.js";import{D as p,L as n,b as s,c as t,f as a,h as l}from"/assets/chunk-6QAC3HRB.js";var o=3,f=200,i=class extends l{static properties={rights:{attribute:!1},ended:{attribute:!1}};static styles=[m,s`
      :host {
        display: block;
        color: var(--quiet);
        font-size: var(--text-s);
        overflow-wrap: anywhere;
      }
    `];render(){let r=c(this.rights).map(e=>p(this.ended?e.replace(/^M/u,"Until now: m"):e,f));return t`${r.slice(0,o).map(e=>t`<p>${d(e)}</p>`)}${r.length>o?t`<p>And ${(r.length-o).toLocaleString()} more.</p>`:a}`}};n("meup-rights",i);export{i as Rights};
