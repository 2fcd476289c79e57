import{S as m,a,b as n,c as i}from"/assets/chunk-6QAC3HRB.js";var o=[170,250,300,345,25,70,115,215];function s(e){let t=2166136261;for(let r=0;r<e.length;r++)t=Math.imul(t^e.charCodeAt(r),16777619)>>>0;return((t^t>>>15)>>>0)%o.length}function d(e,t){return i`<span class="monogram ${t?"agent":""}" data-hue=${s(e)} aria-hidden="true">${m(e)}</span>`}var h=o.map((e,t)=>`[data-hue="${t}"] { --hue: ${e}; }`).join(`
`),g=n`
  .monogram {
    display: inline-grid;
    place-items: center;
    width: 1.75rem;
    height: 1.75rem;
    flex: none;
    border-radius: 50%;
    background: light-dark(oklch(0.93 0.035 var(--hue)), oklch(0.32 0.045 var(--hue)));
    color: light-dark(oklch(0.4 0.09 var(--hue)), oklch(0.86 0.07 var(--hue)));
    font-size: 0.6875rem;
    font-weight: 600;
    letter-spacing: 0.02em;
  }
  .monogram.agent {
    border-radius: var(--round-m);
  }
  ${a(h)}
`;export{d as a,g as b};
