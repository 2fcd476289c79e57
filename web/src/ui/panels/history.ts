/** Pages of history over HTTP, older and older, for those who look for something that is not loaded. */

import { Api } from "../../core/api.js";
import { parseTime } from "../../core/time.js";
import type { Envelope, Millis } from "../../core/types.js";

/** Envelopes of a page. */
const PAGE = 500;

/** How far it was looked back. */
export interface Progress {
  readonly looked: number;
  /** When the oldest of them was said; 0 before the first. */
  readonly back: Millis;
  /** There is nothing before it. */
  readonly done: boolean;
}

export const NOWHERE: Progress = { looked: 0, back: 0, done: false };

/** Walks back through a space's log; it can be stopped, and goes on from there when it is asked again. */
export class Walk {
  progress = NOWHERE;
  running = false;
  /** Why it stopped, in words; "" if nothing went wrong. */
  trouble = "";
  private wanted = false;

  /** `before`: the seq that it begins before. `onPage` is told each page, by seq; false is an answer that stops. */
  constructor(
    private readonly space: string,
    private before: number,
    private readonly onPage: (page: readonly Envelope[], p: Progress) => boolean,
    private readonly api = new Api(),
  ) {}

  stop(): void {
    this.wanted = false;
  }

  /** Goes on until the beginning, or until somebody has had enough. Never rejects. */
  async go(onEnd: () => void): Promise<void> {
    this.wanted = true;
    if (this.running) return;
    this.running = true;
    this.trouble = "";
    while (this.wanted && !this.progress.done) await this.page();
    this.running = false;
    onEnd();
  }

  private async page(): Promise<void> {
    try {
      const { envelopes, next, has_more } = await this.api.older(this.space, this.before, PAGE);
      const stuck = next === this.before && has_more;
      this.before = next;
      const at = parseTime(envelopes[0]?.ts ?? "");
      this.progress = { looked: this.progress.looked + envelopes.length, back: at || this.progress.back, done: !has_more || stuck };
      if (!this.onPage(envelopes, this.progress)) this.wanted = false;
    } catch (err) {
      this.trouble = err instanceof Error ? err.message : String(err);
      this.wanted = false;
    }
  }
}
