import{b as E,c as R}from"/assets/chunk-CLWTHSOF.js";import{a as O}from"/assets/chunk-4OTQ6SRE.js";import{a as u,c as L}from"/assets/chunk-SAIVWQ35.js";import"/assets/chunk-5CIBVYN5.js";import"/assets/chunk-DZVHUQUU.js";import{a as D}from"/assets/chunk-ALBL35XD.js";import{b as x}from"/assets/chunk-P5U7LOJ6.js";import"/assets/chunk-ZOFRZT6E.js";import{a as T,e as S}from"/assets/chunk-JCVKINCP.js";import{a as C,e as I,k as N,l as H}from"/assets/chunk-QK33B7QW.js";import{g as v,j as q,k as p,o as A}from"/assets/chunk-JMS4VLKT.js";import{A as $,B as M,F as y,O as P,a as k,b as r,c as w,e as m}from"/assets/chunk-WMDUFPNJ.js";var V=500,W=32,B=1e5,d=class{constructor(e=!1){this.fromStart=e}fromStart;log=[];times=[];live=new u;snapshots=[];interval=V;current=null;index=0;get length(){return this.log.length}get full(){return this.log.length>=B}get envelopes(){return this.log}get span(){return[this.times[0]??0,this.times.at(-1)??0]}add(e,t=this.fromStart){if(this.full)return;let i=this.log[this.index-1]?.seq??0,n=this.log.at(-1)?.seq??0,l=new Set(this.log.map(a=>a.seq)),o=e.filter(a=>(a.seq??0)>0&&!l.has(a.seq)&&l.add(a.seq)!==void 0);if(!(o.length===0&&t===this.fromStart))for(this.log=[...this.log,...o].sort((a,X)=>(a.seq??0)-(X.seq??0)),this.times=G(this.log.map(a=>T(a.ts))),(t!==this.fromStart||o.some(a=>(a.seq??0)<n))&&this.forget(),this.fromStart=t,this.index=Math.min(this.index,this.log.length);this.index<this.log.length&&(this.log[this.index]?.seq??0)<=i;)this.index++}forget(){this.snapshots=[],this.current=null,this.live=new u,this.index=0}get position(){return this.index}get time(){return this.times[Math.max(0,this.index-1)]??0}get next(){return this.times[this.index]??null}get state(){return this.reducerAt(this.index).state}seek(e){let t=Number.isFinite(e)?Math.trunc(e):0;return this.index=Math.min(Math.max(0,t),this.log.length),this.state}seekSeq(e){return this.seek(_(this.log.length,t=>(this.log[t]?.seq??0)<=e))}seekTime(e){return this.seek(_(this.log.length,t=>(this.times[t]??0)<=e))}reducerAt(e){let t=this.current,i=this.reached,n=this.snapshots.findLast(l=>l.index<=e);for((t===null||i>e||n!==void 0&&n.index>i)&&(t=n===void 0?new L({live:this.live,fromStart:this.fromStart}):n.reducer.fork(),i=n?.index??0);i<e;i++)t.apply(this.log[i]),(i+1)%this.interval===0&&this.remember(i+1,t);return this.current=t,this.reached=e,t}reached=0;remember(e,t){(this.snapshots.at(-1)?.index??0)>=e||this.snapshots.length>=W&&(this.interval*=2,this.snapshots=this.snapshots.filter(i=>i.index%this.interval===0),e%this.interval!==0)||this.snapshots.push({index:e,reducer:t.fork()})}};function G(s){let e=0;return s.map(t=>e=Math.max(e,t))}function _(s,e){let t=0,i=s;for(;t<i;){let n=t+i>>1;e(n)?t=n+1:i=n}return t}var c=class{constructor(e,t){this.timeline=e;this.o=t;this.virtual=e.time}timeline;o;playing=!1;rate=1;virtual=0;since=0;stopTimer=()=>{};get isPlaying(){return this.playing}get speed(){return this.rate}get now(){if(!this.playing)return this.virtual;let e=this.virtual+(this.o.clock.now()-this.since)*this.rate;return Math.min(e,this.timeline.next??this.timeline.time)}play(){this.playing||this.timeline.length===0||(this.timeline.next===null&&this.seek(0),this.playing=!0,this.since=this.o.clock.now(),this.wait(),this.o.onChange())}pause(){this.playing&&(this.virtual=this.now,this.playing=!1,this.stopTimer(),this.o.onChange())}setSpeed(e){this.virtual=this.now,this.since=this.o.clock.now(),this.rate=Math.min(1e3,Math.max(.01,Number.isFinite(e)?e:1)),this.playing&&this.wait(),this.o.onChange()}seek(e){this.timeline.seek(e),this.moved()}seekSeq(e){this.timeline.seekSeq(e),this.moved()}seekTime(e){this.timeline.seekTime(e),this.moved(e)}step(e){this.seek(this.timeline.position+e)}moved(e=this.timeline.time){let[t,i]=this.timeline.span;this.virtual=Math.min(Math.max(e,t),i),this.since=this.o.clock.now(),this.playing&&this.wait(),this.o.onChange()}wait(){this.stopTimer();let e=this.timeline.next;if(e===null){this.virtual=this.timeline.time,this.playing=!1;return}let t=this.o.longest||1/0,i=Math.min(t,Math.max(0,(e-this.now)/this.rate));this.stopTimer=this.o.clock.after(i,()=>this.tick(e))}tick(e){this.virtual=Math.max(e,this.virtual+(this.o.clock.now()-this.since)*this.rate),this.since=this.o.clock.now(),this.timeline.seekTime(this.virtual),this.wait(),this.o.onChange()}};var K=1e5,J=2e3,j=new WeakMap;function F(s){let e=j.get(s);return e===void 0&&(e=new g(s),j.set(s,e)),e}var g=class{constructor(e,t=new x){this.shell=e;this.api=t;this.player=this.makePlayer()}shell;api;timeline=new d;skipIdle=!0;player;active=!1;syncedHead=0;syncedOldest=0;loader=null;listeners=new Set;stopTicker=()=>{};makePlayer(){return new c(this.timeline,{clock:R,onChange:()=>this.playerChanged(),longest:this.skipIdle?J:0})}subscribe(e){return this.listeners.add(e),()=>this.listeners.delete(e)}sync(){let{head:e,oldest:t,hasOlder:i}=this.shell.state;if(e===this.syncedHead&&t===this.syncedOldest)return;let n=this.timeline.length;this.timeline.add(this.shell.envelopes,!i||this.loader?.progress.done===!0),this.syncedHead=e,this.syncedOldest=t,n===0&&this.timeline.seek(this.timeline.length)}get on(){return this.active&&this.shell.past}get playing(){return this.on&&this.player.isPlaying}get speed(){return this.player.speed}get position(){return this.on?this.timeline.position:this.timeline.length}get now(){return this.on?this.player.now:this.timeline.span[1]}play(){this.begin(),this.player.play()}pause(){this.player.pause()}seek(e){this.begin(),this.player.seek(e)}seekTime(e){this.begin(),this.player.seekTime(e)}step(e){this.begin(),this.player.pause(),this.player.step(e)}setSpeed(e){this.player.setSpeed(e)}setSkipIdle(e){let{isPlaying:t,speed:i}=this.player;this.player.pause(),this.skipIdle=e,this.player=this.makePlayer(),this.player.setSpeed(i),t&&this.on&&this.player.play()}live(){this.active=!1,this.player.pause(),this.stopTicker(),this.shell.showPast(null),this.notify()}begin(){this.sync(),!this.on&&(this.active=!1,this.player.pause(),this.player.seek(this.timeline.length),this.active=!0,this.stopTicker(),this.stopTicker=O(()=>this.tick()),this.shell.showPast(this.timeline.state,this.player.now))}playerChanged(){if(this.active){if(!this.shell.past){this.live();return}this.shell.showPast(this.timeline.state,this.player.now),this.notify()}}tick(){!this.shell.past||Q(this.shell.space)?this.live():this.player.isPlaying&&this.playerChanged()}notify(){for(let e of this.listeners)e()}get loading(){return this.loader}get whole(){return!this.shell.state.hasOlder||this.loader?.progress.done===!0}get full(){return this.timeline.length>=K}loadOlder(){this.sync(),this.loader??=new D(this.shell.space,this.timeline.envelopes[0]?.seq??this.shell.state.oldest,(e,t)=>(this.timeline.add(e,t.done),this.on||this.timeline.seek(this.timeline.length),this.notify(),!this.full),this.api),this.loader.run(()=>this.notify()),this.notify()}stopLoading(){this.loader?.stop()}};function Q(s){return typeof location<"u"&&E(location.hash)?.space!==s}var z=k`
  .mode {
    padding: var(--space-2) var(--space-3);
    border-radius: var(--round-m);
    background: var(--sunk);
    color: var(--quiet);
    font-size: var(--text-s);
  }
  .mode[data-on="true"] {
    background: var(--wait-soft);
    color: var(--wait);
    font-weight: 500;
  }
  .line {
    display: grid;
  }
  .bars {
    width: 100%;
    height: 2.5rem;
    padding: 0 0.4rem;
  }
  .bars rect {
    fill: var(--accent);
    opacity: 0.55;
  }
  input[type="range"] {
    width: 100%;
    margin: 0;
    accent-color: var(--accent);
  }
  .ends {
    margin-top: var(--space-1);
  }
  .ends time {
    color: var(--ink);
    font-size: var(--text-s);
  }
  .play {
    min-width: 6rem;
  }
  .turned svg {
    rotate: 180deg;
  }
  .small-icon:disabled {
    opacity: 0.45;
  }
  select {
    width: auto;
    min-height: 2rem;
    padding: 0 var(--space-2);
    font-size: var(--text-s);
  }
  progress {
    width: 100%;
    accent-color: var(--accent);
  }
  .card p {
    overflow-wrap: anywhere;
  }
`;var Y=[1,2,5,10,25,50,100],h=60,b=class extends v{static properties={...v.properties,byTime:{state:!0}};static styles=[C,H,z];end=()=>{};chart=null;constructor(){super(),this.byTime=!1}disconnectedCallback(){super.disconnectedCallback(),this.end(),this.end=()=>{},this.listening=!1}listening=!1;get replay(){let e=F(this.shell);return this.listening||(this.listening=!0,this.end=e.subscribe(()=>this.requestUpdate())),e}render(){let e=this.replay;return e.sync(),e.timeline.length===0?r`<p class="empty">No events yet</p>`:r`<div class="stack">
      <div class="mode row" data-on=${e.on}>
        <p class="grow" role="status">${e.on?"Viewing the past. Sending is disabled.":"Live"}</p>
        ${e.on?r`<button class="button small" @click=${()=>e.live()}>Return to live</button>`:m}
      </div>
      ${this.slider(e)} ${this.controls(e)} ${this.options(e)} ${this.currentEntry(e)} ${this.older(e)}
    </div>`}slider(e){let[t,i]=e.timeline.span,n=e.timeline.length,l=this.byTime?e.now:e.position;return r`<div class="line">
      ${this.bars(e)}
      <label class="unseen" for="at">Position</label>
      <input
        id="at"
        type="range"
        min=${this.byTime?t:0}
        max=${this.byTime?Math.max(i,t+1):n}
        step="1"
        .value=${String(Math.round(l))}
        aria-valuetext=${`${A(e.now)}, ${e.position} of ${n}`}
        @input=${this.slid}
        @keydown=${this.key}
      />
      <p class="row ends"><time class="grow">${U(e.now)}</time><span class="faint">${e.position.toLocaleString()} of ${n.toLocaleString()}</span></p>
    </div>`}bars(e){let t=e.timeline.length;(this.chart?.n!==t||this.chart.byTime!==this.byTime)&&(this.chart={n:t,byTime:this.byTime,bars:this.byTime?Z(e):ee(e)});let{bars:i}=this.chart,n=Math.max(1,...i);return r`<svg class="bars" viewBox="0 0 ${h} 10" preserveAspectRatio="none" aria-hidden="true">
      ${i.map((l,o)=>{let a=l===0?0:Math.max(.6,Math.sqrt(l)/Math.sqrt(n)*10);return w`<rect x=${o+.12} y=${10-a} width="0.76" height=${a}></rect>`})}
    </svg>`}controls(e){return r`<div class="row">
      <button class="small-icon turned" title="Previous" aria-label="Previous envelope" ?disabled=${e.position===0} @click=${()=>e.step(-1)}>${p("chevron")}</button>
      <button class="button main play" @click=${()=>e.playing?e.pause():e.play()}>${e.playing?r`${p("pause")} Pause`:"Play"}</button>
      <button class="small-icon" title="Next" aria-label="Next envelope" ?disabled=${e.position>=e.timeline.length} @click=${()=>e.step(1)}>${p("chevron")}</button>
      <label class="unseen" for="speed">Speed</label>
      <select id="speed" @change=${t=>e.setSpeed(Number(t.target.value))}>
        ${Y.map(t=>r`<option value=${t} .selected=${e.speed===t}>${t}×</option>`)}
      </select>
    </div>`}options(e){return r`<label class="check"><input type="checkbox" .checked=${e.skipIdle} @change=${t=>e.setSkipIdle(t.target.checked)} /> Skip idle time</label>
      <label class="check"><input type="checkbox" .checked=${this.byTime} @change=${t=>this.byTime=t.target.checked} /> Scale by time</label>
      <label class="field-label">Go to time
        <input class="field" type="datetime-local" step="1" min=${f(e.timeline.span[0])} max=${f(e.timeline.span[1])} .value=${f(e.now)} @change=${this.chosen} />
      </label>`}currentEntry(e){let t=e.timeline.envelopes[e.position-1];return!e.on||t===void 0?m:r`<div class="card"><p class="row"><span class="name">${P(t.from)}</span><code>${y(t.kind)}</code></p><p class="quiet">${ie(t)}</p></div>`}older(e){let[t,i]=e.timeline.span,n=r`<p class="quiet">${I(e.timeline.length,"entry","entries")} over ${S((i-t)/1e3)}, since ${U(t)}.</p>`;return e.full?r`${n}<p class="quiet">No more entries can be loaded at once.</p>`:e.whole?r`${n}<p class="quiet">Loaded from the beginning of the space.</p>`:e.loading?.running===!0?r`${n}<progress aria-label="Loading older entries"></progress><p class="row"><span class="grow quiet" role="status">Loading older entries…</span><button class="button small" @click=${()=>e.stopLoading()}>Stop</button></p>`:r`${n} ${N(e.loading?.error??"")}<p><button class="button" @click=${()=>e.loadOlder()}>Load older entries</button></p>`}slid=e=>{let t=Number(e.target.value);this.byTime?this.replay.seekTime(t):this.replay.seek(t)};chosen=e=>{let t=new Date(e.target.value).getTime();Number.isFinite(t)&&this.replay.seekTime(t+999)};key=e=>{let t={ArrowRight:1,ArrowUp:1,ArrowLeft:-1,ArrowDown:-1}[e.key];t===void 0||!this.byTime||(e.preventDefault(),this.replay.step(t))}};function Z(s){let[e,t]=s.timeline.span,i=new Array(h).fill(0),n=Math.max(1,t-e);for(let l of s.timeline.envelopes){let o=Math.min(h-1,Math.max(0,Math.floor((Date.parse(l.ts)-e)/n*h)));i[o]=(i[o]??0)+1}return i}function ee(s){let e=new Array(h).fill(0),{envelopes:t}=s.timeline;return t.forEach((i,n)=>{let l=Math.min(h-1,Math.floor(n/t.length*h));e[l]=(e[l]??0)+(i.kind.startsWith("reasoning.")||i.kind.startsWith("stream.")?1:4)}),e}var te=new Intl.DateTimeFormat(void 0,{dateStyle:"medium",timeStyle:"medium"});function U(s){return s===0?"":te.format(s)}function ie(s){let e=s.payload.method;return M(y($(s.payload)||(typeof e=="string"?e:"")),160)||"—"}function f(s){return s===0?"":new Date(s-new Date(s).getTimezoneOffset()*6e4).toISOString().slice(0,19)}q("meup-timeline",b);export{b as TimelinePanel};
//# sourceMappingURL=/assets/timeline-CRL7UVT3.js.map
