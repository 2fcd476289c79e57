/** Tells an element to load something from the gateway, again when envelopes arrive that change it. */

import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { Millis } from "@sdk/types.js";
import type { Shell } from "../panel.js";

/** How long to wait for further envelopes, milliseconds: after a change that somebody made, and after one of many. */
const SOON = 100;
const LATER = 3000;

export class Arrivals implements ReactiveController {
  /** The newest envelope that was looked at; -1: none yet. */
  private seen = -1;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private due = Infinity;

  /** Calls `load` when the element is connected, after envelopes of the kinds `soon`, and less often after those of `later`. */
  constructor(
    private readonly host: ReactiveControllerHost & { readonly shell: Shell },
    private readonly load: () => void,
    private readonly soon: readonly string[],
    private readonly later: readonly string[] = [],
  ) {
    host.addController(this);
  }

  hostConnected(): void {
    this.load();
  }

  hostUpdate(): void {
    const { shell } = this.host;
    const { head } = shell.state;
    const { seen } = this;
    this.seen = head;
    if (seen < 0 || head === seen) return;
    const { envelopes } = shell;
    for (let i = envelopes.length - 1; i >= 0; i--) {
      const e = envelopes[i];
      if (e === undefined || (e.seq ?? 0) <= seen) return;
      if (this.soon.includes(e.kind)) this.schedule(SOON);
      else if (this.later.includes(e.kind)) this.schedule(LATER);
    }
  }

  hostDisconnected(): void {
    clearTimeout(this.timer);
    this.due = Infinity;
    this.seen = -1;
  }

  private schedule(wait: Millis): void {
    const due = performance.now() + wait;
    if (due >= this.due) return;
    clearTimeout(this.timer);
    this.due = due;
    this.timer = setTimeout(() => {
      this.due = Infinity;
      this.load();
    }, wait);
  }
}
