/** The operator panel: grants, invitations, pauses and removals. Shown only to participants with one of these rights. */

import { type TemplateResult, css, html, nothing } from "lit";
import { define } from "../element.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { parts } from "./parts.js";
import "./grant-form.js";
import "./grants.js";
import "./invite-form.js";
import "./moderation.js";

export class Operator extends PanelElement {
  static override styles = [
    shared,
    parts,
    css`
      .part {
        border-top: 1px solid var(--line);
      }
      .part > summary {
        width: auto;
        padding: var(--space-3) 0;
        color: var(--ink);
        font-size: var(--text-m);
        font-weight: 600;
      }
      .part[open] {
        padding-bottom: var(--space-4);
      }
      meup-grants {
        margin-bottom: var(--space-4);
      }
    `,
  ];

  protected override render(): TemplateResult {
    const { shell, state } = this;
    const may = (kind: string): boolean => !shell.past && shell.may(kind);
    const asked = (this.params?.["recipient"] ?? "") !== "";
    return html`
      ${shell.past ? html`<p class="warning">You are viewing the past. Access is shown as it was and cannot be changed.</p>` : nothing}
      <h3 class="section">Active grants</h3>
      <meup-grants .shell=${shell} .state=${state}></meup-grants>
      ${may("capability.grant") ? this.folded("Grant access", html`<meup-grant-form .shell=${shell} .state=${state} .params=${this.params}></meup-grant-form>`, asked) : nothing}
      ${may("space.invite") ? this.folded("Invite a participant", html`<meup-invite-form .shell=${shell} .state=${state}></meup-invite-form>`) : nothing}
      ${may("space.kick") || may("participant.pause") ? this.folded("Pause or remove", html`<meup-moderation .shell=${shell} .state=${state}></meup-moderation>`) : nothing}
    `;
  }

  private folded(title: string, body: TemplateResult, open = false): TemplateResult {
    return html`<details class="part" ?open=${open}><summary>${title}</summary>${body}</details>`;
  }
}

define("meup-operator", Operator);
