import{a as l,j as d,k as n}from"/assets/chunk-OOYHG4YG.js";import{L as o,b as s,c as a,h as i}from"/assets/chunk-6QAC3HRB.js";var t=class extends i{static properties={shell:{attribute:!1},draft:{attribute:!1},words:{attribute:!1},action:{attribute:!1},bad:{attribute:!1},busy:{state:!0},error:{state:!0}};static styles=[l,n,s`
      form {
        display: grid;
        gap: var(--space-2);
        padding: var(--space-3);
        border-radius: var(--round-m);
        background: var(--sunk);
      }
      form[data-bad] {
        background: var(--bad-soft);
      }
    `];render(){return a`<form ?data-bad=${this.bad} @submit=${e=>{this.submit(e)}} @keydown=${this.key}>
      <p class="small">${this.words}</p>
      <label class="field-label">Reason (visible to everyone)<input class="field" name="reason" maxlength="500" /></label>
      ${d(this.error??"")}
      <div class="row">
        <button class="button ${this.bad?"bad":"main"}" type="submit" ?disabled=${this.busy}>${this.busy===!0?"Sending…":this.action}</button>
        <button class="button" type="button" @click=${this.close}>Cancel</button>
      </div>
    </form>`}firstUpdated(){this.renderRoot.querySelector("input")?.focus()}async submit(e){e.preventDefault();let u=String(new FormData(e.target).get("reason")??"").trim();this.busy=!0,this.error="";let r=await this.shell.send(this.draft(u));if(this.busy=!1,!r.ok){this.error=r.refusal;return}this.dispatchEvent(new CustomEvent("sent")),this.close()}key=e=>{e.key==="Escape"&&(e.preventDefault(),this.close())};close=()=>{this.dispatchEvent(new CustomEvent("closed"))}};o("meup-reason-form",t);
