/**
 * A reasoning block: "Reasoning · 9s" with the last steps while it runs, then
 * "Thought for 12s", which expands. It closes itself once, a second after the end;
 * a choice of the user takes precedence (see core/toggle.ts).
 */

import { type PropertyValues, type TemplateResult, html, nothing } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import { cancelReasoning } from "../core/drafts.js";
import { type Block, reasoner } from "../core/state.js";
import type { ParticipantID } from "@sdk/types.js";
import { oneLine } from "@sdk/read.js";
import { blockTitle } from "../core/time.js";
import { turnOf } from "../core/threads.js";
import { type Wait, waitOf } from "../core/waiting.js";
import { author, authorText } from "./author.js";
import type { SpaceShell } from "./shell.js";
import { icon } from "./icons.js";
import { PageElement, define } from "./element.js";
import { mayDecide } from "./panel.js";
import { keepToggles } from "./prefs.js";
import { onTick } from "./ticker.js";
import { MAX_ABOUT, ending, stepList } from "./steps.js";
import { preview } from "./preview.js";
import { brief } from "./text.js";

export class ReasoningBlock extends PageElement {
  static override properties = { shell: { attribute: false }, block: { attribute: false }, owner: { attribute: false }, renderKey: { attribute: false }, wide: { state: true } };

  declare shell: SpaceShell;
  declare block: Block;
  /** The author that is already named above. */
  declare owner: ParticipantID;
  /** See SpaceShell.renderKey. */
  declare renderKey: unknown;
  /** The user asked for all steps of a running block. */
  declare private wide: boolean;

  private stopTicker: (() => void) | undefined;
  private closing: ReturnType<typeof setTimeout> | undefined;
  private readonly heading = createRef<HTMLElement>();
  private readonly previewBox = createRef<HTMLElement>();
  private atEnd = true;

  override connectedCallback(): void {
    super.connectedCallback();
    this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.stopTicker?.();
    this.stopTicker = undefined;
    clearTimeout(this.closing);
  }

  private get open(): boolean {
    return this.shell.toggles.isOpen(this.block, performance.now());
  }

  private get wait(): Wait {
    return waitOf(this.shell.shown, this.block, this.shell.now());
  }

  /** "Reasoning · 9s", "Waiting for you · 40s", "Thought for 8s (+3m waiting)". */
  private words(wait: Wait): string {
    const mine = wait.pending.some((id) => mayDecide(this.shell, id));
    return blockTitle(this.block, this.shell.now(), wait, mine);
  }

  private toggle(): void {
    this.shell.emit("toggle", {});
    this.shell.toggles.choose(this.block.path, !this.open);
    keepToggles(this.shell.toggles);
    this.wide = false;
    this.requestUpdate();
  }

  private all(): void {
    this.shell.emit("toggle", {});
    this.shell.toggles.choose(this.block.path, true);
    keepToggles(this.shell.toggles);
    this.wide = true;
  }

  protected override render(): TemplateResult {
    const b = this.block;
    const running = b.status === "reasoning";
    const open = this.open;
    const wait = this.wait;
    const id = `steps-${b.path}`;
    return html`<div class="reasoning" role="group" data-status=${b.status} data-waits=${wait.since !== null} data-open=${open} data-context=${b.path} aria-busy=${running ? "true" : "false"} aria-label=${`Reasoning of ${authorText(reasoner(b))}`}>
      <div class="reasoning-head">
        <button class="reasoning-toggle" aria-expanded=${open ? "true" : "false"} aria-controls=${id} @click=${() => this.toggle()}>
          ${wait.since !== null ? html`<span class="mark wait" aria-hidden="true">${icon("decide")}</span>` : running ? html`<span class="spinner" aria-hidden="true"></span>` : html`<span class="chevron" aria-hidden="true">${icon("chevron")}</span>`}
          <span class="reasoning-title" ${ref(this.heading)}>${this.words(wait)}</span>
          ${b.asked !== "" ? html`<span>asked ${author(b.asked)}</span>` : b.opener === "" || b.opener === this.owner ? nothing : html`<span>${author(b.opener)}</span>`}
          ${b.depth > 0 ? html`<span class="reasoning-about">${brief(oneLine(b.message, MAX_ABOUT))}</span>` : nothing}
          ${this.counts(wait)}
        </button>
        ${running && this.shell.may("reasoning.cancel") && !this.shell.past
          ? html`<button class="words reasoning-stop" @click=${() => void this.stop()}>Stop</button>`
          : nothing}
      </div>
      <div class="reasoning-body" id=${id} ?hidden=${!open}>${open ? this.body(running) : nothing}</div>
    </div>`;
  }

  private body(running: boolean): TemplateResult {
    const b = this.block;
    if (running && !this.wide && this.shell.toggles.preference !== "open") {
      return html`<div class="preview" ${ref(this.previewBox)} @scroll=${this.scrolled} tabindex="-1">${preview(this.shell, b)}</div>
        ${b.steps.length > 2 || b.droppedSteps > 0
          ? html`<button class="words reasoning-all" @click=${() => this.all()}>All ${b.steps.length + b.droppedSteps} steps</button>`
          : nothing}`;
    }
    return html`${stepList(this.shell, b)}${ending(this.shell, b)}
    ${b.depth === 0 ? html`<button class="words reasoning-trace" @click=${() => this.shell.open("trace", { id: turnOf(this.shell.shown, b.path) })}>View trace</button>` : nothing}`;
  }

  /** The number of calls, failures and pending proposals. */
  private counts(wait: Wait): TemplateResult | typeof nothing {
    const { calls, errors } = this.block.counts;
    const waiting = wait.pending.length;
    if (calls === 0 && waiting < 2) return nothing;
    return html`<span class="reasoning-counts">
      ${calls > 0 ? html`<span>${calls === 1 ? "1 call" : `${calls} calls`}</span>` : nothing}
      ${errors > 0 ? html`<span class="bad">${errors} failed</span>` : nothing}
      ${waiting > 1 ? html`<span class="wait">${waiting} awaiting approval</span>` : nothing}
    </span>`;
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("block")) this.id = `b-${this.block.path}`;
  }

  protected override updated(): void {
    const running = this.block.status === "reasoning";
    if (running && this.isConnected) this.stopTicker ??= onTick(() => this.tick());
    else {
      this.stopTicker?.();
      this.stopTicker = undefined;
    }
    this.closeLater();
    const box = this.previewBox.value;
    if (box !== undefined && this.atEnd) box.scrollTop = box.scrollHeight;
  }

  private closeLater(): void {
    clearTimeout(this.closing);
    const at = this.shell.toggles.closesAt(this.block, performance.now());
    if (at !== null) this.closing = setTimeout(() => this.requestUpdate(), at - performance.now() + 1);
  }

  /** Renders only if the displayed seconds changed. */
  private tick(): void {
    const words = this.words(this.wait);
    if (this.heading.value !== undefined && this.heading.value.textContent !== words) this.requestUpdate();
  }

  /** The preview follows its end unless the user has scrolled away. */
  private scrolled(e: Event): void {
    const box = e.currentTarget as HTMLElement;
    this.atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 8;
  }

  private async stop(): Promise<void> {
    const sent = await this.shell.send(cancelReasoning(this.block.path, "stopped by a reader"));
    if (!sent.ok) this.shell.toast(sent.refusal);
  }
}

define("meup-reasoning", ReasoningBlock);
