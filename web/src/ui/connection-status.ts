/** The connection status in words; always visible. */

import { type TemplateResult, html, nothing } from "lit";
import type { ConnectionState } from "@sdk/connection.js";
import { duration } from "../core/time.js";
import type { SpaceShell } from "./shell.js";
import { PageElement, define } from "./element.js";
import { onTick } from "./ticker.js";

export class ConnectionStatus extends PageElement {
  static override properties = { shell: { attribute: false }, tick: { attribute: false } };

  declare shell: SpaceShell;
  declare tick: number;
  private stop: (() => void) | undefined;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.stop?.();
    this.stop = undefined;
  }

  protected override render(): TemplateResult {
    const c = this.shell.room.connectionState;
    return html`<span class="link-state" data-phase=${c.phase} title=${c.reason || nothing}><span class="link-dot" aria-hidden="true"></span>${words(c, performance.now() - this.shell.connectionChangedAt)}</span>
      <span class="unseen" role="status">${c.phase === "live" ? "Connected" : c.phase === "lost" ? "Disconnected" : ""}</span>`;
  }

  protected override updated(): void {
    const counting = this.shell.room.connectionState.retryIn !== null;
    if (counting && this.isConnected) this.stop ??= onTick(() => this.requestUpdate());
    else {
      this.stop?.();
      this.stop = undefined;
    }
  }
}

function words(c: ConnectionState, since: number): string | TemplateResult {
  switch (c.phase) {
    case "live":
      return "Live";
    case "connecting":
      return "Connecting";
    case "catching up":
      return "Catching up";
    case "lost": {
      if (c.retryIn === null) return "Disconnected";
      const left = Math.ceil((c.retryIn - since) / 1000);
      return html`<span>Reconnecting${left <= 0 ? nothing : html`<span class="link-in"> in ${duration(left)}</span>`}</span>`;
    }
    case "refused":
      return "Refused";
    case "kicked":
      return "Removed";
    case "expired":
      return "Signed out";
    case "closed":
      return "Closed";
  }
}

define("meup-link-state", ConnectionStatus);
