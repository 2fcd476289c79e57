var t={now:()=>performance.now(),after:(r,e)=>{let n=setTimeout(e,r);return()=>clearTimeout(n)},random:()=>Math.random()};function m(r,e,n=250,o=15e3){return e*Math.min(o,n*2**Math.min(r-1,20))}export{t as a,m as b};
//# sourceMappingURL=/assets/chunk-7XFUXPUY.js.map
