/**
 * A replay that goes on while its panel is closed: on a narrow page the panel
 * covers the talk. There is one for each desk, made when it is first asked for.
 */

import { Api } from "../../core/api.js";
import { realClock } from "../../core/clock.js";
import { parse } from "../../core/links.js";
import { Player, Timeline } from "../../core/replay.js";
import type { Millis } from "../../core/types.js";
import type { Desk } from "../panel.js";
import { pulse } from "../pulse.js";
import { Walk } from "./history.js";

/** Envelopes that a line of time holds at most. */
const MOST = 100_000;
/** A silence that is cut short lasts this long, milliseconds. */
const SHORT = 2000;

const sessions = new WeakMap<Desk, Replay>();

/** The replay of a desk. */
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
  /** Silences are cut short. */
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

  /** Calls back when something has moved. The answer ends that. */
  subscribe(f: () => void): () => void {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }

  /** Takes in what was loaded since the last time. */
  take(): void {
    const { head, oldest, hasOlder } = this.desk.state;
    if (head === this.taken && oldest === this.takenFrom) return;
    const was = this.timeline.length;
    this.timeline.add(this.desk.envelopes, !hasOlder || this.walk?.progress.done === true);
    this.taken = head;
    this.takenFrom = oldest;
    if (was === 0) this.timeline.seek(this.timeline.length);
  }

  /** Whether the talk shows what is replayed. */
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

  /** What the space's clock shows. */
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

  /** Goes back to what is live. */
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

  /** The player has moved. If somebody has gone back to now elsewhere, that holds. */
  private moved(): void {
    if (!this.active) return;
    if (!this.desk.past) {
      this.live();
      return;
    }
    this.desk.showPast(this.timeline.state, this.player.now);
    this.tell();
  }

  /** Time passes for what is reasoning, even while nothing happens. */
  private beat(): void {
    if (!this.desk.past || elsewhere(this.desk.space)) this.live();
    else if (this.player.isPlaying) this.moved();
  }

  private tell(): void {
    for (const f of this.listeners) f();
  }

  // What is older than what the page holds.

  /** The walk to the beginning, if there is one. */
  get loading(): Walk | null {
    return this.walk;
  }

  get whole(): boolean {
    return !this.desk.state.hasOlder || this.walk?.progress.done === true;
  }

  get full(): boolean {
    return this.timeline.length >= MOST;
  }

  /** Loads what was before, until it is stopped or there is no more. */
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

/** Whether the page shows another space by now. */
function elsewhere(space: string): boolean {
  return typeof location !== "undefined" && parse(location.hash)?.space !== space;
}
