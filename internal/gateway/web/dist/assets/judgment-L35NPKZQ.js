import"/assets/chunk-O3BR7MHX.js";import{a as y}from"/assets/chunk-GIUFX6AD.js";import{c as w,f as $}from"/assets/chunk-2SDV52AJ.js";import{c as i}from"/assets/chunk-LI2ITUN5.js";import"/assets/chunk-J3ND4NAU.js";import{j as v}from"/assets/chunk-62LR5M3O.js";import"/assets/chunk-7YJZIPSA.js";import"/assets/chunk-TZLAFC3M.js";import{a as g,f as l,k as f}from"/assets/chunk-JOT7OIPQ.js";import"/assets/chunk-MYHS66OQ.js";import{u as m,v as a}from"/assets/chunk-YBPMD7R5.js";import{L as c,R as u,b as p,c as t,f as s,h}from"/assets/chunk-6QAC3HRB.js";var j={approve:["check","would have approved this"],reject:["cross","would have rejected this"],abstain:["more","could not tell"]},d=class extends h{static properties={shell:{attribute:!1},proposal:{attribute:!1},asking:{state:!0}};static styles=[g,f,p`
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
    `];deciding=new $(this);constructor(){super(),new y(this)}render(){let e=this.proposal;return t`<div class="judged">${e.opinions.map(o=>this.opinion(o,e))} ${this.letThrough(e)}</div>`}opinion(e,o){let[r,n]=j[e.verdict],b=e.from===o.decidedBy;return t`<div class="opinion">
      ${m(r)}<span><b>${i(e.from)}</b> ${b?"gave its grounds":n}${e.reason===""?".":t`: ${a(e.reason)}`}</span>${l(this.shell,e.id)}
    </div>`}letThrough(e){let{roles:o}=this.deciding;if(e.undone!==null)return t`<p class="let-through undone"><span><b>${e.undone.by===this.shell.you?"You":i(e.undone.by)}</b> said that this ${e.status==="rejected"?"rejection":"approval"} was wrong${e.undone.reason===""?".":t`: ${a(e.undone.reason)}`}</span>${l(this.shell,e.undone.id)}</p>`;if(o===null||e.decision===""||!o.reviewers.includes(e.decidedBy))return s;let r=this.shell.may("reviewer.demote")&&w(o,this.shell.you)!==null&&!this.shell.past;return t`<div class="let-through">
        <span>${e.status==="rejected"?"Rejected":"Let through"} by the reviewer <b>${i(e.decidedBy)}</b>.</span>
        ${r&&this.asking!==!0?t`<button class="words small wrong" @click=${()=>this.asking=!0}>That was wrong…</button>`:s}
      </div>
      ${r&&this.asking===!0?t`<meup-reason-form
            .shell=${this.shell}
            .draft=${n=>v(e.decidedBy,n,e.decision)}
            .words=${`${u(e.decidedBy)} goes back into shadow: it decides nothing until it is promoted again. ${e.status==="rejected"?"The call stays rejected":"The call itself is not undone"}.`}
            .action=${"Back to shadow"}
            .bad=${!0}
            @closed=${this.close}
          ></meup-reason-form>`:s}`}close=()=>{this.asking=!1,this.updateComplete.then(()=>this.renderRoot.querySelector(".wrong")?.focus())}};c("meup-judgment",d);export{d as Judgment};
