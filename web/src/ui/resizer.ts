/** A handle at the edge of a column, which changes its width with the pointer or the arrow keys; a double click resets it. */

import { type TemplateResult, html } from "lit";
import { PageElement, define } from "./element.js";
import { type Column, setWidth } from "./prefs.js";

/** The change by one press of a key, CSS pixels. */
const STEP = 16;

export class Resizer extends PageElement {
  static override properties = { column: { attribute: false }, label: { attribute: false }, leading: { attribute: false } };

  declare column: Column;
  declare label: string;
  /** The handle is before its column, which becomes wider to the left. */
  declare leading: boolean;
  private start: { readonly x: number; readonly width: number } | null = null;

  protected override render(): TemplateResult {
    return html`<div class="resizer" role="separator" aria-orientation="vertical" aria-label=${this.label} aria-valuenow=${Math.round(this.width)} tabindex="0"
      @pointerdown=${this.press} @pointermove=${this.move} @pointerup=${this.release} @pointercancel=${this.release} @dblclick=${() => this.set(null)} @keydown=${this.key}></div>`;
  }

  private get width(): number {
    return this.parentElement?.getBoundingClientRect().width ?? 0;
  }

  /** Sets the width; what the style bounds it to is kept. */
  private set(width: number | null): void {
    setWidth(this.column, width);
    if (width !== null) setWidth(this.column, Math.round(this.width));
    this.requestUpdate();
  }

  private readonly press = (e: PointerEvent): void => {
    if (e.button !== 0) return;
    e.preventDefault();
    (e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
    this.start = { x: e.clientX, width: this.width };
  };

  private readonly move = (e: PointerEvent): void => {
    if (this.start !== null) this.set(this.start.width + (e.clientX - this.start.x) * (this.leading ? -1 : 1));
  };

  private readonly release = (): void => {
    this.start = null;
  };

  private readonly key = (e: KeyboardEvent): void => {
    const by = { ArrowRight: STEP, ArrowLeft: -STEP }[e.key];
    if (by === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    this.set(this.width + by * (this.leading ? -1 : 1));
  };
}

define("meup-resizer", Resizer);
