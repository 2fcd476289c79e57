/**
 * Whether a block is expanded. A user's choice has precedence permanently.
 * Without one, a block is expanded while it is reasoning, and collapses once,
 * about a second after the end.
 */

import type { Block } from "./state.js";
import type { ContextPath, Millis } from "@sdk/types.js";

/** The setting for blocks that the user has not toggled. */
export type Preference = "automatic" | "open" | "closed";

/** Milliseconds that a block stays expanded after its reasoning. */
export const LINGER = 1000;

/** Maximum number of remembered choices. */
const MAX_CHOICES = 5000;

export class Toggles {
  private readonly choices = new Map<ContextPath, boolean>();
  /** Blocks that were seen reasoning, with the time at which their end was seen; null: not yet. */
  private readonly watched = new Map<ContextPath, Millis | null>();

  constructor(public preference: Preference = "automatic") {}

  /** Records the user's choice. */
  choose(path: ContextPath, open: boolean): void {
    this.choices.delete(path);
    this.choices.set(path, open);
    if (this.choices.size > MAX_CHOICES) this.choices.delete(this.choices.keys().next().value as ContextPath);
  }

  /** Reports whether the user has toggled the block. */
  chosen(path: ContextPath): boolean {
    return this.choices.has(path);
  }

  /** Reports whether a block is expanded; `now` is the same monotonic clock for all calls, in milliseconds. */
  isOpen(block: Block, now: Millis): boolean {
    const closesAt = this.closesAt(block, now);
    if (closesAt === null) return this.choices.get(block.path) ?? (this.preference === "automatic" ? block.status === "reasoning" : this.preference === "open");
    if (now >= closesAt) this.watched.delete(block.path);
    return now < closesAt;
  }

  /**
   * Returns the time at which a block that isOpen reported as expanded collapses
   * by itself, even if it has passed since; null: never, or it is collapsed.
   */
  closesAt(block: Block, now: Millis): Millis | null {
    if (this.preference !== "automatic" || this.choices.has(block.path)) return null;
    if (block.status === "reasoning") {
      this.watched.set(block.path, null);
      return null;
    }
    const endedAt = this.watched.get(block.path);
    if (endedAt === undefined) return null; // it had ended when it was first seen
    if (endedAt === null) this.watched.set(block.path, now);
    return (endedAt ?? now) + LINGER;
  }

  /** Returns the state to store over a reload. */
  save(): { readonly preference: Preference; readonly choices: readonly (readonly [ContextPath, boolean])[] } {
    return { preference: this.preference, choices: [...this.choices] };
  }

  /** Restores a stored state; invalid input is ignored. */
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
