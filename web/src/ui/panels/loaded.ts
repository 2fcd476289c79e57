/** A response of the gateway, for the element that shows it. */

import type { ReactiveController, ReactiveControllerHost } from "lit";

/** The longest wait for a response that is computed from the log, milliseconds. */
export const COMPUTED = 300_000;

export class Loaded<T, R = unknown> implements ReactiveController {
  /** The last response; null before the first. */
  value: T | null = null;
  /** Why the last request failed. */
  error = "";
  loading = false;
  private requests = 0;

  constructor(
    private readonly host: ReactiveControllerHost,
    private readonly read: (v: R) => T,
  ) {
    host.addController(this);
  }

  hostConnected(): void {}

  /** Requests a response; only that of the last request counts. Returns it; null if there is none. Never rejects. */
  async load(request: () => Promise<R>): Promise<T | null> {
    const mine = ++this.requests;
    this.loading = true;
    this.host.requestUpdate();
    let value: T | null = null;
    let error = "";
    try {
      value = this.read(await request());
    } catch (err) {
      error = err instanceof Error ? err.message : String(err);
    }
    if (mine !== this.requests) return null;
    this.value = value ?? this.value;
    this.error = error;
    this.loading = false;
    this.host.requestUpdate();
    return value;
  }
}
