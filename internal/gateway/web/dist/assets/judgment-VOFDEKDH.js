import"/assets/chunk-VW3NJQ67.js";import{a as $}from"/assets/chunk-C25GSF3E.js";import{k as w,n as y}from"/assets/chunk-AIN3UM7S.js";import{j as v}from"/assets/chunk-HWHIP42O.js";import"/assets/chunk-7YJZIPSA.js";import"/assets/chunk-TZLAFC3M.js";import{c as i}from"/assets/chunk-LI2ITUN5.js";import"/assets/chunk-J3ND4NAU.js";import{a as g,i as a,o as f}from"/assets/chunk-ETTXQQKV.js";import"/assets/chunk-MYHS66OQ.js";import{E as m,F as n}from"/assets/chunk-EBKTHAOW.js";import{L as c,R as u,b as h,c as o,f as r,h as p}from"/assets/chunk-6QAC3HRB.js";var j={approve:["check","would have approved this"],reject:["cross","would have rejected this"],abstain:["more","could not tell"]},l=class extends p{static properties={shell:{attribute:!1},proposal:{attribute:!1},asking:{state:!0}};static styles=[g,f,h`
      :host {
        font-size: var(--text-s);
      }
      .judged {
        display: grid;
        gap: var(--space-1);
        margin-top: var(--space-1);
      }
      .opinion,
      .let-through {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0 var(--space-2);
        color: var(--quiet);
        overflow-wrap: anywhere;
      }
      .let-through {
        padding-left: calc(0.9375rem + var(--space-2)); /* below the words of an opinion */
      }
      .opinion > svg {
        width: 0.9375rem;
        height: 0.9375rem;
        margin-top: 0.2rem;
        align-self: start;
      }
      .opinion > span,
      .undone > span {
        flex: 1;
        min-width: 0;
      }
      b {
        color: var(--ink);
        font-weight: 600;
      }
    `];deciding=new y(this);constructor(){super(),new $(this)}render(){let e=this.proposal;return o`<div class="judged">${e.opinions.map(t=>this.opinion(t,e))} ${this.letThrough(e)}</div>`}opinion(e,t){let[s,b]=j[e.verdict],d=e.from===t.decidedBy;return o`<div class="opinion">
      ${m(s)}<span><b>${i(e.from)}</b> ${d?"gave its grounds":b}${e.reason===""?".":o`: ${n(e.reason)}`} ${d?this.wrong(t):r}</span>${a(this.shell,e.id)}
    </div>`}mayUndo(e){let{roles:t}=this.deciding;return t?.reviewers.includes(e.decidedBy)===!0&&e.undone===null&&e.decision!==""&&this.shell.may("reviewer.demote")&&w(t,this.shell.you)!==null&&!this.shell.past}wrong(e){return this.mayUndo(e)&&this.asking!==!0?o`<button class="words small wrong" @click=${()=>this.asking=!0}>That was wrong…</button>`:r}letThrough(e){let{roles:t}=this.deciding;return e.undone!==null?o`<p class="let-through undone"><span><b>${e.undone.by===this.shell.you?"You":i(e.undone.by)}</b> said that this ${e.status==="rejected"?"rejection":"approval"} was wrong${e.undone.reason===""?".":o`: ${n(e.undone.reason)}`}</span>${a(this.shell,e.undone.id)}</p>`:t===null||e.decision===""||!t.reviewers.includes(e.decidedBy)?r:o`${e.opinions.some(s=>s.from===e.decidedBy)?r:o`<div class="let-through"><span>${e.status==="rejected"?"Rejected":"Let through"} by the reviewer <b>${i(e.decidedBy)}</b>.</span> ${this.wrong(e)}</div>`}
      ${this.mayUndo(e)&&this.asking===!0?o`<meup-reason-form
            .shell=${this.shell}
            .draft=${s=>v(e.decidedBy,s,e.decision)}
            .words=${`${u(e.decidedBy)} goes back into shadow: it decides nothing until it is promoted again. ${e.status==="rejected"?"The call stays rejected":"The call itself is not undone"}.`}
            .action=${"Back to shadow"}
            .bad=${!0}
            @closed=${this.close}
          ></meup-reason-form>`:r}`}close=()=>{this.asking=!1,this.updateComplete.then(()=>this.renderRoot.querySelector(".wrong")?.focus())}};c("meup-judgment",l);export{l as Judgment};
