/** One shared timer for elements that display elapsed seconds. */

import type { ReactiveController, ReactiveControllerHost } from "lit";

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Calls f four times a second until the returned function is called. */
export function onTick(f: () => void): () => void {
  listeners.add(f);
  timer ??= setInterval(() => {
    for (const each of listeners) each();
  }, 250);
  return () => {
    listeners.delete(f);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Calls f four times a second while an element is connected. */
export class Ticking implements ReactiveController {
  private stop: (() => void) | undefined;

  constructor(
    host: ReactiveControllerHost,
    private readonly f: () => void,
  ) {
    host.addController(this);
  }

  hostConnected(): void {
    this.stop = onTick(this.f);
  }

  hostDisconnected(): void {
    this.stop?.();
  }
}
