/** The root element: the session, and the open space. */

import { type TemplateResult, html } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { Api, ApiError } from "../core/api.js";
import { type Link, format, parse, samePlace } from "../core/links.js";
import type { Session } from "@sdk/types.js";
import { SpaceShell } from "./shell.js";
import { PageElement, define } from "./element.js";
import { forget, keepSpace, lastSpace, loadToggles } from "./prefs.js";
import "./sign-in.js";
import "./space-page.js";
import "./spaces.js";

export class App extends PageElement {
  static override properties = { session: { state: true }, ready: { state: true }, link: { state: true }, error: { state: true }, busy: { state: true } };

  /** Null while signed out. */
  declare private session: Session | null;
  /** The first session request has completed. */
  declare private ready: boolean;
  declare private link: Link | null;
  declare private error: string;
  declare private busy: boolean;
  /** One-time sign-in code from the address. */
  code = "";

  private readonly api = new Api();
  private readonly toggles = loadToggles();
  private shell: SpaceShell | null = null;
  /** Notifies the other tabs of this browser, which share the cookie, of a sign-in or sign-out. */
  private readonly tabs = new BroadcastChannel("meup.session");

  constructor() {
    super();
    this.session = null;
    this.ready = false;
    this.link = null;
    this.error = "";
    this.busy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("hashchange", this.onAddressChange);
    this.tabs.onmessage = () => void this.onOtherTab();
    void this.start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    window.removeEventListener("hashchange", this.onAddressChange);
    this.closeSpace();
  }

  private async start(): Promise<void> {
    const { code } = this;
    this.code = "";
    if (code !== "") await this.signInWith(() => this.api.redeem(code));
    if (this.session === null) await this.loadSession();
    this.ready = true;
  }

  /** Another tab signed in or out: close the space and request the session again. */
  private async onOtherTab(): Promise<void> {
    this.closeSpace();
    this.session = null;
    this.link = null;
    this.ready = false;
    await this.loadSession();
    this.ready = true;
  }

  /** Requests the session. Being signed out is not an error. */
  private async loadSession(): Promise<void> {
    try {
      this.signedIn(await this.api.session());
    } catch (err) {
      if (!(err instanceof ApiError) || !err.signedOut) this.error = messageOf(err);
    }
  }

  private async signInWith(how: () => Promise<Session>): Promise<void> {
    this.busy = true;
    this.error = "";
    try {
      this.signedIn(await how());
      this.tabs.postMessage("in");
    } catch (err) {
      this.error = err instanceof ApiError && err.signedOut ? "Sign-in failed: the token is unknown, the link was already used, or it has expired." : messageOf(err);
    } finally {
      this.busy = false;
    }
  }

  private signedIn(session: Session): void {
    this.session = session;
    this.onAddressChange();
  }

  private async signOut(): Promise<void> {
    this.closeSpace();
    forget();
    this.session = null;
    this.link = null;
    this.ready = false;
    history.replaceState(null, "", location.pathname);
    try {
      await this.api.signOut();
    } catch (err) {
      this.error = `You may still be signed in. ${messageOf(err)}`;
    }
    this.ready = true;
    this.tabs.postMessage("out");
  }

  /** Handles a changed address. A change of the panel alone is handled by the space. */
  private readonly onAddressChange = (e?: HashChangeEvent): void => {
    const { session } = this;
    if (session === null || (e !== undefined && this.link !== null && samePlace(new URL(e.oldURL).hash, location.hash))) return;
    let link = parse(location.hash);
    const [only] = session.spaces;
    const again = session.spaces.find((s) => s.name === lastSpace());
    if (link === null && (location.hash === "" || location.hash === "#")) {
      const wanted = session.spaces.length === 1 && (session.globs ?? []).length === 0 ? only : again;
      if (wanted !== undefined) link = { type: "space", space: wanted.name };
      if (link !== null) history.replaceState(null, "", format(link));
    }
    this.link = link;
    if (link === null || link.space !== this.shell?.space) this.closeSpace();
    if (link === null || this.shell !== null) return;
    this.shell = new SpaceShell(link.space, this.api, this.toggles);
    this.shell.start();
    keepSpace(link.space);
  };

  private closeSpace(): void {
    this.shell?.close();
    this.shell = null;
  }

  protected override render(): TemplateResult {
    const { session, link, shell } = this;
    if (session === null && !this.ready) return html`<main class="door" aria-busy="true"><span class="spinner" role="img" aria-label="Loading"></span></main>`;
    if (session === null) {
      return html`<meup-sign-in
        .error=${this.error}
        .busy=${this.busy}
        @sign-in=${(e: CustomEvent<{ token: string; remember: boolean }>) => void this.signInWith(() => this.api.signIn(e.detail.token, e.detail.remember))}
      ></meup-sign-in>`;
    }
    if (link === null || shell === null) return html`<meup-spaces .session=${session} @sign-out=${() => void this.signOut()}></meup-spaces>`;
    // Keyed: elements subscribe to the shell in connectedCallback, so each shell gets new ones.
    return html`${keyed(shell, html`<meup-space-page .shell=${shell} .session=${session} .place=${link} @sign-out=${() => void this.signOut()}></meup-space-page>`)}`;
  }

  protected override updated(): void {
    if (this.link === null) document.title = "meup"; // a space has its own, see Attention
  }
}

function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}

define("meup-app", App);
