import{e as R}from"/assets/chunk-XMTZT6CH.js";import{a as P}from"/assets/chunk-A23KGBUT.js";import{a as g,b as L}from"/assets/chunk-QID4COQ6.js";import{c as d}from"/assets/chunk-EFS45AHP.js";import"/assets/chunk-XJBGAAQ3.js";import"/assets/chunk-7YJZIPSA.js";import{a as _}from"/assets/chunk-757P6I2J.js";import"/assets/chunk-J3ND4NAU.js";import"/assets/chunk-LBYF6DKE.js";import"/assets/chunk-DCOLHRT3.js";import{a as O,h as N,m as C,o as D}from"/assets/chunk-ETTXQQKV.js";import"/assets/chunk-MYHS66OQ.js";import{E as c,I,l as p,q as E,z as b}from"/assets/chunk-EBKTHAOW.js";import{C as M,D as T,G as f,L as q,R as A,b as x,c as o,d as S,f as y}from"/assets/chunk-6QAC3HRB.js";var G=500,V=32,W=1e5,m=class{constructor(e=!1){this.fromStart=e}fromStart;log=[];times=[];live=new g;snapshots=[];interval=G;current=null;index=0;get length(){return this.log.length}get full(){return this.log.length>=W}get envelopes(){return this.log}get span(){return[this.times[0]??0,this.times.at(-1)??0]}add(e,t=this.fromStart){if(this.full)return;let i=this.log[this.index-1]?.seq??0,s=this.log.at(-1)?.seq??0,a=new Set(this.log.map(r=>r.seq)),l=e.filter(r=>(r.seq??0)>0&&!a.has(r.seq)&&a.add(r.seq)!==void 0);if(!(l.length===0&&t===this.fromStart))for(this.log=[...this.log,...l].sort((r,U)=>(r.seq??0)-(U.seq??0)),this.times=Y(this.log.map(r=>p(r.ts))),(t!==this.fromStart||l.some(r=>(r.seq??0)<s))&&this.forget(),this.fromStart=t,this.index=Math.min(this.index,this.log.length);this.index<this.log.length&&(this.log[this.index]?.seq??0)<=i;)this.index++}forget(){this.snapshots=[],this.current=null,this.live=new g,this.index=0}get position(){return this.index}get time(){return this.times[Math.max(0,this.index-1)]??0}get next(){return this.times[this.index]??null}get state(){return this.reducerAt(this.index).state}seek(e){let t=Number.isFinite(e)?Math.trunc(e):0;return this.index=Math.min(Math.max(0,t),this.log.length),this.state}seekSeq(e){return this.seek(H(this.log.length,t=>(this.log[t]?.seq??0)<=e))}seekTime(e){return this.seek(H(this.log.length,t=>(this.times[t]??0)<=e))}reducerAt(e){let t=this.current,i=this.reached,s=this.snapshots.findLast(a=>a.index<=e);for((t===null||i>e||s!==void 0&&s.index>i)&&(t=s===void 0?new L({live:this.live,fromStart:this.fromStart}):s.reducer.fork(),i=s?.index??0);i<e;i++)t.apply(this.log[i]),(i+1)%this.interval===0&&this.remember(i+1,t);return t.expire(this.times[e-1]??0),this.current=t,this.reached=e,t}reached=0;remember(e,t){(this.snapshots.at(-1)?.index??0)>=e||this.snapshots.length>=V&&(this.interval*=2,this.snapshots=this.snapshots.filter(i=>i.index%this.interval===0),e%this.interval!==0)||this.snapshots.push({index:e,reducer:t.fork()})}};function Y(n){let e=0;return n.map(t=>e=Math.max(e,t))}function H(n,e){let t=0,i=n;for(;t<i;){let s=t+i>>1;e(s)?t=s+1:i=s}return t}var u=class{constructor(e,t){this.timeline=e;this.o=t;this.virtual=e.time}timeline;o;playing=!1;rate=1;virtual=0;since=0;stopTimer=()=>{};get isPlaying(){return this.playing}get speed(){return this.rate}get now(){if(!this.playing)return this.virtual;let e=this.virtual+(this.o.clock.now()-this.since)*this.rate;return Math.min(e,this.timeline.next??this.timeline.time)}play(){this.playing||this.timeline.length===0||(this.timeline.next===null&&this.seek(0),this.playing=!0,this.since=this.o.clock.now(),this.wait(),this.o.onChange())}pause(){this.playing&&(this.virtual=this.now,this.playing=!1,this.stopTimer(),this.o.onChange())}setSpeed(e){this.virtual=this.now,this.since=this.o.clock.now(),this.rate=Math.min(1e3,Math.max(.01,Number.isFinite(e)?e:1)),this.playing&&this.wait(),this.o.onChange()}seek(e){this.timeline.seek(e),this.moved()}seekSeq(e){this.timeline.seekSeq(e),this.moved()}seekTime(e){this.timeline.seekTime(e),this.moved(e)}step(e){this.seek(this.timeline.position+e)}moved(e=this.timeline.time){let[t,i]=this.timeline.span;this.virtual=Math.min(Math.max(e,t),i),this.since=this.o.clock.now(),this.playing&&this.wait(),this.o.onChange()}wait(){this.stopTimer();let e=this.timeline.next;if(e===null){this.virtual=this.timeline.time,this.playing=!1;return}let t=this.o.longest||1/0,i=Math.min(t,Math.max(0,(e-this.now)/this.rate));this.stopTimer=this.o.clock.after(i,()=>this.tick(e))}tick(e){this.virtual=Math.max(e,this.virtual+(this.o.clock.now()-this.since)*this.rate),this.since=this.o.clock.now(),this.timeline.seekTime(this.virtual),this.wait(),this.o.onChange()}};var B=500,K={loaded:0,oldest:0,done:!1},v=class{constructor(e,t,i,s=new d){this.space=e;this.before=t;this.onPage=i;this.api=s}space;before;onPage;api;progress=K;running=!1;error="";wanted=!1;stop(){this.wanted=!1}async run(e){if(this.wanted=!0,!this.running){for(this.running=!0,this.error="";this.wanted&&!this.progress.done;)await this.page();this.running=!1,e()}}async page(){try{let{envelopes:e,next:t,has_more:i}=await this.api.older(this.space,this.before,B),s=t===this.before&&i;this.before=t;let a=p(e[0]?.ts??"");this.progress={loaded:this.progress.loaded+e.length,oldest:a||this.progress.oldest,done:!i||s},this.onPage(e,this.progress)||(this.wanted=!1)}catch(e){this.error=e instanceof Error?e.message:String(e),this.wanted=!1}}};var J=1e5,Q=2e3,F=new WeakMap;function j(n){let e=F.get(n);return e===void 0&&(e=new w(n),F.set(n,e)),e}var w=class{constructor(e,t=new d){this.shell=e;this.api=t;this.player=this.makePlayer()}shell;api;timeline=new m;skipIdle=!0;player;active=!1;syncedHead=0;syncedOldest=0;loader=null;listeners=new Set;stopTicker=()=>{};makePlayer(){return new u(this.timeline,{clock:P,onChange:()=>this.playerChanged(),longest:this.skipIdle?Q:0})}subscribe(e){return this.listeners.add(e),()=>this.listeners.delete(e)}sync(){let{head:e,oldest:t,hasOlder:i}=this.shell.state;if(e===this.syncedHead&&t===this.syncedOldest)return;let s=this.timeline.length;this.timeline.add(this.shell.envelopes,!i||this.loader?.progress.done===!0),this.syncedHead=e,this.syncedOldest=t,s===0&&this.timeline.seek(this.timeline.length)}get on(){return this.active&&this.shell.past}get playing(){return this.on&&this.player.isPlaying}get speed(){return this.player.speed}get position(){return this.on?this.timeline.position:this.timeline.length}get now(){return this.on?this.player.now:this.timeline.span[1]}play(){this.begin(),this.player.play()}pause(){this.player.pause()}seek(e){this.begin(),this.player.seek(e)}seekTime(e){this.begin(),this.player.seekTime(e)}step(e){this.begin(),this.player.pause(),this.player.step(e)}setSpeed(e){this.player.setSpeed(e)}setSkipIdle(e){let{isPlaying:t,speed:i}=this.player;this.player.pause(),this.skipIdle=e,this.player=this.makePlayer(),this.player.setSpeed(i),t&&this.on&&this.player.play()}live(){this.active=!1,this.player.pause(),this.stopTicker(),this.shell.showPast(null),this.notify()}begin(){this.sync(),!this.on&&(this.active=!1,this.player.pause(),this.player.seek(this.timeline.length),this.active=!0,this.stopTicker(),this.stopTicker=_(()=>this.tick()),this.shell.showPast(this.timeline.state,this.player.now))}playerChanged(){if(this.active){if(!this.shell.past){this.live();return}this.shell.showPast(this.timeline.state,this.player.now),this.notify()}}tick(){!this.shell.past||Z(this.shell.space)?this.live():this.player.isPlaying&&this.playerChanged()}notify(){for(let e of this.listeners)e()}get loading(){return this.loader}get whole(){return!this.shell.state.hasOlder||this.loader?.progress.done===!0}get full(){return this.timeline.length>=J}loadOlder(){this.sync(),this.loader??=new v(this.shell.space,this.timeline.envelopes[0]?.seq??this.shell.state.oldest,(e,t)=>(this.timeline.add(e,t.done),this.on||this.timeline.seek(this.timeline.length),this.notify(),!this.full),this.api),this.loader.run(()=>this.notify()),this.notify()}stopLoading(){this.loader?.stop()}};function Z(n){return typeof location<"u"&&R(location.hash)?.space!==n}var X=x`
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
  .axis {
    display: grid;
    grid-template-columns: repeat(3, minmax(0, 1fr));
    padding: 0 0.4rem;
    color: var(--faint);
    font-size: var(--text-xs);
    font-variant-numeric: tabular-nums;
  }
  .axis span {
    padding-left: 0.25rem;
    border-left: 1px solid var(--line);
    overflow: hidden;
    white-space: nowrap;
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
`;var ee=[1,2,5,10,25,50,100],h=60,$=class extends b{static properties={...b.properties,byTime:{state:!0}};static styles=[O,D,X];end=()=>{};chart=null;constructor(){super(),this.byTime=!1}disconnectedCallback(){super.disconnectedCallback(),this.end(),this.end=()=>{},this.listening=!1}listening=!1;get replay(){let e=j(this.shell);return this.listening||(this.listening=!0,this.end=e.subscribe(()=>this.requestUpdate())),e}render(){let e=this.replay;return e.sync(),e.timeline.length===0?o`<p class="empty">No events yet</p>`:o`<div class="stack">
      <div class="mode row" data-on=${e.on}>
        <p class="grow" role="status">${e.on?"Viewing the past. Sending is disabled.":"Live"}</p>
        ${e.on?o`<button class="button small" @click=${()=>e.live()}>Return to live</button>`:y}
      </div>
      ${this.slider(e)} ${this.controls(e)} ${this.options(e)} ${this.currentEntry(e)} ${this.older(e)}
    </div>`}slider(e){let[t,i]=e.timeline.span,s=e.timeline.length,a=this.byTime?e.now:e.position;return o`<div class="line">
      ${this.bars(e)} ${this.axis(e)}
      <label class="unseen" for="at">Position</label>
      <input
        id="at"
        type="range"
        min=${this.byTime?t:0}
        max=${this.byTime?Math.max(i,t+1):s}
        step="1"
        .value=${String(Math.round(a))}
        aria-valuetext=${`${I(e.now)}, ${e.position} of ${s}`}
        @input=${this.slid}
        @keydown=${this.key}
      />
      <p class="row ends"><time class="grow">${z(e.now)}</time><span class="faint">${e.position.toLocaleString()} of ${s.toLocaleString()}</span></p>
    </div>`}bars(e){let t=e.timeline.length;(this.chart?.n!==t||this.chart.byTime!==this.byTime)&&(this.chart={n:t,byTime:this.byTime,bars:this.byTime?te(e):ie(e)});let{bars:i}=this.chart,s=Math.max(1,...i);return o`<svg class="bars" viewBox="0 0 ${h} 10" preserveAspectRatio="none" aria-hidden="true">
      ${i.map((a,l)=>{let r=a===0?0:Math.max(.6,Math.sqrt(a)/Math.sqrt(s)*10);return S`<rect x=${l+.12} y=${10-r} width="0.76" height=${r}></rect>`})}
    </svg>`}axis(e){let[t,i]=e.timeline.span,{envelopes:s}=e.timeline,a=r=>this.byTime?t+r*(i-t):Date.parse(s[Math.min(s.length-1,Math.floor(r*s.length))]?.ts??""),l=i-t>se?ne:i-t>10*6e4?re:ae;return o`<div class="axis" aria-hidden="true">${[0,1/3,2/3].map(r=>o`<span>${Number.isNaN(a(r))?"":l.format(a(r))}</span>`)}</div>`}controls(e){return o`<div class="row">
      <button class="small-icon turned" title="Previous" aria-label="Previous envelope" ?disabled=${e.position===0} @click=${()=>e.step(-1)}>${c("chevron")}</button>
      <button class="button main play" @click=${()=>e.playing?e.pause():e.play()}>${e.playing?o`${c("pause")} Pause`:"Play"}</button>
      <button class="small-icon" title="Next" aria-label="Next envelope" ?disabled=${e.position>=e.timeline.length} @click=${()=>e.step(1)}>${c("chevron")}</button>
      <label class="unseen" for="speed">Speed</label>
      <select id="speed" @change=${t=>e.setSpeed(Number(t.target.value))}>
        ${ee.map(t=>o`<option value=${t} .selected=${e.speed===t}>${t}×</option>`)}
      </select>
    </div>`}options(e){return o`<label class="check"><input type="checkbox" .checked=${e.skipIdle} @change=${t=>e.setSkipIdle(t.target.checked)} /> Skip idle time</label>
      <label class="check"><input type="checkbox" .checked=${this.byTime} @change=${t=>this.byTime=t.target.checked} /> Scale by time</label>
      <label class="field-label">Go to time
        <input class="field" type="datetime-local" step="1" min=${k(e.timeline.span[0])} max=${k(e.timeline.span[1])} .value=${k(e.now)} @change=${this.chosen} />
      </label>`}currentEntry(e){let t=e.timeline.envelopes[e.position-1];return!e.on||t===void 0?y:o`<div class="card"><p class="row"><span class="name">${A(t.from)}</span><code>${f(t.kind)}</code></p><p class="quiet">${le(t)}</p></div>`}older(e){let[t,i]=e.timeline.span,s=o`<p class="quiet">${N(e.timeline.length,"entry","entries")}${i>t?` over ${E(i-t)}`:""}, since ${z(t)}.</p>`;return e.full?o`${s}<p class="quiet">No more entries can be loaded at once.</p>`:e.whole?o`${s}<p class="quiet">Loaded from the beginning of the space.</p>`:e.loading?.running===!0?o`${s}<progress aria-label="Loading older entries"></progress><p class="row"><span class="grow quiet" role="status">Loading older entries…</span><button class="button small" @click=${()=>e.stopLoading()}>Stop</button></p>`:o`${s} ${C(e.loading?.error??"")}<p><button class="button" @click=${()=>e.loadOlder()}>Load older entries</button></p>`}slid=e=>{let t=Number(e.target.value);this.byTime?this.replay.seekTime(t):this.replay.seek(t)};chosen=e=>{let t=new Date(e.target.value).getTime();Number.isFinite(t)&&this.replay.seekTime(t+999)};key=e=>{let t={ArrowRight:1,ArrowUp:1,ArrowLeft:-1,ArrowDown:-1}[e.key];t===void 0||!this.byTime||(e.preventDefault(),this.replay.step(t))}};function te(n){let[e,t]=n.timeline.span,i=new Array(h).fill(0),s=Math.max(1,t-e);for(let a of n.timeline.envelopes){let l=Math.min(h-1,Math.max(0,Math.floor((Date.parse(a.ts)-e)/s*h)));i[l]=(i[l]??0)+1}return i}function ie(n){let e=new Array(h).fill(0),{envelopes:t}=n.timeline;return t.forEach((i,s)=>{let a=Math.min(h-1,Math.floor(s/t.length*h));e[a]=(e[a]??0)+(i.kind.startsWith("reasoning.")||i.kind.startsWith("stream.")?1:4)}),e}var se=864e5,ne=new Intl.DateTimeFormat(void 0,{day:"numeric",month:"short"}),re=new Intl.DateTimeFormat(void 0,{hour:"2-digit",minute:"2-digit"}),ae=new Intl.DateTimeFormat(void 0,{hour:"2-digit",minute:"2-digit",second:"2-digit"}),oe=new Intl.DateTimeFormat(void 0,{dateStyle:"medium",timeStyle:"medium"});function z(n){return n===0?"":oe.format(n)}function le(n){let e=n.payload.method;return T(f(M(n.payload)||(typeof e=="string"?e:"")),160)||"—"}function k(n){return n===0?"":new Date(n-new Date(n).getTimezoneOffset()*6e4).toISOString().slice(0,19)}q("meup-timeline",$);export{$ as TimelinePanel};
