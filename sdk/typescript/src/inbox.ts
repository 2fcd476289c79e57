/** Received envelopes that wait for the program, within bounds. */

import type { Envelope } from "./types.js";

export type Item = Envelope | Error;

/** Bound of the items that are added without room: reports of gaps. */
const MAX_FORCED = 16;

export class Inbox {
  /** Set after an envelope did not fit. It and the following ones are requested again when the inbox is empty. */
  skipping = false;
  private items: { readonly item: Item; readonly size: number }[] = [];
  private bytes = 0;
  private waiting: (() => void)[] = [];

  constructor(
    private readonly most: number,
    private readonly mostBytes: number,
  ) {}

  get empty(): boolean {
    return this.items.length === 0;
  }

  /** Adds an item, or reports that there is no room. An empty inbox takes an item of any size. */
  put(item: Item, size: number): boolean {
    if (this.items.length >= this.most || (this.bytes >= this.mostBytes && !this.empty)) return false;
    this.force(item, size);
    return true;
  }

  /** Adds an item also without room, as long as there are few of them. */
  force(item: Item, size = 0): void {
    if (this.items.length >= this.most + MAX_FORCED) return;
    this.items.push({ item, size });
    this.bytes += size;
    this.wake();
  }

  take(): Item | undefined {
    const first = this.items.shift();
    if (first !== undefined) this.bytes -= first.size;
    return first?.item;
  }

  /** Ends when an item may have arrived, or with the signal. */
  wait(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal?.removeEventListener("abort", done);
        this.waiting = this.waiting.filter((f) => f !== done);
        resolve();
      };
      this.waiting.push(done);
      signal?.addEventListener("abort", done, { once: true });
    });
  }

  /** Ends all waits. */
  wake(): void {
    const list = this.waiting;
    this.waiting = [];
    for (const f of list) f();
  }
}
