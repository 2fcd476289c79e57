import{a as be}from"/assets/chunk-24OHCDFQ.js";import{b as we,c as ke,d as Te}from"/assets/chunk-ECF2UMDL.js";import"/assets/chunk-LLC5DZEJ.js";import{a as ye,b as fe,c as ve,d as J,e as $e}from"/assets/chunk-POJDSOQI.js";import{c as v,d as S}from"/assets/chunk-LI2ITUN5.js";import{a as B,b as Q}from"/assets/chunk-VAZBR7W3.js";import"/assets/chunk-V32WSOV2.js";import{a as ne}from"/assets/chunk-J3ND4NAU.js";import{i as he,j as ge}from"/assets/chunk-74T5PMWG.js";import{b as le}from"/assets/chunk-7YJZIPSA.js";import"/assets/chunk-TZLAFC3M.js";import{a as R,b as $,c as me,e as c,f as L,j as b,k as D}from"/assets/chunk-OOYHG4YG.js";import{a as ce}from"/assets/chunk-MYHS66OQ.js";import{C as ue,d as G,h as ie,i as K,r as h,v as W,y as q,z as g}from"/assets/chunk-MANVBF5B.js";import{D as y,G as de,L as T,N as u,O as X,R as f,T as pe,b as m,c as r,f as s,j as se,n as l,p as _,r as j,s as k,t as x,u as O,v as z,w as n}from"/assets/chunk-6QAC3HRB.js";var _e=100;function Se(a){let{decisions:e,next:t,has_more:o,partial:i}=k(a);return{decisions:O(e).slice(0,_e).map(d=>Oe(k(d))),next:j(o)===!0?_(t):null,partial:j(i)===!0}}function Oe(a){let e=i=>l(n(a,i)),t=k(n(a,"decided")),o=n(a,"today");return{id:e("id"),seq:_(n(a,"seq"))??0,at:G(e("at")),caller:e("caller"),host:e("host"),tool:e("tool"),proposal:e("proposal"),edited:j(n(a,"edited"))===!0,outcome:e("outcome"),reason:e("reason"),by:l(n(t,"by")),decider:l(n(t,"decider")),participant:l(n(t,"participant")),late:n(t,"when")==="late",rule:l(n(t,"rule")),grant:l(n(t,"grant")),today:x(o)?{verdict:l(n(o,"verdict")),rule:l(n(o,"rule"))}:null}}var Be={made:"Approved",rejected:"Rejected",withdrawn:"Withdrawn",expired:"Rejected"};function Re(a,e){switch(a.by){case"rule":return a.decider==="rule"?"Let through by a rule of the deciders":"Allowed by a rule";case"grant":return"Allowed by a grant";case"participant":return`${Be[a.outcome]??"Decided"} by ${a.decider==="reviewer"?"the reviewer ":""}${e(a.participant)}${a.edited?", with other arguments":""}${a.late?", too late":""}`;case"nobody":return"Nobody decided in time";default:return"The reason was not recorded"}}function N(a){let e;try{e=se(a)}catch{return a}return typeof e=="string"?B(e):x(e)&&typeof n(e,"kind")=="string"?B(e):a}var Pe=500,p=(a,e)=>_(n(a,e))??0,E=(a,e)=>G(l(n(a,e))),C=(a,e)=>O(n(a,e)).slice(0,Pe).map(k),je=a=>O(n(a,"capabilities")).slice(0,Pe).flatMap(e=>typeof e=="string"?[{kind:e}]:x(e)?[e]:[]);function xe(a){let e=k(a);return{proposals:p(e,"proposals"),approved:p(e,"approved"),rejected:p(e,"rejected"),from:E(e,"from"),to:E(e,"to"),suggestions:C(e,"suggestions").map(De),dismissed:p(e,"dismissed"),fewer:p(e,"asked_fewer"),letThrough:p(e,"let_through_rejected"),left:C(e,"left_to_people").map(t=>({...De(t),why:l(n(t,"why"))})),unused:C(e,"unused").map(t=>({participant:l(n(t,"participant")),capabilities:je(t),grant:l(n(t,"grant")),last:E(t,"last_use")})),unusedUnknown:l(n(e,"unused_unknown")),unseen:p(e,"unseen"),since:E(e,"since"),partial:j(n(e,"partial"))===!0}}function De(a){let e=t=>l(n(a,t));return{id:e("id"),denies:e("does")==="deny",participant:e("participant"),host:e("host"),tool:e("tool"),words:e("words"),capabilities:je(a),approved:p(a,"approved"),rejected:p(a,"rejected"),by:z(n(a,"by")),days:p(a,"days"),fewer:p(a,"asked_fewer"),letThrough:p(a,"let_through_rejected"),supporting:C(a,"for").map(V),contradicting:C(a,"against").map(V),configuredIn:e("configured_in"),patch:e("patch"),grant:x(n(a,"grant"))?k(n(a,"grant")):null,grantable:j(n(a,"grantable"))===!0,dismissal:k(n(a,"dismissal"))}}function V(a){let e=t=>l(n(a,t));return{id:e("id"),at:E(a,"ts"),what:e("what"),outcome:e("outcome"),by:e("by")||e("rejected_by"),reason:e("reason")}}function Le(a){let e=k(a);return{from:E(e,"from"),to:E(e,"to"),envelopes:p(e,"envelopes"),record:n(e,"baseline")==="record",different:p(e,"different"),allowed:p(e,"allowed"),refused:p(e,"refused"),asked:p(e,"asked"),masked:p(e,"masked"),unmasked:p(e,"unmasked"),letThrough:p(e,"let_through_rejected"),unjudged:p(e,"unjudged"),unseen:p(e,"unseen"),groups:C(e,"groups").map(t=>({outcome:l(n(t,"outcome")),rejectedBy:z(n(t,"rejected_by")),participant:l(n(t,"participant")),kind:l(n(t,"kind")),rule:l(n(t,"rule")),why:l(n(t,"why")),before:l(n(t,"before")),count:p(t,"count"),examples:C(t,"examples").map(V)})),moreGroups:p(e,"more_groups"),summary:l(n(e,"summary")),since:E(e,"since"),partial:j(n(e,"partial"))===!0,warnings:z(n(e,"warnings"))}}function H(a,e){return`${a.toLocaleString("en-US")} ${e}${a===1?"":"s"}`}function Ee(a){return a.rejectedBy.length>0?"Let through although rejected":{allowed:"No question any more",asked:"Asked",refused:"Refused",masked:"Masked",unmasked:"No longer masked"}[a.outcome]??a.outcome}function Ce(a,e,t,o){let{ttl_seconds:i,...d}=a;return{kind:"capability.grant",to:[e],payload:{...d,capabilities:t,...o>0&&{ttl_seconds:o}}}}function qe(a,e){let t=a.denies?a.rejected:a.approved,o=a.by.map(e),i=o.length>3?`${o.slice(0,2).join(", ")} and ${o.length-2} others`:o.join(" and ");return`${a.denies?"Rejected":"Approved"} ${H(t,"time")}${i===""?"":` by ${i}`} on ${H(a.days,"day")}`}function Z(a){return`Would have asked ${H(a.fewer,"time")} fewer and let through ${H(a.letThrough,"call")} that ${a.letThrough===1?"was":"were"} rejected.`}function F(a,e){return r`<ul class="examples">${e.map(t=>r`<li>
      <p class="what">${$(t.what)}</p>
      <p class="fact"><time title=${q(t.at)}>${g(t.at,a.now())}</time>${t.by===""?s:` · ${y(t.outcome||"rejected",40)} by ${S(t.by,a.you)}`}${t.reason===""?s:`: ${y(de(t.reason.replaceAll("_"," ")),200)}`}</p>
      ${L(a,t.id)}
    </li>`)}</ul>`}var Y=m`
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
`;var P=class{constructor(e,t){this.host=e;this.read=t;e.addController(this)}host;read;value=null;error="";loading=!1;requests=0;hostConnected(){}async load(e){let t=++this.requests;this.loading=!0,this.host.requestUpdate();let o=null,i="";try{o=this.read(await e())}catch(d){i=d instanceof Error?d.message:String(d)}return t!==this.requests?null:(this.value=o??this.value,this.error=i,this.loading=!1,this.host.requestUpdate(),o)}};var Ne=[[1,"Last 24 hours"],[7,"Last 7 days"],[30,"Last 30 days"],[0,"Whole log"]];function M(a){return`since=${encodeURIComponent(new Date(a===0?0:Date.now()-a*864e5).toISOString())}`}function I(a,e){return r`<label class="unseen" for="span">Part of the log</label>
    <select id="span" class="span" @change=${t=>e(Number(t.target.value))}>
      ${Ne.map(([t,o])=>r`<option value=${t} .selected=${t===a}>${o}</option>`)}
    </select>`}var A=m`
  .span {
    width: auto;
  }
`;var Me=1<<20,Ue={allowed:"accent",asked:"wait",refused:"bad"},ee=class extends h{static properties={...h.properties,days:{state:!0},trouble:{state:!0}};static styles=[R,D,A,Y,m`
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
    `];result=new P(this,Le);constructor(){super(),this.days=30,this.trouble=""}render(){let{value:e,error:t,loading:o}=this.result;return r`<form @submit=${this.submit}>
        <p class="quiet">Decides the log again under another configuration, and shows what would have been different. Nothing is changed.</p>
        <label class="field-label">Configuration (YAML or JSON)<textarea name="configuration" spellcheck="false" autocapitalize="off" maxlength=${Me} placeholder="spaces:" aria-invalid=${this.trouble===""?"false":"true"} @input=${()=>this.trouble=""}></textarea></label>
        <label class="field-label">From a file<input class="field" type="file" accept=".yaml,.yml,.json,text/*" @change=${i=>{this.choose(i)}} /></label>
        ${b(this.trouble)}
        <div class="row">
          <button class="button main" type="submit" ?disabled=${o}>${o?"Deciding again…":"Run"}</button>
          ${I(this.days,i=>this.days=i)}
        </div>
      </form>
      ${b(t)}
      <div aria-live="polite" aria-busy=${o?"true":"false"}>${e===null||t!==""?s:this.outcome(e)}</div>`}async choose(e){let t=e.target.files?.[0];if(t===void 0)return;let o=this.renderRoot.querySelector("textarea");t.size>Me?this.trouble="The file is too large for a configuration.":o!==null&&(o.value=await t.text(),this.trouble="")}submit=e=>{e.preventDefault();let t=this.renderRoot.querySelector("textarea")?.value??"";this.trouble=t.trim()===""?"Paste a configuration, or choose a file.":"",this.trouble===""&&this.result.load(()=>this.shell.get(`backtest?${M(this.days)}`,3e5,t))};outcome(e){let t=this.shell.now();return r`<p class="result">${u(e.summary)}</p>
      <p class="quiet">${c(e.envelopes,"envelope")}${e.envelopes===0?"":`, ${g(e.from,t)} to ${g(e.to,t)}`}, compared with ${e.record?"what happened":"what happened and the configuration in force"}.</p>
      ${e.unjudged>0?r`<p class="quiet">The log no longer has enough about ${c(e.unjudged,"envelope")}.</p>`:s}
      ${e.unseen>0?r`<p class="quiet">${c(e.unseen,"entry","entries")} that you may not see ${e.unseen===1?"is":"are"} missing here.</p>`:s}
      ${e.partial?r`<p class="quiet">The log was read back to ${g(e.since,t)} only.</p>`:s}
      ${e.warnings.length===0?s:r`<details><summary>${c(e.warnings.length,"warning")} about the configuration</summary><ul class="sentences">${e.warnings.map(o=>r`<li>${u(o)}</li>`)}</ul></details>`}
      <ul>${e.groups.map(o=>r`<li class="group">${this.group(o)}</li>`)}</ul>
      ${e.moreGroups>0?r`<p class="faint section">${c(e.moreGroups,"further group")} left out.</p>`:s}`}group(e){let t=e.rejectedBy.length>0,o=(i,d)=>d===""?s:r`<p class="quiet">${i}: ${u(y(N(d),400))}</p>`;return r`<p class="row"><span class="chip ${t?"bad":Ue[e.outcome]??""}">${Ee(e)}</span><span class="of"><b>${e.count.toLocaleString()}</b> · ${be(e.kind)} of <span class="name">${v(e.participant)}</span></span></p>
      ${t?r`<p class="quiet">Rejected by ${e.rejectedBy.map(i=>S(i,this.shell.you)).join(", ")}.</p>`:s} ${o("By",e.rule)} ${e.why===""?s:r`<p class="quiet">${u(y(e.why,400))}</p>`} ${o("Now",e.before)}
      ${e.examples.length===0?s:r`<details ?open=${t}><summary>${e.examples.length<e.count?c(e.examples.length,"example"):c(e.count,"envelope")}</summary>${F(this.shell,e.examples)}</details>`}`}};T("meup-backtest",ee);var ze=20,Ie={made:"accent",rejected:"bad",expired:"wait",refused:"bad",asked:"wait",allowed:"accent"},te=class extends h{static properties={...h.properties,participant:{state:!0},tool:{state:!0},found:{state:!0}};static styles=[R,D,m`
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
    `];page=new P(this,Se);constructor(){super(),this.participant="",this.tool="",this.found=[]}connectedCallback(){super.connectedCallback(),this.load(0)}async load(e){e===0&&(this.found=[]);let t=new URLSearchParams({limit:String(ze),...e>0&&{before:String(e)},...this.participant!==""&&{participant:this.participant},...this.tool.trim()!==""&&{tool:this.tool.trim()}}),o=await this.page.load(()=>this.shell.get(`decisions?${t}`));o!==null&&(this.found=[...this.found,...o.decisions])}render(){let{found:e}=this,{value:t,error:o,loading:i}=this.page,d=[...this.state.participants.keys()].filter(w=>w!==ne).sort();return r`<form class="filters" @submit=${this.filter} @change=${this.filter}>
        <label class="unseen" for="participant">Participant</label>
        <select id="participant">
          <option value="" .selected=${this.participant===""}>All participants</option>
          ${d.map(w=>r`<option value=${w} .selected=${w===this.participant}>${f(w)}</option>`)}
        </select>
        <label class="unseen" for="tool">Tool</label>
        <input id="tool" class="field" type="search" placeholder="Any tool" autocapitalize="off" spellcheck="false" maxlength="256" .value=${this.tool} />
      </form>
      ${b(o)}
      <ol aria-busy=${i?"true":"false"} aria-label="Decisions, newest first">${e.map(w=>r`<li>${this.one(w)}</li>`)}</ol>
      ${e.length===0?r`<p class="empty" role="status">${i?"Loading…":o!==""?s:this.participant+this.tool===""?"No calls yet":"No calls match"}</p>`:this.end(t,i)}`}one(e){let t=Ge(this.shell,e);return r`<p class="row">
        <span class="grow"><span class="name">${e.caller===this.shell.you?"You":v(e.caller)}</span> <code>${$(y(e.tool,200))}</code>${e.host===""?s:r` <span class="quiet">on ${v(e.host)}</span>`}</span>
        <time title=${q(e.at)}>${g(e.at,this.shell.now())}</time>
      </p>
      ${t===""?s:r`<p class="args">${t}</p>`}
      <p class="small">${Re(e,o=>S(o,this.shell.you))}${e.rule===""||e.by==="participant"?".":r`: ${u(y(N(e.rule),400))}`}${e.grant===""?s:r` <button class="words small" @click=${()=>this.shell.open("envelope",{id:e.grant})}>Show the grant</button>`}</p>
      ${e.reason===""?s:r`<p class="quiet">${W(e.reason.replaceAll("_"," "))}</p>`}
      <p class="row">
        <span class="chip ${Ie[e.outcome]??""}">${y(e.outcome,40)}</span>
        ${e.today===null?s:r`<span class="chip ${Ie[e.today.verdict]??""}" title=${e.today.rule===""?"No rule allows it":y(N(e.today.rule),400)}>today: ${y(e.today.verdict,40)}</span>`}
        <span class="grow"></span>${L(this.shell,e.id)}
      </p>`}end(e,t){if(t)return r`<p class="empty" role="status">Loading…</p>`;let o=e?.next??null;return o!==null?r`<p class="section"><button class="words" @click=${()=>{this.load(o)}}>Show more</button></p>`:e?.partial===!0?r`<p class="faint section">The log was not read to its beginning. There may be older decisions.</p>`:s}filter=e=>{e.preventDefault(),this.participant=this.renderRoot.querySelector("select")?.value??"",this.tool=this.renderRoot.querySelector("input")?.value??"",this.load(0)}};function Ge(a,e){let t=a.state.proposals.get(e.proposal),o=We(a.envelopes,e.seq),i=e.outcome!=="made"||o===void 0?t?.args:le(l(n(o.payload,"method")),n(o.payload,"params"));return x(i)?ue(i,200):""}function We(a,e){let[t,o]=[0,a.length];for(;t<o;){let d=t+o>>1;(a[d]?.seq??0)<e?t=d+1:o=d}let i=a[t];return i?.seq===e?i:void 0}T("meup-decisions",te);var He=3e3,ae=class extends h{static properties={...h.properties,days:{state:!0},asking:{state:!0}};static styles=[R,D,A,m`
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
    `];loaded=new P(this,ye);scored="";later;constructor(){super(),this.days=30,this.asking=""}disconnectedCallback(){super.disconnectedCallback(),clearTimeout(this.later)}willUpdate(){let e=Fe(this.shell.state);if(e===this.scored)return;let t=this.scored==="";this.scored=e,clearTimeout(this.later),this.later=setTimeout(()=>this.load(),t?0:He)}load(){this.loaded.load(()=>this.shell.get(`deciders?${M(this.days)}`,3e5))}render(){let{value:e,error:t,loading:o}=this.loaded;return e===null?r`${b(t)}${t===""?r`<p class="empty" role="status">Loading…</p>`:s}`:r`${b(t)}
      <p class="row">${I(this.days,this.choose)}</p>
      ${e.configured?s:r`<p class="quiet">The configuration names no deciders: everybody with the right to decide does.</p>`}
      ${e.humanOnly.length===0?s:r`<details class="section"><summary>Only people decide on some calls</summary>${Ae(e.humanOnly)}</details>`}
      <ol aria-busy=${o?"true":"false"} aria-label="In the order in which they are asked">${e.deciders.map(i=>r`<li class="decider">${this.one(e,i)}</li>`)}</ol>
      ${e.partial?r`<p class="faint section">The log was not read back to ${g(e.since,this.shell.now())}: older decisions are missing in the scores.</p>`:s}`}choose=e=>{this.days=e,this.load()};one(e,t){return r`${this.head(t)} ${t.score===null?s:Ye(t,t.score)} ${t.kinds.length===0?s:Ke(t)}
      ${t.only.length===0?s:r`<details><summary>Which calls it may decide on</summary>${Ae(t.only)}</details>`} ${this.change(t)} ${t.promotion===null?s:Xe(t.promotion)}
      ${t.type==="reviewer"&&!this.shell.past?this.actions(e,t):s}`}head(e){if(e.type==="rules")return r`<p class="row"><span class="name grow">Rules</span><span class="chip accent">decide first</span></p>`;let t=e.id===""?r`<code>${$(e.pattern)}</code>`:e.id===this.shell.you?"You":v(e.id),o=e.type==="reviewer"?r`<span class="chip ${e.decides?"accent":""}">${e.decides?"reviewer, decides":"reviewer, in shadow"}</span>`:r`<span class="chip">${e.after>0?`decides after ${ie(e.after/1e3)}`:"person"}</span>`;return r`<p class="row">${e.id===""?s:ce(e.id,e.type==="reviewer")}<span class="name grow">${t}</span>${o}</p>`}change(e){let t=e.changed;return t===null?s:r`<p class="quiet">
      ${t.decides?"Promoted":"Put into shadow"} by ${S(t.by,this.shell.you)} <time title=${q(t.at)}>${g(t.at,this.shell.now())}</time>${t.reason===""?s:r`: ${W(t.reason)}`}
      ${t.undone===""?s:r`<button class="words small" @click=${()=>this.shell.open("envelope",{id:t.undone})}>The wrong decision</button>`} ${L(this.shell,t.id)}
    </p>`}actions(e,t){let o=ve(fe(e),this.shell.you)!==null&&t.id!==this.shell.you;if(t.decides?!o||!this.shell.may("reviewer.demote"):t.promotion?.mayPromote!==!0)return s;let i=t.promotion?.missing??"";if(this.asking===t.id)return r`<meup-reason-form
        .shell=${this.shell}
        .draft=${w=>t.decides?ge(t.id,w):he(t.id,w)}
        .words=${t.decides?`${f(t.id)} decides nothing from now on. It still gives its opinions.`:`From now on ${f(t.id)} decides on proposals before people are asked.`}
        .action=${t.decides?"Back to shadow":"Promote"}
        .bad=${t.decides}
        @closed=${()=>this.close(t.id)}
      ></meup-reason-form>`;let d=t.decides?"Back to shadow…":"Promote…";return r`<p><button class="button ${t.decides?"bad":""}" data-reviewer=${t.id} aria-label=${`${d} ${f(t.id)}`} ?disabled=${!t.decides&&i!==""} @click=${()=>this.asking=t.id}>${d}</button></p>`}close(e){this.asking="",this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-reviewer="${CSS.escape(e)}"]`)?.focus())}};function Fe(a){let e=[...a.notices.values()].filter(o=>o.kind.startsWith("reviewer.")).length,t=[...a.proposals.values()].reduce((o,i)=>o+i.opinions.length,0);return[a.proposals.size,a.pending.length,t,e].join(" ")}function Ye(a,e){let t=a.type==="person",o=e.covered===0?"none yet":`half within ${K(e.latencyP50*1e3)}, 99% within ${K(e.latencyP99*1e3)}`;return r`<dl>
    <div><dt>${t?"Decided on":"Coverage"}</dt><dd>${J(e.covered,e.proposals)}</dd></div>
    ${t?r`<div><dt>Approved</dt><dd>${e.approved.toLocaleString()}</dd></div><div><dt>Rejected</dt><dd>${e.rejected.toLocaleString()}</dd></div>`:r`<div><dt title="It approved, or would have, what a person rejected or called wrong">Misses</dt><dd class=${e.misses>0?"bad":""}>${e.misses.toLocaleString()}</dd></div>
          <div><dt title="Of the calls that people rejected, those that it would have rejected too">Agreement on rejections</dt><dd>${J(e.agreedRejections,e.personRejections)}</dd></div>
          <div><dt title="It rejected, or would have, what people approved">False alarms</dt><dd>${e.falseAlarms.toLocaleString()}</dd></div>
          <div><dt title="Questions that people were not asked because of it, or would not have been">Saved</dt><dd>${e.saved.toLocaleString()}</dd></div>`}
    ${a.type==="rules"?s:r`<div><dt>Latency</dt><dd>${o}</dd></div>`}
  </dl>`}function Ke(a){return r`<details>
    <summary>By kind of call</summary>
    <div class="wide" tabindex="0" role="group" aria-label="Scores by kind of call">
      <table>
        <thead><tr><th scope="col">Kind</th><th scope="col">Coverage</th><th scope="col">Misses</th><th scope="col">Rejections</th><th scope="col">False alarms</th><th scope="col">Saved</th></tr></thead>
        <tbody>${a.kinds.map(e=>r`<tr><td><code>${$(e.kind)}</code></td><td>${e.covered.toLocaleString()} / ${e.proposals.toLocaleString()}</td><td class=${e.misses>0?"bad":""}>${e.misses.toLocaleString()}</td><td>${e.agreedRejections.toLocaleString()} / ${e.personRejections.toLocaleString()}</td><td>${e.falseAlarms.toLocaleString()}</td><td>${e.saved.toLocaleString()}</td></tr>`)}</tbody>
      </table>
    </div>
  </details>`}function Xe(a){let e=(t,o,i)=>i<=0?s:r`<p class="quiet">${t}: ${Math.min(o,i).toLocaleString()} of ${i.toLocaleString()}</p><progress aria-label=${t} max=${i} value=${Math.min(o,i)}></progress>`;return r`<div class="needs" role="group" aria-label="What a promotion needs">
    ${e("Decisions by people on its opinions",a.compared,a.decisions)} ${e("Without a miss",a.sinceMiss,a.withoutMiss)}
    <p class="quiet">${a.missing===""?"It can be promoted.":r`A promotion still needs: ${u(a.missing)}`}</p>
  </div>`}function Ae(a){return r`<div class="sentences">${a.map(e=>r`<p>${u(B({kind:"mcp.request",...e}).replace(/^May call tools(?:, but only )?/u,"Calls: "))}</p>`)}</div>`}T("meup-reviewers",ae);var re=class extends h{static properties={...h.properties,days:{state:!0},open:{state:!0},how:{state:!0},seconds:{state:!0},busy:{state:!0},refusal:{state:!0},done:{state:!0}};static styles=[R,D,A,Y,m`
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
    `];report=new P(this,xe);constructor(){super(),this.days=30,this.open="",this.how="accept",this.seconds=604800,this.busy=!1,this.refusal="",this.done=new Map}connectedCallback(){super.connectedCallback(),this.load()}load(){this.report.load(()=>this.shell.get(`suggestions?${M(this.days)}`,3e5))}render(){let{value:e,error:t,loading:o}=this.report;return r`<p class="row">
        ${I(this.days,this.choose)}
        ${o?r`<span class="quiet" role="status">Reading the log…</span>`:s}
      </p>
      ${b(t)} ${e===null?s:this.all(e)}`}choose=e=>{this.days=e,this.load()};all(e){let{suggestions:t}=e;return r`<p class="quiet summary">${c(e.proposals,"proposal")} decided: ${e.approved.toLocaleString()} approved, ${e.rejected.toLocaleString()} rejected.</p>
      ${t.length===0?r`<p class="empty">No rule is suggested. One needs several approvals of similar calls, and no rejection that it would contradict.</p>`:r`<p>${c(t.length,"suggestion")}. ${Z(e)}</p>`}
      <div class="cards">${t.map(o=>this.card(o))}</div>
      ${e.dismissed===0?s:r`<p class="faint section">${c(e.dismissed,"suggestion")} left out, because somebody dismissed ${e.dismissed===1?"it":"them"}.</p>`}
      ${e.partial?r`<p class="faint section">The log was read back to ${g(e.since,this.shell.now())} only.</p>`:s}
      ${e.left.length===0?s:r`<details class="section"><summary>Left to people: ${c(e.left.length,"kind of call","kinds of calls")}</summary><div class="cards">${e.left.map(o=>this.left(o))}</div></details>`}
      ${e.unusedUnknown!==""?r`<p class="faint section">It is not known which rights nobody used: ${u(e.unusedUnknown)}.</p>`:e.unused.length===0?s:r`<details class="section"><summary>${c(e.unused.length,"right")} that nobody used</summary><div class="cards">${e.unused.map(o=>this.unused(o))}</div></details>`}
      ${e.unseen>0?r`<p class="faint section">${c(e.unseen,"entry","entries")} that you may not see ${e.unseen===1?"is":"are"} missing here.</p>`:s}`}rule(e){return r`<span class="words-of">${e.denies===!0?"Deny":"Allow"} ${v(e.participant)}: <code>${$(e.tool)}</code>${e.words===""?s:r`: ${X(e.words)}`}</span>`}card(e){let t=o=>S(o,this.shell.you);return r`<article class="card" aria-label=${`${e.denies?"Deny":"Allow"} ${f(e.participant)} ${f(e.tool)}`}>
      <p>${this.rule(e)}</p>
      <p class="quiet">${qe(e,t)}. ${Z(e)}</p>
      ${this.decided("Supporting",e.supporting)} ${this.decided("Contradicting",e.contradicting)} ${e.patch===""?s:this.patch(e)}
      ${this.done.has(e.id)?r`<p class="quiet" role="status">${this.done.get(e.id)}</p>`:this.open!==e.id?this.actions(e):this.how==="dismiss"?this.dismissal(e):this.form(e)}
    </article>`}decided(e,t){return t.length===0?s:r`<details><summary>${e}: ${c(t.length,"call")}</summary>${F(this.shell,t)}</details>`}patch(e){return r`<details><summary>For the configuration file</summary><pre tabindex="0">${$(e.patch)}</pre><p><button class="words small" @click=${()=>{me(this.shell,e.patch,"Copied")}}>Copy</button></p></details>`}actions(e){if(this.shell.past)return s;let t=e.grant!==null&&e.grantable;return r`<div class="row" data-suggestion=${e.id}>
      ${t?r`<button class="button main" @click=${()=>this.begin(e,"accept")}>Accept…</button><button class="button" @click=${()=>this.begin(e,"edit")}>Edit…</button>`:s}
      ${this.shell.may("policy.dismiss")?r`<button class="button" @click=${()=>this.begin(e,"dismiss")}>Dismiss…</button>`:s}
      ${t?s:r`<span class="faint">${e.denies?"A denial has to be put into the configuration file.":"You may not grant this."}</span>`}
    </div>`}dismissal(e){return r`<meup-reason-form
      .shell=${this.shell}
      .draft=${t=>({kind:"policy.dismiss",payload:{...e.dismissal,...t!==""&&{reason:t}}})}
      .words=${"It is not suggested to anybody any more, until as many further decisions support it."}
      .action=${"Dismiss"}
      @sent=${()=>this.end(e,"Dismissed.")}
      @closed=${()=>this.close(e)}
    ></meup-reason-form>`}form(e){return r`<form @submit=${t=>{this.submit(t,e)}} @keydown=${t=>this.key(t,e)}>
      ${this.how==="edit"?r`<label class="field-label">Capabilities as JSON<textarea name="patterns" spellcheck="false" autocapitalize="off" maxlength="32000" .value=${pe(e.capabilities)}></textarea></label>
            <p class="faint">What you change here has not been tried on the log.</p>`:r`<div class="sentences" role="group" aria-label="Summary">${Q(e.capabilities).map(t=>r`<p>${u(t)}</p>`)}</div>`}
      <label class="field-label">Duration
        <select name="seconds" @change=${t=>this.seconds=Number(t.target.value)}>
          ${we.map(([t,o])=>r`<option value=${t} .selected=${t===this.seconds}>${o}</option>`)}
        </select>
      </label>
      <p class="faint">This grants the right to ${f(e.participant)} at once.${e.patch===""?"":" For good, put it into the configuration file."}</p>
      ${b(this.refusal)}
      <div class="row">
        <button class="button main" type="submit" ?disabled=${this.busy}>${this.busy?"Granting…":"Grant access"}</button>
        <button class="button" type="button" @click=${()=>this.close(e)}>Cancel</button>
      </div>
    </form>`}begin(e,t){this.open=e.id,this.how=t,this.refusal="",this.updateComplete.then(()=>{let o=this.renderRoot.querySelector("form :is(textarea, select)");o instanceof HTMLTextAreaElement&&o.setSelectionRange(0,0),o?.focus()})}end(e,t){this.done=new Map([...this.done,[e.id,t]])}close(e){this.open="",this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-suggestion="${CSS.escape(e.id)}"] button`)?.focus())}key=(e,t)=>{e.key==="Escape"&&(e.preventDefault(),this.close(t))};async submit(e,t){e.preventDefault();let o=this.renderRoot.querySelector("textarea[name=patterns]")?.value,i=o===void 0?t.capabilities:Te({...ke,usual:"own",own:o.trim()});if(this.refusal=typeof i=="string"?i:"",typeof i=="string"||t.grant===null)return;this.busy=!0;let d=await this.shell.send(Ce(t.grant,t.participant,i,this.seconds));if(this.busy=!1,!d.ok){this.refusal=d.refusal;return}this.shell.toast(`Access granted to ${f(t.participant)}`),this.end(t,`Accepted: ${f(t.participant)} has this right now.`),this.close(t)}left(e){return r`<div class="card">
      <p><span class="name">${v(e.participant)}</span> <code>${$(e.tool)}</code>${e.words===""?s:r`: ${X(e.words)}`}</p>
      <p class="quiet">Approved ${c(e.approved,"time")}. ${u(e.why)}</p>
      ${this.decided("Approved",e.supporting)} ${this.decided("Contradicting",e.contradicting)}
    </div>`}unused(e){let t=e.last===0?"Never used in this log.":`Last used ${g(e.last,this.shell.now())}.`;return r`<div class="card">
      <p class="name">${v(e.participant)}</p>
      <div class="sentences">${Q(e.capabilities).map(o=>r`<p>${u(o)}</p>`)}</div>
      <p class="row quiet"><span class="grow">${t} ${e.grant===""?"It is in the configuration file.":"It was granted."}</span>${e.grant===""?s:r`<button class="words small" @click=${()=>this.shell.open("operator")}>Grants</button>${L(this.shell,e.grant)}`}</p>
    </div>`}};T("meup-suggestions",re);var Je=[["decisions","Decisions",!0],["reviewers","Reviewers",!0],["suggestions","Suggestions",!1],["backtest","Backtest",!1]],oe=class extends h{static styles=[R,D,m`
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
    `];render(){let{shell:e,state:t}=this,o=this.params?.part??"decisions";return r`
      <nav aria-label="Policy">${Je.filter(([,,i])=>i||$e(e)).map(([i,d])=>r`<button aria-current=${i===o?"page":s} @click=${()=>e.open("policy",{part:i})}>${d}</button>`)}</nav>
      ${e.past?r`<p class="warning">You are viewing the past. This is how it is now.</p>`:s}
      ${o==="reviewers"?r`<meup-reviewers .shell=${e} .state=${t}></meup-reviewers>`:o==="suggestions"?r`<meup-suggestions .shell=${e} .state=${t}></meup-suggestions>`:o==="backtest"?r`<meup-backtest .shell=${e} .state=${t}></meup-backtest>`:r`<meup-decisions .shell=${e} .state=${t}></meup-decisions>`}
    `}};T("meup-policy",oe);export{oe as Policy};
