/**
 * Own envelopes that the gateway has not answered yet.
 *
 * An envelope is stored under its own id until it is acknowledged. After a lost
 * connection or a reload it is sent again with the same id, which the gateway
 * recognizes: it is neither lost nor duplicated. A rejected envelope stays,
 * with the reason, until it is dismissed. An envelope that the log does not
 * keep (stream.data) is not sent again: it could arrive twice.
 */

import { type Clock, backoff } from "./clock.js";
import { parse, stringify } from "./json.js";
import { arr, count, field, isObject, num, obj, str } from "./read.js";
import { plain } from "./refusal.js";
import { type Draft, type Envelope, GATEWAY, type ID, type Refusal } from "./types.js";

/** The part of sessionStorage that an outbox uses. */
export interface Storage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** The status of an own envelope. */
export type OutgoingStatus = "waiting" | "sent" | "refused";

export interface Outgoing {
  readonly id: ID;
  readonly draft: Draft;
  readonly status: OutgoingStatus;
  /** Why it was rejected, or why it has to wait. */
  readonly note: string;
  readonly refusal: Refusal | null;
  /** By the local clock, milliseconds since 1970: only for the order on the screen. */
  readonly at: number;
}

export interface OutboxState {
  /** In the order of sending. */
  readonly items: readonly Outgoing[];
  /** Milliseconds for which the gateway requested a pause; 0: none. */
  readonly holdFor: number;
  /** Set if the items survive a reload of the page. */
  readonly durable: boolean;
}

export interface OutboxOptions {
  readonly clock: Clock;
  readonly storage: Storage | null;
  readonly newID: () => ID;
  /** Milliseconds since 1970. */
  readonly today: () => number;
  /** Writes a rejection as text. */
  readonly words?: (r: Refusal) => string;
  /** Returns transient rejections instead of sending the envelope again. */
  readonly noRetry?: boolean;
  readonly transmit: (frame: string) => boolean;
  readonly onChange: (s: OutboxState) => void;
  /** Called when an envelope is in the log. */
  readonly onAdmitted?: (id: ID, seq: number) => void;
  /** Called when the gateway has rejected an envelope permanently, or when it was lost. */
  readonly onRefused?: (draft: Draft, refusal: Refusal, id: ID) => void;
}

/** Bounds: queued envelopes, and envelopes in flight. */
export const MAX_ITEMS = 200;
const MAX_FLYING = 16;

/** Rejections after which the same envelope can be sent again. */
const TRANSIENT = ["rate_limited", "unavailable", "outcome_unknown"];

interface Item extends Outgoing {
  readonly attempts: number;
  /** Set once it was in flight. */
  readonly tried: boolean;
}

/** The rejection of an envelope that may be lost and is not sent again. */
const INTERRUPTED: Refusal = { error: "interrupted", message: "The connection was lost." };

function isLive(draft: Draft): boolean {
  return draft.kind === "stream.data" || draft.kind === "stream/data";
}

export class Outbox {
  private readonly o: OutboxOptions;
  private items: readonly Item[] = [];
  private key = "";
  private ready = false;
  private holdUntil = 0;
  private durable: boolean;
  private messageBytes = Infinity;
  private stopTimer: () => void = () => {};

  constructor(options: OutboxOptions) {
    this.o = options;
    this.durable = options.storage !== null;
  }

  get state(): OutboxState {
    return { items: this.items, holdFor: Math.max(0, this.holdUntil - this.o.clock.now()), durable: this.durable };
  }

  /** Sets the participant and the space, and restores the stored items of an earlier page. Called with each welcome. */
  open(you: string, space: string, messageBytes: number | undefined): void {
    this.messageBytes = messageBytes ?? Infinity;
    const key = `meup.outbox ${space} ${you}`;
    if (key === this.key) return;
    const mine = this.key === "" ? this.items : []; // envelopes of another participant are not sent as this one
    this.key = key;
    const left = this.restore().filter((x) => !mine.some((y) => y.id === x.id));
    this.change([...left, ...mine]);
    this.flush();
  }

  /** Queues an envelope. Returns its id, or why it cannot be sent at all. */
  send(draft: Draft, id = this.o.newID()): { readonly id: ID } | { readonly refusal: Refusal } {
    const refused = this.check(id, draft);
    if (refused !== null) return { refusal: refused };
    const item: Item = { id, draft, status: "waiting", note: "", refusal: null, at: this.o.today(), attempts: 0, tried: false };
    this.change([...this.items, item]);
    this.flush();
    return { id };
  }

  private check(id: ID, draft: Draft): Refusal | null {
    if (this.items.length >= MAX_ITEMS) {
      return { error: "rate_limited", message: "Too many unsent messages.", limit: "outbox" };
    }
    let frame: string;
    try {
      frame = frameOf(id, draft);
    } catch {
      return { error: "invalid_json", message: "It is nested too deeply." };
    }
    const bytes = new TextEncoder().encode(frame).length;
    if (bytes <= this.messageBytes) return null;
    return { error: "message_too_large", message: `${bytes} bytes; the limit is ${this.messageBytes}.`, limit: this.messageBytes };
  }

  /** Sends a rejected or waiting item again, with the same id. */
  again(id: ID): void {
    this.update(id, { status: "waiting", note: "", refusal: null });
    this.flush();
  }

  /** Removes an item that is no longer waited for, also in flight. Returns whether the gateway may have it. */
  withdraw(id: ID): boolean {
    const item = this.items.find((x) => x.id === id);
    if (item === undefined) return false;
    this.change(this.items.filter((x) => x.id !== id));
    this.flush();
    return item.tried;
  }

  /** Removes a rejected item. Items in flight cannot be removed. */
  dismiss(id: ID): Draft | null {
    const item = this.items.find((x) => x.id === id);
    if (item === undefined || item.status === "sent") return null;
    this.change(this.items.filter((x) => x.id !== id));
    return item.draft;
  }

  /** Handles a change of the connection. */
  connected(ready: boolean): void {
    this.ready = ready;
    if (!ready) {
      this.stopTimer();
      const flying = this.items.filter((x) => x.status === "sent");
      if (flying.length > 0) {
        const kept = this.items.filter((x) => x.status !== "sent" || !isLive(x.draft));
        this.change(kept.map((x) => (x.status === "sent" ? { ...x, status: "waiting" as const } : x)));
      }
      for (const x of flying) if (isLive(x.draft)) this.o.onRefused?.(x.draft, INTERRUPTED, x.id);
      return;
    }
    if (this.key !== "") this.flush();
  }

  /** Handles a frame: an acknowledgement, a rejection, or the own envelope. */
  receive(e: Envelope): void {
    if (e.from !== GATEWAY) {
      if (e.seq !== undefined) this.admitted(e.id, e.seq, e.from);
      return;
    }
    const about = typeof e.correlationId === "string" ? e.correlationId : "";
    if (e.kind === "system.ack") this.admitted(about, count(field(e.payload, "seq")) ?? 0, null);
    if (e.kind === "system.error") this.refused(about, e);
  }

  private admitted(id: ID, seq: number, from: string | null): void {
    const item = this.items.find((x) => x.id === id);
    if (item === undefined || (from !== null && !this.key.endsWith(` ${from}`))) return;
    this.change(this.items.filter((x) => x.id !== id));
    this.o.onAdmitted?.(id, seq);
    this.flush();
  }

  private refused(about: ID, e: Envelope): void {
    const refusal: Refusal = { ...e.payload, error: str(field(e.payload, "error")), message: str(field(e.payload, "message")) };
    const item = about === "" && refusal.error === "message_too_large" ? this.largest() : this.items.find((x) => x.id === about);
    if (item === undefined) return;
    if (TRANSIENT.includes(refusal.error) && this.o.noRetry !== true) {
      this.postpone(item, refusal);
      return;
    }
    this.o.onRefused?.(item.draft, refusal, item.id);
    this.update(item.id, { status: "refused", note: this.words(refusal), refusal });
    this.flush();
  }

  /** Returns the largest item in flight, which a gateway means if it names none. */
  private largest(): Item | undefined {
    const size = (x: Item): number => frameOf(x.id, x.draft).length;
    return this.items.filter((x) => x.status === "sent").sort((a, b) => size(b) - size(a))[0];
  }

  /** Schedules an item to be sent again, and holds later ones back until then. */
  private postpone(item: Item, refusal: Refusal): void {
    const attempts = item.attempts + 1;
    const asked = num(refusal.retry_after_ms) ?? 0;
    const wait = Math.min(10 * 60_000, Math.max(asked, backoff(attempts, this.o.clock.random())));
    this.holdUntil = Math.max(this.holdUntil, this.o.clock.now() + wait);
    this.update(item.id, { status: "waiting", note: this.words(refusal), refusal, attempts });
    this.flush();
  }

  /** Sends the queued items, from the front, within the bounds. */
  private flush(): void {
    if (!this.ready || this.key === "") return;
    this.stopTimer();
    const wait = this.holdUntil - this.o.clock.now();
    if (wait > 0) {
      this.stopTimer = this.o.clock.after(wait, () => this.flush());
      return;
    }
    let room = MAX_FLYING - this.items.filter((x) => x.status === "sent").length;
    for (const x of this.items) {
      if (x.status !== "waiting") continue;
      if (room-- <= 0) return;
      this.update(x.id, { status: "sent", note: "", tried: true });
      if (this.o.transmit(frameOf(x.id, x.draft))) continue;
      this.update(x.id, { status: "waiting" });
      return;
    }
  }

  private words(r: Refusal): string {
    return (this.o.words ?? plain)(r);
  }

  private update(id: ID, to: Partial<Item>): void {
    this.change(this.items.map((x) => (x.id === id ? { ...x, ...to } : x)));
  }

  private change(items: readonly Item[]): void {
    this.items = items;
    this.store();
    this.o.onChange(this.state);
  }

  private store(): void {
    if (this.o.storage === null || this.key === "") return;
    try {
      if (this.items.length === 0) this.o.storage.removeItem(this.key);
      else this.o.storage.setItem(this.key, stringify(this.items));
      this.durable = true;
    } catch {
      this.durable = false; // full or forbidden: kept only in memory
    }
  }

  private restore(): Item[] {
    try {
      const text = this.o.storage?.getItem(this.key) ?? null;
      return text === null ? [] : arr(parse(text)).slice(0, MAX_ITEMS).flatMap(reread);
    } catch {
      return [];
    }
  }
}

/** Returns the frame of an envelope. */
export function frameOf(id: ID, draft: Draft): string {
  return stringify({ id, ...draft });
}

/** Parses a stored item; nothing if it is invalid. */
function reread(v: unknown): Item[] {
  const p = obj(v);
  const id = str(field(p, "id"));
  const draft = field(p, "draft");
  if (id === "" || !isObject(draft) || str(field(draft, "kind")) === "") return [];
  const wasRefused = field(p, "status") === "refused";
  const refusal = field(p, "refusal");
  return [
    {
      id,
      draft: draft as unknown as Draft,
      status: wasRefused ? "refused" : "waiting",
      note: wasRefused ? str(field(p, "note")) : "",
      refusal: wasRefused && isObject(refusal) ? (refusal as unknown as Refusal) : null,
      at: num(field(p, "at")) ?? 0,
      attempts: 0,
      tried: true,
    },
  ];
}
