/** An envelope as it was sent. */

import { type PropertyValues, type TemplateResult, css, html, nothing } from "lit";
import { arr, correlations, field, isObject, obj, str } from "@sdk/read.js";
import { parseTime } from "../../core/time.js";
import type { Envelope, ID } from "@sdk/types.js";
import { define } from "../element.js";
import { PanelElement } from "../panel.js";
import { shared } from "../styles.js";
import { pretty, who } from "../text.js";
import { moment } from "../format.js";
import { copy, exact, go, names, parts } from "./parts.js";

/** Maximum characters rendered before the user asks for all. */
const MAX = 50_000;
/** Maximum length of the back history. */
const MAX_TRAIL = 32;

export class EnvelopePanel extends PanelElement {
  static override properties = { ...PanelElement.properties, inside: { attribute: false }, held: { state: true }, whole: { state: true }, missing: { state: true }, all: { state: true } };
  static override styles = [
    shared,
    parts,
    css`
      dl {
        display: grid;
        grid-template-columns: auto minmax(0, 1fr);
        gap: var(--space-1) var(--space-3);
        font-size: var(--text-s);
        overflow-wrap: anywhere;
      }
      dt {
        color: var(--quiet);
      }
      dd.stack {
        gap: var(--space-1);
      }
      pre {
        max-height: none;
      }
      .words {
        overflow-wrap: anywhere;
      }
    `,
  ];

  /** It is a part of a panel that has a button to the place in the conversation. */
  declare inside: boolean | undefined;
  /** The envelope as this page parsed it. */
  declare private held: Envelope | null;
  /** The envelope as the gateway stores it, with fields that this page does not parse. */
  declare private whole: unknown;
  declare private missing: boolean;
  declare private all: boolean;
  private readonly trail: ID[] = [];
  private asked = "";

  private get wanted(): ID {
    return this.params?.["id"] ?? "";
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("params") && this.wanted !== this.asked) void this.load(this.wanted);
  }

  private async load(id: ID): Promise<void> {
    if (this.asked !== "" && this.trail.at(-1) !== this.asked) this.trail.push(this.asked);
    if (this.trail.at(-1) === id) this.trail.pop();
    if (this.trail.length > MAX_TRAIL) this.trail.shift();
    this.asked = id;
    this.held = null;
    this.whole = undefined;
    this.missing = false;
    this.all = false;
    const found = await this.shell.envelope(id);
    if (this.asked !== id) return;
    this.held = found;
    this.missing = found === null;
    if (found?.seq === undefined) return;
    const exactly = await this.fetch(found);
    if (this.asked === id) this.whole = exactly;
  }

  /** Returns the envelope from the gateway's log; undefined if it is not available. */
  private async fetch(e: Envelope): Promise<unknown> {
    try {
      const page = await this.shell.get(`envelopes?since=${(e.seq ?? 1) - 1}&limit=1`);
      return arr(field(obj(page), "envelopes")).find((x) => isObject(x) && str(field(x, "id")) === e.id);
    } catch {
      return undefined;
    }
  }

  protected override render(): TemplateResult {
    const { held } = this;
    if (this.wanted === "") return html`<p class="empty">Select a message or a step to see its envelope.</p>`;
    if (this.missing === true) return this.none();
    if (held === null || held === undefined) return html`<p class="empty">Loading…</p>`;
    const text = pretty(this.whole ?? held);
    const cut = text.length > MAX && this.all !== true;
    return html`<div class="stack">
      ${this.back()} ${this.facts(held)}
      <div class="row">
        <button class="button small" @click=${() => void copy(this.shell, text, "Envelope copied")}>Copy JSON</button>
        <button class="button small" @click=${() => void copy(this.shell, this.shell.link(held.id), "Link copied")}>Copy link</button>
        ${this.inside === true ? nothing : html`<button class="words small" @click=${() => void go(this.shell, held.id)}>Show in conversation</button>`}
        ${held.seq === undefined ? nothing : html`<span class="row"><button class="words small" @click=${() => void this.step(held, -1)}>Previous</button><button class="words small" @click=${() => void this.step(held, 1)}>Next</button></span>`}
      </div>
      <pre tabindex="0" aria-label="The envelope as JSON">${exact(cut ? text.slice(0, MAX) : text)}</pre>
      ${cut ? html`<button class="words small" @click=${() => (this.all = true)}>Show all ${text.length.toLocaleString()} characters</button>` : nothing}
      <p class="faint">${held.seq === undefined ? "Not stored in the log." : this.whole === undefined ? "As parsed by this page." : "As stored by the gateway."}</p>
    </div>`;
  }

  /** Shows the envelope before or after this one in the log. */
  private async step(e: Envelope, by: 1 | -1): Promise<void> {
    const seq = e.seq ?? 0;
    try {
      const page = await this.shell.get(by > 0 ? `envelopes?since=${seq}&limit=1` : `envelopes?before=${seq}&order=desc&limit=1`);
      const id = arr(field(obj(page), "envelopes")).map((x) => str(field(obj(x), "id")))[0];
      if (id === undefined) this.shell.toast(by > 0 ? "This is the newest envelope" : "This is the oldest envelope");
      else this.show(id);
    } catch (err) {
      this.shell.toast(err instanceof Error ? err.message : String(err));
    }
  }

  private none(): TemplateResult {
    return html`<div class="empty stack">
      ${this.back()}
      <p>This envelope is not loaded.</p>
      <p><button class="button" @click=${() => void this.find()}>Search older messages</button></p>
    </div>`;
  }

  private async find(): Promise<void> {
    const id = this.wanted;
    if (await go(this.shell, id)) void this.load(id);
  }

  private back(): TemplateResult | typeof nothing {
    const last = this.trail.at(-1);
    return last === undefined ? nothing : html`<p><button class="words small" @click=${() => this.show(last)}>Back</button></p>`;
  }

  private show(id: ID): void {
    this.shell.open("envelope", { id });
  }

  private facts(e: Envelope): TemplateResult {
    const to = e.to ?? [];
    const answers = correlations(e);
    const at = parseTime(e.ts);
    return html`<dl>
      <dt>Kind</dt>
      <dd><code>${exact(e.kind)}</code></dd>
      <dt>From</dt>
      <dd>${e.from === this.shell.you ? "you" : who(e.from)}${to.length === 0 ? "" : `, to ${names(this.shell, to)}`}</dd>
      ${at === 0 ? nothing : html`<dt>Time</dt><dd>${moment(at)}</dd>`}
      ${e.seq === undefined ? nothing : html`<dt>Sequence</dt><dd>${e.seq.toLocaleString()}</dd>`}
      ${e.context === undefined ? nothing : html`<dt>Context</dt><dd><button class="words" @click=${() => void go(this.shell, e.context ?? "")}>${exact(e.context)}</button></dd>`}
      ${answers.length === 0 ? nothing : html`<dt>Correlates to</dt><dd class="stack">${answers.map((id) => html`<button class="words" @click=${() => this.show(id)}>${exact(id)}</button>`)}</dd>`}
    </dl>`;
  }
}

define("meup-envelope", EnvelopePanel);
