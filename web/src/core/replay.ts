/**
 * A space as it was: the state at any envelope or moment of what was loaded,
 * and a player for it. It is made by the same reducer as what is live. Nothing
 * is known of who was connected then, so nobody is taken for gone.
 */

import type { Clock } from "./clock.js";
import { Live, Reducer } from "./reducer.js";
import type { SpaceState } from "./state.js";
import { parseTime } from "./time.js";
import type { Envelope, Millis } from "./types.js";

/** Envelopes between two snapshots at first, and how many snapshots there are at most. */
const INTERVAL = 500;
const MAX_SNAPSHOTS = 32;

/** Envelopes that a line of time holds; further pages are not taken. */
const MAX_ENVELOPES = 100_000;

/** A line of time: what happened, and what that made of the space. */
export class Timeline {
  private log: readonly Envelope[] = [];
  private times: readonly Millis[] = [];
  private live = new Live();
  private snapshots: { readonly index: number; readonly reducer: Reducer }[] = [];
  private interval = INTERVAL;
  private current: Reducer | null = null;
  private index = 0;

  /** `fromStart`: nothing older than the first page exists. */
  constructor(private fromStart = false) {}

  /** How many envelopes there are. */
  get length(): number {
    return this.log.length;
  }

  /** Whether it takes no more pages. */
  get full(): boolean {
    return this.log.length >= MAX_ENVELOPES;
  }

  get envelopes(): readonly Envelope[] {
    return this.log;
  }

  /** When it begins and ends. */
  get span(): readonly [Millis, Millis] {
    return [this.times[0] ?? 0, this.times.at(-1) ?? 0];
  }

  /** Takes a page of history, in any order; doubles are left out. The position stays at the same envelope. */
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

  /** How many envelopes have happened at the present position. */
  get position(): number {
    return this.index;
  }

  /** When the present position is. */
  get time(): Millis {
    return this.times[Math.max(0, this.index - 1)] ?? 0;
  }

  /** When the next envelope comes; null at the end. */
  get next(): Millis | null {
    return this.times[this.index] ?? null;
  }

  /** The state at the present position. */
  get state(): SpaceState {
    return this.reducerAt(this.index).state;
  }

  /** Goes to where so many envelopes have happened. */
  seek(index: number): SpaceState {
    const whole = Number.isFinite(index) ? Math.trunc(index) : 0;
    this.index = Math.min(Math.max(0, whole), this.log.length);
    return this.state;
  }

  /** Goes to an envelope; to the last one before it, if it is not there. */
  seekSeq(seq: number): SpaceState {
    return this.seek(upper(this.log.length, (i) => (this.log[i]?.seq ?? 0) <= seq));
  }

  /** Goes to a moment. */
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

/** Times that never go back, as the order is that of seq. */
function steady(times: readonly Millis[]): readonly Millis[] {
  let last = 0;
  return times.map((t) => (last = Math.max(last, t)));
}

/** The number of leading places for which a test holds. */
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
  /** A silence lasts no longer than this on the screen, milliseconds; 0: as long as it was. */
  readonly longest?: number;
}

/** Plays a line of time at any speed. */
export class Player {
  private playing = false;
  private rate = 1;
  /** What the clock of the space showed when this machine's showed `since`. */
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

  /** What the clock of the space shows: for the seconds of what is reasoning. */
  get now(): Millis {
    if (!this.playing) return this.virtual;
    const now = this.virtual + (this.o.clock.now() - this.since) * this.rate;
    return Math.min(now, this.timeline.next ?? this.timeline.time);
  }

  /** Goes on from here; from the beginning, if here is the end. */
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

  /** How many seconds of the space pass in one of this machine: above 0, at most 1,000. */
  setSpeed(rate: number): void {
    this.virtual = this.now;
    this.since = this.o.clock.now();
    this.rate = Math.min(1000, Math.max(0.01, Number.isFinite(rate) ? rate : 1));
    if (this.playing) this.wait();
    this.o.onChange();
  }

  /** Goes to where so many envelopes have happened, and goes on playing if it was. */
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

  /** One envelope forward or back. */
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

  /** Everything that was due by now happens. Behind a silence that was cut short, the clock goes on from its end. */
  private tick(due: Millis): void {
    this.virtual = Math.max(due, this.virtual + (this.o.clock.now() - this.since) * this.rate);
    this.since = this.o.clock.now();
    this.timeline.seekTime(this.virtual);
    this.wait();
    this.o.onChange();
  }
}
