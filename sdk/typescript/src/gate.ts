/** The gate of a participant: closed while it is paused. */

import type { Clock } from "./clock.js";

/** After a rejection because of a pause, the gate opens again after this time: a pause may end without a notice. */
const RECHECK = 5_000;

export class Gate {
  /** Number of pauses that have ended. Read it before a send, for `refused`. */
  generation = 0;
  private paused = false;
  private cancel: () => void = () => {};
  private waiting: (() => void)[] = [];

  constructor(private readonly clock: Clock) {}

  get closed(): boolean {
    return this.paused;
  }

  /** Closes the gate, for some milliseconds or until `open`. */
  close(during = 0): void {
    this.cancel();
    this.paused = true;
    this.cancel = during > 0 ? this.clock.after(Math.min(during, 2 ** 31 - 1), () => this.open()) : () => {};
  }

  open(): void {
    this.cancel();
    this.generation++;
    this.paused = false;
    const list = this.waiting;
    this.waiting = [];
    for (const f of list) f();
  }

  /** Waits until the gate is open. Rejects with the reason of the signal. */
  async wait(signal?: AbortSignal): Promise<void> {
    while (this.paused) {
      signal?.throwIfAborted();
      await new Promise<void>((resolve) => {
        const done = (): void => {
          signal?.removeEventListener("abort", done);
          this.waiting = this.waiting.filter((f) => f !== done);
          resolve();
        };
        this.waiting.push(done);
        signal?.addEventListener("abort", done, { once: true });
      });
    }
    signal?.throwIfAborted();
  }

  /** Waits after a rejection because of a pause. A pause that has ended since the generation was read is over. */
  async refused(generation: number, signal?: AbortSignal): Promise<void> {
    if (generation !== this.generation) return;
    if (!this.paused) this.close(RECHECK);
    await this.wait(signal);
  }

  /** Releases the timer. */
  end(): void {
    this.cancel();
  }
}
