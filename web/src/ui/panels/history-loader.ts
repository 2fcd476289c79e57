/** Loads older history over HTTP, page by page, for replay. */

import { Api } from "../../core/api.js";
import { parseTime } from "../../core/time.js";
import type { Envelope, Millis } from "@sdk/types.js";

/** Envelopes per page. */
const PAGE = 500;

/** How much history was loaded. */
export interface Progress {
  readonly loaded: number;
  /** The time of the oldest envelope; 0 before the first page. */
  readonly oldest: Millis;
  /** The beginning of the log was reached. */
  readonly done: boolean;
}

export const NO_PROGRESS: Progress = { loaded: 0, oldest: 0, done: false };

/** Loads a space's log backwards. It can be stopped, and resumes with the next call of run. */
export class HistoryLoader {
  progress = NO_PROGRESS;
  running = false;
  /** Why loading failed; "" if it did not. */
  error = "";
  private wanted = false;

  /** `before`: the seq before which loading starts. `onPage` receives each page in order of seq; returning false stops. */
  constructor(
    private readonly space: string,
    private before: number,
    private readonly onPage: (page: readonly Envelope[], p: Progress) => boolean,
    private readonly api = new Api(),
  ) {}

  stop(): void {
    this.wanted = false;
  }

  /** Loads pages until the beginning of the log or until stop. Never rejects. */
  async run(onEnd: () => void): Promise<void> {
    this.wanted = true;
    if (this.running) return;
    this.running = true;
    this.error = "";
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
      this.progress = { loaded: this.progress.loaded + envelopes.length, oldest: at || this.progress.oldest, done: !has_more || stuck };
      if (!this.onPage(envelopes, this.progress)) this.wanted = false;
    } catch (err) {
      this.error = err instanceof Error ? err.message : String(err);
      this.wanted = false;
    }
  }
}
