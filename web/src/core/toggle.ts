/**
 * Whether a block is open on the screen. What a person does wins for ever over
 * what happens by itself; without that, a block is open while it is reasoning
 * and closes by itself, once, about a second after the end.
 */

import type { Block } from "./state.js";
import type { ContextPath, Millis } from "./types.js";

/** What people want of blocks that they have not touched. */
export type Preference = "automatic" | "open" | "closed";

/** How long a block stays open when its thinking is over, milliseconds. */
export const LINGER = 1000;

/** Blocks that a person's choice is remembered of. */
const MAX_CHOICES = 5000;

export class Toggles {
  private readonly choices = new Map<ContextPath, boolean>();
  /** Blocks that were seen reasoning, and when they were seen to have ended: null, not yet. */
  private readonly watched = new Map<ContextPath, Millis | null>();

  constructor(public preference: Preference = "automatic") {}

  /** A person opens or closes a block. */
  choose(path: ContextPath, open: boolean): void {
    this.choices.delete(path);
    this.choices.set(path, open);
    if (this.choices.size > MAX_CHOICES) this.choices.delete(this.choices.keys().next().value as ContextPath);
  }

  /** Whether a person has decided. */
  chosen(path: ContextPath): boolean {
    return this.choices.has(path);
  }

  /** Whether a block is to be open now; `now` is any clock that goes forward, in milliseconds, the same for all calls. */
  isOpen(block: Block, now: Millis): boolean {
    const chosen = this.choices.get(block.path);
    if (chosen !== undefined) return chosen;
    if (this.preference !== "automatic") return this.preference === "open";
    const closesAt = this.closesAt(block, now);
    return closesAt === null ? block.status === "reasoning" : now < closesAt;
  }

  /** When a block will close by itself; null: it will not, or is closed. For a timer. */
  closesAt(block: Block, now: Millis): Millis | null {
    if (block.status === "reasoning") {
      this.watched.set(block.path, null);
      return null;
    }
    const endedAt = this.watched.get(block.path);
    if (endedAt === undefined) return null; // it was over when it was first seen
    if (endedAt === null) this.watched.set(block.path, now);
    const at = (endedAt ?? now) + LINGER;
    if (now >= at) this.watched.delete(block.path);
    return now < at ? at : null;
  }

  /** What is worth keeping over a reload. */
  save(): { readonly preference: Preference; readonly choices: readonly (readonly [ContextPath, boolean])[] } {
    return { preference: this.preference, choices: [...this.choices] };
  }

  /** Takes up what was kept; anything else is not looked at. */
  restore(saved: unknown): void {
    const v = saved as { preference?: unknown; choices?: unknown } | null;
    if (typeof v !== "object" || v === null) return;
    if (v.preference === "automatic" || v.preference === "open" || v.preference === "closed") this.preference = v.preference;
    if (!Array.isArray(v.choices)) return;
    for (const x of v.choices.slice(-MAX_CHOICES)) {
      if (Array.isArray(x) && typeof x[0] === "string" && typeof x[1] === "boolean") this.choose(x[0], x[1]);
    }
  }
}
