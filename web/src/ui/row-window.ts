/** The window of rows in the document, identified by the keys of its first and last row. */

import type { Row } from "./rows.js";

/** Rows in the document while following the end, the maximum, and the number of rows that one scroll step adds: few, so that a step fits into a frame. */
const FOLLOW_SIZE = 250;
const MAX = 500;
const STEP_SIZE = 24;

export class RowWindow {
  private first: string | null = null;
  /** Null: up to the end. */
  private last: string | null = null;
  private from = 0;
  private to = 0;
  private length = 0;

  get atStart(): boolean {
    return this.from === 0;
  }

  get atEnd(): boolean {
    return this.to === this.length;
  }

  /** Moves the window to the end. */
  reset(): void {
    this.first = null;
    this.last = null;
  }

  /** Returns the rows to render. */
  of(all: readonly Row[], following: boolean): readonly Row[] {
    this.length = all.length;
    if (following) this.followEnd(all);
    else this.keepWindow(all);
    return all.slice(this.from, this.to);
  }

  private followEnd(all: readonly Row[]): void {
    const from = this.first === null ? -1 : indexOf(all, this.first);
    const least = Math.max(0, all.length - FOLLOW_SIZE);
    // The start moves in steps: otherwise every new row would remove one at the top.
    this.from = from >= 0 && from <= least && all.length - from <= FOLLOW_SIZE + STEP_SIZE ? from : least;
    this.to = all.length;
    this.saveKeys(all);
    this.last = null;
  }

  /** Keeps the window, and adds new rows while there is space. */
  private keepWindow(all: readonly Row[]): void {
    const from = this.first === null ? -1 : indexOf(all, this.first);
    this.from = from >= 0 ? from : Math.max(0, all.length - FOLLOW_SIZE);
    const last = this.last === null ? -1 : indexOf(all, this.last);
    this.to = last >= 0 ? last + 1 : Math.min(all.length, this.from + MAX);
    if (this.to < this.from) this.to = Math.min(all.length, this.from + FOLLOW_SIZE);
    if (this.last === null && this.to < all.length) this.saveKeys(all);
  }

  /** Extends the window upwards; false at the first row. */
  up(all: readonly Row[]): boolean {
    if (this.from === 0) return false;
    this.from = Math.max(0, this.from - STEP_SIZE);
    this.to = Math.min(this.to, this.from + MAX);
    this.saveKeys(all);
    return true;
  }

  /** Extends the window downwards; false at the last row. */
  down(all: readonly Row[]): boolean {
    if (this.to >= all.length) return false;
    this.to = Math.min(all.length, this.to + STEP_SIZE);
    this.from = Math.max(this.from, this.to - MAX);
    this.saveKeys(all);
    return true;
  }

  /** Centers the window on a row; false if there is no such row. */
  center(all: readonly Row[], key: string): boolean {
    const at = indexOf(all, key);
    if (at < 0) return false;
    if (at >= this.from && at < this.to && this.length === all.length) return true;
    this.from = Math.max(0, at - FOLLOW_SIZE / 2);
    this.to = Math.min(all.length, this.from + FOLLOW_SIZE);
    this.saveKeys(all);
    return true;
  }

  private saveKeys(all: readonly Row[]): void {
    this.first = all[this.from]?.key ?? null;
    this.last = this.to < all.length ? (all[this.to - 1]?.key ?? null) : null;
  }
}

function indexOf(all: readonly Row[], key: string): number {
  return all.findIndex((r) => r.key === key);
}
