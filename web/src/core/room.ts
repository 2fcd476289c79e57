/** A joined space: connection, loaded state, outbox and render scheduling. The only object that components need. */

import { Api, ApiError } from "./api.js";
import { type Clock, realClock } from "@sdk/clock.js";
import { Connection, type ConnectionState, type Gap, type Socket } from "@sdk/connection.js";
import { newID } from "@sdk/ids.js";
import { Outbox, type OutboxState, type Storage } from "@sdk/outbox.js";
import { Space, type SpaceOptions } from "./space.js";
import type { SpaceState } from "./state.js";
import { str } from "@sdk/read.js";
import { refusal as refusalText } from "./sentences.js";
import { ServerClock, parseTime } from "./time.js";
import { type Draft, type Envelope, GATEWAY, type ID, type Millis, type Refusal } from "@sdk/types.js";

export interface RoomOptions {
  readonly space: string;
  /** URL of the gateway for WebSockets, such as `wss://host`. */
  readonly base: string;
  readonly api: Api;
  readonly storage: Storage | null;
  readonly observe?: boolean;
  /** Envelopes per page of history; 0 means 500. */
  readonly page?: number;
  readonly bounds?: SpaceOptions;
  readonly clock?: Clock;
  /** Milliseconds since 1970, of this machine. */
  readonly today?: () => number;
  readonly open?: (url: string, protocols: readonly string[]) => Socket;
  /** Schedules a callback for rendering: requestAnimationFrame, or a short delay. */
  readonly frame?: (f: () => void) => void;
}

/** Milliseconds; setTimeout does not take more than 24 days. */
const LONGEST_WAIT = 3_600_000;

export class Room {
  readonly space: Space;
  private readonly o: RoomOptions;
  private readonly clock: Clock;
  private readonly server: ServerClock;
  private readonly connection: Connection;
  private readonly box: Outbox;
  private readonly listeners = new Set<() => void>();
  private drawing = false;
  private loading: Promise<boolean> | null = null;
  private head = 0;
  private begun = false;
  private primed = false;
  private closed = false;
  private stopWaiting = (): void => {};
  private link: ConnectionState = { phase: "connecting", reason: "", retryIn: null, attempt: 0 };
  private trouble = "";

  constructor(options: RoomOptions) {
    this.o = options;
    this.clock = options.clock ?? realClock;
    this.server = new ServerClock(() => this.clock.now());
    this.space = new Space(options.bounds);
    this.connection = this.connect();
    this.box = this.outbox();
  }

  private connect(): Connection {
    const { o } = this;
    return new Connection({
      base: o.base,
      space: o.space,
      ...(o.observe !== undefined && { observe: o.observe }),
      clock: this.clock,
      open: o.open ?? ((url, protocols) => new WebSocket(url, [...protocols]) as unknown as Socket),
      why: () => o.api.why(o.space),
      words: refusalText,
      onFrame: (e) => this.receive(e),
      onState: (s) => {
        this.link = s;
        this.changed();
      },
      onGap: (g) => this.gap(g),
      onReady: (ready) => this.box.connected(ready),
    });
  }

  private outbox(): Outbox {
    return new Outbox({
      clock: this.clock,
      storage: this.o.storage,
      newID,
      words: refusalText,
      today: this.o.today ?? Date.now,
      transmit: (frame) => this.connection.transmit(frame),
      onRefused: (draft, refusal) => {
        if (refusal.error === "proposal_settled" && typeof draft.correlationId === "string") this.space.settled(draft.correlationId, str(refusal.by));
      },
      onChange: () => this.changed(),
    });
  }

  /** Joins. The newest page of history is loaded after the welcome. */
  start(): void {
    this.connection.start();
  }

  /** Leaves. Unanswered envelopes stay in the storage. */
  close(): void {
    this.closed = true;
    this.stopWaiting();
    this.connection.close();
    this.listeners.clear();
  }

  get state(): SpaceState {
    return this.space.state;
  }

  get connectionState(): ConnectionState {
    return this.link;
  }

  /** Whether the newest page of history is loaded and the connection has caught up: what comes now is news. */
  get live(): boolean {
    return this.primed && this.link.phase === "live";
  }

  /** With the remaining pause of this moment. */
  get outboxState(): OutboxState {
    return this.box.state;
  }

  /** Why the history could not be loaded; "" if it could. */
  get historyTrouble(): string {
    return this.trouble;
  }

  /** The server's time, for the seconds of running blocks. */
  get now(): Millis {
    return this.server.now();
  }

  /** Subscribes to changes, with one call per rendering. The returned function unsubscribes. */
  subscribe(f: () => void): () => void {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }

  /** Sends an envelope. */
  send(draft: Draft): { readonly id: ID } | { readonly refusal: Refusal } {
    return this.box.send(draft);
  }

  /** Sends a rejected envelope again. */
  again(id: ID): void {
    this.box.again(id);
  }

  /** Removes a rejected or waiting envelope, and returns it for editing. */
  dismiss(id: ID): Draft | null {
    return this.box.dismiss(id);
  }

  /** See Connection.wake. */
  wake(): void {
    this.connection.wake();
  }

  /** Loads the previous page. Returns true if there are more items now, or may be after the next call. */
  loadOlder(): Promise<boolean> {
    this.loading ??= this.load().finally(() => {
      this.primed ||= this.begun;
      this.loading = null;
      this.changed();
    });
    return this.loading;
  }

  get isLoading(): boolean {
    return this.loading !== null;
  }

  private async load(): Promise<boolean> {
    if (!this.state.hasOlder || this.space.full || !this.begun) return false;
    this.changed();
    let before = this.state.oldest || this.head + 1;
    try {
      for (let attempts = 0; attempts < 20; attempts++) {
        const page = await this.o.api.older(this.o.space, before, this.o.page || 500);
        if (this.closed) return false;
        this.trouble = "";
        this.space.load(page.envelopes, page.has_more);
        if (page.envelopes.length > 0 || !page.has_more || page.next === before) return page.envelopes.length > 0;
        before = page.next; // no visible envelopes in a long range
      }
    } catch (err) {
      this.trouble = err instanceof ApiError ? err.message : String(err);
    }
    return false;
  }

  private receive(e: Envelope): void {
    this.server.observe(parseTime(e.ts));
    this.box.receive(e);
    this.space.receive(e);
    if (e.kind === "system.welcome" && e.from === GATEWAY) this.welcome();
    this.changed();
  }

  private welcome(): void {
    const { you } = this.state;
    if (you === null) return;
    this.box.open(you.id, this.o.space, you.limits.message_bytes);
    if (this.begun) return;
    this.begun = true;
    this.head = this.connection.position;
    void this.loadOlder();
  }

  private gap(g: Gap): void {
    if (g.reset) this.space.reset("The log of this space was replaced. Earlier messages are gone.");
    else this.space.gap(`Messages between entries ${g.after} and ${g.oldest} are no longer available.`);
  }

  private changed(): void {
    if (this.drawing || this.closed) return;
    this.drawing = true;
    const frame = this.o.frame ?? ((f) => this.clock.after(16, f));
    frame(() => {
      this.drawing = false;
      this.space.expire(this.now);
      for (const f of this.listeners) f();
      this.awaitExpiry();
    });
  }

  /** Schedules the next expiry of a proposal. */
  private awaitExpiry(): void {
    this.stopWaiting();
    const { pending, proposals } = this.state;
    const next = Math.min(...pending.map((id) => proposals.get(id)?.expiresAt ?? Infinity));
    if (this.closed || next === Infinity) return;
    this.stopWaiting = this.clock.after(Math.min(next - this.now, LONGEST_WAIT), () => this.changed());
  }
}
