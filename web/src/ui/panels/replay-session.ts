/**
 * A replay that continues while its panel is closed: on a narrow page the panel
 * covers the conversation. One per shell, created on first use.
 */

import { Api } from "../../core/api.js";
import { realClock } from "../../core/clock.js";
import { parse } from "../../core/links.js";
import { Player, Timeline } from "../../core/replay.js";
import type { Millis } from "../../core/types.js";
import type { Desk } from "../panel.js";
import { pulse } from "../pulse.js";
import { Walk } from "./history.js";

/** Maximum number of envelopes in a timeline. */
const MOST = 100_000;
/** The duration of a skipped idle time, milliseconds. */
const SHORT = 2000;

const sessions = new WeakMap<Desk, Replay>();

/** Returns the replay of a shell. */
export function replayOf(desk: Desk): Replay {
  let r = sessions.get(desk);
  if (r === undefined) {
    r = new Replay(desk);
    sessions.set(desk, r);
  }
  return r;
}

export class Replay {
  readonly timeline = new Timeline();
  /** Skip idle time. */
  brisk = true;
  private player: Player;
  private active = false;
  private taken = 0;
  private takenFrom = 0;
  private walk: Walk | null = null;
  private readonly listeners = new Set<() => void>();
  private endPulse: () => void = () => {};

  constructor(
    private readonly desk: Desk,
    private readonly api = new Api(),
  ) {
    this.player = this.makePlayer();
  }

  private makePlayer(): Player {
    return new Player(this.timeline, { clock: realClock, onChange: () => this.moved(), longest: this.brisk ? SHORT : 0 });
  }

  /** Calls f after each change until the returned function is called. */
  subscribe(f: () => void): () => void {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }

  /** Adds the envelopes that were loaded since the last call. */
  take(): void {
    const { head, oldest, hasOlder } = this.desk.state;
    if (head === this.taken && oldest === this.takenFrom) return;
    const was = this.timeline.length;
    this.timeline.add(this.desk.envelopes, !hasOlder || this.walk?.progress.done === true);
    this.taken = head;
    this.takenFrom = oldest;
    if (was === 0) this.timeline.seek(this.timeline.length);
  }

  /** The conversation shows the replay. */
  get on(): boolean {
    return this.active && this.desk.past;
  }

  get playing(): boolean {
    return this.on && this.player.isPlaying;
  }

  get speed(): number {
    return this.player.speed;
  }

  get position(): number {
    return this.on ? this.timeline.position : this.timeline.length;
  }

  /** The space's time at the current position. */
  get now(): Millis {
    return this.on ? this.player.now : this.timeline.span[1];
  }

  play(): void {
    this.begin();
    this.player.play();
  }

  pause(): void {
    this.player.pause();
  }

  seek(index: number): void {
    this.begin();
    this.player.seek(index);
  }

  seekTime(at: Millis): void {
    this.begin();
    this.player.seekTime(at);
  }

  step(by: 1 | -1): void {
    this.begin();
    this.player.pause();
    this.player.step(by);
  }

  setSpeed(rate: number): void {
    this.player.setSpeed(rate);
  }

  setBrisk(brisk: boolean): void {
    const { isPlaying, speed } = this.player;
    this.player.pause();
    this.brisk = brisk;
    this.player = this.makePlayer();
    this.player.setSpeed(speed);
    if (isPlaying && this.on) this.player.play();
  }

  /** Returns to live. */
  live(): void {
    this.active = false;
    this.player.pause();
    this.endPulse();
    this.desk.showPast(null);
    this.tell();
  }

  private begin(): void {
    this.take();
    if (this.on) return;
    this.active = false;
    this.player.pause();
    this.player.seek(this.timeline.length);
    this.active = true;
    this.endPulse();
    this.endPulse = pulse(() => this.beat());
    this.desk.showPast(this.timeline.state, this.player.now);
  }

  /** Publishes the player's position. If another element has returned to live, the replay stops. */
  private moved(): void {
    if (!this.active) return;
    if (!this.desk.past) {
      this.live();
      return;
    }
    this.desk.showPast(this.timeline.state, this.player.now);
    this.tell();
  }

  /** Advances the durations of running reasoning between envelopes. */
  private beat(): void {
    if (!this.desk.past || elsewhere(this.desk.space)) this.live();
    else if (this.player.isPlaying) this.moved();
  }

  private tell(): void {
    for (const f of this.listeners) f();
  }

  // History older than the loaded envelopes.

  /** The loader of older history; null before loadOlder. */
  get loading(): Walk | null {
    return this.walk;
  }

  get whole(): boolean {
    return !this.desk.state.hasOlder || this.walk?.progress.done === true;
  }

  get full(): boolean {
    return this.timeline.length >= MOST;
  }

  /** Loads older history until it is stopped or reaches the beginning. */
  loadOlder(): void {
    this.take();
    this.walk ??= new Walk(this.desk.space, this.timeline.envelopes[0]?.seq ?? this.desk.state.oldest, (page, p) => {
      this.timeline.add(page, p.done);
      if (!this.on) this.timeline.seek(this.timeline.length);
      this.tell();
      return !this.full;
    }, this.api);
    void this.walk.go(() => this.tell());
    this.tell();
  }

  stopLoading(): void {
    this.walk?.stop();
  }
}

/** Reports whether the page shows another space now. */
function elsewhere(space: string): boolean {
  return typeof location !== "undefined" && parse(location.hash)?.space !== space;
}
