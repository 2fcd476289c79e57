/** Times in the page. Only the server's clock counts: a reload, or another user's screen, shows the same seconds. */

import type { Block } from "./state.js";
import type { Millis } from "@sdk/types.js";
import { NO_WAIT, type Wait } from "./waiting.js";

/** Parses the time of an envelope; 0 if it is invalid. */
export function parseTime(ts: string): Millis {
  const n = Date.parse(ts);
  return Number.isNaN(n) ? 0 : n;
}

/**
 * ServerClock estimates the server's current time. An envelope was received
 * after its ts, so its ts plus the time since then, by a local monotonic clock,
 * is a lower bound; the highest bound is the best estimate.
 */
export class ServerClock {
  private offset = Number.NEGATIVE_INFINITY;

  /** `monotonic` is performance.now, or a test's own: monotonic milliseconds. */
  constructor(private readonly monotonic: () => number) {}

  /** Updates the estimate with a received envelope. */
  observe(ts: Millis): void {
    if (ts > 0) this.offset = Math.max(this.offset, ts - this.monotonic());
  }

  /** The server's time; 0 before the first envelope. */
  now(): Millis {
    return this.offset === Number.NEGATIVE_INFINITY ? 0 : this.offset + this.monotonic();
  }
}

/** Returns the seconds of a reasoning: rounded up, at least 1. */
export function secondsBetween(start: Millis, end: Millis): number {
  return Math.max(1, Math.ceil((end - start) / 1000));
}

/** Returns the whole seconds of a block so far, or in total if it has ended; null if unknown. */
export function elapsedSeconds(block: Block, now: Millis): number | null {
  if (block.endedAt !== null) return block.thoughtSeconds;
  if (!startKnown(block)) return null;
  return Math.max(0, Math.floor((Math.max(now, block.lastAt) - block.startedAt) / 1000));
}

/** Reports whether the start of a block is known. */
export function startKnown(block: Block): boolean {
  return (block.opened || block.implicit) && block.startedAt > 0;
}

/** "9s", "1m 5s", "2h 3m". */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s}s`;
  if (s < 3600) return s % 60 === 0 ? `${s / 60}m` : `${Math.floor(s / 60)}m ${s % 60}s`;
  const minutes = Math.floor((s % 3600) / 60);
  return `${Math.floor(s / 3600)}h${minutes === 0 ? "" : ` ${minutes}m`}`;
}

/** Formats the duration of a call: "12 ms", "1.4 s", "1m 5s". */
export function callDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  return duration(Math.round(ms / 1000));
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Distances between the marks of an axis. */
const ROUND: readonly Millis[] = [
  ...[1, 10, 100, 1000].flatMap((x) => [x, 2 * x, 2.5 * x, 5 * x]), 10_000, 15_000, 30_000,
  ...[1, 2, 3, 5, 10, 15, 30].map((x) => x * MINUTE), ...[1, 2, 3, 6, 12].map((x) => x * HOUR),
];

/** Returns the round times of an axis of this length with their labels: "0", "2 s", "4 s". There are at most five. */
export function axisMarks(length: Millis): readonly (readonly [at: Millis, label: string])[] {
  const step = ROUND.find((x) => 4 * x >= length) ?? Math.ceil(length / 4 / DAY) * DAY;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, i) => {
    const at = i * step;
    if (at === 0) return [at, "0"];
    return [at, length < 1000 ? `${at} ms` : at < MINUTE ? `${at / 1000} s` : duration(at / 1000)];
  });
}

/**
 * A block's heading: "Reasoning · 9s", "Waiting for you · 40s", then "Thought for 8s
 * (+3m waiting)". `now` is the server's time; `mayDecide` reports that the user may
 * settle what it waits for.
 */
export function blockTitle(block: Block, now: Millis, wait: Wait = NO_WAIT, mayDecide = false): string {
  const waited = Math.floor(wait.ms / 1000);
  const all = elapsedSeconds(block, now);
  const seconds = all === null ? null : Math.max(block.status === "reasoning" ? 0 : 1, all - waited);
  const more = waited > 0 ? ` (+${duration(waited)} waiting)` : "";
  switch (block.status) {
    case "idle":
      return "Reasoning";
    case "reasoning":
      if (wait.since !== null) return `Waiting for ${mayDecide ? "you" : "approval"} · ${duration((now - wait.since) / 1000)}`;
      return seconds === null ? "Reasoning" : `Reasoning · ${duration(seconds)}`;
    case "stopped":
      return `Stopped after ${told(seconds)}${more}`;
    case "cancelled":
      return `Canceled after ${told(seconds)}${more}`;
    default:
      return `Thought for ${told(seconds)}${more}`;
  }
}

/** Formats the duration of reasoning; null: it is unknown. */
export function told(seconds: number | null): string {
  return seconds === null ? "a few seconds" : duration(seconds);
}

/** Returns the day of a time, "2026-11-20", in the user's time zone (minutes west of UTC, as in Date). */
export function dayOf(at: Millis, zone: number = new Date(at).getTimezoneOffset()): string {
  return new Date(at - zone * 60_000).toISOString().slice(0, 10);
}
