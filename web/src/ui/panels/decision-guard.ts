/**
 * Guards decisions on a card against a press that was meant for other content:
 * cards move when others appear, are settled or change their size.
 */

import type { ReactiveController, ReactiveControllerHost } from "lit";
import { STEADY } from "./nearness.js";

/** Events after which a card may be in another place, as after changes of sizes. */
const MOVES = ["scroll", "animationend"];

/** The refusal of a press that came too early. */
const TOO_EARLY = "Not sent: this card has just appeared, moved or changed. Check the call, then decide again.";

interface Press {
  readonly content: string;
  readonly refusal: string;
}

/**
 * The guard of one card. A decision is pressed and released on the same steady card. The
 * place is measured when the page scrolls or an element around the card changes its size,
 * and at the press: a move that nothing announced is found there, and the press is refused.
 */
export class DecisionGuard implements ReactiveController {
  private content = "";
  private place = "";
  private since = 0;
  private pressed: Press | null = null;
  private watching = false;
  private readonly sizes = new ResizeObserver(() => this.measure());

  constructor(private readonly card: ReactiveControllerHost & HTMLElement) {
    card.addController(this);
  }

  hostConnected(): void {
    this.since = performance.now();
    this.card.addEventListener("pointerdown", this.press, { capture: true });
    this.card.addEventListener("keydown", this.key, { capture: true });
  }

  hostDisconnected(): void {
    this.watch("");
    this.card.removeEventListener("pointerdown", this.press, { capture: true });
    this.card.removeEventListener("keydown", this.key, { capture: true });
  }

  /** Notes the content that the card shows; "" if there is nothing to decide. */
  watch(content: string): void {
    if (content !== this.content) {
      this.content = content;
      this.since = performance.now();
    }
    if (this.watching === (content !== "")) return;
    this.watching = content !== "";
    if (!this.watching) {
      this.sizes.disconnect();
      for (const name of MOVES) removeEventListener(name, this.measure, { capture: true });
      return;
    }
    for (let x: Node | null = this.card; x !== null; x = x instanceof ShadowRoot ? x.host : x.parentNode) {
      if (x instanceof Element) this.sizes.observe(x, { box: "border-box" });
    }
    for (const name of MOVES) addEventListener(name, this.measure, { capture: true, passive: true });
  }

  /** Returns why a decision on this content at this moment does not count; "" if it does. */
  refusal(content: string): string {
    const { pressed } = this;
    this.pressed = null;
    if (content !== this.content) return TOO_EARLY; // it was not rendered yet
    if (pressed !== null && (pressed.refusal !== "" || pressed.content !== this.content)) return TOO_EARLY;
    return this.unsteady();
  }

  private unsteady(): string {
    this.measure();
    return performance.now() - this.since < STEADY ? TOO_EARLY : "";
  }

  private readonly measure = (): void => {
    const { left, top } = this.card.getBoundingClientRect();
    const place = `${Math.round(left)} ${Math.round(top)}`;
    if (place === this.place) return;
    this.place = place;
    this.since = performance.now();
  };

  private readonly press = (): void => {
    this.pressed = { content: this.content, refusal: this.unsteady() };
  };

  private readonly key = (e: KeyboardEvent): void => {
    if (e.key === "Enter" || e.key === " ") this.press();
  };
}
