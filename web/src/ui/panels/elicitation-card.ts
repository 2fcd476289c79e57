/**
 * A question of a tool server to the user: a form, or a link to a page. It names the
 * participant that asks, since a form may imitate another one, and where the answer
 * goes.
 */

import { LitElement, type TemplateResult, css, html, nothing } from "lit";
import { look } from "@sdk/json.js";
import { type Field, type Form, answer, asksSecret, formOf, valueOf } from "../../core/elicitation.js";
import type { Elicitation } from "../../core/state.js";
import { suspicious } from "../../core/unicode.js";
import type { Draft } from "@sdk/types.js";
import { authorText, mark } from "../author.js";
import { define } from "../element.js";
import { longText } from "../format.js";
import type { Shell } from "../panel.js";
import { shared } from "../styles.js";
import { who } from "../text.js";
import { DecisionGuard } from "./decision-guard.js";
import { envelopeButton, exact, monogram, parts, refused, when } from "./parts.js";
import { cardStyles } from "./proposal-style.js";
import "./time-left.js";

/** Types of inputs for the formats of a text. */
const INPUTS: Readonly<Record<string, string>> = { email: "email", uri: "url", date: "date" };

export class ElicitationCard extends LitElement {
  static override properties = { shell: { attribute: false }, elicitation: { attribute: false }, past: { attribute: false }, busy: { state: true }, error: { state: true }, wrong: { state: true } };
  static override styles = [
    shared,
    parts,
    cardStyles,
    css`
      form,
      .field-block {
        display: grid;
        gap: var(--space-3);
      }
      .field-block {
        gap: var(--space-1);
      }
      fieldset {
        display: grid;
        gap: var(--space-1);
        margin: 0;
        padding: 0;
        border: 0;
      }
      legend {
        padding: 0;
        color: var(--quiet);
        font-size: var(--text-s);
      }
      .address {
        overflow-wrap: anywhere;
      }
    `,
  ];

  declare shell: Shell;
  declare elicitation: Elicitation;
  /** A past state is shown: answers are disabled. */
  declare past: boolean;
  declare private busy: boolean;
  declare private error: string;
  /** The errors of the values, by the names of their fields. */
  declare private wrong: Readonly<Record<string, string>> | undefined;
  private readonly guard = new DecisionGuard(this);

  protected override updated(): void {
    this.guard.watch(this.past ? "" : this.content());
  }

  private content(): string {
    return look([this.elicitation.id, this.elicitation.params ?? null]);
  }

  protected override render(): TemplateResult {
    const q = this.elicitation;
    const form = formOf(q.params);
    return html`<article class="card" data-status="pending" aria-label=${`${authorText(q.from)} asks you`}>
      <header class="row">
        ${monogram(q.from, true)}
        <div class="grow"><span class="name">${who(q.from)}</span> ${mark(q.from)} <span class="quiet">asks you${form.server === "" ? nothing : html`, for a server that it calls “${exact(form.server.replace(/[“”]/gu, "'"))}”`}</span></div>
        ${when(q.at)} ${envelopeButton(this.shell, q.id)}
      </header>
      ${form.message === "" ? nothing : html`<p class="why">${longText(form.message, (s) => exact(s))}</p>`} ${this.warnings(form)}
      ${this.past ? html`<p class="faint">You are viewing the past. Questions cannot be answered here.</p>` : this.shell.may("mcp.response") ? this.inputs(q, form) : html`<p class="quiet">You cannot answer: this requires the right to send mcp.response.</p>`}
      ${refused(this.error ?? "")}
    </article>`;
  }

  private warnings(form: Form): TemplateResult {
    const to = form.url === "" ? `Your answer goes to ${who(this.elicitation.from)} and stays in the log of this space, where others may read it.` : "The page is not part of this space. Check its address before you enter anything.";
    return html`${form.url === "" && asksSecret(form) ? html`<p class="warning"><b>This form may ask for a secret.</b> Do not enter passwords or keys: the answer is not hidden.</p>` : nothing}
      ${suspicious(form.message + form.url + look(this.elicitation.params ?? null)) ? html`<p class="warning">This question contains invisible characters. They are shown as codes.</p>` : nothing}
      <p class="faint">${to}</p>`;
  }

  private inputs(q: Elicitation, form: Form): TemplateResult {
    const end = q.expiresAt === null ? nothing : html`<p class="faint"><meup-time-left .at=${q.expiresAt} .now=${() => this.shell.now()}></meup-time-left></p>`;
    if (form.fields === null) return html`<p class="refused">This form cannot be shown.</p>${end}<div class="row">${this.others()}</div>`;
    return html`<form novalidate @submit=${(e: Event) => this.submit(e, form)}>
      ${form.url === "" ? form.fields.map((f, i) => this.field(f, i)) : this.link(form.url)} ${end}
      <div class="row"><button class="button main" type="submit" ?disabled=${this.busy}>${this.busy ? "Sending…" : form.url === "" ? "Send answer" : "I have opened it"}</button> ${this.others()}</div>
    </form>`;
  }

  private others(): TemplateResult {
    return html`<button class="button" type="button" ?disabled=${this.busy} @click=${() => void this.send(answer(this.elicitation, "decline"))}>Decline</button>
      <button class="button" type="button" ?disabled=${this.busy} @click=${() => void this.send(answer(this.elicitation, "cancel"))}>Dismiss</button>`;
  }

  /** A link to the page, with the whole address as its text. */
  private link(address: string): TemplateResult {
    const url = URL.canParse(address) ? new URL(address) : null;
    const local = url !== null && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
    if (url === null || url.username !== "" || url.password !== "" || (url.protocol !== "https:" && !(url.protocol === "http:" && local))) return html`<p class="refused address">The address is not safe to open: ${exact(address)}</p>`;
    return html`<p class="address">Opens <b>${url.host}</b>: <a href=${url.href} target="_blank" rel="noopener noreferrer nofollow">${exact(url.href)}</a></p>`;
  }

  private field(f: Field, i: number): TemplateResult {
    const wrong = this.wrong?.[f.name] ?? "";
    const about = html`${f.description === "" ? nothing : html`<p class="faint" id=${`about-${i}`}>${exact(f.description)}</p>`}${wrong === "" ? nothing : html`<p class="refused" role="alert">${wrong}</p>`}`;
    return html`<div class="field-block" data-field=${f.name}>${this.control(f, i, wrong !== "")}${about}</div>`;
  }

  private control(f: Field, i: number, wrong: boolean): TemplateResult {
    const label = html`<span>${exact(f.label)}${f.required || f.type === "boolean" ? nothing : html` <span class="faint">optional</span>`}</span>`;
    const name = `f${i}`;
    const about = f.description === "" ? nothing : `about-${i}`;
    switch (f.type) {
      case "boolean":
        return html`<label class="check"><input type="checkbox" name=${name} ?checked=${f.initial === true} aria-describedby=${about} /> ${label}</label>`;
      case "choice":
        return html`<label class="field-label">${label}
          <select name=${name} aria-invalid=${wrong} aria-describedby=${about}>
            <option value="" ?selected=${f.initial === undefined}></option>
            ${f.options.map((o) => html`<option value=${o.value} ?selected=${f.initial === o.value}>${o.title}</option>`)}
          </select></label>`;
      case "choices":
        return html`<fieldset aria-describedby=${about}><legend>${label}</legend>
          ${f.options.map((o) => html`<label class="check"><input type="checkbox" name=${name} value=${o.value} ?checked=${Array.isArray(f.initial) && f.initial.includes(o.value)} /> ${exact(o.title)}</label>`)}
        </fieldset>`;
      default: {
        const number = f.type !== "string";
        const initial = f.initial === undefined ? "" : String(f.initial);
        return html`<label class="field-label">${label}
          <input class="field" name=${name} type=${number ? "text" : (INPUTS[f.format] ?? "text")} inputmode=${number ? "decimal" : nothing} autocomplete="off" autocapitalize="off" spellcheck="false" value=${initial} aria-invalid=${wrong} aria-describedby=${about} /></label>`;
      }
    }
  }

  private submit(e: Event, form: Form): void {
    e.preventDefault();
    const data = new FormData(e.target as HTMLFormElement);
    const content: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    const wrong: Record<string, string> = Object.create(null) as Record<string, string>;
    (form.fields ?? []).forEach((f, i) => {
      const read = valueOf(f, data.getAll(`f${i}`).map(String));
      if ("wrong" in read) wrong[f.name] = read.wrong;
      else if (read.value !== undefined) content[f.name] = read.value;
    });
    this.wrong = wrong;
    if (Object.keys(wrong).length === 0) void this.send(answer(this.elicitation, "accept", form.url === "" ? content : undefined));
  }

  private async send(draft: Draft): Promise<void> {
    this.error = this.guard.refusal(this.content());
    if (this.error !== "") return;
    this.busy = true;
    const sent = await this.shell.send(draft);
    this.busy = false;
    if (sent.ok) this.dispatchEvent(new CustomEvent("answered", { bubbles: true, composed: true }));
    else this.error = sent.refusal;
  }
}

define("meup-elicitation-card", ElicitationCard);
