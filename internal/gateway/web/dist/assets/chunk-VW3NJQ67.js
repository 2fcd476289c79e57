import{a as n,m as u,n as c,o as p}from"/assets/chunk-ETTXQQKV.js";import{L as d,b as a,c as i,f as o,h as l}from"/assets/chunk-6QAC3HRB.js";var t=class extends l{static properties={shell:{attribute:!1},draft:{attribute:!1},words:{attribute:!1},action:{attribute:!1},fields:{attribute:!1},bad:{attribute:!1},busy:{state:!0},error:{state:!0}};static styles=[n,p,a`
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
    `];render(){return i`<form ?data-bad=${this.bad} @submit=${e=>{this.submit(e)}} @keydown=${this.key}>
      <p class="small">${this.words}</p>
      ${this.fields??o}
      <label class="field-label">Reason (visible to everyone)<input class="field" name="reason" maxlength="500" /></label>
      ${u(this.error??"")}
      <div class="row">
        <button class="button ${this.bad?"bad":"main"}" type="submit" ?disabled=${this.busy}>${this.busy===!0?"Sending…":this.action}</button>
        <button class="button" type="button" @click=${this.close}>Cancel</button>
      </div>
    </form>`}firstUpdated(){this.renderRoot.querySelector("input")?.focus(),c(this)}async submit(e){e.preventDefault();let r=new FormData(e.target),b=String(r.get("reason")??"").trim();this.busy=!0,this.error="";let s=await this.shell.send(this.draft(b,r));if(this.busy=!1,!s.ok){this.error=s.refusal;return}this.dispatchEvent(new CustomEvent("sent")),this.close()}key=e=>{e.key==="Escape"&&(e.preventDefault(),this.close())};close=()=>{this.dispatchEvent(new CustomEvent("closed"))}};d("meup-reason-form",t);
