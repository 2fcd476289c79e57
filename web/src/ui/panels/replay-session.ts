/**
 * A replay that continues while its panel is closed: on a narrow page the panel
 * covers the conversation. One per shell, created on first use.
 */

import { Api } from "../../core/api.js";
import { realClock } from "@sdk/clock.js";
import { parse } from "../../core/links.js";
import { Player, Timeline } from "../../core/replay.js";
import type { Millis } from "@sdk/types.js";
import type { Shell } from "../panel.js";
import { onTick } from "../ticker.js";
import { HistoryLoader } from "./history-loader.js";

/** Maximum number of envelopes in a timeline. */
const MAX = 100_000;
/** The duration of a skipped idle time, milliseconds. */
const MAX_IDLE = 2000;

const sessions = new WeakMap<Shell, Replay>();

/** Returns the replay of a shell. */
export function replayOf(shell: Shell): Replay {
  let r = sessions.get(shell);
  if (r === undefined) {
    r = new Replay(shell);
    sessions.set(shell, r);
  }
  return r;
}

export class Replay {
  readonly timeline = new Timeline();
  /** Skip idle time. */
  skipIdle = true;
  private player: Player;
  private active = false;
  private syncedHead = 0;
  private syncedOldest = 0;
  private loader: HistoryLoader | null = null;
  private readonly listeners = new Set<() => void>();
  private stopTicker: () => void = () => {};

  constructor(
    private readonly shell: Shell,
    private readonly api = new Api(),
  ) {
    this.player = this.makePlayer();
  }

  private makePlayer(): Player {
    return new Player(this.timeline, { clock: realClock, onChange: () => this.playerChanged(), longest: this.skipIdle ? MAX_IDLE : 0 });
  }

  /** Calls f after each change until the returned function is called. */
  subscribe(f: () => void): () => void {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }

  /** Adds the envelopes that were loaded since the last call. */
  sync(): void {
    const { head, oldest, hasOlder } = this.shell.state;
    if (head === this.syncedHead && oldest === this.syncedOldest) return;
    const was = this.timeline.length;
    this.timeline.add(this.shell.envelopes, !hasOlder || this.loader?.progress.done === true);
    this.syncedHead = head;
    this.syncedOldest = oldest;
    if (was === 0) this.timeline.seek(this.timeline.length);
  }

  /** The conversation shows the replay. */
  get on(): boolean {
    return this.active && this.shell.past;
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

  setSkipIdle(skipIdle: boolean): void {
    const { isPlaying, speed } = this.player;
    this.player.pause();
    this.skipIdle = skipIdle;
    this.player = this.makePlayer();
    this.player.setSpeed(speed);
    if (isPlaying && this.on) this.player.play();
  }

  /** Returns to live. */
  live(): void {
    this.active = false;
    this.player.pause();
    this.stopTicker();
    this.shell.showPast(null);
    this.notify();
  }

  private begin(): void {
    this.sync();
    if (this.on) return;
    this.active = false;
    this.player.pause();
    this.player.seek(this.timeline.length);
    this.active = true;
    this.stopTicker();
    this.stopTicker = onTick(() => this.tick());
    this.shell.showPast(this.timeline.state, this.player.now);
  }

  /** Publishes the player's position. If another element has returned to live, the replay stops. */
  private playerChanged(): void {
    if (!this.active) return;
    if (!this.shell.past) {
      this.live();
      return;
    }
    this.shell.showPast(this.timeline.state, this.player.now);
    this.notify();
  }

  /** Advances the durations of running reasoning between envelopes. */
  private tick(): void {
    if (!this.shell.past || elsewhere(this.shell.space)) this.live();
    else if (this.player.isPlaying) this.playerChanged();
  }

  private notify(): void {
    for (const f of this.listeners) f();
  }

  // History older than the loaded envelopes.

  /** The loader of older history; null before loadOlder. */
  get loading(): HistoryLoader | null {
    return this.loader;
  }

  get whole(): boolean {
    return !this.shell.state.hasOlder || this.loader?.progress.done === true;
  }

  get full(): boolean {
    return this.timeline.length >= MAX;
  }

  /** Loads older history until it is stopped or reaches the beginning. */
  loadOlder(): void {
    this.sync();
    this.loader ??= new HistoryLoader(this.shell.space, this.timeline.envelopes[0]?.seq ?? this.shell.state.oldest, (page, p) => {
      this.timeline.add(page, p.done);
      if (!this.on) this.timeline.seek(this.timeline.length);
      this.notify();
      return !this.full;
    }, this.api);
    void this.loader.run(() => this.notify());
    this.notify();
  }

  stopLoading(): void {
    this.loader?.stop();
  }
}

/** Reports whether the page shows another space now. */
function elsewhere(space: string): boolean {
  return typeof location !== "undefined" && parse(location.hash)?.space !== space;
}
