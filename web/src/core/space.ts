/**
 * The loaded envelopes of a space, within bounds, and the state that the
 * reducer derives from them.
 *
 * The state is always the reduction of the loaded envelopes in order of seq.
 * Newer envelopes are applied as they arrive; an older page, or dropping the
 * oldest envelopes, rebuilds the state. So the order, repetition and source of
 * loading do not matter.
 */

import { contextPath, correlations, field, str } from "@sdk/read.js";
import type { Logged } from "./reduce/context.js";
import { Live, Reducer, logged } from "./reducer.js";
import type { SpaceState } from "./state.js";
import type { Envelope, ID, Millis, ParticipantID } from "@sdk/types.js";

export interface SpaceOptions {
  /** Messages to keep while the page follows the end; 0 means 2,000. */
  readonly window?: number;
  /** Envelopes to keep; 0 means 50,000. */
  readonly envelopes?: number;
  /** Estimated bytes of payloads to keep; 0 means 64 MiB. */
  readonly bytes?: number;
}

/** Bound while the user reads old messages, as a multiple of the window. */
const READING_BACK = 5;

/** Factor by which the window is exceeded before the oldest messages are dropped, so that this is rare. */
const SLACK = 1.25;

/** When a size bound is reached: the share of it that the newest envelopes keep, and the share of older ones that are still needed. */
const YOUNG = 0.6;
const NEEDED = 0.2;

/** Maximum number of older envelopes kept for an open context, and for the rest. */
const KEPT_OF_ONE = 2000;
const KEPT_ALWAYS = 1000;

/** A loaded envelope with its parsed fields. */
interface Held extends Logged {
  readonly weight: number;
}

function held(env: Envelope): Held {
  return { ...logged(env), weight: weigh(env.payload) };
}

export class Space {
  /** Set while the page shows the end. Otherwise the number of messages is not bounded by the window. */
  following = true;

  private readonly live = new Live();
  private readonly window: number;
  private readonly maxEnvelopes: number;
  private readonly maxBytes: number;
  private log: Held[] = [];
  private bytes = 0;
  /** All envelopes from this seq to the head are loaded. */
  private from = 0;
  private older = true;
  private reducer = new Reducer({ live: this.live });

  constructor(options: SpaceOptions = {}) {
    this.window = options.window || 2000;
    this.maxEnvelopes = options.envelopes || 50_000;
    this.maxBytes = options.bytes || 64 * 1024 * 1024;
  }

  /** The current state. */
  get state(): SpaceState {
    this.reducer.bound(this.from, this.older);
    return this.reducer.state;
  }

  /** The loaded envelopes, by seq. */
  get envelopes(): readonly Envelope[] {
    return this.log.map((h) => h.env);
  }

  /** Returns a loaded envelope by id. It searches from the newest. */
  envelope(id: string): Envelope | undefined {
    return this.log.findLast((h) => h.env.id === id)?.env;
  }

  get head(): number {
    return this.log.at(-1)?.seq ?? 0;
  }

  /** Set if no older page can be loaded without dropping the end. */
  get full(): boolean {
    const most = this.window * READING_BACK;
    return this.reducer.messages >= most || this.log.length >= this.maxEnvelopes || this.bytes >= this.maxBytes;
  }

  /** Handles a frame of the connection, whether it is in the log or not. */
  receive(env: Envelope): void {
    if (env.seq === undefined || env.seq <= 0) {
      this.reducer.hint(env);
      return;
    }
    if (env.seq <= this.head) {
      this.insert([env]);
      return;
    }
    this.append(env, env.seq);
    this.trim();
  }

  /**
   * Adds a page of history, in any order. `older` is whether there is more
   * before it; it counts only if the page reaches further back than the loaded
   * part.
   */
  load(page: readonly Envelope[], older?: boolean): void {
    const sorted = page.filter((e) => (e.seq ?? 0) > 0).toSorted((a, b) => (a.seq as number) - (b.seq as number));
    const first = sorted[0]?.seq ?? 0;
    const reachesBack = first === 0 || this.from === 0 || first < this.from;
    const wasOlder = this.older;
    if (reachesBack && older !== undefined) this.older = older;
    if (first > 0 && (this.from === 0 || first < this.from)) this.from = first;
    if (first > this.head && this.older === wasOlder) {
      for (const e of sorted) this.append(e, e.seq as number);
    } else {
      this.insert(sorted, this.older !== wasOlder);
    }
    this.trim();
  }

  /** Records that a proposal was decided, though the decision may not be visible. */
  settled(proposal: ID, by: ParticipantID): void {
    this.reducer.settled(proposal, by);
  }

  /** Expires undecided proposals, by the server's time. */
  expire(now: Millis): void {
    this.reducer.expire(now);
  }

  /** Sets the beginning of the log; nothing before it can be loaded. */
  gap(words: string): void {
    this.live.gap = words;
    this.reducer.touch();
  }

  /** Drops everything but presence: the space has another log now. */
  reset(words: string): void {
    this.log = [];
    this.bytes = 0;
    this.from = 0;
    this.older = false;
    this.live.gap = words;
    this.rebuild();
  }

  private append(env: Envelope, seq: number): void {
    if (seq <= this.head) return;
    if (this.from === 0) this.from = seq;
    const h = held(env);
    this.log.push(h);
    this.bytes += h.weight;
    this.reducer.take(h);
  }

  /** Inserts envelopes by seq; loaded ones stay unchanged. */
  private insert(page: readonly Envelope[], changed = false): void {
    const known = new Set(this.log.map((h) => h.seq));
    const fresh: Held[] = [];
    for (const env of page) {
      const seq = env.seq as number;
      if (known.has(seq)) continue;
      known.add(seq);
      fresh.push(held(env));
    }
    if (fresh.length === 0 && !changed) return;
    this.log = [...this.log, ...fresh].sort((a, b) => a.seq - b.seq);
    for (const h of fresh) this.bytes += h.weight;
    this.rebuild();
  }

  private rebuild(): void {
    const before = this.reducer.state.version;
    this.reducer = new Reducer({ live: this.live, fromStart: !this.older });
    this.reducer.after(before + 1);
    for (const h of this.log) this.reducer.take(h);
  }

  /** Drops the oldest envelopes above the bounds. */
  private trim(): void {
    const tooMany = this.following && this.reducer.messages > this.window * SLACK;
    const tooMuch = this.log.length > this.maxEnvelopes || this.bytes > this.maxBytes;
    if (!tooMany && !tooMuch) return;
    const cut = Math.max(tooMany ? this.cutByMessages() : 0, tooMuch ? this.cutBySize() : 0);
    if (cut <= this.from) return;
    this.log = this.keep(cut);
    this.bytes = this.log.reduce((sum, h) => sum + h.weight, 0);
    this.from = cut;
    this.older = true;
    this.rebuild();
  }

  /** Returns the seq of the oldest message to keep. */
  private cutByMessages(): number {
    const items = this.reducer.state.timeline.filter((x) => x.type === "message");
    return items[items.length - this.window]?.seq ?? 0;
  }

  /** Returns the seq from which the other two bounds hold. */
  private cutBySize(): number {
    let bytes = 0;
    const least = Math.max(0, this.log.length - Math.floor(this.maxEnvelopes * YOUNG));
    for (let i = this.log.length - 1; i >= least; i--) {
      const h = this.log[i] as Held;
      bytes += h.weight;
      if (bytes > this.maxBytes * YOUNG) return (this.log[i + 1] ?? h).seq;
    }
    return this.log[least]?.seq ?? 0;
  }

  /** Returns the envelopes to keep: all from the cut, and older ones that are still needed. */
  private keep(cut: number): Held[] {
    const needed = this.needed();
    const old = this.log
      .filter((h) => h.seq < cut)
      .reverse()
      .map((h) => ({ h, key: needed(h.env) }));
    const first = old.filter(({ h, key }) => key === ALWAYS || key === h.env.id);
    const then = old.filter(({ h, key }) => key !== "" && key !== ALWAYS && key !== h.env.id);
    const room = new Map<string, number>([[ALWAYS, KEPT_ALWAYS]]);
    const kept: Held[] = [];
    let bytes = 0;
    for (const { h, key } of [...first, ...then]) {
      const left = room.get(key) ?? KEPT_OF_ONE;
      if (left <= 0 || kept.length >= this.maxEnvelopes * NEEDED || bytes + h.weight > this.maxBytes * NEEDED) continue;
      room.set(key, left - 1);
      kept.push(h);
      bytes += h.weight;
    }
    return [...kept, ...this.log.filter((h) => h.seq >= cut)].sort((a, b) => a.seq - b.seq);
  }

  /** Returns a function that names the reason for keeping an envelope; "" if there is none. */
  private needed(): (env: Envelope) => string {
    const { blocks, proposals, pending, roots } = this.reducer.state;
    const open = new Set(roots.filter((path) => blocks.get(path)?.status === "reasoning"));
    const waiting = new Set(pending.filter((id) => proposals.get(id)?.context === ""));
    return (env) => {
      const root = contextPath(env.context).split("/", 1)[0] || env.id;
      if (open.has(root)) return root;
      if (waiting.has(env.id)) return env.id;
      if (ESSENTIAL.test(env.kind)) return ALWAYS;
      if (env.kind === "mcp.request" && str(field(env.payload, "method")) === "tools/list") return ALWAYS;
      if (env.kind === "mcp.response" && this.listed(env)) return ALWAYS;
      return "";
    };
  }

  /** Reports whether a response lists a participant's tools. */
  private listed(env: Envelope): boolean {
    const result = field(env.payload, "result");
    return correlations(env).length > 0 && typeof result === "object" && result !== null && Array.isArray((result as { tools?: unknown }).tools);
  }
}

const ALWAYS = "*";
const ESSENTIAL = /^(?:capability\.(?:grant|revoke)|space\.kick|participant\.(?:pause|resume))$/;

/** Estimates the memory of a value in bytes, from at most 200 of its parts. */
export function weigh(v: unknown): number {
  let left = 200;
  const visit = (x: unknown): number => {
    if (typeof x === "string") return 24 + 2 * x.length;
    if (typeof x !== "object" || x === null || left-- <= 0) return 8;
    let sum = 48;
    for (const part of Object.values(x)) sum += 16 + visit(part);
    return sum;
  };
  return visit(v);
}
