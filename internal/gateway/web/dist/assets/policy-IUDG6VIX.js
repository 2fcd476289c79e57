import{a as Se}from"/assets/chunk-24OHCDFQ.js";import{b as ee,c as Re,d as De}from"/assets/chunk-ECF2UMDL.js";import"/assets/chunk-LLC5DZEJ.js";import{a as be,b as we,c as ke,d as Z,e as Te}from"/assets/chunk-POJDSOQI.js";import{c as v,d as T}from"/assets/chunk-LI2ITUN5.js";import{a as N,b as F}from"/assets/chunk-VAZBR7W3.js";import"/assets/chunk-V32WSOV2.js";import{a as ce}from"/assets/chunk-J3ND4NAU.js";import{i as ve,j as $e}from"/assets/chunk-74T5PMWG.js";import{b as ue}from"/assets/chunk-7YJZIPSA.js";import"/assets/chunk-TZLAFC3M.js";import{a as S,b as P,c as fe,e as u,f as L,j as $,k as R}from"/assets/chunk-OOYHG4YG.js";import{a as ge}from"/assets/chunk-MYHS66OQ.js";import{C as ye,d as G,h as pe,i as V,r as g,v as W,y as M,z as y}from"/assets/chunk-MANVBF5B.js";import{D as f,G as me,L as w,N as m,O as H,R as k,T as he,b as h,c as a,f as i,j as de,n as d,p as _,r as j,s as b,t as x,u as O,v as B,w as n}from"/assets/chunk-6QAC3HRB.js";var Ne=100;function Pe(r){let{decisions:e,next:t,has_more:o,partial:s}=b(r);return{decisions:O(e).slice(0,Ne).map(l=>Ue(b(l))),next:j(o)===!0?_(t):null,partial:j(s)===!0}}function Ue(r){let e=s=>d(n(r,s)),t=b(n(r,"decided")),o=n(r,"today");return{id:e("id"),seq:_(n(r,"seq"))??0,at:G(e("at")),caller:e("caller"),host:e("host"),tool:e("tool"),proposal:e("proposal"),edited:j(n(r,"edited"))===!0,outcome:e("outcome"),reason:e("reason"),by:d(n(t,"by")),decider:d(n(t,"decider")),participant:d(n(t,"participant")),late:n(t,"when")==="late",rule:d(n(t,"rule")),grant:d(n(t,"grant")),today:x(o)?{verdict:d(n(o,"verdict")),rule:d(n(o,"rule"))}:null}}var ze={made:"Approved",rejected:"Rejected",withdrawn:"Withdrawn",expired:"Rejected"};function je(r,e){switch(r.by){case"rule":return r.decider==="rule"?"Let through by a rule of the deciders":"Allowed by a rule";case"grant":return"Allowed by a grant";case"participant":return`${ze[r.outcome]??"Decided"} by ${r.decider==="reviewer"?"the reviewer ":""}${e(r.participant)}${r.edited?", with other arguments":""}${r.late?", too late":""}`;case"nobody":return"Nobody decided in time";default:return"The reason was not recorded"}}function U(r){let e;try{e=de(r)}catch{return r}return typeof e=="string"?N(e):x(e)&&typeof n(e,"kind")=="string"?N(e):r}var Le=500,p=(r,e)=>_(n(r,e))??0,E=(r,e)=>G(d(n(r,e))),C=(r,e)=>O(n(r,e)).slice(0,Le).map(b),Ee=r=>O(n(r,"capabilities")).slice(0,Le).flatMap(e=>typeof e=="string"?[{kind:e}]:x(e)?[e]:[]);function Ce(r){let e=b(r);return{proposals:p(e,"proposals"),approved:p(e,"approved"),rejected:p(e,"rejected"),from:E(e,"from"),to:E(e,"to"),suggestions:C(e,"suggestions").map(xe),dismissed:p(e,"dismissed"),fewer:p(e,"asked_fewer"),letThrough:p(e,"let_through_rejected"),left:C(e,"left_to_people").map(t=>({...xe(t),why:d(n(t,"why"))})),unused:C(e,"unused").map(t=>({participant:d(n(t,"participant")),capabilities:Ee(t),grant:d(n(t,"grant")),last:E(t,"last_use")})),unusedUnknown:d(n(e,"unused_unknown")),unseen:p(e,"unseen"),since:E(e,"since"),partial:j(n(e,"partial"))===!0}}function xe(r){let e=t=>d(n(r,t));return{id:e("id"),denies:e("does")==="deny",participant:e("participant"),host:e("host"),tool:e("tool"),words:e("words"),capabilities:Ee(r),approved:p(r,"approved"),rejected:p(r,"rejected"),by:B(n(r,"by")),days:p(r,"days"),fewer:p(r,"asked_fewer"),letThrough:p(r,"let_through_rejected"),supporting:C(r,"for").map(te),contradicting:C(r,"against").map(te),configuredIn:e("configured_in"),patch:e("patch"),grant:x(n(r,"grant"))?b(n(r,"grant")):null,grantable:j(n(r,"grantable"))===!0,dismissal:b(n(r,"dismissal"))}}function te(r){let e=o=>d(n(r,o)),t=e("approved_by");return{id:e("id"),at:E(r,"ts"),what:e("what"),outcome:e("outcome")||(t===""?"":"approved"),by:e("by")||e("rejected_by")||t,reason:e("reason")}}function Me(r){let e=b(r);return{from:E(e,"from"),to:E(e,"to"),envelopes:p(e,"envelopes"),record:n(e,"baseline")==="record",different:p(e,"different"),allowed:p(e,"allowed"),refused:p(e,"refused"),asked:p(e,"asked"),masked:p(e,"masked"),unmasked:p(e,"unmasked"),letThrough:p(e,"let_through_rejected"),unjudged:p(e,"unjudged"),unseen:p(e,"unseen"),groups:C(e,"groups").map(t=>({outcome:d(n(t,"outcome")),rejectedBy:B(n(t,"rejected_by")),approvedBy:B(n(t,"approved_by")),participant:d(n(t,"participant")),kind:d(n(t,"kind")),rule:d(n(t,"rule")),why:d(n(t,"why")),before:d(n(t,"before")),count:p(t,"count"),examples:C(t,"examples").map(te)})),moreGroups:p(e,"more_groups"),summary:d(n(e,"summary")),since:E(e,"since"),partial:j(n(e,"partial"))===!0,warnings:B(n(e,"warnings"))}}function Y(r,e){return`${r.toLocaleString("en-US")} ${e}${r===1?"":"s"}`}function re(r){return r.approvedBy.length>0||r.outcome==="allowed"&&r.rejectedBy.length>0}function qe(r){return re(r)?r.outcome==="allowed"?"Let through although rejected":"Refused although approved":{allowed:"No question any more",asked:"Asked",refused:"Refused",masked:"Masked",unmasked:"No longer masked"}[r.outcome]??r.outcome}function Ie(r,e,t,o){let{ttl_seconds:s,...l}=r;return{kind:"capability.grant",to:[e],payload:{...l,capabilities:t,...o>0&&{ttl_seconds:o}}}}function Ae(r,e){let t=r.denies?r.rejected:r.approved,o=r.by.map(e),s=o.length>3?`${o.slice(0,2).join(", ")} and ${o.length-2} others`:o.join(" and ");return`${r.denies?"Rejected":"Approved"} ${Y(t,"time")}${s===""?"":` by ${s}`} on ${Y(r.days,"day")}`}function ae(r){return`Would have asked ${Y(r.fewer,"time")} fewer and let through ${Y(r.letThrough,"call")} that ${r.letThrough===1?"was":"were"} rejected.`}function K(r,e){return a`<ul class="examples">${e.map(t=>a`<li>
      <p class="what">${P(t.what)}</p>
      <p class="fact"><time title=${M(t.at)}>${y(t.at,r.now())}</time>${t.by===""?i:` · ${f(t.outcome||"rejected",40)} by ${T(t.by,r.you)}`}${t.reason===""?i:`: ${f(me(t.reason.replaceAll("_"," ")),200)}`}</p>
      ${L(r,t.id)}
    </li>`)}</ul>`}var X=h`
  .examples {
    display: grid;
    gap: var(--space-1);
  }
  .examples > li {
    display: grid;
    grid-template-columns: minmax(0, 1fr) auto;
    align-items: center;
    padding: var(--space-1) var(--space-1) var(--space-1) var(--space-2);
    border-radius: var(--round-s);
    background: var(--sunk);
    overflow-wrap: anywhere;
  }
  .examples .small-icon {
    grid-area: 1 / 2 / 3;
  }
  .what {
    font: 0.8125rem / 1.5 var(--mono);
  }
  .fact {
    color: var(--quiet);
    font-size: var(--text-xs);
  }
`;var D=class{constructor(e,t){this.host=e;this.read=t;e.addController(this)}host;read;value=null;error="";loading=!1;requests=0;hostConnected(){}async load(e){let t=++this.requests;this.loading=!0,this.host.requestUpdate();let o=null,s="";try{o=this.read(await e())}catch(l){s=l instanceof Error?l.message:String(l)}return t!==this.requests?null:(this.value=o??this.value,this.error=s,this.loading=!1,this.host.requestUpdate(),o)}};var Ge=[[1,"Last 24 hours"],[7,"Last 7 days"],[30,"Last 30 days"],[0,"Whole log"]];function q(r){return`since=${encodeURIComponent(new Date(r===0?0:Date.now()-r*864e5).toISOString())}`}function I(r,e){return a`<label class="unseen" for="span">Part of the log</label>
    <select id="span" class="span" @change=${t=>e(Number(t.target.value))}>
      ${Ge.map(([t,o])=>a`<option value=${t} .selected=${t===r}>${o}</option>`)}
    </select>`}var A=h`
  .span {
    width: auto;
  }
`;var _e=1<<20,He={allowed:"accent",asked:"wait",refused:"bad"},oe=class extends g{static properties={...g.properties,days:{state:!0},trouble:{state:!0}};static styles=[S,R,A,X,h`
      form {
        display: grid;
        gap: var(--space-3);
      }
      textarea {
        min-height: 9rem;
        font-family: var(--mono);
        font-size: 0.8125rem;
        resize: vertical;
      }
      .result {
        margin: var(--space-5) 0 var(--space-2);
        font-weight: 600;
      }
      .of {
        flex: 1 1 9rem;
      }
      .group {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
    `];result=new D(this,Me);constructor(){super(),this.days=30,this.trouble=""}render(){let{value:e,error:t,loading:o}=this.result;return a`<form @submit=${this.submit}>
        <p class="quiet">Decides the log again under another configuration, and shows what would have been different. Nothing is changed.</p>
        <label class="field-label">Configuration (YAML or JSON)<textarea name="configuration" spellcheck="false" autocapitalize="off" maxlength=${_e} placeholder="spaces:" aria-invalid=${this.trouble===""?"false":"true"} @input=${()=>this.trouble=""}></textarea></label>
        <label class="field-label">From a file<input class="field" type="file" accept=".yaml,.yml,.json,text/*" @change=${s=>{this.choose(s)}} /></label>
        ${$(this.trouble)}
        <div class="row">
          <button class="button main" type="submit" ?disabled=${o}>${o?"Deciding again…":"Run"}</button>
          ${I(this.days,s=>this.days=s)}
        </div>
      </form>
      ${$(t)}
      <div aria-live="polite" aria-busy=${o?"true":"false"}>${e===null||t!==""?i:this.outcome(e)}</div>`}async choose(e){let t=e.target.files?.[0];if(t===void 0)return;let o=this.renderRoot.querySelector("textarea");t.size>_e?this.trouble="The file is too large for a configuration.":o!==null&&(o.value=await t.text(),this.trouble="")}submit=e=>{e.preventDefault();let t=this.renderRoot.querySelector("textarea")?.value??"";this.trouble=t.trim()===""?"Paste a configuration, or choose a file.":"",this.trouble===""&&this.result.load(()=>this.shell.get(`backtest?${q(this.days)}`,3e5,t))};outcome(e){let t=this.shell.now();return a`<p class="result">${m(e.summary)}</p>
      <p class="quiet">${u(e.envelopes,"envelope")}${e.envelopes===0?"":`, ${y(e.from,t)} to ${y(e.to,t)}`}, compared with ${e.record?"what happened":"what happened and the configuration in force"}.</p>
      ${e.unjudged>0?a`<p class="quiet">The log no longer has enough about ${u(e.unjudged,"envelope")}.</p>`:i}
      ${e.unseen>0?a`<p class="quiet">${u(e.unseen,"entry","entries")} that you may not see ${e.unseen===1?"is":"are"} missing here.</p>`:i}
      ${e.partial?a`<p class="quiet">The log was read back to ${y(e.since,t)} only.</p>`:i}
      ${e.warnings.length===0?i:a`<details><summary>${u(e.warnings.length,"warning")} about the configuration</summary><ul class="sentences">${e.warnings.map(o=>a`<li>${m(o)}</li>`)}</ul></details>`}
      <ul>${e.groups.map(o=>a`<li class="group">${this.group(o)}</li>`)}</ul>
      ${e.moreGroups>0?a`<p class="faint section">${u(e.moreGroups,"further group")} left out.</p>`:i}`}group(e){let t=re(e),o=(l,c)=>c.length===0?i:a`<p class="quiet">${l} by ${c.map(J=>T(J,this.shell.you)).join(", ")}.</p>`,s=(l,c)=>c===""?i:a`<p class="quiet">${l}: ${m(f(U(c),400))}</p>`;return a`<p class="row"><span class="chip ${t?"bad":He[e.outcome]??""}">${qe(e)}</span><span class="of"><b>${e.count.toLocaleString()}</b> · ${Se(e.kind)} of <span class="name">${v(e.participant)}</span></span></p>
      ${o("Rejected",e.rejectedBy)} ${o("Approved",e.approvedBy)} ${s("Rule",e.rule)} ${e.why===""?i:a`<p class="quiet">${m(f(e.why,400))}</p>`} ${s("In force",e.before)}
      ${e.examples.length===0?i:a`<details ?open=${t}><summary>${e.examples.length<e.count?u(e.examples.length,"example"):u(e.count,"envelope")}</summary>${K(this.shell,e.examples)}</details>`}`}};w("meup-backtest",oe);var We=20,Oe={made:"accent",rejected:"bad",expired:"wait",refused:"bad",asked:"wait",allowed:"accent"},se=class extends g{static properties={...g.properties,participant:{state:!0},tool:{state:!0},found:{state:!0}};static styles=[S,R,h`
      .filters {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
        gap: var(--space-2);
      }
      ol > li {
        display: grid;
        gap: var(--space-1);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .args {
        color: var(--quiet);
        font: 0.8125rem / 1.5 var(--mono);
      }
    `];page=new D(this,Pe);constructor(){super(),this.participant="",this.tool="",this.found=[]}connectedCallback(){super.connectedCallback(),this.load(0)}async load(e){e===0&&(this.found=[]);let t=new URLSearchParams({limit:String(We),...e>0&&{before:String(e)},...this.participant!==""&&{participant:this.participant},...this.tool.trim()!==""&&{tool:this.tool.trim()}}),o=await this.page.load(()=>this.shell.get(`decisions?${t}`));o!==null&&(this.found=[...this.found,...o.decisions])}render(){let{found:e}=this,{value:t,error:o,loading:s}=this.page,l=[...this.state.participants.keys()].filter(c=>c!==ce).sort();return a`<form class="filters" @submit=${this.filter} @change=${this.filter}>
        <label class="unseen" for="participant">Participant</label>
        <select id="participant">
          <option value="" .selected=${this.participant===""}>All participants</option>
          ${l.map(c=>a`<option value=${c} .selected=${c===this.participant}>${k(c)}</option>`)}
        </select>
        <label class="unseen" for="tool">Tool</label>
        <input id="tool" class="field" type="search" placeholder="Any tool" autocapitalize="off" spellcheck="false" maxlength="256" .value=${this.tool} />
      </form>
      ${$(o)}
      <ol aria-busy=${s?"true":"false"} aria-label="Decisions, newest first">${e.map(c=>a`<li>${this.one(c)}</li>`)}</ol>
      ${e.length===0?a`<p class="empty" role="status">${s?"Loading…":o!==""?i:this.participant+this.tool===""?"No calls yet":"No calls match"}</p>`:this.end(t,s)}`}one(e){let t=Fe(this.shell,e);return a`<p class="row">
        <span class="grow"><span class="name">${e.caller===this.shell.you?"You":v(e.caller)}</span> <code>${P(f(e.tool,200))}</code>${e.host===""?i:a` <span class="quiet">on ${v(e.host)}</span>`}</span>
        <time title=${M(e.at)}>${y(e.at,this.shell.now())}</time>
      </p>
      ${t===""?i:a`<p class="args">${t}</p>`}
      <p class="small">${je(e,o=>T(o,this.shell.you))}${e.rule===""||e.by==="participant"?".":a`: ${m(f(U(e.rule),400))}`}${e.grant===""?i:a` <button class="words small" @click=${()=>this.shell.open("envelope",{id:e.grant})}>Show the grant</button>`}</p>
      ${e.reason===""?i:a`<p class="quiet">${W(e.reason.replaceAll("_"," "))}</p>`}
      <p class="row">
        <span class="chip ${Oe[e.outcome]??""}">${f(e.outcome,40)}</span>
        ${e.today===null?i:a`<span class="chip ${Oe[e.today.verdict]??""}" title=${e.today.rule===""?"No rule allows it":f(U(e.today.rule),400)}>today: ${f(e.today.verdict,40)}</span>`}
        <span class="grow"></span>${L(this.shell,e.id)}
      </p>`}end(e,t){if(t)return a`<p class="empty" role="status">Loading…</p>`;let o=e?.next??null;return o!==null?a`<p class="section"><button class="words" @click=${()=>{this.load(o)}}>Show more</button></p>`:e?.partial===!0?a`<p class="faint section">The log was not read to its beginning. There may be older decisions.</p>`:i}filter=e=>{e.preventDefault(),this.participant=this.renderRoot.querySelector("select")?.value??"",this.tool=this.renderRoot.querySelector("input")?.value??"",this.load(0)}};function Fe(r,e){let t=r.state.proposals.get(e.proposal),o=Ye(r.envelopes,e.seq),s=e.outcome!=="made"||o===void 0?t?.args:ue(d(n(o.payload,"method")),n(o.payload,"params"));return x(s)?ye(s,200):""}function Ye(r,e){let[t,o]=[0,r.length];for(;t<o;){let l=t+o>>1;(r[l]?.seq??0)<e?t=l+1:o=l}let s=r[t];return s?.seq===e?s:void 0}w("meup-decisions",se);var Ke=3e3,ie=class extends g{static properties={...g.properties,days:{state:!0},asking:{state:!0}};static styles=[S,R,A,h`
      .decider {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-4) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .decider > * {
        min-width: 0;
      }
      .decider .small-icon {
        vertical-align: middle;
      }
      dl {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr));
        gap: var(--space-2) var(--space-4);
      }
      dt {
        color: var(--quiet);
        font-size: var(--text-xs);
      }
      dd {
        font-variant-numeric: tabular-nums;
      }
      dd.bad {
        color: var(--bad);
        font-weight: 600;
      }
      .wide {
        max-width: 100%;
        overflow-x: auto;
      }
      table {
        width: 100%;
        border-collapse: collapse;
        font-size: var(--text-s);
        font-variant-numeric: tabular-nums;
      }
      th {
        color: var(--quiet);
        font-size: var(--text-xs);
        font-weight: 500;
        text-align: right;
      }
      th {
        overflow-wrap: normal;
      }
      th,
      td {
        padding: 0.2rem 0 0.2rem var(--space-3);
        border-bottom: 1px solid var(--line);
        text-align: right;
      }
      :is(th, td):first-child {
        min-width: 6rem;
        padding-left: 0;
        text-align: left;
      }
      td.bad {
        color: var(--bad);
        font-weight: 600;
      }
      .needs {
        display: grid;
        gap: var(--space-1);
      }
      progress {
        width: 100%;
        height: 0.375rem;
        border: 0;
        border-radius: 1em;
        background: var(--sunk);
        accent-color: var(--accent);
        appearance: none;
        overflow: hidden;
      }
      progress::-webkit-progress-bar {
        background: var(--sunk);
      }
      progress::-webkit-progress-value {
        background: var(--accent);
      }
      progress::-moz-progress-bar {
        background: var(--accent);
      }
    `];loaded=new D(this,be);scored="";later;constructor(){super(),this.days=30,this.asking=""}disconnectedCallback(){super.disconnectedCallback(),clearTimeout(this.later)}willUpdate(){let e=Xe(this.shell.state);if(e===this.scored)return;let t=this.scored==="";this.scored=e,clearTimeout(this.later),this.later=setTimeout(()=>this.load(),t?0:Ke)}load(){this.loaded.load(()=>this.shell.get(`deciders?${q(this.days)}`,3e5))}render(){let{value:e,error:t,loading:o}=this.loaded;return e===null?a`${$(t)}${t===""?a`<p class="empty" role="status">Loading…</p>`:i}`:a`${$(t)}
      <p class="row">${I(this.days,this.choose)}</p>
      ${e.configured?i:a`<p class="quiet">The configuration names no deciders: everybody with the right to decide does.</p>`}
      ${e.humanOnly.length===0?i:a`<details class="section"><summary>Only people decide on some calls</summary>${Be(e.humanOnly)}</details>`}
      <ol aria-busy=${o?"true":"false"} aria-label="In the order in which they are asked">${e.deciders.map(s=>a`<li class="decider">${this.one(e,s)}</li>`)}</ol>
      ${e.partial?a`<p class="faint section">The log was not read back to ${y(e.since,this.shell.now())}: older decisions are missing in the scores.</p>`:i}`}choose=e=>{this.days=e,this.load()};one(e,t){return a`${this.head(t)} ${t.score===null?i:Je(t,t.score)} ${t.kinds.length===0?i:Qe(t)}
      ${t.only.length===0?i:a`<details><summary>Which calls it may decide on</summary>${Be(t.only)}</details>`} ${this.change(t)} ${t.promotion===null?i:Ve(t.promotion)}
      ${t.type==="reviewer"&&!this.shell.past?this.actions(e,t):i}`}head(e){if(e.type==="rules")return a`<p class="row"><span class="name grow">Rules</span><span class="chip accent">decide first</span></p>`;let t=e.id===""?a`<code>${P(e.pattern)}</code>`:e.id===this.shell.you?"You":v(e.id),o=e.type==="reviewer"?a`<span class="chip ${e.decides?"accent":""}">${e.decides?"reviewer, decides":"reviewer, in shadow"}</span>`:a`<span class="chip">${e.after>0?`decides after ${pe(e.after/1e3)}`:"person"}</span>`;return a`<p class="row">${e.id===""?i:ge(e.id,e.type==="reviewer")}<span class="name grow">${t}</span>${o}</p>`}change(e){let t=e.changed;return t===null?i:a`<p class="quiet">
      ${t.decides?"Promoted":"Put into shadow"} by ${T(t.by,this.shell.you)} <time title=${M(t.at)}>${y(t.at,this.shell.now())}</time>${t.reason===""?i:a`: ${W(t.reason)}`}
      ${t.undone===""?i:a`<button class="words small" @click=${()=>this.shell.open("envelope",{id:t.undone})}>The wrong decision</button>`} ${L(this.shell,t.id)}
    </p>`}actions(e,t){let o=ke(we(e),this.shell.you)!==null&&t.id!==this.shell.you;if(t.decides?!o||!this.shell.may("reviewer.demote"):t.promotion?.mayPromote!==!0)return i;let s=t.promotion?.missing??"";if(this.asking===t.id)return a`<meup-reason-form
        .shell=${this.shell}
        .draft=${c=>t.decides?$e(t.id,c):ve(t.id,c)}
        .words=${t.decides?`${k(t.id)} decides nothing from now on. It still gives its opinions.`:`From now on ${k(t.id)} decides on proposals before people are asked.`}
        .action=${t.decides?"Back to shadow":"Promote"}
        .bad=${t.decides}
        @closed=${()=>this.close(t.id)}
      ></meup-reason-form>`;let l=t.decides?"Back to shadow…":"Promote…";return a`<p><button class="button ${t.decides?"bad":""}" data-reviewer=${t.id} aria-label=${`${l} ${k(t.id)}`} ?disabled=${!t.decides&&s!==""} @click=${()=>this.asking=t.id}>${l}</button></p>`}close(e){this.asking="",this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-reviewer="${CSS.escape(e)}"]`)?.focus())}};function Xe(r){let e=[...r.notices.values()].filter(o=>o.kind.startsWith("reviewer.")).length,t=[...r.proposals.values()].reduce((o,s)=>o+s.opinions.length,0);return[r.proposals.size,r.pending.length,t,e].join(" ")}function Je(r,e){let t=r.type==="person",o=e.covered===0?"none yet":`half within ${V(e.latencyP50*1e3)}, 99% within ${V(e.latencyP99*1e3)}`;return a`<dl>
    <div><dt>${t?"Decided on":"Coverage"}</dt><dd>${Z(e.covered,e.proposals)}</dd></div>
    ${t?a`<div><dt>Approved</dt><dd>${e.approved.toLocaleString()}</dd></div><div><dt>Rejected</dt><dd>${e.rejected.toLocaleString()}</dd></div>`:a`<div><dt title="It approved, or would have, what a person rejected or called wrong">Misses</dt><dd class=${e.misses>0?"bad":""}>${e.misses.toLocaleString()}</dd></div>
          <div><dt title="Of the calls that people rejected, those that it would have rejected too">Agreement on rejections</dt><dd>${Z(e.agreedRejections,e.personRejections)}</dd></div>
          <div><dt title="It rejected, or would have, what people approved">False alarms</dt><dd>${e.falseAlarms.toLocaleString()}</dd></div>
          <div><dt title="Questions that people were not asked because of it, or would not have been">Saved</dt><dd>${e.saved.toLocaleString()}</dd></div>`}
    ${r.type==="rules"?i:a`<div><dt>Latency</dt><dd>${o}</dd></div>`}
  </dl>`}function Qe(r){return a`<details>
    <summary>By kind of call</summary>
    <div class="wide" tabindex="0" role="group" aria-label="Scores by kind of call">
      <table>
        <thead><tr><th scope="col">Kind</th><th scope="col">Coverage</th><th scope="col">Misses</th><th scope="col">Rejections</th><th scope="col">False alarms</th><th scope="col">Saved</th></tr></thead>
        <tbody>${r.kinds.map(e=>a`<tr><td><code>${P(e.kind)}</code></td><td>${e.covered.toLocaleString()} / ${e.proposals.toLocaleString()}</td><td class=${e.misses>0?"bad":""}>${e.misses.toLocaleString()}</td><td>${e.agreedRejections.toLocaleString()} / ${e.personRejections.toLocaleString()}</td><td>${e.falseAlarms.toLocaleString()}</td><td>${e.saved.toLocaleString()}</td></tr>`)}</tbody>
      </table>
    </div>
  </details>`}function Ve(r){let e=(t,o,s)=>s<=0?i:a`<p class="quiet">${t}: ${Math.min(o,s).toLocaleString()} of ${s.toLocaleString()}</p><progress aria-label=${t} max=${s} value=${Math.min(o,s)}></progress>`;return a`<div class="needs" role="group" aria-label="What a promotion needs">
    ${e("Decisions by people on its opinions",r.compared,r.decisions)} ${e("Without a miss",r.sinceMiss,r.withoutMiss)}
    <p class="quiet">${r.missing===""?"It can be promoted.":a`A promotion still needs: ${m(r.missing)}`}</p>
  </div>`}function Be(r){return a`<div class="sentences">${r.map(e=>a`<p>${m(N({kind:"mcp.request",...e}).replace(/^May call tools(?:, but only )?/u,"Calls: "))}</p>`)}</div>`}w("meup-reviewers",ie);var ne=class extends g{static properties={...g.properties,days:{state:!0},open:{state:!0},how:{state:!0},seconds:{state:!0},busy:{state:!0},refusal:{state:!0},done:{state:!0}};static styles=[S,R,A,X,h`
      .card {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-3);
        overflow-wrap: anywhere;
      }
      .cards {
        display: grid;
        gap: var(--space-3);
        margin-top: var(--space-3);
      }
      .summary {
        margin: var(--space-3) 0 var(--space-1);
      }
      .words-of {
        font-weight: 600;
      }
      .done {
        display: grid;
        gap: var(--space-2);
        overflow-wrap: anywhere;
      }
      .done:focus {
        outline: none;
      }
      form {
        display: grid;
        gap: var(--space-3);
        padding-top: var(--space-2);
        border-top: 1px solid var(--line);
      }
      textarea {
        min-height: 14rem;
        font-family: var(--mono);
        font-size: 0.8125rem;
        resize: vertical;
      }
    `];report=new D(this,Ce);constructor(){super(),this.days=30,this.open="",this.how="accept",this.seconds=604800,this.busy=!1,this.refusal="",this.done=new Map}connectedCallback(){super.connectedCallback(),this.load()}load(){this.report.load(()=>this.shell.get(`suggestions?${q(this.days)}`,3e5))}render(){let{value:e,error:t,loading:o}=this.report;return a`<p class="row">
        ${I(this.days,this.choose)}
        ${o?a`<span class="quiet" role="status">Reading the log…</span>`:i}
      </p>
      ${$(t)} ${e===null?i:this.all(e)}`}choose=e=>{this.days=e,this.load()};all(e){let t=e.suggestions.filter(s=>!this.done.has(s.id)),o=t.length===e.suggestions.length?e.fewer:t.reduce((s,l)=>s+l.fewer,0);return a`<p class="quiet summary">${u(e.proposals,"proposal")} decided: ${e.approved.toLocaleString()} approved, ${e.rejected.toLocaleString()} rejected.</p>
      <div class="done" role="status" tabindex="-1">${[...this.done.values()].map(s=>a`<p>${s}</p>`)}</div>
      ${t.length>0?a`<p>${u(t.length,"suggestion")}. ${ae({...e,fewer:o})}</p>`:a`<p class="empty">${this.done.size>0?"No further rule is suggested.":"No rule is suggested. One needs several approvals of similar calls, and no rejection that it would contradict."}</p>`}
      <div class="cards">${t.map(s=>this.card(s))}</div>
      ${e.dismissed===0?i:a`<p class="faint section">${u(e.dismissed,"suggestion")} left out, because somebody dismissed ${e.dismissed===1?"it":"them"}.</p>`}
      ${e.partial?a`<p class="faint section">The log was read back to ${y(e.since,this.shell.now())} only.</p>`:i}
      ${e.left.length===0?i:a`<details class="section"><summary>Left to people: ${u(e.left.length,"kind of call","kinds of calls")}</summary><div class="cards">${e.left.map(s=>this.left(s))}</div></details>`}
      ${e.unusedUnknown!==""?a`<p class="faint section">It is not known which rights nobody used: ${m(e.unusedUnknown)}.</p>`:e.unused.length===0?i:a`<details class="section"><summary>${u(e.unused.length,"right")} that nobody used</summary><div class="cards">${e.unused.map(s=>this.unused(s))}</div></details>`}
      ${e.unseen>0?a`<p class="faint section">${u(e.unseen,"entry","entries")} that you may not see ${e.unseen===1?"is":"are"} missing here.</p>`:i}`}rule(e){return a`<span class="words-of">${e.denies?"Deny everybody":a`Allow ${v(e.participant)}`}: ${H(e.words)}</span>`}card(e){let t=o=>T(o,this.shell.you);return a`<article class="card" aria-label=${`${e.denies?"Deny everybody":`Allow ${k(e.participant)}`} ${k(e.tool)}`}>
      <p>${this.rule(e)}</p>
      <p class="quiet">${Ae(e,t)}${e.denies?`, proposed mostly by ${t(e.participant)}`:""}. ${ae(e)}</p>
      ${this.decided("Supporting",e.supporting)} ${this.decided(e.denies?"Approved, and not matched":"Not approved, and not matched",e.contradicting)} ${e.patch===""?i:this.patch(e)}
      ${this.open!==e.id?this.actions(e):this.how==="dismiss"?this.dismissal(e):this.form(e)}
    </article>`}decided(e,t){return t.length===0?i:a`<details><summary>${e}: ${u(t.length,"call")}</summary>${K(this.shell,t)}</details>`}patch(e){return a`<details><summary>For the configuration file</summary><pre tabindex="0">${P(e.patch)}</pre><p><button class="words small" @click=${()=>{fe(this.shell,e.patch,"Copied")}}>Copy</button></p></details>`}actions(e){if(this.shell.past)return i;let t=e.grant!==null&&e.grantable;return a`<div class="row" data-suggestion=${e.id}>
      ${t?a`<button class="button main" @click=${()=>this.begin(e,"accept")}>Accept…</button><button class="button" @click=${()=>this.begin(e,"edit")}>Edit…</button>`:i}
      ${this.shell.may("policy.dismiss")?a`<button class="button" @click=${()=>this.begin(e,"dismiss")}>Dismiss…</button>`:i}
      ${t?i:a`<span class="faint">${e.denies?"A denial is a rule of the deciders, and has to be put into the configuration file.":"You may not grant this."}</span>`}
    </div>`}dismissal(e){return a`<meup-reason-form
      .shell=${this.shell}
      .draft=${t=>({kind:"policy.dismiss",payload:{...e.dismissal,...t!==""&&{reason:t}}})}
      .words=${"It is not suggested to anybody any more, until as many further decisions support it."}
      .action=${"Dismiss"}
      @sent=${()=>this.end(e,a`Dismissed: ${this.rule(e)}`)}
      @closed=${()=>this.close(e)}
    ></meup-reason-form>`}form(e){return a`<form @submit=${t=>{this.submit(t,e)}} @keydown=${t=>this.key(t,e)}>
      ${this.how==="edit"?a`<label class="field-label">Capabilities as JSON<textarea name="patterns" spellcheck="false" autocapitalize="off" maxlength="32000" .value=${he(e.capabilities)}></textarea></label>
            <p class="faint">What you change here has not been tried on the log.</p>`:a`<div class="sentences" role="group" aria-label="Summary">${F(e.capabilities).map(t=>a`<p>${m(t)}</p>`)}</div>`}
      <label class="field-label">Duration
        <select name="seconds" @change=${t=>this.seconds=Number(t.target.value)}>
          ${ee.map(([t,o])=>a`<option value=${t} .selected=${t===this.seconds}>${o}</option>`)}
        </select>
      </label>
      <p class="faint">This grants the right to ${k(e.participant)} at once.${e.patch===""?"":" For good, put it into the configuration file."}</p>
      ${$(this.refusal)}
      <div class="row">
        <button class="button main" type="submit" ?disabled=${this.busy}>${this.busy?"Granting…":"Grant access"}</button>
        <button class="button" type="button" @click=${()=>this.close(e)}>Cancel</button>
      </div>
    </form>`}begin(e,t){this.open=e.id,this.how=t,this.refusal="",this.updateComplete.then(()=>{let o=this.renderRoot.querySelector("form :is(textarea, select)");o instanceof HTMLTextAreaElement&&o.setSelectionRange(0,0),o?.focus()})}end(e,t){this.done=new Map([...this.done,[e.id,t]]),this.open="",this.updateComplete.then(()=>this.renderRoot.querySelector(".done")?.focus())}close(e){this.open="",this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-suggestion="${CSS.escape(e.id)}"] button`)?.focus())}key=(e,t)=>{e.key==="Escape"&&(e.preventDefault(),this.close(t))};async submit(e,t){e.preventDefault();let o=this.renderRoot.querySelector("textarea[name=patterns]")?.value,s=o===void 0?t.capabilities:De({...Re,usual:"own",own:o.trim()});if(this.refusal=typeof s=="string"?s:"",typeof s=="string"||t.grant===null)return;this.busy=!0;let l=await this.shell.send(Ie(t.grant,t.participant,s,this.seconds));if(this.busy=!1,!l.ok){this.refusal=l.refusal;return}let c=this.seconds>0?a`for ${ee.find(([Q])=>Q===this.seconds)?.[1]}`:"until it is revoked",J=o===void 0?H(t.words):F(s).map(Q=>a` ${m(Q)}`);this.end(t,a`Granted to ${v(t.participant)} ${c}: ${J}`)}left(e){return a`<div class="card">
      <p><span class="name">${v(e.participant)}</span>: ${H(e.words)}</p>
      <p class="quiet">Approved ${u(e.approved,"time")}. ${m(e.why)}</p>
      ${this.decided("Approved",e.supporting)} ${this.decided("Contradicting",e.contradicting)}
    </div>`}unused(e){let t=e.last===0?"Never used in this log.":`Last used ${y(e.last,this.shell.now())}.`;return a`<div class="card">
      <p class="name">${v(e.participant)}</p>
      <div class="sentences">${F(e.capabilities).map(o=>a`<p>${m(o)}</p>`)}</div>
      <p class="row quiet"><span class="grow">${t} ${e.grant===""?"It is in the configuration file.":"It was granted."}</span>${e.grant===""?i:a`<button class="words small" @click=${()=>this.shell.open("operator")}>Grants</button>${L(this.shell,e.grant)}`}</p>
    </div>`}};w("meup-suggestions",ne);var Ze=[["decisions","Decisions",!0],["reviewers","Reviewers",!0],["suggestions","Suggestions",!1],["backtest","Backtest",!1]],le=class extends g{static styles=[S,R,h`
      nav {
        display: flex;
        gap: var(--space-1) var(--space-3);
        flex-wrap: wrap;
        margin-bottom: var(--space-4);
        border-bottom: 1px solid var(--line);
      }
      nav button {
        padding: var(--space-1) 0;
        border-bottom: 2px solid transparent;
        color: var(--quiet);
        font-size: var(--text-xs);
        font-weight: 600;
      }
      nav button:hover {
        color: var(--ink);
      }
      nav button[aria-current] {
        border-color: var(--accent);
        color: var(--ink);
      }
      @media (pointer: coarse) {
        nav button {
          min-height: 2.5rem;
        }
      }
    `];render(){let{shell:e,state:t}=this,o=this.params?.part??"decisions";return a`
      <nav aria-label="Policy">${Ze.filter(([,,s])=>s||Te(e)).map(([s,l])=>a`<button aria-current=${s===o?"page":i} @click=${()=>e.open("policy",{part:s})}>${l}</button>`)}</nav>
      ${e.past?a`<p class="warning">You are viewing the past. This is how it is now.</p>`:i}
      ${o==="reviewers"?a`<meup-reviewers .shell=${e} .state=${t}></meup-reviewers>`:o==="suggestions"?a`<meup-suggestions .shell=${e} .state=${t}></meup-suggestions>`:o==="backtest"?a`<meup-backtest .shell=${e} .state=${t}></meup-backtest>`:a`<meup-decisions .shell=${e} .state=${t}></meup-decisions>`}
    `}};w("meup-policy",le);export{le as Policy};
