/**
 * State from a few kinds of envelopes that are older than the loaded history: old
 * grants are still in force, and a proposal stays pending until it is decided. The
 * same reducer applies them.
 */

import { Api } from "../../core/api.js";
import { Reducer } from "../../core/reducer.js";
import type { SpaceState } from "../../core/state.js";
import type { Envelope } from "@sdk/types.js";

/** Envelopes per page, and the maximum number of pages. */
const PAGE = 1000;
const MAX_PAGES = 20;

export class OlderState {
  running = false;
  /** The older envelopes are loaded, up to the maximum. */
  done = false;
  /** Why loading failed. */
  error = "";
  private reducer: Reducer | null = null;

  constructor(
    private readonly space: string,
    private readonly kinds: readonly string[],
    private readonly api = new Api(),
  ) {}

  /** Loads the envelopes before a seq, once. Never rejects. */
  async load(before: number, onEnd: () => void): Promise<void> {
    if (this.running || this.done) return;
    this.running = true;
    this.error = "";
    try {
      const found = await this.read(before);
      this.reducer = new Reducer({ fromStart: true });
      for (const e of found) this.reducer.apply(e);
      this.done = true;
    } catch (err) {
      this.error = err instanceof Error ? err.message : String(err);
    }
    this.running = false;
    onEnd();
  }

  private async read(before: number): Promise<readonly Envelope[]> {
    const found: Envelope[] = [];
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const page = await this.api.envelopes(this.space, { before, kinds: this.kinds, limit: PAGE, descending: true });
      found.push(...page.envelopes);
      if (!page.has_more || page.next === before) break;
      before = page.next;
    }
    return found.sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
  }

  /** Returns the state of the older and the loaded envelopes together; null before load has completed. */
  with(held: readonly Envelope[]): SpaceState | null {
    const { reducer } = this;
    if (reducer === null) return null;
    for (const e of held) if (this.kinds.includes(e.kind)) reducer.apply(e);
    return reducer.state;
  }
}
