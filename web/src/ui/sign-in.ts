/** Sign-in with a token. The token is sent to the gateway once and never stored by the page. */

import { type TemplateResult, html, nothing } from "lit";
import { PageElement, define } from "./element.js";

export class SignIn extends PageElement {
  static override properties = { error: { attribute: false }, busy: { attribute: false } };

  /** Why the last attempt failed. */
  declare error: string;
  declare busy: boolean;

  protected override render(): TemplateResult {
    return html`<main class="door">
      <form class="door-card" @submit=${this.submit}>
        <p class="door-mark" aria-hidden="true">meup</p>
        <h1>Sign in</h1>
        <p class="door-words">A shared space for people and agents. Enter your access token.</p>
        <label for="token">Token</label>
        <input class="field" id="token" name="token" type="password" autocomplete="off" autocapitalize="none" spellcheck="false" required autofocus aria-describedby=${this.error === "" ? nothing : "sign-in-error"} />
        ${this.error === "" ? nothing : html`<p class="door-trouble" id="sign-in-error" role="alert">${this.error}</p>`}
        <label class="door-remember"><input type="checkbox" name="remember" /> Stay signed in for 30 days</label>
        <button class="button main" type="submit" ?disabled=${this.busy}>${this.busy ? "Signing in…" : "Sign in"}</button>
      </form>
    </main>`;
  }

  private readonly submit = (e: Event): void => {
    e.preventDefault();
    const form = e.currentTarget as HTMLFormElement;
    const field = form.elements.namedItem("token") as HTMLInputElement;
    const remember = (form.elements.namedItem("remember") as HTMLInputElement).checked;
    const token = field.value.trim();
    field.value = "";
    if (token !== "") this.dispatchEvent(new CustomEvent("sign-in", { detail: { token, remember } }));
  };
}

define("meup-sign-in", SignIn);
