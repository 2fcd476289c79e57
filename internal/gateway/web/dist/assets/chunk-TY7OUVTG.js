import{b as e,c as i}from"/assets/chunk-3DFMKDLG.js";import{e as t}from"/assets/chunk-FL6C67XG.js";var h={},f=e(class extends i{constructor(){super(...arguments),this.ot=h}render(o,r){return r()}update(o,[r,a]){if(Array.isArray(r)){if(Array.isArray(this.ot)&&this.ot.length===r.length&&r.every((s,n)=>s===this.ot[n]))return t}else if(this.ot===r)return t;return this.ot=Array.isArray(r)?Array.from(r):r,this.render(r,a)}});export{f as a};
/*! For license information please see /assets/chunk-TY7OUVTG.js.LEGAL.txt */
//# sourceMappingURL=/assets/chunk-TY7OUVTG.js.map
