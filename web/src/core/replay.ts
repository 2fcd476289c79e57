/**
 * Replay of a space: the state at any envelope or time of the loaded log, and a
 * player. It uses the same reducer as the live page. Past connections are
 * unknown, so no participant counts as gone.
 */

import type { Clock } from "@sdk/clock.js";
import { Live, Reducer } from "./reducer.js";
import type { SpaceState } from "./state.js";
import { parseTime } from "./time.js";
import type { Envelope, Millis } from "@sdk/types.js";

/** Initial number of envelopes between two snapshots, and the maximum number of snapshots. */
const INTERVAL = 500;
const MAX_SNAPSHOTS = 32;

/** Maximum number of envelopes of a timeline; further pages are rejected. */
const MAX_ENVELOPES = 100_000;

/** A timeline: envelopes, and the state of the space after each. */
export class Timeline {
  private log: readonly Envelope[] = [];
  private times: readonly Millis[] = [];
  private live = new Live();
  private snapshots: { readonly index: number; readonly reducer: Reducer }[] = [];
  private interval = INTERVAL;
  private current: Reducer | null = null;
  private index = 0;

  /** `fromStart`: the first page is the beginning of the log. */
  constructor(private fromStart = false) {}

  /** The number of envelopes. */
  get length(): number {
    return this.log.length;
  }

  /** Set if it accepts no more pages. */
  get full(): boolean {
    return this.log.length >= MAX_ENVELOPES;
  }

  get envelopes(): readonly Envelope[] {
    return this.log;
  }

  /** The time of its first and its last envelope. */
  get span(): readonly [Millis, Millis] {
    return [this.times[0] ?? 0, this.times.at(-1) ?? 0];
  }

  /** Adds a page of history, in any order and with duplicates. The position stays at the same envelope. */
  add(page: readonly Envelope[], fromStart = this.fromStart): void {
    if (this.full) return;
    const here = this.log[this.index - 1]?.seq ?? 0;
    const last = this.log.at(-1)?.seq ?? 0;
    const known = new Set(this.log.map((e) => e.seq));
    const fresh = page.filter((e) => (e.seq ?? 0) > 0 && !known.has(e.seq) && known.add(e.seq) !== undefined);
    if (fresh.length === 0 && fromStart === this.fromStart) return;
    this.log = [...this.log, ...fresh].sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
    this.times = steady(this.log.map((e) => parseTime(e.ts)));
    if (fromStart !== this.fromStart || fresh.some((e) => (e.seq ?? 0) < last)) this.forget();
    this.fromStart = fromStart;
    this.index = Math.min(this.index, this.log.length);
    while (this.index < this.log.length && (this.log[this.index]?.seq ?? 0) <= here) this.index++;
  }

  private forget(): void {
    this.snapshots = [];
    this.current = null;
    this.live = new Live();
    this.index = 0;
  }

  /** The number of envelopes before the current position. */
  get position(): number {
    return this.index;
  }

  /** The time of the current position. */
  get time(): Millis {
    return this.times[Math.max(0, this.index - 1)] ?? 0;
  }

  /** The time of the next envelope; null at the end. */
  get next(): Millis | null {
    return this.times[this.index] ?? null;
  }

  /** The state at the current position. */
  get state(): SpaceState {
    return this.reducerAt(this.index).state;
  }

  /** Moves to the position after a number of envelopes. */
  seek(index: number): SpaceState {
    const whole = Number.isFinite(index) ? Math.trunc(index) : 0;
    this.index = Math.min(Math.max(0, whole), this.log.length);
    return this.state;
  }

  /** Moves to an envelope, or to the last one before it. */
  seekSeq(seq: number): SpaceState {
    return this.seek(upper(this.log.length, (i) => (this.log[i]?.seq ?? 0) <= seq));
  }

  /** Moves to a time. */
  seekTime(at: Millis): SpaceState {
    return this.seek(upper(this.log.length, (i) => (this.times[i] ?? 0) <= at));
  }

  private reducerAt(index: number): Reducer {
    let at = this.current;
    let from = this.reached;
    const near = this.snapshots.findLast((s) => s.index <= index);
    if (at === null || from > index || (near !== undefined && near.index > from)) {
      at = near === undefined ? new Reducer({ live: this.live, fromStart: this.fromStart }) : near.reducer.fork();
      from = near?.index ?? 0;
    }
    for (; from < index; from++) {
      at.apply(this.log[from] as Envelope);
      if ((from + 1) % this.interval === 0) this.remember(from + 1, at);
    }
    at.expire(this.times[index - 1] ?? 0);
    this.current = at;
    this.reached = index;
    return at;
  }

  private reached = 0;

  private remember(index: number, reducer: Reducer): void {
    if ((this.snapshots.at(-1)?.index ?? 0) >= index) return;
    if (this.snapshots.length >= MAX_SNAPSHOTS) {
      this.interval *= 2;
      this.snapshots = this.snapshots.filter((s) => s.index % this.interval === 0);
      if (index % this.interval !== 0) return;
    }
    this.snapshots.push({ index, reducer: reducer.fork() });
  }
}

/** Returns non-decreasing times, since the order is that of seq. */
function steady(times: readonly Millis[]): readonly Millis[] {
  let last = 0;
  return times.map((t) => (last = Math.max(last, t)));
}

/** Returns the number of leading indexes for which a test holds. */
function upper(length: number, test: (i: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (test(mid)) low = mid + 1;
    else high = mid;
  }
  return low;
}

export interface PlayerOptions {
  readonly clock: Clock;
  readonly onChange: () => void;
  /** The maximum duration of a pause in milliseconds; 0: unlimited. */
  readonly longest?: number;
}

/** Plays a timeline at any speed. */
export class Player {
  private playing = false;
  private rate = 1;
  /** The time in the space when the local clock was at `since`. */
  private virtual: Millis = 0;
  private since = 0;
  private stopTimer: () => void = () => {};

  constructor(
    readonly timeline: Timeline,
    private readonly o: PlayerOptions,
  ) {
    this.virtual = timeline.time;
  }

  get isPlaying(): boolean {
    return this.playing;
  }

  get speed(): number {
    return this.rate;
  }

  /** The time in the space, for the seconds of running blocks. */
  get now(): Millis {
    if (!this.playing) return this.virtual;
    const now = this.virtual + (this.o.clock.now() - this.since) * this.rate;
    return Math.min(now, this.timeline.next ?? this.timeline.time);
  }

  /** Plays from here, or from the beginning if this is the end. */
  play(): void {
    if (this.playing || this.timeline.length === 0) return;
    if (this.timeline.next === null) this.seek(0);
    this.playing = true;
    this.since = this.o.clock.now();
    this.wait();
    this.o.onChange();
  }

  pause(): void {
    if (!this.playing) return;
    this.virtual = this.now;
    this.playing = false;
    this.stopTimer();
    this.o.onChange();
  }

  /** Sets how many seconds of the space pass in a second: above 0, at most 1,000. */
  setSpeed(rate: number): void {
    this.virtual = this.now;
    this.since = this.o.clock.now();
    this.rate = Math.min(1000, Math.max(0.01, Number.isFinite(rate) ? rate : 1));
    if (this.playing) this.wait();
    this.o.onChange();
  }

  /** Moves to the position after a number of envelopes, and continues to play. */
  seek(index: number): void {
    this.timeline.seek(index);
    this.moved();
  }

  seekSeq(seq: number): void {
    this.timeline.seekSeq(seq);
    this.moved();
  }

  seekTime(at: Millis): void {
    this.timeline.seekTime(at);
    this.moved(at);
  }

  /** Moves by one envelope. */
  step(by: 1 | -1): void {
    this.seek(this.timeline.position + by);
  }

  private moved(at: Millis = this.timeline.time): void {
    const [first, last] = this.timeline.span;
    this.virtual = Math.min(Math.max(at, first), last);
    this.since = this.o.clock.now();
    if (this.playing) this.wait();
    this.o.onChange();
  }

  /** Waits for the next envelope. */
  private wait(): void {
    this.stopTimer();
    const next = this.timeline.next;
    if (next === null) {
      this.virtual = this.timeline.time;
      this.playing = false;
      return;
    }
    const longest = this.o.longest || Infinity;
    const pause = Math.min(longest, Math.max(0, (next - this.now) / this.rate));
    this.stopTimer = this.o.clock.after(pause, () => this.tick(next));
  }

  /** Applies all envelopes that are due. After a shortened pause, the clock continues from its end. */
  private tick(due: Millis): void {
    this.virtual = Math.max(due, this.virtual + (this.o.clock.now() - this.since) * this.rate);
    this.since = this.o.clock.now();
    this.timeline.seekTime(this.virtual);
    this.wait();
    this.o.onChange();
  }
}
