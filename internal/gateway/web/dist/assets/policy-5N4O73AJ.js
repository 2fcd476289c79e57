import{a as Ge}from"/assets/chunk-HTKOR7DS.js";import{b as le,c as ze,d as Fe}from"/assets/chunk-ECF2UMDL.js";import"/assets/chunk-VW3NJQ67.js";import{a as je,b as Ee,c as ie,d as Le,e as Me,f as Ce,g as Ie,h as _e,i as Ue,j as Ne,k as We,l as ne,m as He}from"/assets/chunk-AIN3UM7S.js";import{i as qe,j as Ae,k as Oe,l as Be}from"/assets/chunk-HWHIP42O.js";import{b as Te}from"/assets/chunk-7YJZIPSA.js";import"/assets/chunk-TZLAFC3M.js";import{c as v,d as P}from"/assets/chunk-LI2ITUN5.js";import{b as Q}from"/assets/chunk-757P6I2J.js";import{a as we}from"/assets/chunk-J3ND4NAU.js";import{a as F,b as Z}from"/assets/chunk-GAG7OMNE.js";import"/assets/chunk-LBYF6DKE.js";import"/assets/chunk-DCOLHRT3.js";import{a as w,b as x,c as y,d as xe,e as J,f as De,h,i as j,m as f,n as Pe,o as T,p as V}from"/assets/chunk-ETTXQQKV.js";import{a as B}from"/assets/chunk-MYHS66OQ.js";import{F as _,H as oe,I as C,J as g,M as Se,l as E,p as X,q as ae,z as c}from"/assets/chunk-EBKTHAOW.js";import{D as S,G as ke,L as $,N as O,R as b,T as Re,b as m,c as r,f as i,j as be,n as d,p as G,r as L,s as R,t as M,u as q,v as z,w as l}from"/assets/chunk-6QAC3HRB.js";var ht=100;function Ye(s){let{decisions:e,next:t,has_more:a,partial:o}=R(s);return{decisions:q(e).slice(0,ht).map(n=>gt(R(n))),next:L(a)===!0?G(t):null,partial:L(o)===!0}}function gt(s){let e=o=>d(l(s,o)),t=R(l(s,"decided")),a=l(s,"today");return{id:e("id"),seq:G(l(s,"seq"))??0,at:E(e("at")),caller:e("caller"),host:e("host"),tool:e("tool"),proposal:e("proposal"),edited:L(l(s,"edited"))===!0,outcome:e("outcome"),reason:e("reason"),by:d(l(t,"by")),decider:d(l(t,"decider")),participant:d(l(t,"participant")),late:l(t,"when")==="late",rule:d(l(t,"rule")),grant:d(l(t,"grant")),today:M(a)?{verdict:d(l(a,"verdict")),rule:d(l(a,"rule"))}:null}}var yt={made:"Approved",rejected:"Rejected",withdrawn:"Withdrawn"};function Ke(s,e){switch(s.by){case"rule":return s.decider==="rule"?"Let through by a rule of the deciders":"Allowed by a rule";case"grant":return"Allowed by a grant";case"participant":return`${yt[s.outcome]??"Decided"} by ${s.decider==="reviewer"?"the reviewer ":""}${e(s.participant)}${s.edited?", with other arguments":""}${s.late?", too late":""}`;case"nobody":return"Nobody decided in time";default:return"The reason was not recorded"}}function Y(s){let e;try{e=be(s)}catch{return s}return typeof e=="string"?F(e):M(e)&&typeof l(e,"kind")=="string"?F(e):s}function pe(s){return s===""?"Deny everybody":`Deny everybody at ${s}`}var Je=500,p=(s,e)=>G(l(s,e))??0,I=(s,e)=>E(d(l(s,e))),A=(s,e)=>q(l(s,e)).slice(0,Je).map(R),Ve=s=>q(l(s,"capabilities")).slice(0,Je).flatMap(e=>typeof e=="string"?[{kind:e}]:M(e)?[e]:[]);function Qe(s){let e=R(s);return{proposals:p(e,"proposals"),approved:p(e,"approved"),rejected:p(e,"rejected"),from:I(e,"from"),to:I(e,"to"),suggestions:A(e,"suggestions").map(Xe),dismissed:p(e,"dismissed"),fewer:p(e,"asked_fewer"),letThrough:p(e,"let_through_rejected"),left:A(e,"left_to_people").map(t=>({...Xe(t),why:d(l(t,"why"))})),unused:A(e,"unused").map(t=>({participant:d(l(t,"participant")),capabilities:Ve(t),grant:d(l(t,"grant")),last:I(t,"last_use")})),unusedUnknown:d(l(e,"unused_unknown")),unseen:p(e,"unseen"),since:I(e,"since"),partial:L(l(e,"partial"))===!0}}function Xe(s){let e=t=>d(l(s,t));return{id:e("id"),denies:e("does")==="deny",participant:e("participant"),host:e("host"),tool:e("tool"),words:e("words"),capabilities:Ve(s),approved:p(s,"approved"),rejected:p(s,"rejected"),by:z(l(s,"by")),days:p(s,"days"),fewer:p(s,"asked_fewer"),letThrough:p(s,"let_through_rejected"),supporting:A(s,"for").map(de),contradicting:A(s,"against").map(de),configuredIn:e("configured_in"),patch:e("patch"),grant:M(l(s,"grant"))?R(l(s,"grant")):null,grantable:L(l(s,"grantable"))===!0,dismissal:R(l(s,"dismissal"))}}function de(s){let e=a=>d(l(s,a)),t=e("approved_by");return{id:e("id"),at:I(s,"ts"),what:e("what"),outcome:e("outcome")||(t===""?"":"approved"),by:e("by")||e("rejected_by")||t,reason:e("reason")}}function Ze(s){let e=R(s);return{from:I(e,"from"),to:I(e,"to"),envelopes:p(e,"envelopes"),record:l(e,"baseline")==="record",different:p(e,"different"),allowed:p(e,"allowed"),refused:p(e,"refused"),asked:p(e,"asked"),masked:p(e,"masked"),unmasked:p(e,"unmasked"),letThrough:p(e,"let_through_rejected"),unjudged:p(e,"unjudged"),unseen:p(e,"unseen"),groups:A(e,"groups").map(t=>({outcome:d(l(t,"outcome")),rejectedBy:z(l(t,"rejected_by")),approvedBy:z(l(t,"approved_by")),participant:d(l(t,"participant")),kind:d(l(t,"kind")),rule:d(l(t,"rule")),why:d(l(t,"why")),before:d(l(t,"before")),count:p(t,"count"),examples:A(t,"examples").map(de)})),moreGroups:p(e,"more_groups"),summary:d(l(e,"summary")),since:I(e,"since"),partial:L(l(e,"partial"))===!0,warnings:z(l(e,"warnings"))}}function ee(s,e){return`${s.toLocaleString("en-US")} ${e}${s===1?"":"s"}`}function ce(s){return s.approvedBy.length>0||s.outcome==="allowed"&&s.rejectedBy.length>0}function et(s){return ce(s)?s.outcome==="allowed"?"Let through although rejected":"Refused although approved":{allowed:"No question any more",asked:"Asked",refused:"Refused",masked:"Masked",unmasked:"No longer masked"}[s.outcome]??s.outcome}function tt(s,e,t,a){let{ttl_seconds:o,...n}=s;return{kind:"capability.grant",to:[e],payload:{...n,capabilities:t,...a>0&&{ttl_seconds:a}}}}function st(s,e){let t=s.denies?s.rejected:s.approved,a=s.by.map(e),o=a.length>3?`${a.slice(0,2).join(", ")} and ${a.length-2} others`:a.join(" and ");return`${s.denies?"Rejected":"Approved"} ${ee(t,"time")}${o===""?"":` by ${o}`} on ${ee(s.days,"day")}`}function ue(s){return`Would have asked ${ee(s.fewer,"time")} fewer and let through ${ee(s.letThrough,"call")} that ${s.letThrough===1?"was":"were"} rejected.`}function rt(s){return s.charAt(0).toUpperCase()+s.slice(1)}function at(s,e){return s.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/gu,t=>E(t)===0?t:e(E(t)))}function te(s,e){return r`<ul class="examples">${e.map(t=>r`<li>
      <p class="what">${x(t.what)}</p>
      <p class="fact"><time title=${C(t.at)}>${g(t.at,s.now())}</time>${t.by===""?i:` · ${S(t.outcome||"rejected",40)} by ${P(t.by,s.you)}`}${t.reason===""?i:`: ${S(ke(J(t.reason)),200)}`}</p>
      ${j(s,t.id)}
    </li>`)}</ul>`}var se=m`
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
`;var k=class{constructor(e,t){this.host=e;this.read=t;e.addController(this)}host;read;value=null;error="";loading=!1;requests=0;hostConnected(){}async load(e){let t=++this.requests;this.loading=!0,this.host.requestUpdate();let a=null,o="";try{a=this.read(await e())}catch(n){o=n instanceof Error?n.message:String(n)}return t!==this.requests?null:(this.value=a??this.value,this.error=o,this.loading=!1,this.host.requestUpdate(),a)}};var ft=[[1,"Last 24 hours"],[7,"Last 7 days"],[30,"Last 30 days"],[0,"Whole log"]];function U(s){return`since=${encodeURIComponent(new Date(s===0?0:Date.now()-s*864e5).toISOString())}`}function N(s,e){return r`<label class="unseen" for="span">Part of the log</label>
    <select id="span" class="span" @change=${t=>e(Number(t.target.value))}>
      ${ft.map(([t,a])=>r`<option value=${t} .selected=${t===s}>${a}</option>`)}
    </select>`}var W=m`
  .span {
    width: auto;
  }
`;var ot=1<<20,vt={allowed:"accent",asked:"wait",refused:"bad"},me=class extends c{static properties={...c.properties,days:{state:!0},trouble:{state:!0}};static styles=[w,T,W,se,m`
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
    `];result=new k(this,Ze);constructor(){super(),this.days=30,this.trouble=""}render(){let{value:e,error:t,loading:a}=this.result;return r`<form @submit=${this.submit}>
        <p class="quiet">Decides the log again under another configuration, and shows what would have been different. Nothing is changed.</p>
        <label class="field-label">Configuration (YAML or JSON)<textarea name="configuration" spellcheck="false" autocapitalize="off" maxlength=${ot} placeholder="spaces:" aria-invalid=${this.trouble===""?"false":"true"} @input=${()=>this.trouble=""}></textarea></label>
        <label class="field-label">From a file<input class="field" type="file" accept=".yaml,.yml,.json,text/*" @change=${o=>{this.choose(o)}} /></label>
        ${f(this.trouble)}
        <div class="row">
          <button class="button main" type="submit" ?disabled=${a}>${a?"Deciding again…":"Run"}</button>
          ${N(this.days,o=>this.days=o)}
        </div>
      </form>
      ${f(t)}
      <div aria-live="polite" aria-busy=${a?"true":"false"}>${e===null||t!==""?i:this.outcome(e)}</div>`}async choose(e){let t=e.target.files?.[0];if(t===void 0)return;let a=this.renderRoot.querySelector("textarea");t.size>ot?this.trouble="The file is too large for a configuration.":a!==null&&(a.value=await t.text(),this.trouble="")}submit=e=>{e.preventDefault();let t=this.renderRoot.querySelector("textarea")?.value??"";this.trouble=t.trim()===""?"Paste a configuration, or choose a file.":"",this.trouble===""&&this.result.load(()=>this.shell.get(`backtest?${U(this.days)}`,3e5,t))};outcome(e){let t=this.shell.now();return r`<p class="result">${y(e.summary)}</p>
      <p class="quiet">${h(e.envelopes,"envelope")}${e.envelopes===0?"":`, ${g(e.from,t)} to ${g(e.to,t)}`}, compared with ${e.record?"what happened":"what happened and the configuration in force"}.</p>
      ${e.unjudged>0?r`<p class="quiet">The log no longer has enough about ${h(e.unjudged,"envelope")}.</p>`:i}
      ${e.unseen>0?r`<p class="quiet">${h(e.unseen,"entry","entries")} that you may not see ${e.unseen===1?"is":"are"} missing here.</p>`:i}
      ${e.partial?r`<p class="quiet">The log was read back to ${g(e.since,t)} only.</p>`:i}
      ${e.warnings.length===0?i:r`<details><summary>${h(e.warnings.length,"warning")} about the configuration</summary><ul class="sentences">${e.warnings.map(a=>r`<li>${y(a)}</li>`)}</ul></details>`}
      <ul>${e.groups.map(a=>r`<li class="group">${this.group(a)}</li>`)}</ul>
      ${e.moreGroups>0?r`<p class="faint section">${h(e.moreGroups,"further group")} left out.</p>`:i}`}group(e){let t=ce(e),a=(n,u)=>u.length===0?i:r`<p class="quiet">${n} by ${u.map(D=>P(D,this.shell.you)).join(", ")}.</p>`,o=(n,u)=>u===""?i:r`<p class="quiet">${n}: ${y(S(Y(u),400))}</p>`;return r`<p class="row"><span class="chip ${t?"bad":vt[e.outcome]??""}">${et(e)}</span><span class="of"><b>${e.count.toLocaleString()}</b> · ${Ge(e.kind)} of <span class="name">${v(e.participant)}</span></span></p>
      ${a("Rejected",e.rejectedBy)} ${a("Approved",e.approvedBy)} ${o("Rule",e.rule)} ${e.why===""?i:r`<p class="quiet">${y(S(e.why,400))}</p>`} ${o("In force",e.before)}
      ${e.examples.length===0?i:r`<details ?open=${t}><summary>${e.examples.length<e.count?h(e.examples.length,"example"):h(e.count,"envelope")}</summary>${te(this.shell,e.examples)}</details>`}`}};$("meup-backtest",me);var H=class{constructor(e,t,a,o=[]){this.host=e;this.load=t;this.soon=a;this.later=o;e.addController(this)}host;load;soon;later;seen=-1;timer;due=1/0;hostConnected(){this.load()}hostUpdate(){let{shell:e}=this.host,{head:t}=e.state,{seen:a}=this;if(this.seen=t,a<0||t===a)return;let{envelopes:o}=e;for(let n=o.length-1;n>=0;n--){let u=o[n];if(u===void 0||(u.seq??0)<=a)return;this.soon.includes(u.kind)?this.schedule(100):this.later.includes(u.kind)&&this.schedule(3e3)}}hostDisconnected(){clearTimeout(this.timer),this.due=1/0,this.seen=-1}schedule(e){let t=performance.now()+e;t>=this.due||(clearTimeout(this.timer),this.due=t,this.timer=setTimeout(()=>{this.due=1/0,this.load()},e))}};var $t=["participant.status","reasoning.conclusion","reasoning.cancel","mcp.request","mcp.proposal"],it=50,he=class extends c{static properties={...c.properties,open:{state:!0},most:{state:!0}};static styles=[w,T,V,m`
      li {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-4) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .limit {
        display: grid;
        gap: var(--space-1);
      }
      .figures {
        display: flex;
        flex-wrap: wrap;
        justify-content: space-between;
        gap: 0 var(--space-3);
        font-size: var(--text-s);
        font-variant-numeric: tabular-nums;
      }
    `];report=new k(this,Ee);shownFor=null;ended=0;constructor(){super(),this.open=null,this.most=it,new H(this,()=>this.load(),["budget.extend"],$t),new Q(this,()=>{let e=this.report.value?.until??0;e<=this.ended||this.shell.now()<e||(this.ended=e,this.load())})}load(){this.report.load(()=>this.shell.get("budgets"))}willUpdate(){let{value:e}=this.report;if(e===null||this.shownFor===this.params)return;this.shownFor=this.params;let t=e.budgets.findIndex(a=>(a.id||je)===this.params?.extend&&a.mayExtend);t<0||(this.open=e.budgets[t]?.id??null,this.most=Math.max(this.most,t+1))}render(){let{value:e,error:t}=this.report;if(e===null)return r`${f(t)}${t===""?r`<p class="empty" role="status">Loading…</p>`:i}`;let a=Ie(e.loops);return r`${f(t)}
      ${e.budgets.length===0?r`<div class="empty"><p>No budgets</p><p class="quiet">The configuration can limit what participants use in a day before their calls have to be approved. You see your own budget, and those that you may extend.</p></div>`:r`<p class="quiet">Used today, until ${oe(e.until)}. What goes beyond a budget has to be approved.</p>
            <ul aria-label="Budgets">${e.budgets.slice(0,this.most).map(o=>r`<li>${this.one(e,o)}</li>`)}</ul>
            ${e.budgets.length>this.most?r`<p class="section"><button class="words" @click=${()=>this.most+=it}>Show more</button></p>`:i}`}
      ${a===""?i:r`<p class="faint section">${a}</p>`}`}one(e,t){let a=t.id===""?"All participants together":t.id===this.shell.you?"You":v(t.id);return r`<p class="row">${t.id===""?i:B(t.id,this.state.participants.get(t.id)?.agent===!0)}<span class="name grow">${a}</span></p>
      ${t.limits.map(o=>Tt(o))} ${t.asks===""?i:r`<p class="warning">${O(t.asks)}. ${t.id===""?"Calls have":"Its calls have"} to be approved.</p>`}
      ${t.uncounted===0?i:r`<p class="faint">${t.uncounted===1?"1 report":`${t.uncounted.toLocaleString()} reports`} could not be counted: more was used.</p>`}
      ${t.mayExtend&&!this.shell.past&&t.limits.length>0?this.extending(e,t,a):i}`}extending(e,t,a){if(this.open!==t.id)return r`<p><button class="button small" data-budget=${t.id} aria-label=${`Extend the budget: ${a}`} @click=${()=>this.open=t.id}>Extend…</button></p>`;let[o]=t.limits;return r`<meup-reason-form
      .shell=${this.shell}
      .words=${`Until ${oe(e.until)} more may be used ${t.id===""?"in this space":`by ${b(t.id)}`} without a question.`}
      .fields=${r`<div class="row">
        <label class="field-label grow">Amount<input class="field" name="amount" type="number" inputmode="decimal" min=${lt(o)} step=${nt(o)} required /></label>
        <label class="field-label">Unit<select name="unit" @change=${n=>bt(t,n.target)}>${t.limits.map(n=>r`<option value=${n.of}>${Le(n)}</option>`)}</select></label>
      </div>`}
      .draft=${(n,u)=>wt(t,u,n)}
      .action=${"Extend"}
      @closed=${()=>this.close(t.id)}
    ></meup-reason-form>`}close(e){this.open=null,this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-budget="${CSS.escape(e)}"]`)?.focus())}};function nt(s){return s?.of==="cost"?"any":"1"}function lt(s){return s?.of==="cost"?"0":"1"}function bt(s,e){let t=s.limits.find(o=>o.of===e.value),a=e.form?.elements.namedItem("amount");a instanceof HTMLInputElement&&Object.assign(a,{min:lt(t),step:nt(t)})}function wt(s,e,t){let a=s.limits.find(n=>n.of===e.get("unit"))??s.limits[0],o=Number(e.get("amount"));return Oe(s.id,Ce(a,o),t)}function Tt(s){let e=s.used>=s.limit;return r`<div class="limit">
    <p class="figures"><span class=${e?"bad":""}>${ie(s)}</span>${s.extended>0?r`<span class="quiet">${Me(s,s.extended)} added today</span>`:i}</p>
    <progress ?data-full=${e} aria-label=${ie(s)} max=${Math.max(s.limit,Number.MIN_VALUE)} value=${Math.min(s.used,s.limit)}></progress>
  </div>`}$("meup-budgets",he);var kt=4096;function dt(s){let e=new Map;for(let t of q(l(R(s),"claims")).slice(0,kt)){let a=n=>d(l(R(t),n)),o=e.get(a("id"))??{id:a("id"),by:a("by"),paths:[],names:[],at:E(a("at")),expiresAt:E(a("expires_at")),reason:a("reason")};a("path")!==""&&o.paths.push(a("path")),a("name")!==""&&o.names.push(a("name")),e.set(o.id,o)}return[...e.values()].sort((t,a)=>t.expiresAt-a.expiresAt)}var pt=50,ge=class extends c{static properties={...c.properties,second:{state:!0},most:{state:!0},busy:{state:!0},refusal:{state:!0}};static styles=[w,T,m`
      .claim {
        display: grid;
        gap: var(--space-1);
        padding: var(--space-3) 0;
        border-bottom: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .items {
        display: grid;
        gap: 0.1rem;
      }
    `];report=new k(this,dt);constructor(){super(),this.most=pt,this.busy="",this.refusal="",new H(this,()=>this.load(),["claim","release","space.kick"]),new Q(this,()=>{(this.report.value?.length??0)>0&&(this.second=Math.floor(this.shell.now()/1e3))})}load(){this.report.load(()=>this.shell.get("claims"))}render(){let{value:e,error:t}=this.report;if(e===null)return r`${f(t)}${t===""?r`<p class="empty" role="status">Loading…</p>`:i}`;let a=this.shell.now(),o=e.filter(n=>n.expiresAt>a);return r`${f(t||this.refusal)}
      ${o.length===0?r`<div class="empty"><p>No claims</p><p class="quiet">Participants claim files that they work on, so that nobody else changes them.</p></div>`:r`<ul aria-label="Claims">${o.slice(0,this.most).map(n=>r`<li class="claim">${this.one(n,a)}</li>`)}</ul>
            ${o.length>this.most?r`<p class="section"><button class="words" @click=${()=>this.most+=pt}>Show more</button></p>`:i}
            <p class="faint section">Only who claimed something can release it. A claim ends by itself, also five minutes after its holder has left.</p>`}`}one(e,t){let a=e.by===this.shell.you,o=`until ${g(e.expiresAt,t)}`;return r`<p class="row">${B(e.by,this.state.participants.get(e.by)?.agent===!0)}<span class="name grow">${a?"You":v(e.by)}</span><time title=${C(e.expiresAt)}>${o}, ${X(Math.ceil((e.expiresAt-t)/1e3))} left</time>${j(this.shell,e.id)}</p>
      <ul class="items">${e.paths.map(n=>r`<li><code>${x(n)}</code></li>`)}${e.names.map(n=>r`<li>“${x(n)}”</li>`)}</ul>
      ${e.reason===""?i:r`<p class="quiet">${_(e.reason)}</p>`}
      ${a&&this.shell.may("release")&&!this.shell.past?r`<p><button class="button small" aria-label=${`Release ${[...e.paths,...e.names].join(", ")}`} ?disabled=${this.busy===e.id} @click=${()=>{this.release(e.id)}}>Release</button></p>`:i}`}async release(e){this.busy=e,this.refusal="";let t=await this.shell.send(Be(e));this.busy="",t.ok||(this.refusal=t.refusal)}};$("meup-claims",ge);var Rt=20,ct={made:"accent",rejected:"bad",expired:"wait",refused:"bad",asked:"wait",allowed:"accent"},ye=class extends c{static properties={...c.properties,participant:{state:!0},tool:{state:!0},found:{state:!0}};static styles=[w,T,m`
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
    `];page=new k(this,Ye);constructor(){super(),this.participant="",this.tool="",this.found=[]}connectedCallback(){super.connectedCallback(),this.load(0)}async load(e){e===0&&(this.found=[]);let t=new URLSearchParams({limit:String(Rt),...e>0&&{before:String(e)},...this.participant!==""&&{participant:this.participant},...this.tool.trim()!==""&&{tool:this.tool.trim()}}),a=await this.page.load(()=>this.shell.get(`decisions?${t}`));a!==null&&(this.found=[...this.found,...a.decisions])}render(){let{found:e}=this,{envelopes:t}=this.shell,{value:a,error:o,loading:n}=this.page,u=[...this.state.participants.keys()].filter(D=>D!==we).sort();return r`<form class="filters" @submit=${this.filter} @change=${this.filter}>
        <label class="unseen" for="participant">Participant</label>
        <select id="participant">
          <option value="" .selected=${this.participant===""}>All participants</option>
          ${u.map(D=>r`<option value=${D} .selected=${D===this.participant}>${b(D)}</option>`)}
        </select>
        <label class="unseen" for="tool">Tool</label>
        <input id="tool" class="field" type="search" placeholder="Any tool" autocapitalize="off" spellcheck="false" maxlength="256" .value=${this.tool} />
      </form>
      ${f(o)}
      <ol aria-busy=${n?"true":"false"} aria-label="Decisions, newest first">${e.map(D=>r`<li>${this.one(D,t)}</li>`)}</ol>
      ${e.length===0?r`<p class="empty" role="status">${n?"Loading…":o!==""?i:this.participant+this.tool===""?"No calls yet":"No calls match"}</p>`:this.end(a,n)}`}one(e,t){let a=St(this.shell,t,e);return r`<p class="row">
        <span class="grow"><span class="name">${e.caller===this.shell.you?"You":v(e.caller)}</span> <code>${x(S(e.tool,200))}</code>${e.host===""?i:r` <span class="quiet">on ${v(e.host)}</span>`}</span>
        <time title=${C(e.at)}>${g(e.at,this.shell.now())}</time>
      </p>
      ${a===""?i:r`<p class="args">${a}</p>`}
      <p class="small">${Ke(e,o=>P(o,this.shell.you))}${e.rule===""||e.by==="participant"?".":r`: ${y(S(Y(e.rule),400))}`}${e.grant===""?i:r` <button class="words small" @click=${()=>this.shell.open("envelope",{id:e.grant})}>Show the grant</button>`}</p>
      ${e.reason===""?i:r`<p class="quiet">${_(J(e.reason))}</p>`}
      <p class="row">
        <span class="chip ${ct[e.outcome]??""}">${S(e.outcome,40)}</span>
        ${e.today===null?i:r`<span class="chip ${ct[e.today.verdict]??""}" title=${e.today.rule===""?"No rule allows it":S(xe(Y(e.today.rule)),400)}>today: ${S(e.today.verdict,40)}</span>`}
        <span class="grow"></span>${j(this.shell,e.id)}
      </p>`}end(e,t){if(t)return r`<p class="empty" role="status">Loading…</p>`;let a=e?.next??null;return a!==null?r`<p class="section"><button class="words" @click=${()=>{this.load(a)}}>Show more</button></p>`:e?.partial===!0?r`<p class="faint section">The log was not read to its beginning. There may be older decisions.</p>`:i}filter=e=>{e.preventDefault(),this.participant=this.renderRoot.querySelector("select")?.value??"",this.tool=this.renderRoot.querySelector("input")?.value??"",this.load(0)}};function St(s,e,t){let a=s.state.proposals.get(t.proposal),o=xt(e,t.seq),n=t.outcome!=="made"||o===void 0?a?.args:Te(d(l(o.payload,"method")),l(o.payload,"params"));return M(n)?Se(n,200):""}function xt(s,e){let[t,a]=[0,s.length];for(;t<a;){let n=t+a>>1;(s[n]?.seq??0)<e?t=n+1:a=n}let o=s[t];return o?.seq===e?o:void 0}$("meup-decisions",ye);var Dt=3e3,fe=class extends c{static properties={...c.properties,days:{state:!0},asking:{state:!0}};static styles=[w,T,W,V,m`
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
        padding: 0.2rem 0 0.2rem var(--space-2);
        border-bottom: 1px solid var(--line);
        text-align: right;
      }
      :is(th, td):first-child {
        min-width: 5rem;
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
    `];loaded=new k(this,e=>({head:e.head,deciders:_e(e.report)}));scored="";later;constructor(){super(),this.days=30,this.asking=""}disconnectedCallback(){super.disconnectedCallback(),clearTimeout(this.later)}willUpdate(){let e=Pt(this.shell.state);if(e===this.scored)return;let t=this.scored==="";this.scored=e,clearTimeout(this.later),this.later=setTimeout(()=>this.load(),t?0:Dt)}load(){let{head:e}=this.shell.state;this.loaded.load(async()=>({head:e,report:await this.shell.get(`deciders?${U(this.days)}`,3e5)}))}render(){let{value:e,error:t,loading:a}=this.loaded;if(e===null)return r`${f(t)}${t===""?r`<p class="empty" role="status">Loading…</p>`:i}`;let o=Ue(e.deciders,this.shell.envelopes,e.head);return r`${f(t)}
      <p class="row">${N(this.days,this.choose)}</p>
      ${o.configured?i:r`<p class="quiet">The configuration names no deciders: everybody with the right to decide does.</p>`}
      ${o.humanOnly.length===0?i:r`<details class="section"><summary>Only people decide on some calls</summary>${ut(o.humanOnly)}</details>`}
      <ol aria-busy=${a?"true":"false"} aria-label="In the order in which they are asked">${o.deciders.map(n=>r`<li class="decider">${this.one(o,n)}</li>`)}</ol>
      ${o.partial?r`<p class="faint section">The log was not read back to ${g(o.since,this.shell.now())}: older decisions are missing in the scores.</p>`:i}`}choose=e=>{this.days=e,this.load()};one(e,t){return r`${this.head(t)} ${t.score===null?i:jt(t,t.score)} ${t.kinds.length===0?i:Et(t)}
      ${t.only.length===0?i:r`<details><summary>Which calls it may decide on</summary>${ut(t.only)}</details>`} ${this.change(t)} ${t.promotion===null?i:Lt(t.promotion)}
      ${t.type==="reviewer"&&!this.shell.past?this.actions(e,t):i}`}head(e){if(e.type==="rules")return r`<p class="row"><span class="name grow">Rules</span><span class="chip accent">decide first</span></p>`;let t=e.id===""?r`<code>${x(e.pattern)}</code>`:e.id===this.shell.you?"You":v(e.id),a=e.type==="reviewer"?r`<span class="chip ${e.decides?"accent":""}">${e.decides?"reviewer, decides":"reviewer, in shadow"}</span>`:r`<span class="chip">${e.after>0?`decides after ${X(e.after/1e3)}`:"person"}</span>`;return r`<p class="row">${e.id===""?i:B(e.id,e.type==="reviewer")}<span class="name grow">${t}</span>${a}</p>`}change(e){let t=e.changed;return t===null?i:r`<p class="quiet">
      ${t.decides?"Promoted":"Put into shadow"} by ${P(t.by,this.shell.you)} <time title=${C(t.at)}>${g(t.at,this.shell.now())}</time>${t.reason===""?i:r`: ${_(t.reason)}`}
      ${t.undone===""?i:r`<button class="words small" @click=${()=>this.shell.open("envelope",{id:t.undone})}>The wrong decision</button>`} ${j(this.shell,t.id)}
    </p>`}actions(e,t){let a=We(Ne(e),this.shell.you)!==null&&t.id!==this.shell.you;if(t.decides?!a||!this.shell.may("reviewer.demote"):t.promotion?.mayPromote!==!0)return i;let o=t.promotion?.missing??"";if(this.asking===t.id)return r`<meup-reason-form
        .shell=${this.shell}
        .draft=${u=>t.decides?Ae(t.id,u):qe(t.id,u)}
        .words=${t.decides?`${b(t.id)} decides nothing from now on. It still gives its opinions.`:`From now on ${b(t.id)} decides on proposals before people are asked.`}
        .action=${t.decides?"Back to shadow":"Promote"}
        .bad=${t.decides}
        @closed=${()=>this.close(t.id)}
      ></meup-reason-form>`;let n=t.decides?"Back to shadow…":"Promote…";return r`<p><button class="button ${t.decides?"bad":""}" data-reviewer=${t.id} aria-label=${`${n} ${b(t.id)}`} ?disabled=${!t.decides&&o!==""} @click=${()=>this.asking=t.id}>${n}</button></p>`}close(e){this.asking="",this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-reviewer="${CSS.escape(e)}"]`)?.focus())}};function Pt(s){let e=[...s.notices.values()].filter(a=>a.kind.startsWith("reviewer.")).length,t=[...s.proposals.values()].reduce((a,o)=>a+o.opinions.length,0);return[s.proposals.size,s.pending.length,t,e].join(" ")}function jt(s,e){let t=s.type==="person",a=mt(s),o=e.covered===0?"none yet":`half within ${ae(e.latencyP50*1e3)}, 99% within ${ae(e.latencyP99*1e3)}`;return r`<dl>
    <div><dt>${t?"Decided on":"Coverage"}</dt><dd>${ne(e.covered,e.proposals)}</dd></div>
    ${t?r`<div><dt>Approved</dt><dd>${e.approved.toLocaleString()}</dd></div><div><dt>Rejected</dt><dd>${e.rejected.toLocaleString()}</dd></div>`:r`<div><dt title="It approved, or would have, what a person rejected or called wrong">Misses</dt><dd class=${e.misses>0?"bad":""}>${a(e.misses.toLocaleString())}</dd></div>
          <div><dt title="Of the calls that people rejected, those that it would have rejected too">Agreement on rejections</dt><dd>${a(ne(e.agreedRejections,e.personRejections))}</dd></div>
          <div><dt title="It rejected, or would have, what people approved">False alarms</dt><dd>${a(e.falseAlarms.toLocaleString())}</dd></div>
          <div><dt title="Questions that people were not asked because of it, or would not have been">Saved</dt><dd>${e.saved.toLocaleString()}</dd></div>`}
    ${s.type==="rules"?i:r`<div><dt>Latency</dt><dd>${o}</dd></div>`}
  </dl>`}function mt(s){return e=>s.type==="rules"?"–":e}function Et(s){let e=mt(s);return r`<details>
    <summary>By kind of call</summary>
    <div class="wide" tabindex="0" role="group" aria-label="Scores by kind of call">
      <table>
        <thead><tr><th scope="col">Kind</th><th scope="col">Coverage</th><th scope="col">Misses</th><th scope="col">Rejections</th><th scope="col">False alarms</th><th scope="col">Saved</th></tr></thead>
        <tbody>${s.kinds.map(t=>r`<tr><td><code>${x(t.kind)}</code></td><td>${t.covered.toLocaleString()} / ${t.proposals.toLocaleString()}</td><td class=${t.misses>0?"bad":""}>${e(t.misses.toLocaleString())}</td><td>${e(`${t.agreedRejections.toLocaleString()} / ${t.personRejections.toLocaleString()}`)}</td><td>${e(t.falseAlarms.toLocaleString())}</td><td>${t.saved.toLocaleString()}</td></tr>`)}</tbody>
      </table>
    </div>
  </details>`}function Lt(s){let e=(t,a,o)=>o<=0?i:r`<p class="quiet">${t}: ${Math.min(a,o).toLocaleString()} of ${o.toLocaleString()}</p><progress aria-label=${t} max=${o} value=${Math.min(a,o)}></progress>`;return r`<div class="needs" role="group" aria-label="What a promotion needs">
    ${e("Decisions by people on its opinions",s.compared,s.decisions)} ${e("Without a miss",s.sinceMiss,s.withoutMiss)}
    <p class="quiet">${s.missing===""?"It can be promoted.":r`A promotion still needs: ${O(s.missing)}`}</p>
  </div>`}function ut(s){return r`<div class="sentences">${s.map(e=>r`<p>${y(F({kind:"mcp.request",...e}).replace(/^May call tools(?:, but only )?/u,"Calls: "))}</p>`)}</div>`}$("meup-reviewers",fe);var ve=class extends c{static properties={...c.properties,days:{state:!0},open:{state:!0},how:{state:!0},seconds:{state:!0},busy:{state:!0},refusal:{state:!0},done:{state:!0}};static styles=[w,T,W,se,m`
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
    `];report=new k(this,Qe);constructor(){super(),this.days=30,this.open="",this.how="accept",this.seconds=604800,this.busy=!1,this.refusal="",this.done=new Map}connectedCallback(){super.connectedCallback(),this.load()}load(){this.report.load(()=>this.shell.get(`suggestions?${U(this.days)}`,3e5))}render(){let{value:e,error:t,loading:a}=this.report;return r`<p class="row">
        ${N(this.days,this.choose)}
        ${a?r`<span class="quiet" role="status">Reading the log…</span>`:i}
      </p>
      ${f(t)} ${e===null?i:this.all(e)}`}choose=e=>{this.days=e,this.load()};all(e){let t=e.suggestions.filter(o=>!this.done.has(o.id)),a=t.length===e.suggestions.length?e.fewer:t.reduce((o,n)=>o+n.fewer,0);return r`<p class="quiet summary">${h(e.proposals,"proposal")} decided: ${e.approved.toLocaleString()} approved, ${e.rejected.toLocaleString()} rejected.</p>
      <div class="done" role="status" tabindex="-1">${[...this.done.values()].map(o=>r`<p>${o}</p>`)}</div>
      ${t.length>0?r`<p>${h(t.length,"suggestion")}. ${ue({...e,fewer:a})}</p>`:r`<p class="empty">${this.done.size>0?"No further rule is suggested.":"No rule is suggested. One needs several approvals of similar calls, and no rejection that it would contradict."}</p>`}
      <div class="cards">${t.map(o=>this.card(o))}</div>
      ${e.dismissed===0?i:r`<p class="faint section">${h(e.dismissed,"suggestion")} left out, because somebody dismissed ${e.dismissed===1?"it":"them"}.</p>`}
      ${e.partial?r`<p class="faint section">The log was read back to ${g(e.since,this.shell.now())} only.</p>`:i}
      ${e.left.length===0?i:r`<details class="section"><summary>Left to people: ${h(e.left.length,"kind of call","kinds of calls")}</summary><div class="cards">${e.left.map(o=>this.left(o))}</div></details>`}
      ${e.unusedUnknown!==""?r`<p class="faint section">It is not known which rights nobody used: ${O(at(e.unusedUnknown,o=>g(o,this.shell.now())))}.</p>`:e.unused.length===0?i:r`<details class="section"><summary>${h(e.unused.length,"right")} that nobody used</summary><div class="cards">${e.unused.map(o=>this.unused(o))}</div></details>`}
      ${e.unseen>0?r`<p class="faint section">${h(e.unseen,"entry","entries")} that you may not see ${e.unseen===1?"is":"are"} missing here.</p>`:i}`}rule(e){return r`<span class="words-of">${e.denies?pe(b(e.host)):r`Allow ${v(e.participant)}`}: ${y(e.words)}</span>`}card(e){let t=a=>P(a,this.shell.you);return r`<article class="card" aria-label=${`${e.denies?pe(b(e.host)):`Allow ${b(e.participant)}`} ${b(e.tool)}`}>
      <p>${this.rule(e)}</p>
      <p class="quiet">${st(e,t)}${e.denies?`, proposed mostly by ${t(e.participant)}`:""}. ${ue(e)}</p>
      ${this.decided("Supporting",e.supporting,e.denies?e.rejected:e.approved)} ${this.decided(e.denies?"Approved, and not matched":"Not approved, and not matched",e.contradicting)} ${e.patch===""?i:this.patch(e)}
      ${this.open!==e.id?this.actions(e):this.how==="dismiss"?this.dismissal(e):this.form(e)}
    </article>`}decided(e,t,a=t.length){return t.length===0?i:r`<details><summary>${e}: ${t.length<a?`${t.length} of ${h(a,"call")} shown`:h(t.length,"call")}</summary>${te(this.shell,t)}</details>`}patch(e){return r`<details><summary>For the configuration file</summary><pre tabindex="0">${x(e.patch)}</pre><p><button class="words small" @click=${()=>{De(this.shell,e.patch,"Copied")}}>Copy</button></p></details>`}actions(e){if(this.shell.past)return i;let t=e.grant!==null&&e.grantable;return r`<div class="row" data-suggestion=${e.id}>
      ${t?r`<button class="button main" @click=${()=>this.begin(e,"accept")}>Accept…</button><button class="button" @click=${()=>this.begin(e,"edit")}>Edit…</button>`:i}
      ${this.shell.may("policy.dismiss")?r`<button class="button" @click=${()=>this.begin(e,"dismiss")}>Dismiss…</button>`:i}
      ${t?i:r`<span class="faint">${e.denies?"A denial is a rule of the deciders, and has to be put into the configuration file.":"You may not grant this."}</span>`}
    </div>`}dismissal(e){return r`<meup-reason-form
      .shell=${this.shell}
      .draft=${t=>({kind:"policy.dismiss",payload:{...e.dismissal,...t!==""&&{reason:t}}})}
      .words=${"It is not suggested to anybody any more, until as many further decisions support it."}
      .action=${"Dismiss"}
      @sent=${()=>this.end(e,r`Dismissed: ${this.rule(e)}`)}
      @closed=${()=>this.close(e)}
    ></meup-reason-form>`}form(e){return r`<form @submit=${t=>{this.submit(t,e)}} @keydown=${t=>this.key(t,e)}>
      ${this.how==="edit"?r`<label class="field-label">Capabilities as JSON<textarea name="patterns" spellcheck="false" autocapitalize="off" maxlength="32000" .value=${Re(e.capabilities)}></textarea></label>
            <p class="faint">What you change here has not been tried on the log.</p>`:r`<div class="sentences" role="group" aria-label="Summary">${Z(e.capabilities).map(t=>r`<p>${y(t)}</p>`)}</div>`}
      <label class="field-label">Duration
        <select name="seconds" @change=${t=>this.seconds=Number(t.target.value)}>
          ${le.map(([t,a])=>r`<option value=${t} .selected=${t===this.seconds}>${a}</option>`)}
        </select>
      </label>
      <p class="faint">This grants the right to ${b(e.participant)} at once.${e.patch===""?"":" For good, put it into the configuration file."}</p>
      ${f(this.refusal)}
      <div class="row">
        <button class="button main" type="submit" ?disabled=${this.busy}>${this.busy?"Granting…":"Grant access"}</button>
        <button class="button" type="button" @click=${()=>this.close(e)}>Cancel</button>
      </div>
    </form>`}begin(e,t){this.open=e.id,this.how=t,this.refusal="",this.updateComplete.then(()=>{let a=this.renderRoot.querySelector("form :is(textarea, select)");a instanceof HTMLTextAreaElement&&a.setSelectionRange(0,0),a?.focus(),Pe(a?.form??void 0)})}end(e,t){this.done=new Map([...this.done,[e.id,t]]),this.open="",this.updateComplete.then(()=>this.renderRoot.querySelector(".done")?.focus())}close(e){this.open="",this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-suggestion="${CSS.escape(e.id)}"] button`)?.focus())}key=(e,t)=>{e.key==="Escape"&&(e.preventDefault(),this.close(t))};async submit(e,t){e.preventDefault();let a=this.renderRoot.querySelector("textarea[name=patterns]")?.value,o=a===void 0?t.capabilities:Fe({...ze,usual:"own",own:a.trim()});if(this.refusal=typeof o=="string"?o:"",typeof o=="string"||t.grant===null)return;this.busy=!0;let n=await this.shell.send(tt(t.grant,t.participant,o,this.seconds));if(this.busy=!1,!n.ok){this.refusal=n.refusal;return}let u=this.seconds>0?r`for ${le.find(([re])=>re===this.seconds)?.[1]}`:"until it is revoked",D=a===void 0?y(t.words):Z(o).map(re=>r` ${y(re)}`);this.end(t,r`Granted to ${v(t.participant)} ${u}: ${D}`)}left(e){return r`<div class="card">
      <p><span class="name">${v(e.participant)}</span>: ${y(e.words)}</p>
      <p class="quiet">Approved ${h(e.approved,"time")}. ${y(rt(e.why))}</p>
      ${this.decided("Approved",e.supporting,e.approved)} ${this.decided("Contradicting",e.contradicting)}
    </div>`}unused(e){let t=e.last===0?"Never used in this log.":`Last used ${g(e.last,this.shell.now())}.`;return r`<div class="card">
      <p class="name">${v(e.participant)}</p>
      <div class="sentences">${Z(e.capabilities).map(a=>r`<p>${y(a)}</p>`)}</div>
      <p class="row quiet"><span class="grow">${t} ${e.grant===""?"It is in the configuration file.":"It was granted."}</span>${e.grant===""?i:r`<button class="words small" @click=${()=>this.shell.open("operator")}>Grants</button>${j(this.shell,e.grant)}`}</p>
    </div>`}};$("meup-suggestions",ve);var Mt=[["decisions","Decisions",!0],["reviewers","Reviewers",!0],["budgets","Budgets",!0],["claims","Claims",!0],["suggestions","Suggestions",!1],["backtest","Backtest",!1]],$e=class extends c{static styles=[w,T,m`
      nav {
        display: flex;
        gap: var(--space-1);
        flex-wrap: wrap;
        margin: 0 calc(-1 * var(--space-2)) var(--space-4);
      }
      nav button {
        padding: var(--space-1) var(--space-2);
        border-radius: var(--round-s);
        color: var(--quiet);
        font-size: var(--text-xs);
        font-weight: 600;
      }
      nav button:hover {
        color: var(--ink);
      }
      nav button[aria-current] {
        background: var(--accent-soft);
        color: var(--accent-strong);
      }
      @media (pointer: coarse) {
        nav button {
          min-height: 2.5rem;
        }
      }
    `];render(){let{shell:e,state:t}=this,a=this.params?.part??"decisions";return r`
      <nav aria-label="Policy">${Mt.filter(([,,o])=>o||He(e)).map(([o,n])=>r`<button aria-current=${o===a?"page":i} @click=${()=>e.open("policy",{part:o})}>${n}</button>`)}</nav>
      ${e.past?r`<p class="warning">You are viewing the past. This is how it is now.</p>`:i}
      ${a==="reviewers"?r`<meup-reviewers .shell=${e} .state=${t}></meup-reviewers>`:a==="budgets"?r`<meup-budgets .shell=${e} .state=${t} .params=${this.params}></meup-budgets>`:a==="claims"?r`<meup-claims .shell=${e} .state=${t}></meup-claims>`:a==="suggestions"?r`<meup-suggestions .shell=${e} .state=${t}></meup-suggestions>`:a==="backtest"?r`<meup-backtest .shell=${e} .state=${t}></meup-backtest>`:r`<meup-decisions .shell=${e} .state=${t}></meup-decisions>`}
    `}};$("meup-policy",$e);export{$e as Policy};
