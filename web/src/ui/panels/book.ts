/**
 * What of a few kinds is older than what the page holds: rights that were given
 * long ago are still in force, and a proposal waits until somebody decides. It
 * is read by the same reducer as everything else.
 */

import { Api } from "../../core/api.js";
import { Reducer } from "../../core/reducer.js";
import type { SpaceState } from "../../core/state.js";
import type { Envelope } from "../../core/types.js";

/** Envelopes of a page, and pages at most. */
const PAGE = 1000;
const MOST_PAGES = 20;

export class Book {
  running = false;
  /** It is known what there was, or as much of it as is looked at. */
  done = false;
  /** Why it is not, in words. */
  trouble = "";
  private reducer: Reducer | null = null;

  constructor(
    private readonly space: string,
    private readonly kinds: readonly string[],
    private readonly api = new Api(),
  ) {}

  /** Reads what was before a seq, once. Never rejects. */
  async load(before: number, onEnd: () => void): Promise<void> {
    if (this.running || this.done) return;
    this.running = true;
    this.trouble = "";
    try {
      const found = await this.read(before);
      this.reducer = new Reducer({ fromStart: true });
      for (const e of found) this.reducer.apply(e);
      this.done = true;
    } catch (err) {
      this.trouble = err instanceof Error ? err.message : String(err);
    }
    this.running = false;
    onEnd();
  }

  private async read(before: number): Promise<readonly Envelope[]> {
    const found: Envelope[] = [];
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const page = await this.api.envelopes(this.space, { before, kinds: this.kinds, limit: PAGE, descending: true });
      found.push(...page.envelopes);
      if (!page.has_more || page.next === before) break;
      before = page.next;
    }
    return found.sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
  }

  /** What has come of it with what the page holds; null before it was read. */
  with(held: readonly Envelope[]): SpaceState | null {
    const { reducer } = this;
    if (reducer === null) return null;
    for (const e of held) if (this.kinds.includes(e.kind)) reducer.apply(e);
    return reducer.state;
  }
}
