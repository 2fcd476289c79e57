/** What the pointer or the keyboard focus is in keeps its place. */

import type { ReactiveController, ReactiveControllerHost } from "lit";

/** How long a card must have kept its place and its content before a press counts, milliseconds. */
export const STEADY = 700;

/**
 * Tells whether the pointer or the keyboard focus is in an element, or was until a
 * moment ago. What is there keeps its place until then.
 */
export class Nearness implements ReactiveController {
  private pointer = false;
  private focus = false;
  private left = -Infinity;

  /** Focus counts in elements that match the selector. */
  constructor(
    private readonly host: ReactiveControllerHost & HTMLElement,
    private readonly selector: string,
  ) {
    host.addController(this);
    host.addEventListener("pointerenter", () => (this.pointer = true));
    host.addEventListener("pointerleave", () => this.leave({ pointer: false }));
    host.addEventListener("focusin", (e) => (this.focus = e.composedPath().some((x) => x instanceof Element && x.matches(this.selector))));
    host.addEventListener("focusout", () => this.leave({ focus: false }));
  }

  hostDisconnected(): void {
    this.pointer = false;
    this.focus = false;
  }

  get near(): boolean {
    return this.pointer || this.focus || performance.now() - this.left < STEADY;
  }

  private leave(change: { pointer?: false; focus?: false }): void {
    if (!this.pointer && !this.focus) return;
    Object.assign(this, change);
    if (this.pointer || this.focus) return;
    this.left = performance.now();
    setTimeout(() => this.host.requestUpdate(), STEADY);
  }
}
