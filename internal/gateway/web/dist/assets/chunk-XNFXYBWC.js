var e=new Set,t;function i(n){return e.add(n),t??=setInterval(()=>{for(let r of e)r()},250),()=>{e.delete(n),!(e.size>0)&&(clearInterval(t),t=void 0)}}export{i as a};
