import{a as Ae}from"/assets/chunk-HTKOR7DS.js";import{b as ne,c as Be,d as Oe}from"/assets/chunk-ECF2UMDL.js";import"/assets/chunk-O3BR7MHX.js";import{b as V}from"/assets/chunk-757P6I2J.js";import{a as Ee,b as Ce,c as Ie,d as ie,e as qe}from"/assets/chunk-2SDV52AJ.js";import{c as v,d as L}from"/assets/chunk-LI2ITUN5.js";import{a as W,b as Q}from"/assets/chunk-BCKDFRY2.js";import"/assets/chunk-CXOYBXQ3.js";import{a as Te}from"/assets/chunk-J3ND4NAU.js";import{i as Pe,j as je,k as Le,l as Me}from"/assets/chunk-62LR5M3O.js";import{b as ke}from"/assets/chunk-7YJZIPSA.js";import"/assets/chunk-TZLAFC3M.js";import{a as w,b as x,c as De,e as g,f as M,j as f,k as T,l as J}from"/assets/chunk-JOT7OIPQ.js";import{a as _}from"/assets/chunk-MYHS66OQ.js";import{C as xe,d as I,h as K,i as oe,r as c,v as N,x as ae,y as q,z as $}from"/assets/chunk-YBPMD7R5.js";import{D as R,G as Re,L as b,N as h,O,R as S,T as Se,b as u,c as r,f as i,j as be,n as d,o as we,p as E,r as P,s as m,t as j,u as C,v as H,w as n}from"/assets/chunk-6QAC3HRB.js";var at=100;function _e(s){let{decisions:e,next:t,has_more:o,partial:a}=m(s);return{decisions:C(e).slice(0,at).map(l=>it(m(l))),next:P(o)===!0?E(t):null,partial:P(a)===!0}}function it(s){let e=a=>d(n(s,a)),t=m(n(s,"decided")),o=n(s,"today");return{id:e("id"),seq:E(n(s,"seq"))??0,at:I(e("at")),caller:e("caller"),host:e("host"),tool:e("tool"),proposal:e("proposal"),edited:P(n(s,"edited"))===!0,outcome:e("outcome"),reason:e("reason"),by:d(n(t,"by")),decider:d(n(t,"decider")),participant:d(n(t,"participant")),late:n(t,"when")==="late",rule:d(n(t,"rule")),grant:d(n(t,"grant")),today:j(o)?{verdict:d(n(o,"verdict")),rule:d(n(o,"rule"))}:null}}var nt={made:"Approved",rejected:"Rejected",withdrawn:"Withdrawn",expired:"Rejected"};function Ne(s,e){switch(s.by){case"rule":return s.decider==="rule"?"Let through by a rule of the deciders":"Allowed by a rule";case"grant":return"Allowed by a grant";case"participant":return`${nt[s.outcome]??"Decided"} by ${s.decider==="reviewer"?"the reviewer ":""}${e(s.participant)}${s.edited?", with other arguments":""}${s.late?", too late":""}`;case"nobody":return"Nobody decided in time";default:return"The reason was not recorded"}}function Y(s){let e;try{e=be(s)}catch{return s}return typeof e=="string"?W(e):j(e)&&typeof n(e,"kind")=="string"?W(e):s}var Ge=500,p=(s,e)=>E(n(s,e))??0,A=(s,e)=>I(d(n(s,e))),B=(s,e)=>C(n(s,e)).slice(0,Ge).map(m),ze=s=>C(n(s,"capabilities")).slice(0,Ge).flatMap(e=>typeof e=="string"?[{kind:e}]:j(e)?[e]:[]);function Fe(s){let e=m(s);return{proposals:p(e,"proposals"),approved:p(e,"approved"),rejected:p(e,"rejected"),from:A(e,"from"),to:A(e,"to"),suggestions:B(e,"suggestions").map(Ue),dismissed:p(e,"dismissed"),fewer:p(e,"asked_fewer"),letThrough:p(e,"let_through_rejected"),left:B(e,"left_to_people").map(t=>({...Ue(t),why:d(n(t,"why"))})),unused:B(e,"unused").map(t=>({participant:d(n(t,"participant")),capabilities:ze(t),grant:d(n(t,"grant")),last:A(t,"last_use")})),unusedUnknown:d(n(e,"unused_unknown")),unseen:p(e,"unseen"),since:A(e,"since"),partial:P(n(e,"partial"))===!0}}function Ue(s){let e=t=>d(n(s,t));return{id:e("id"),denies:e("does")==="deny",participant:e("participant"),host:e("host"),tool:e("tool"),words:e("words"),capabilities:ze(s),approved:p(s,"approved"),rejected:p(s,"rejected"),by:H(n(s,"by")),days:p(s,"days"),fewer:p(s,"asked_fewer"),letThrough:p(s,"let_through_rejected"),supporting:B(s,"for").map(le),contradicting:B(s,"against").map(le),configuredIn:e("configured_in"),patch:e("patch"),grant:j(n(s,"grant"))?m(n(s,"grant")):null,grantable:P(n(s,"grantable"))===!0,dismissal:m(n(s,"dismissal"))}}function le(s){let e=o=>d(n(s,o)),t=e("approved_by");return{id:e("id"),at:A(s,"ts"),what:e("what"),outcome:e("outcome")||(t===""?"":"approved"),by:e("by")||e("rejected_by")||t,reason:e("reason")}}function He(s){let e=m(s);return{from:A(e,"from"),to:A(e,"to"),envelopes:p(e,"envelopes"),record:n(e,"baseline")==="record",different:p(e,"different"),allowed:p(e,"allowed"),refused:p(e,"refused"),asked:p(e,"asked"),masked:p(e,"masked"),unmasked:p(e,"unmasked"),letThrough:p(e,"let_through_rejected"),unjudged:p(e,"unjudged"),unseen:p(e,"unseen"),groups:B(e,"groups").map(t=>({outcome:d(n(t,"outcome")),rejectedBy:H(n(t,"rejected_by")),approvedBy:H(n(t,"approved_by")),participant:d(n(t,"participant")),kind:d(n(t,"kind")),rule:d(n(t,"rule")),why:d(n(t,"why")),before:d(n(t,"before")),count:p(t,"count"),examples:B(t,"examples").map(le)})),moreGroups:p(e,"more_groups"),summary:d(n(e,"summary")),since:A(e,"since"),partial:P(n(e,"partial"))===!0,warnings:H(n(e,"warnings"))}}function Z(s,e){return`${s.toLocaleString("en-US")} ${e}${s===1?"":"s"}`}function de(s){return s.approvedBy.length>0||s.outcome==="allowed"&&s.rejectedBy.length>0}function We(s){return de(s)?s.outcome==="allowed"?"Let through although rejected":"Refused although approved":{allowed:"No question any more",asked:"Asked",refused:"Refused",masked:"Masked",unmasked:"No longer masked"}[s.outcome]??s.outcome}function Ye(s,e,t,o){let{ttl_seconds:a,...l}=s;return{kind:"capability.grant",to:[e],payload:{...l,capabilities:t,...o>0&&{ttl_seconds:o}}}}function Xe(s,e){let t=s.denies?s.rejected:s.approved,o=s.by.map(e),a=o.length>3?`${o.slice(0,2).join(", ")} and ${o.length-2} others`:o.join(" and ");return`${s.denies?"Rejected":"Approved"} ${Z(t,"time")}${a===""?"":` by ${a}`} on ${Z(s.days,"day")}`}function pe(s){return`Would have asked ${Z(s.fewer,"time")} fewer and let through ${Z(s.letThrough,"call")} that ${s.letThrough===1?"was":"were"} rejected.`}function ee(s,e){return r`<ul class="examples">${e.map(t=>r`<li>
      <p class="what">${x(t.what)}</p>
      <p class="fact"><time title=${q(t.at)}>${$(t.at,s.now())}</time>${t.by===""?i:` · ${R(t.outcome||"rejected",40)} by ${L(t.by,s.you)}`}${t.reason===""?i:`: ${R(Re(t.reason.replaceAll("_"," ")),200)}`}</p>
      ${M(s,t.id)}
    </li>`)}</ul>`}var te=u`
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
`;var k=class{constructor(e,t){this.host=e;this.read=t;e.addController(this)}host;read;value=null;error="";loading=!1;requests=0;hostConnected(){}async load(e){let t=++this.requests;this.loading=!0,this.host.requestUpdate();let o=null,a="";try{o=this.read(await e())}catch(l){a=l instanceof Error?l.message:String(l)}return t!==this.requests?null:(this.value=o??this.value,this.error=a,this.loading=!1,this.host.requestUpdate(),o)}};var lt=[[1,"Last 24 hours"],[7,"Last 7 days"],[30,"Last 30 days"],[0,"Whole log"]];function U(s){return`since=${encodeURIComponent(new Date(s===0?0:Date.now()-s*864e5).toISOString())}`}function G(s,e){return r`<label class="unseen" for="span">Part of the log</label>
    <select id="span" class="span" @change=${t=>e(Number(t.target.value))}>
      ${lt.map(([t,o])=>r`<option value=${t} .selected=${t===s}>${o}</option>`)}
    </select>`}var z=u`
  .span {
    width: auto;
  }
`;var Ke=1<<20,dt={allowed:"accent",asked:"wait",refused:"bad"},ce=class extends c{static properties={...c.properties,days:{state:!0},trouble:{state:!0}};static styles=[w,T,z,te,u`
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
    `];result=new k(this,He);constructor(){super(),this.days=30,this.trouble=""}render(){let{value:e,error:t,loading:o}=this.result;return r`<form @submit=${this.submit}>
        <p class="quiet">Decides the log again under another configuration, and shows what would have been different. Nothing is changed.</p>
        <label class="field-label">Configuration (YAML or JSON)<textarea name="configuration" spellcheck="false" autocapitalize="off" maxlength=${Ke} placeholder="spaces:" aria-invalid=${this.trouble===""?"false":"true"} @input=${()=>this.trouble=""}></textarea></label>
        <label class="field-label">From a file<input class="field" type="file" accept=".yaml,.yml,.json,text/*" @change=${a=>{this.choose(a)}} /></label>
        ${f(this.trouble)}
        <div class="row">
          <button class="button main" type="submit" ?disabled=${o}>${o?"Deciding again…":"Run"}</button>
          ${G(this.days,a=>this.days=a)}
        </div>
      </form>
      ${f(t)}
      <div aria-live="polite" aria-busy=${o?"true":"false"}>${e===null||t!==""?i:this.outcome(e)}</div>`}async choose(e){let t=e.target.files?.[0];if(t===void 0)return;let o=this.renderRoot.querySelector("textarea");t.size>Ke?this.trouble="The file is too large for a configuration.":o!==null&&(o.value=await t.text(),this.trouble="")}submit=e=>{e.preventDefault();let t=this.renderRoot.querySelector("textarea")?.value??"";this.trouble=t.trim()===""?"Paste a configuration, or choose a file.":"",this.trouble===""&&this.result.load(()=>this.shell.get(`backtest?${U(this.days)}`,3e5,t))};outcome(e){let t=this.shell.now();return r`<p class="result">${h(e.summary)}</p>
      <p class="quiet">${g(e.envelopes,"envelope")}${e.envelopes===0?"":`, ${$(e.from,t)} to ${$(e.to,t)}`}, compared with ${e.record?"what happened":"what happened and the configuration in force"}.</p>
      ${e.unjudged>0?r`<p class="quiet">The log no longer has enough about ${g(e.unjudged,"envelope")}.</p>`:i}
      ${e.unseen>0?r`<p class="quiet">${g(e.unseen,"entry","entries")} that you may not see ${e.unseen===1?"is":"are"} missing here.</p>`:i}
      ${e.partial?r`<p class="quiet">The log was read back to ${$(e.since,t)} only.</p>`:i}
      ${e.warnings.length===0?i:r`<details><summary>${g(e.warnings.length,"warning")} about the configuration</summary><ul class="sentences">${e.warnings.map(o=>r`<li>${h(o)}</li>`)}</ul></details>`}
      <ul>${e.groups.map(o=>r`<li class="group">${this.group(o)}</li>`)}</ul>
      ${e.moreGroups>0?r`<p class="faint section">${g(e.moreGroups,"further group")} left out.</p>`:i}`}group(e){let t=de(e),o=(l,y)=>y.length===0?i:r`<p class="quiet">${l} by ${y.map(D=>L(D,this.shell.you)).join(", ")}.</p>`,a=(l,y)=>y===""?i:r`<p class="quiet">${l}: ${h(R(Y(y),400))}</p>`;return r`<p class="row"><span class="chip ${t?"bad":dt[e.outcome]??""}">${We(e)}</span><span class="of"><b>${e.count.toLocaleString()}</b> · ${Ae(e.kind)} of <span class="name">${v(e.participant)}</span></span></p>
      ${o("Rejected",e.rejectedBy)} ${o("Approved",e.approvedBy)} ${a("Rule",e.rule)} ${e.why===""?i:r`<p class="quiet">${h(R(e.why,400))}</p>`} ${a("In force",e.before)}
      ${e.examples.length===0?i:r`<details ?open=${t}><summary>${e.examples.length<e.count?g(e.examples.length,"example"):g(e.count,"envelope")}</summary>${ee(this.shell,e.examples)}</details>`}`}};b("meup-backtest",ce);var pt=["cost","tokens","calls"],ct=1e3;function Je(s){let{until:e,budgets:t,loops:o}=m(s);return{until:I(d(e)),budgets:C(t).slice(0,ct).map(a=>ut(m(a))),loops:{identical:E(n(m(o),"identical"))??0,hops:E(n(m(o),"hops"))??0}}}function ut(s){let e=d(n(s,"currency"));return{id:d(n(s,"participant_id")),limits:pt.flatMap(t=>{let o=n(s,t);if(!j(o))return[];let a=l=>Math.max(0,we(n(o,l))??0);return[{of:t,currency:t==="cost"?e:"",used:a("used"),limit:a("limit"),extended:a("extended")}]}),uncounted:E(n(s,"uncounted"))??0,asks:d(n(s,"asks")),mayExtend:P(n(s,"may_extend"))===!0}}function ue(s){return`${se(s,s.used)} of ${se(s,s.limit)} ${me(s)}`}function me(s){return s.of==="cost"?s.currency:s.of}function se(s,e){return e.toLocaleString(void 0,s.of==="cost"?{minimumFractionDigits:2,maximumFractionDigits:4}:{maximumFractionDigits:0})}function Ve(s,e){return s.of==="cost"?{cost:e,currency:s.currency}:{[s.of]:e}}function Qe({identical:s,hops:e}){let t=s>0?[`the same call was made ${s.toLocaleString()} times without progress`]:[],o=e>0?[`work was passed on ${e.toLocaleString()} times without a person`]:[];return t.length+o.length===0?"":`A call also has to be approved after ${[...t,...o].join(", or ")}.`}var F=class{constructor(e,t,o,a=[]){this.host=e;this.load=t;this.soon=o;this.later=a;e.addController(this)}host;load;soon;later;seen=-1;timer;due=1/0;hostConnected(){this.load()}hostUpdate(){let{shell:e}=this.host,{head:t}=e.state,{seen:o}=this;if(this.seen=t,o<0||t===o)return;let{envelopes:a}=e;for(let l=a.length-1;l>=0;l--){let y=a[l];if(y===void 0||(y.seq??0)<=o)return;this.soon.includes(y.kind)?this.schedule(100):this.later.includes(y.kind)&&this.schedule(3e3)}}hostDisconnected(){clearTimeout(this.timer),this.due=1/0,this.seen=-1}schedule(e){let t=performance.now()+e;t>=this.due||(clearTimeout(this.timer),this.due=t,this.timer=setTimeout(()=>{this.due=1/0,this.load()},e))}};var mt=["participant.status","reasoning.conclusion","reasoning.cancel","mcp.request","mcp.proposal"],Ze=50,he=class extends c{static properties={...c.properties,open:{state:!0},most:{state:!0}};static styles=[w,T,J,u`
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
    `];report=new k(this,Je);ended=0;constructor(){super(),this.open=null,this.most=Ze,new F(this,()=>this.load(),["budget.extend"],mt),new V(this,()=>{let e=this.report.value?.until??0;e<=this.ended||this.shell.now()<e||(this.ended=e,this.load())})}load(){this.report.load(()=>this.shell.get("budgets"))}render(){let{value:e,error:t}=this.report;if(e===null)return r`${f(t)}${t===""?r`<p class="empty" role="status">Loading…</p>`:i}`;let o=Qe(e.loops);return r`${f(t)}
      ${e.budgets.length===0?r`<div class="empty"><p>No budgets</p><p class="quiet">The configuration can limit what participants use in a day before their calls have to be approved. You see your own budget, and those that you may extend.</p></div>`:r`<p class="quiet">Used today, until ${ae(e.until)}. What goes beyond a budget has to be approved.</p>
            <ul aria-label="Budgets">${e.budgets.slice(0,this.most).map(a=>r`<li>${this.one(e,a)}</li>`)}</ul>
            ${e.budgets.length>this.most?r`<p class="section"><button class="words" @click=${()=>this.most+=Ze}>Show more</button></p>`:i}`}
      ${o===""?i:r`<p class="faint section">${o}</p>`}`}one(e,t){let o=t.id===""?"All participants together":t.id===this.shell.you?"You":v(t.id);return r`<p class="row">${t.id===""?i:_(t.id,this.state.participants.get(t.id)?.agent===!0)}<span class="name grow">${o}</span></p>
      ${t.limits.map(a=>yt(a))} ${t.asks===""?i:r`<p class="warning">${h(t.asks)}. ${t.id===""?"Calls have":"Its calls have"} to be approved.</p>`}
      ${t.uncounted===0?i:r`<p class="faint">${t.uncounted===1?"1 report":`${t.uncounted.toLocaleString()} reports`} could not be counted: more was used.</p>`}
      ${t.mayExtend&&!this.shell.past&&t.limits.length>0?this.extending(e,t,o):i}`}extending(e,t,o){return this.open!==t.id?r`<p><button class="button small" data-budget=${t.id} aria-label=${`Extend the budget: ${o}`} @click=${()=>this.open=t.id}>Extend…</button></p>`:r`<meup-reason-form
      .shell=${this.shell}
      .words=${`Until ${ae(e.until)} more may be used ${t.id===""?"in this space":`by ${S(t.id)}`} without a question.`}
      .fields=${r`<div class="row">
        <label class="field-label grow">Amount<input class="field" name="amount" type="number" inputmode="decimal" min="0" step="any" required /></label>
        <label class="field-label">Unit<select name="unit">${t.limits.map(a=>r`<option value=${a.of}>${me(a)}</option>`)}</select></label>
      </div>`}
      .draft=${(a,l)=>ht(t,l,a)}
      .action=${"Extend"}
      @closed=${()=>this.close(t.id)}
    ></meup-reason-form>`}close(e){this.open=null,this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-budget="${CSS.escape(e)}"]`)?.focus())}};function ht(s,e,t){let o=s.limits.find(l=>l.of===e.get("unit"))??s.limits[0],a=Number(e.get("amount"));return Le(s.id,Ve(o,o.of==="cost"?a:Math.ceil(a)),t)}function yt(s){let e=s.used>=s.limit;return r`<div class="limit">
    <p class="figures"><span class=${e?"bad":""}>${ue(s)}</span>${s.extended>0?r`<span class="quiet">${se(s,s.extended)} added today</span>`:i}</p>
    <progress ?data-full=${e} aria-label=${ue(s)} max=${Math.max(s.limit,Number.MIN_VALUE)} value=${Math.min(s.used,s.limit)}></progress>
  </div>`}b("meup-budgets",he);var gt=4096;function et(s){let e=new Map;for(let t of C(n(m(s),"claims")).slice(0,gt)){let o=l=>d(n(m(t),l)),a=e.get(o("id"))??{id:o("id"),by:o("by"),paths:[],names:[],at:I(o("at")),expiresAt:I(o("expires_at")),reason:o("reason")};o("path")!==""&&a.paths.push(o("path")),o("name")!==""&&a.names.push(o("name")),e.set(a.id,a)}return[...e.values()].sort((t,o)=>t.expiresAt-o.expiresAt)}var tt=50,ye=class extends c{static properties={...c.properties,second:{state:!0},most:{state:!0},busy:{state:!0},refusal:{state:!0}};static styles=[w,T,u`
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
    `];report=new k(this,et);constructor(){super(),this.most=tt,this.busy="",this.refusal="",new F(this,()=>this.load(),["claim","release","space.kick"]),new V(this,()=>{(this.report.value?.length??0)>0&&(this.second=Math.floor(this.shell.now()/1e3))})}load(){this.report.load(()=>this.shell.get("claims"))}render(){let{value:e,error:t}=this.report;if(e===null)return r`${f(t)}${t===""?r`<p class="empty" role="status">Loading…</p>`:i}`;let o=this.shell.now(),a=e.filter(l=>l.expiresAt>o);return r`${f(t||this.refusal)}
      ${a.length===0?r`<div class="empty"><p>No claims</p><p class="quiet">Participants claim files that they work on, so that nobody else changes them.</p></div>`:r`<ul aria-label="Claims">${a.slice(0,this.most).map(l=>r`<li class="claim">${this.one(l,o)}</li>`)}</ul>
            ${a.length>this.most?r`<p class="section"><button class="words" @click=${()=>this.most+=tt}>Show more</button></p>`:i}
            <p class="faint section">Only who claimed something can release it. A claim ends by itself, also five minutes after its holder has left.</p>`}`}one(e,t){let o=e.by===this.shell.you,a=`until ${$(e.expiresAt,t)}`;return r`<p class="row">${_(e.by,this.state.participants.get(e.by)?.agent===!0)}<span class="name grow">${o?"You":v(e.by)}</span><time title=${q(e.expiresAt)}>${a}, ${K(Math.ceil((e.expiresAt-t)/1e3))} left</time>${M(this.shell,e.id)}</p>
      <ul class="items">${e.paths.map(l=>r`<li><code>${x(l)}</code></li>`)}${e.names.map(l=>r`<li>“${x(l)}”</li>`)}</ul>
      ${e.reason===""?i:r`<p class="quiet">${N(e.reason)}</p>`}
      ${o&&this.shell.may("release")&&!this.shell.past?r`<p><button class="button small" aria-label=${`Release ${[...e.paths,...e.names].join(", ")}`} ?disabled=${this.busy===e.id} @click=${()=>{this.release(e.id)}}>Release</button></p>`:i}`}async release(e){this.busy=e,this.refusal="";let t=await this.shell.send(Me(e));this.busy="",t.ok||(this.refusal=t.refusal)}};b("meup-claims",ye);var ft=20,st={made:"accent",rejected:"bad",expired:"wait",refused:"bad",asked:"wait",allowed:"accent"},ge=class extends c{static properties={...c.properties,participant:{state:!0},tool:{state:!0},found:{state:!0}};static styles=[w,T,u`
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
    `];page=new k(this,_e);constructor(){super(),this.participant="",this.tool="",this.found=[]}connectedCallback(){super.connectedCallback(),this.load(0)}async load(e){e===0&&(this.found=[]);let t=new URLSearchParams({limit:String(ft),...e>0&&{before:String(e)},...this.participant!==""&&{participant:this.participant},...this.tool.trim()!==""&&{tool:this.tool.trim()}}),o=await this.page.load(()=>this.shell.get(`decisions?${t}`));o!==null&&(this.found=[...this.found,...o.decisions])}render(){let{found:e}=this,{envelopes:t}=this.shell,{value:o,error:a,loading:l}=this.page,y=[...this.state.participants.keys()].filter(D=>D!==Te).sort();return r`<form class="filters" @submit=${this.filter} @change=${this.filter}>
        <label class="unseen" for="participant">Participant</label>
        <select id="participant">
          <option value="" .selected=${this.participant===""}>All participants</option>
          ${y.map(D=>r`<option value=${D} .selected=${D===this.participant}>${S(D)}</option>`)}
        </select>
        <label class="unseen" for="tool">Tool</label>
        <input id="tool" class="field" type="search" placeholder="Any tool" autocapitalize="off" spellcheck="false" maxlength="256" .value=${this.tool} />
      </form>
      ${f(a)}
      <ol aria-busy=${l?"true":"false"} aria-label="Decisions, newest first">${e.map(D=>r`<li>${this.one(D,t)}</li>`)}</ol>
      ${e.length===0?r`<p class="empty" role="status">${l?"Loading…":a!==""?i:this.participant+this.tool===""?"No calls yet":"No calls match"}</p>`:this.end(o,l)}`}one(e,t){let o=vt(this.shell,t,e);return r`<p class="row">
        <span class="grow"><span class="name">${e.caller===this.shell.you?"You":v(e.caller)}</span> <code>${x(R(e.tool,200))}</code>${e.host===""?i:r` <span class="quiet">on ${v(e.host)}</span>`}</span>
        <time title=${q(e.at)}>${$(e.at,this.shell.now())}</time>
      </p>
      ${o===""?i:r`<p class="args">${o}</p>`}
      <p class="small">${Ne(e,a=>L(a,this.shell.you))}${e.rule===""||e.by==="participant"?".":r`: ${O(R(Y(e.rule),400),h)}`}${e.grant===""?i:r` <button class="words small" @click=${()=>this.shell.open("envelope",{id:e.grant})}>Show the grant</button>`}</p>
      ${e.reason===""?i:r`<p class="quiet">${N(e.reason.replaceAll("_"," "))}</p>`}
      <p class="row">
        <span class="chip ${st[e.outcome]??""}">${R(e.outcome,40)}</span>
        ${e.today===null?i:r`<span class="chip ${st[e.today.verdict]??""}" title=${e.today.rule===""?"No rule allows it":R(Y(e.today.rule),400)}>today: ${R(e.today.verdict,40)}</span>`}
        <span class="grow"></span>${M(this.shell,e.id)}
      </p>`}end(e,t){if(t)return r`<p class="empty" role="status">Loading…</p>`;let o=e?.next??null;return o!==null?r`<p class="section"><button class="words" @click=${()=>{this.load(o)}}>Show more</button></p>`:e?.partial===!0?r`<p class="faint section">The log was not read to its beginning. There may be older decisions.</p>`:i}filter=e=>{e.preventDefault(),this.participant=this.renderRoot.querySelector("select")?.value??"",this.tool=this.renderRoot.querySelector("input")?.value??"",this.load(0)}};function vt(s,e,t){let o=s.state.proposals.get(t.proposal),a=$t(e,t.seq),l=t.outcome!=="made"||a===void 0?o?.args:ke(d(n(a.payload,"method")),n(a.payload,"params"));return j(l)?xe(l,200):""}function $t(s,e){let[t,o]=[0,s.length];for(;t<o;){let l=t+o>>1;(s[l]?.seq??0)<e?t=l+1:o=l}let a=s[t];return a?.seq===e?a:void 0}b("meup-decisions",ge);var bt=3e3,fe=class extends c{static properties={...c.properties,days:{state:!0},asking:{state:!0}};static styles=[w,T,z,J,u`
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
    `];loaded=new k(this,Ee);scored="";later;constructor(){super(),this.days=30,this.asking=""}disconnectedCallback(){super.disconnectedCallback(),clearTimeout(this.later)}willUpdate(){let e=wt(this.shell.state);if(e===this.scored)return;let t=this.scored==="";this.scored=e,clearTimeout(this.later),this.later=setTimeout(()=>this.load(),t?0:bt)}load(){this.loaded.load(()=>this.shell.get(`deciders?${U(this.days)}`,3e5))}render(){let{value:e,error:t,loading:o}=this.loaded;return e===null?r`${f(t)}${t===""?r`<p class="empty" role="status">Loading…</p>`:i}`:r`${f(t)}
      <p class="row">${G(this.days,this.choose)}</p>
      ${e.configured?i:r`<p class="quiet">The configuration names no deciders: everybody with the right to decide does.</p>`}
      ${e.humanOnly.length===0?i:r`<details class="section"><summary>Only people decide on some calls</summary>${rt(e.humanOnly)}</details>`}
      <ol aria-busy=${o?"true":"false"} aria-label="In the order in which they are asked">${e.deciders.map(a=>r`<li class="decider">${this.one(e,a)}</li>`)}</ol>
      ${e.partial?r`<p class="faint section">The log was not read back to ${$(e.since,this.shell.now())}: older decisions are missing in the scores.</p>`:i}`}choose=e=>{this.days=e,this.load()};one(e,t){return r`${this.head(t)} ${t.score===null?i:Tt(t,t.score)} ${t.kinds.length===0?i:kt(t)}
      ${t.only.length===0?i:r`<details><summary>Which calls it may decide on</summary>${rt(t.only)}</details>`} ${this.change(t)} ${t.promotion===null?i:Rt(t.promotion)}
      ${t.type==="reviewer"&&!this.shell.past?this.actions(e,t):i}`}head(e){if(e.type==="rules")return r`<p class="row"><span class="name grow">Rules</span><span class="chip accent">decide first</span></p>`;let t=e.id===""?r`<code>${x(e.pattern)}</code>`:e.id===this.shell.you?"You":v(e.id),o=e.type==="reviewer"?r`<span class="chip ${e.decides?"accent":""}">${e.decides?"reviewer, decides":"reviewer, in shadow"}</span>`:r`<span class="chip">${e.after>0?`decides after ${K(e.after/1e3)}`:"person"}</span>`;return r`<p class="row">${e.id===""?i:_(e.id,e.type==="reviewer")}<span class="name grow">${t}</span>${o}</p>`}change(e){let t=e.changed;return t===null?i:r`<p class="quiet">
      ${t.decides?"Promoted":"Put into shadow"} by ${L(t.by,this.shell.you)} <time title=${q(t.at)}>${$(t.at,this.shell.now())}</time>${t.reason===""?i:r`: ${N(t.reason)}`}
      ${t.undone===""?i:r`<button class="words small" @click=${()=>this.shell.open("envelope",{id:t.undone})}>The wrong decision</button>`} ${M(this.shell,t.id)}
    </p>`}actions(e,t){let o=Ie(Ce(e),this.shell.you)!==null&&t.id!==this.shell.you;if(t.decides?!o||!this.shell.may("reviewer.demote"):t.promotion?.mayPromote!==!0)return i;let a=t.promotion?.missing??"";if(this.asking===t.id)return r`<meup-reason-form
        .shell=${this.shell}
        .draft=${y=>t.decides?je(t.id,y):Pe(t.id,y)}
        .words=${t.decides?`${S(t.id)} decides nothing from now on. It still gives its opinions.`:`From now on ${S(t.id)} decides on proposals before people are asked.`}
        .action=${t.decides?"Back to shadow":"Promote"}
        .bad=${t.decides}
        @closed=${()=>this.close(t.id)}
      ></meup-reason-form>`;let l=t.decides?"Back to shadow…":"Promote…";return r`<p><button class="button ${t.decides?"bad":""}" data-reviewer=${t.id} aria-label=${`${l} ${S(t.id)}`} ?disabled=${!t.decides&&a!==""} @click=${()=>this.asking=t.id}>${l}</button></p>`}close(e){this.asking="",this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-reviewer="${CSS.escape(e)}"]`)?.focus())}};function wt(s){let e=[...s.notices.values()].filter(o=>o.kind.startsWith("reviewer.")).length,t=[...s.proposals.values()].reduce((o,a)=>o+a.opinions.length,0);return[s.proposals.size,s.pending.length,t,e].join(" ")}function Tt(s,e){let t=s.type==="person",o=ot(s),a=e.covered===0?"none yet":`half within ${oe(e.latencyP50*1e3)}, 99% within ${oe(e.latencyP99*1e3)}`;return r`<dl>
    <div><dt>${t?"Decided on":"Coverage"}</dt><dd>${ie(e.covered,e.proposals)}</dd></div>
    ${t?r`<div><dt>Approved</dt><dd>${e.approved.toLocaleString()}</dd></div><div><dt>Rejected</dt><dd>${e.rejected.toLocaleString()}</dd></div>`:r`<div><dt title="It approved, or would have, what a person rejected or called wrong">Misses</dt><dd class=${e.misses>0?"bad":""}>${o(e.misses.toLocaleString())}</dd></div>
          <div><dt title="Of the calls that people rejected, those that it would have rejected too">Agreement on rejections</dt><dd>${o(ie(e.agreedRejections,e.personRejections))}</dd></div>
          <div><dt title="It rejected, or would have, what people approved">False alarms</dt><dd>${o(e.falseAlarms.toLocaleString())}</dd></div>
          <div><dt title="Questions that people were not asked because of it, or would not have been">Saved</dt><dd>${e.saved.toLocaleString()}</dd></div>`}
    ${s.type==="rules"?i:r`<div><dt>Latency</dt><dd>${a}</dd></div>`}
  </dl>`}function ot(s){return e=>s.type==="rules"?"–":e}function kt(s){let e=ot(s);return r`<details>
    <summary>By kind of call</summary>
    <div class="wide" tabindex="0" role="group" aria-label="Scores by kind of call">
      <table>
        <thead><tr><th scope="col">Kind</th><th scope="col">Coverage</th><th scope="col">Misses</th><th scope="col">Rejections</th><th scope="col">False alarms</th><th scope="col">Saved</th></tr></thead>
        <tbody>${s.kinds.map(t=>r`<tr><td><code>${x(t.kind)}</code></td><td>${t.covered.toLocaleString()} / ${t.proposals.toLocaleString()}</td><td class=${t.misses>0?"bad":""}>${e(t.misses.toLocaleString())}</td><td>${e(`${t.agreedRejections.toLocaleString()} / ${t.personRejections.toLocaleString()}`)}</td><td>${e(t.falseAlarms.toLocaleString())}</td><td>${t.saved.toLocaleString()}</td></tr>`)}</tbody>
      </table>
    </div>
  </details>`}function Rt(s){let e=(t,o,a)=>a<=0?i:r`<p class="quiet">${t}: ${Math.min(o,a).toLocaleString()} of ${a.toLocaleString()}</p><progress aria-label=${t} max=${a} value=${Math.min(o,a)}></progress>`;return r`<div class="needs" role="group" aria-label="What a promotion needs">
    ${e("Decisions by people on its opinions",s.compared,s.decisions)} ${e("Without a miss",s.sinceMiss,s.withoutMiss)}
    <p class="quiet">${s.missing===""?"It can be promoted.":r`A promotion still needs: ${h(s.missing)}`}</p>
  </div>`}function rt(s){return r`<div class="sentences">${s.map(e=>r`<p>${h(W({kind:"mcp.request",...e}).replace(/^May call tools(?:, but only )?/u,"Calls: "))}</p>`)}</div>`}b("meup-reviewers",fe);var ve=class extends c{static properties={...c.properties,days:{state:!0},open:{state:!0},how:{state:!0},seconds:{state:!0},busy:{state:!0},refusal:{state:!0},done:{state:!0}};static styles=[w,T,z,te,u`
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
    `];report=new k(this,Fe);constructor(){super(),this.days=30,this.open="",this.how="accept",this.seconds=604800,this.busy=!1,this.refusal="",this.done=new Map}connectedCallback(){super.connectedCallback(),this.load()}load(){this.report.load(()=>this.shell.get(`suggestions?${U(this.days)}`,3e5))}render(){let{value:e,error:t,loading:o}=this.report;return r`<p class="row">
        ${G(this.days,this.choose)}
        ${o?r`<span class="quiet" role="status">Reading the log…</span>`:i}
      </p>
      ${f(t)} ${e===null?i:this.all(e)}`}choose=e=>{this.days=e,this.load()};all(e){let t=e.suggestions.filter(a=>!this.done.has(a.id)),o=t.length===e.suggestions.length?e.fewer:t.reduce((a,l)=>a+l.fewer,0);return r`<p class="quiet summary">${g(e.proposals,"proposal")} decided: ${e.approved.toLocaleString()} approved, ${e.rejected.toLocaleString()} rejected.</p>
      <div class="done" role="status" tabindex="-1">${[...this.done.values()].map(a=>r`<p>${a}</p>`)}</div>
      ${t.length>0?r`<p>${g(t.length,"suggestion")}. ${pe({...e,fewer:o})}</p>`:r`<p class="empty">${this.done.size>0?"No further rule is suggested.":"No rule is suggested. One needs several approvals of similar calls, and no rejection that it would contradict."}</p>`}
      <div class="cards">${t.map(a=>this.card(a))}</div>
      ${e.dismissed===0?i:r`<p class="faint section">${g(e.dismissed,"suggestion")} left out, because somebody dismissed ${e.dismissed===1?"it":"them"}.</p>`}
      ${e.partial?r`<p class="faint section">The log was read back to ${$(e.since,this.shell.now())} only.</p>`:i}
      ${e.left.length===0?i:r`<details class="section"><summary>Left to people: ${g(e.left.length,"kind of call","kinds of calls")}</summary><div class="cards">${e.left.map(a=>this.left(a))}</div></details>`}
      ${e.unusedUnknown!==""?r`<p class="faint section">It is not known which rights nobody used: ${h(e.unusedUnknown)}.</p>`:e.unused.length===0?i:r`<details class="section"><summary>${g(e.unused.length,"right")} that nobody used</summary><div class="cards">${e.unused.map(a=>this.unused(a))}</div></details>`}
      ${e.unseen>0?r`<p class="faint section">${g(e.unseen,"entry","entries")} that you may not see ${e.unseen===1?"is":"are"} missing here.</p>`:i}`}rule(e){return r`<span class="words-of">${e.denies?"Deny everybody":r`Allow ${v(e.participant)}`}: ${O(e.words)}</span>`}card(e){let t=o=>L(o,this.shell.you);return r`<article class="card" aria-label=${`${e.denies?"Deny everybody":`Allow ${S(e.participant)}`} ${S(e.tool)}`}>
      <p>${this.rule(e)}</p>
      <p class="quiet">${Xe(e,t)}${e.denies?`, proposed mostly by ${t(e.participant)}`:""}. ${pe(e)}</p>
      ${this.decided("Supporting",e.supporting)} ${this.decided(e.denies?"Approved, and not matched":"Not approved, and not matched",e.contradicting)} ${e.patch===""?i:this.patch(e)}
      ${this.open!==e.id?this.actions(e):this.how==="dismiss"?this.dismissal(e):this.form(e)}
    </article>`}decided(e,t){return t.length===0?i:r`<details><summary>${e}: ${g(t.length,"call")}</summary>${ee(this.shell,t)}</details>`}patch(e){return r`<details><summary>For the configuration file</summary><pre tabindex="0">${x(e.patch)}</pre><p><button class="words small" @click=${()=>{De(this.shell,e.patch,"Copied")}}>Copy</button></p></details>`}actions(e){if(this.shell.past)return i;let t=e.grant!==null&&e.grantable;return r`<div class="row" data-suggestion=${e.id}>
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
      ${this.how==="edit"?r`<label class="field-label">Capabilities as JSON<textarea name="patterns" spellcheck="false" autocapitalize="off" maxlength="32000" .value=${Se(e.capabilities)}></textarea></label>
            <p class="faint">What you change here has not been tried on the log.</p>`:r`<div class="sentences" role="group" aria-label="Summary">${Q(e.capabilities).map(t=>r`<p>${h(t)}</p>`)}</div>`}
      <label class="field-label">Duration
        <select name="seconds" @change=${t=>this.seconds=Number(t.target.value)}>
          ${ne.map(([t,o])=>r`<option value=${t} .selected=${t===this.seconds}>${o}</option>`)}
        </select>
      </label>
      <p class="faint">This grants the right to ${S(e.participant)} at once.${e.patch===""?"":" For good, put it into the configuration file."}</p>
      ${f(this.refusal)}
      <div class="row">
        <button class="button main" type="submit" ?disabled=${this.busy}>${this.busy?"Granting…":"Grant access"}</button>
        <button class="button" type="button" @click=${()=>this.close(e)}>Cancel</button>
      </div>
    </form>`}begin(e,t){this.open=e.id,this.how=t,this.refusal="",this.updateComplete.then(()=>{let o=this.renderRoot.querySelector("form :is(textarea, select)");o instanceof HTMLTextAreaElement&&o.setSelectionRange(0,0),o?.focus()})}end(e,t){this.done=new Map([...this.done,[e.id,t]]),this.open="",this.updateComplete.then(()=>this.renderRoot.querySelector(".done")?.focus())}close(e){this.open="",this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-suggestion="${CSS.escape(e.id)}"] button`)?.focus())}key=(e,t)=>{e.key==="Escape"&&(e.preventDefault(),this.close(t))};async submit(e,t){e.preventDefault();let o=this.renderRoot.querySelector("textarea[name=patterns]")?.value,a=o===void 0?t.capabilities:Oe({...Be,usual:"own",own:o.trim()});if(this.refusal=typeof a=="string"?a:"",typeof a=="string"||t.grant===null)return;this.busy=!0;let l=await this.shell.send(Ye(t.grant,t.participant,a,this.seconds));if(this.busy=!1,!l.ok){this.refusal=l.refusal;return}let y=this.seconds>0?r`for ${ne.find(([re])=>re===this.seconds)?.[1]}`:"until it is revoked",D=o===void 0?O(t.words):Q(a).map(re=>r` ${h(re)}`);this.end(t,r`Granted to ${v(t.participant)} ${y}: ${D}`)}left(e){return r`<div class="card">
      <p><span class="name">${v(e.participant)}</span>: ${O(e.words)}</p>
      <p class="quiet">Approved ${g(e.approved,"time")}. ${h(e.why)}</p>
      ${this.decided("Approved",e.supporting)} ${this.decided("Contradicting",e.contradicting)}
    </div>`}unused(e){let t=e.last===0?"Never used in this log.":`Last used ${$(e.last,this.shell.now())}.`;return r`<div class="card">
      <p class="name">${v(e.participant)}</p>
      <div class="sentences">${Q(e.capabilities).map(o=>r`<p>${h(o)}</p>`)}</div>
      <p class="row quiet"><span class="grow">${t} ${e.grant===""?"It is in the configuration file.":"It was granted."}</span>${e.grant===""?i:r`<button class="words small" @click=${()=>this.shell.open("operator")}>Grants</button>${M(this.shell,e.grant)}`}</p>
    </div>`}};b("meup-suggestions",ve);var St=[["decisions","Decisions",!0],["reviewers","Reviewers",!0],["budgets","Budgets",!0],["claims","Claims",!0],["suggestions","Suggestions",!1],["backtest","Backtest",!1]],$e=class extends c{static styles=[w,T,u`
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
    `];render(){let{shell:e,state:t}=this,o=this.params?.part??"decisions";return r`
      <nav aria-label="Policy">${St.filter(([,,a])=>a||qe(e)).map(([a,l])=>r`<button aria-current=${a===o?"page":i} @click=${()=>e.open("policy",{part:a})}>${l}</button>`)}</nav>
      ${e.past?r`<p class="warning">You are viewing the past. This is how it is now.</p>`:i}
      ${o==="reviewers"?r`<meup-reviewers .shell=${e} .state=${t}></meup-reviewers>`:o==="budgets"?r`<meup-budgets .shell=${e} .state=${t}></meup-budgets>`:o==="claims"?r`<meup-claims .shell=${e} .state=${t}></meup-claims>`:o==="suggestions"?r`<meup-suggestions .shell=${e} .state=${t}></meup-suggestions>`:o==="backtest"?r`<meup-backtest .shell=${e} .state=${t}></meup-backtest>`:r`<meup-decisions .shell=${e} .state=${t}></meup-decisions>`}
    `}};b("meup-policy",$e);export{$e as Policy};
