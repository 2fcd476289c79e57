/** What the tests share: recorded conversations, a clock, a WebSocket that does what it is told. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { envelopesOf } from "../src/core/api.js";
import type { Clock } from "@sdk/clock.js";
import type { Socket } from "@sdk/connection.js";
import type { SpaceState } from "../src/core/state.js";
import type { Envelope, Payload } from "@sdk/types.js";

declare const FIXTURES: string;

/** The envelopes of a recorded conversation. */
export function recorded(name: string): readonly Envelope[] {
  return envelopesOf(readFileSync(join(FIXTURES, name), "utf8"));
}

/** A state without versions, the times of welcomes and maps, to be compared. */
export function dump(state: SpaceState): unknown {
  const plain = (v: unknown): unknown => {
    if (v instanceof Map) return [...v.entries()].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)).map(([k, x]) => [k, plain(x)]);
    if (Array.isArray(v)) return v.map(plain);
    if (typeof v !== "object" || v === null) return v;
    return Object.fromEntries(
      Object.entries(v)
        .filter(([k]) => k !== "version" && k !== "knownAt")
        .map(([k, x]) => [k, plain(x)]),
    );
  };
  return plain(state);
}

/** Writes envelopes of a log: seq and ts go on by themselves. */
export class Scribe {
  seq = 0;
  at = Date.parse("2026-11-20T09:15:00Z");

  /** The next envelope, so many milliseconds after the one before. */
  say(from: string, kind: string, payload: Payload = {}, more: Partial<Envelope> & { after?: number } = {}): Envelope {
    const { after = 1000, ...rest } = more;
    this.seq++;
    this.at += after;
    return { id: `m${this.seq}`, ts: new Date(this.at).toISOString(), from, kind, payload, seq: this.seq, ...rest };
  }

  /** A frame of the gateway. */
  gateway(kind: string, payload: Payload, more: Partial<Envelope> = {}): Envelope {
    return { id: `g${this.seq}-${kind}`, ts: new Date(this.at).toISOString(), from: "system:gateway", kind, payload, ...more };
  }

  welcome(ids: readonly string[], seq = this.seq, you = "alice", log?: string): Envelope {
    return this.gateway("system.welcome", {
      you: { id: you, capabilities: ["*"], limits: {} },
      participants: ids.map((id) => ({ id, capabilities: [] })),
      space: { name: "lab", seq, ...(log !== undefined && { log }) },
      protocol: "meup/v0.1",
    });
  }

  presence(event: "join" | "leave", id: string): Envelope {
    return this.gateway("system.presence", { event, participant: { id, capabilities: [] } });
  }
}

/** A clock that goes when it is told to. */
export class FakeClock implements Clock {
  time = 0;
  chance = 0.5;
  private timers: { at: number; f: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, f: () => void): () => void {
    const timer = { at: this.time + ms, f };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((x) => x !== timer);
    };
  }

  random(): number {
    return this.chance;
  }

  /** Lets time pass, with everything that is due in it. */
  pass(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.timers = this.timers.filter((t) => t !== next);
      this.time = Math.max(this.time, next.at);
      next.f();
    }
    this.time = end;
  }

  get waiting(): number {
    return this.timers.length;
  }
}

/** A WebSocket that a test plays the gateway of. */
export class FakeSocket implements Socket {
  onopen: ((e: never) => void) | null = null;
  onmessage: ((e: { readonly data: unknown }) => void) | null = null;
  onclose: ((e: { readonly code: number; readonly reason: string }) => void) | null = null;
  onerror: ((e: never) => void) | null = null;
  readonly sent: string[] = [];
  closed: number | undefined;

  constructor(
    readonly url: string,
    readonly protocols: readonly string[],
  ) {}

  send(text: string): void {
    this.sent.push(text);
  }

  close(code?: number): void {
    this.closed = code ?? 1000;
  }

  /** The gateway sends a frame. */
  deliver(e: Envelope | string): void {
    this.onmessage?.({ data: typeof e === "string" ? e : JSON.stringify(e) });
  }

  /** The connection ends. */
  end(code: number, reason = ""): void {
    this.onclose?.({ code, reason });
  }

  get since(): string | null {
    return new URL(this.url).searchParams.get("since");
  }
}

/** Lets promises that are settled go on. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/** A random number generator that always gives the same numbers. */
export function seeded(seed: number): () => number {
  let x = seed | 0 || 1;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) / 2 ** 32;
  };
}
