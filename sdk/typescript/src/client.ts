/**
 * A participant of a space.
 *
 * `connect` joins and returns after the welcome. The client then stays in the
 * space until it is closed or the gateway ends it: it replaces a lost
 * connection and resumes at the same position.
 *
 * Received: every visible envelope of the log, once, in order of seq, across
 * any number of connections. Frames without a seq (presence, stream.data) are
 * dropped when the buffer is full.
 *
 * Sent: an envelope for which `send` has returned is in the log, once. After a
 * lost connection it is sent again with the same id, which the gateway
 * recognizes.
 *
 * Slow receivers: WebSocket has no way to stop reading, so envelopes beyond the
 * buffer are dropped, and requested again by a new connection when the program
 * has received the kept ones. Memory is bounded and nothing is lost. Handlers
 * (questions, tools, responses) get each envelope when it arrives.
 */

import { Api, ApiError } from "./api.js";
import { realClock } from "./clock.js";
import { Connection, type ConnectionState, type Gap } from "./connection.js";
import { ClosedError, ConnectionError, GapError, InterruptedError, type MeupError, ProtocolError } from "./errors.js";
import { type Filter, isExact, parameters, payloadOf, selects } from "./filter.js";
import { Gate } from "./gate.js";
import { newID } from "./ids.js";
import { Inbox } from "./inbox.js";
import { stringify } from "./json.js";
import { MAX_ITEMS, Outbox } from "./outbox.js";
import type { KnownKind, Payloads } from "./payloads.js";
import { arr, correlations, field, isObject, num, obj, recipients, str, strings } from "./read.js";
import { Opener, type WebSocketClass } from "./socket.js";
import { type Capability, type Draft, type Envelope, GATEWAY, type ID, type Limits, type ParticipantID, type Payload, type Present, type Refusal } from "./types.js";
import { forLog, oneLine, withoutPeriod } from "./wording.js";

/** A class, so that its names are known to the check of options. Give an object. */
export class ClientOptions {
  /** The gateway, `https://host`, or its socket, `wss://host/ws`. Default: MEUP_URL; in a page, its origin. */
  readonly url?: string;
  /** Default: MEUP_TOKEN. A page that has signed in needs none. */
  readonly token?: string;
  /** Default: MEUP_SPACE. */
  readonly space?: string;
  /** Receive from after this seq; 0: from the beginning. Default: new envelopes only. */
  readonly since?: number;
  /** The id of the log that `since` belongs to, `client.log` of an earlier client. */
  readonly log?: string;
  /** A read-only connection, to which the filter applies without exceptions. */
  readonly observe?: boolean;
  /** False: without the own envelopes. */
  readonly echo?: boolean;
  readonly filter?: Filter;
  /** Declares that the client serves tools from the start; see `serveTools`. */
  readonly servesTools?: boolean;
  /** Received envelopes that wait for the program. Default: 256. */
  readonly buffer?: number;
  /** Their size in characters. Default: 8 Mi. */
  readonly bufferSize?: number;
  /** Returns transient rejections (rate_limited, unavailable, outcome_unknown) instead of sending again. */
  readonly noRetry?: boolean;
  /** Bounds of the delay between attempts to connect, in milliseconds: random below a bound that doubles from `min` to `max`. Default: 250, 15,000. */
  readonly backoff?: { readonly min: number; readonly max: number };
  /** Milliseconds to wait for a gateway that is away at the start; 0: without end. Default: 0. */
  readonly connectTimeout?: number;
  /** Ends `connect`. */
  readonly signal?: AbortSignal;
  /** For runtimes without a global WebSocket, such as Node 20: `import WebSocket from "ws"`. */
  readonly WebSocket?: WebSocketClass;
  readonly fetch?: typeof fetch;
  /** Called when the state of the connection changes. */
  readonly onState?: (s: ConnectionState) => void;
  /** Called for envelopes that the log no longer has. Without it, receiving throws a GapError once. */
  readonly onGap?: (g: Gap) => void;
  /** Called with a sentence for the operator: that the gateway is not reached or the connection lost, and when it is reached; a capability that is missing. Default: console.warn. */
  readonly onWarning?: (message: string) => void;
  /** Called for faults that no promise reports, such as an error in a handler. Default: console.error. */
  readonly onError?: (activity: string, err: unknown) => void;
}

/** An envelope to send. Its payload has the type of its kind. The id may be given, for retries across programs. */
export interface DraftOf<K extends string> extends Omit<Draft, "kind" | "payload"> {
  readonly id?: ID;
  readonly kind: K;
  readonly payload: K extends KnownKind ? Payloads[K] : Payload;
}

/** The position of an envelope in the log. */
export interface Receipt {
  readonly id: ID;
  /** 0 for envelopes that are not stored (stream.data). */
  readonly seq: number;
}

/** The gateway's first frame on a connection, and after each change of the capabilities. */
export interface Welcome {
  readonly you: { readonly id: ParticipantID; readonly capabilities: readonly Capability[]; readonly limits: Limits; readonly connections?: number };
  readonly participants: readonly Present[];
  readonly space: { readonly name: string; readonly seq: number; readonly log: string };
  /** The gateway's time minus the local one in milliseconds, when the welcome arrived. */
  readonly clock: number;
}

/** How an envelope arrived. */
export interface Arrival {
  /** It was in the log that replaced the one being read, and may be handled already. */
  readonly old: boolean;
  /** This client sent it; another process of the same participant may send others. */
  readonly mine: boolean;
}

/** Handles an envelope when it arrives. */
export type Handler = (e: Envelope, a: Arrival) => void;

interface Waiting {
  readonly kind: string;
  readonly promise: Promise<Receipt>;
  readonly resolve: (r: Receipt) => void;
  readonly reject: (err: unknown) => void;
}

/** Bounds: ids of own envelopes whose echo is awaited; milliseconds for the end of handlers at close. */
const MAX_MINE = 20_000;
const CLOSING = 3_000;

const ID_PATTERN = /^[A-Za-z0-9._:-]{1,128}$/;

export class Client {
  /** The HTTP API of the gateway, with the same token. */
  readonly api: Api;
  /** Closed while this participant is paused. */
  readonly gate = new Gate(realClock);
  /** Resolves when the client has ended, with the reason: a ClosedError, or a ConnectionError if the gateway ended it. */
  readonly closed: Promise<MeupError>;

  private readonly o: ClientOptions & { readonly space: string };
  /** The address of the gateway, for messages. */
  readonly address: string;
  /** Set by `run`: that questions begin and end is reported as warnings are. */
  reports = false;
  private readonly connection: Connection;
  private readonly box: Outbox;
  private readonly inbox: Inbox;
  private readonly handlers = new Set<Handler>();
  private readonly closers = new Set<() => Promise<void>>();
  private readonly lasts = new Set<() => Promise<void>>();
  private readonly endings = new Set<(err: MeupError) => void>();
  private readonly sends = new Map<ID, Waiting>();
  private readonly mine = new Set<ID>();
  private room: (() => void)[] = [];
  private current: Welcome = { you: { id: "", capabilities: [], limits: {} }, participants: [], space: { name: "", seq: 0, log: "" }, clock: 0 };
  private filterNow: Filter;
  private changing: { readonly id: ID; readonly frame: string; readonly filter: Filter; readonly done: (err: MeupError | null) => void } | null = null;
  private subscribed: Promise<void> = Promise.resolve();
  private lastReason = "";
  private away = false; // it was reported that the gateway is not reached
  private serves: boolean;
  private seen = 0; // last envelope that the handlers got
  private kept = 0; // last envelope that the inbox got
  private oldUntil = 0; // end of the log that replaced another one
  private last = ""; // the ts of the newest envelope before that
  private head = 0;
  private early: (() => void)[] | null = null; // frames until the program has added its handlers
  private fresh = false; // the next welcome begins a connection
  private held = false;
  private readyToClose: Promise<void> | null = null;
  private end: MeupError | null = null;
  private resolveClosed: (err: MeupError) => void = () => {};
  private joined: { readonly resolve: () => void; readonly reject: (err: unknown) => void } | null = null;

  /** Use `connect`. */
  constructor(options: ClientOptions) {
    const env = environment();
    const url = new URL(options.url ?? env["MEUP_URL"] ?? origin());
    const space = options.space ?? env["MEUP_SPACE"] ?? url.searchParams.get("space") ?? "";
    if (space === "") throw new TypeError("no space: give the option space, or set MEUP_SPACE");
    if ("token" in options && !options.token) throw new TypeError(`the option token is ${options.token === undefined ? "undefined" : "empty"}: is the variable with the token set?`);
    const token = options.token ?? env["MEUP_TOKEN"];
    if (!token && !("location" in globalThis)) throw new TypeError(`no token: give the option token, or set MEUP_TOKEN${env["MEUP_TOKEN"] === "" ? ", which is empty" : ""}`);
    this.o = { ...options, space };
    this.filterNow = options.filter ?? {};
    this.serves = options.servesTools ?? false;
    this.inbox = new Inbox(Math.max(1, options.buffer ?? 256), options.bufferSize ?? 8 * 1024 * 1024);
    this.closed = new Promise((resolve) => (this.resolveClosed = resolve));
    const base = `${url.host}${url.pathname.replace(/\/(ws)?\/?$/, "")}`;
    const secure = url.protocol === "https:" || url.protocol === "wss:";
    this.address = `http${secure ? "s" : ""}://${base}`;
    if (!secure && url.protocol !== "http:" && url.protocol !== "ws:") throw new TypeError(`the URL of a gateway begins with https, http, wss or ws, not ${url.protocol}`);
    this.api = new Api({
      base: this.address,
      ...(token !== undefined && { headers: { Authorization: `Bearer ${token}` } }),
      ...(options.fetch !== undefined && { fetch: options.fetch }),
    });
    const socket = options.WebSocket ?? (globalThis as { WebSocket?: WebSocketClass }).WebSocket;
    if (socket === undefined) throw new TypeError('this runtime has no WebSocket: use Node 22, start Node 20 with --experimental-websocket, or pass the class of the package "ws" as the option WebSocket');
    const opener = new Opener(socket, token);
    const bearer = opener.subprotocolToken;
    this.connection = new Connection({
      base: this.address.replace("http", "ws"),
      space,
      clock: realClock,
      keepUnknown: true,
      ...(bearer !== undefined && { token: bearer }),
      ...(options.since !== undefined && { since: options.since }),
      ...(options.log !== undefined && { log: options.log }),
      ...(options.backoff !== undefined && { backoff: options.backoff }),
      ...(options.observe !== undefined && { observe: options.observe }),
      parameters: () => this.parameters(),
      filter: () => payloadOf(this.filterNow),
      open: (address, protocols) => opener.open(address, protocols),
      why: async () => opener.takeRefusal() ?? this.why(),
      onFrame: (e, size) => {
        if (this.early === null) this.receiveFrame(e, size);
        else this.early.push(() => this.receiveFrame(e, size));
      },
      onState: (s) => this.changed(s),
      onGap: (g) => this.gap(g),
      onReady: (ready) => this.connected(ready),
    });
    this.box = new Outbox({
      clock: realClock,
      storage: null,
      newID,
      today: Date.now,
      ...(options.noRetry !== undefined && { noRetry: options.noRetry }),
      transmit: (frame) => this.connection.transmit(frame),
      onChange: () => this.makeRoom(),
      onAdmitted: (id, seq) => this.settle(id, (w) => w.resolve({ id, seq: w.kind === "stream.data" ? 0 : seq })),
      onRefused: (_, refusal, id) => this.refused(id, refusal),
    });
  }

  /** The own participant id. */
  get you(): ParticipantID {
    return this.current.you.id;
  }

  /** The name of the space. */
  get space(): string {
    return this.o.space;
  }

  get capabilities(): readonly Capability[] {
    return this.current.you.capabilities;
  }

  get limits(): Limits {
    return this.current.you.limits;
  }

  /** How many connections this participant had at the newest welcome, with this one; 0: not known. */
  get connections(): number {
    return this.current.you.connections ?? 0;
  }

  /** The connected participants. */
  get participants(): readonly Present[] {
    return this.current.participants;
  }

  /** The latest welcome, with the current participants. */
  get welcome(): Welcome {
    return this.current;
  }

  /** The seq of the last envelope that was received by the program, or handled for it. */
  get position(): number {
    return this.handlers.size > 0 ? Math.max(this.seen, this.kept) : this.kept;
  }

  /** The head of the log when this client joined; 0 after another log has replaced it. */
  get joinedAt(): number {
    return this.head;
  }

  /** The seq of the last envelope that the handlers got. */
  get handled(): number {
    return this.seen;
  }

  /** The id of the log, for the option `log`. */
  get log(): string {
    return this.connection.logID;
  }

  /** Reports whether this participant is paused. */
  get paused(): boolean {
    return this.gate.closed;
  }

  /** Whether own envelopes come back. */
  get echoes(): boolean {
    return this.o.echo !== false && this.o.observe !== true;
  }

  /** Joins. Use `connect`. */
  async join(): Promise<void> {
    const { signal, connectTimeout: timeout = 0 } = this.o;
    signal?.throwIfAborted();
    let stop: () => void = () => {};
    let reason = "";
    try {
      await new Promise<void>((resolve, reject) => {
        this.joined = { resolve, reject };
        const abort = (): void => reject(signal?.reason);
        signal?.addEventListener("abort", abort, { once: true });
        const cancel = timeout > 0 ? realClock.after(timeout, () => reject(new ConnectionError(`the gateway at ${this.address} was not reached within ${timeout / 1000} s (${withoutPeriod(this.lastReason) || "no answer"}): start it, or check the address`, 0))) : () => {};
        stop = () => {
          cancel();
          signal?.removeEventListener("abort", abort);
        };
        this.connection.start();
      });
    } catch (err) {
      reason = String(err);
      throw err;
    } finally {
      stop();
      this.joined = null;
      if (reason !== "") this.finish(new ClosedError());
    }
  }

  /**
   * Publishes an envelope, and returns once it is in the log. Transient
   * rejections and lost connections are handled by sending it again with the
   * same id. Throws ProtocolError if the gateway rejects it. While 200
   * envelopes wait for the gateway, it waits.
   *
   * If the signal ends it, the envelope may or may not be in the log.
   */
  async send<K extends string>(draft: DraftOf<K>, o: { readonly signal?: AbortSignal } = {}): Promise<Receipt> {
    const { id = newID(), ...rest } = draft;
    if (!ID_PATTERN.test(id)) throw new ProtocolError({ error: "invalid_envelope", message: "An id is 1 to 128 of A-Z a-z 0-9 . _ : -", path: "/id" });
    if (this.o.observe === true) throw new ProtocolError({ error: "capability_violation", message: "This connection only observes.", attempted_kind: rest.kind });
    o.signal?.throwIfAborted();
    while (this.room.length > 0 || this.box.state.items.length >= MAX_ITEMS) {
      await this.waitForRoom(o.signal);
      if (this.box.state.items.length < MAX_ITEMS) break;
    }
    if (this.end !== null) throw this.end;
    const known = this.sends.get(id);
    if (known !== undefined) return known.promise;
    return this.queue(id, rest as Draft, o.signal);
  }

  private queue(id: ID, draft: Draft, signal: AbortSignal | undefined): Promise<Receipt> {
    let resolve: Waiting["resolve"] = () => {};
    let reject: Waiting["reject"] = () => {};
    const promise = new Promise<Receipt>((yes, no) => ([resolve, reject] = [yes, no]));
    this.sends.set(id, { kind: draft.kind, promise, resolve, reject });
    this.note(id);
    const queued = this.box.send(draft, id);
    if ("refusal" in queued) {
      this.sends.delete(id);
      reject(new ProtocolError(queued.refusal));
    }
    if (this.held) this.unhold();
    if (signal === undefined) return promise;
    const abort = (): void => {
      this.box.withdraw(id);
      this.settle(id, (w) => w.reject(signal.reason));
    };
    signal.addEventListener("abort", abort, { once: true });
    return promise.finally(() => signal.removeEventListener("abort", abort));
  }

  /**
   * Publishes an envelope like `send`, and sends it again after a pause of this
   * participant. With `certain` the signal ends only the wait for the end of a
   * pause: the caller knows whether the envelope is in the log.
   */
  async publish<K extends string>(draft: DraftOf<K>, o: { readonly signal?: AbortSignal; readonly certain?: boolean } = {}): Promise<Receipt> {
    const again = { ...draft, id: draft.id ?? newID() };
    for (;;) {
      const mark = this.gate.generation;
      try {
        return await this.send(again, o.certain === true ? {} : o);
      } catch (err) {
        if (!(err instanceof ProtocolError) || err.code !== "paused") throw err;
        await this.gate.refused(mark, o.signal);
      }
    }
  }

  /** Sends a chat message. */
  chat(message: string, o: Omit<Draft, "kind" | "payload"> & { readonly format?: "plain" | "markdown"; readonly signal?: AbortSignal } = {}): Promise<Receipt> {
    const { format, signal, ...rest } = o;
    return this.send({ ...rest, kind: "chat", payload: { message, ...(format !== undefined && { format }) } }, signal === undefined ? {} : { signal });
  }

  /**
   * Returns the next envelope. Throws a GapError where the log lacks envelopes,
   * and at the end, after all received envelopes, the reason of the end.
   */
  async receive(o: { readonly signal?: AbortSignal } = {}): Promise<Envelope> {
    for (;;) {
      const item = this.inbox.take();
      if (this.inbox.empty && this.inbox.skipping) this.catchUp();
      if (item instanceof Error) throw item;
      if (item !== undefined) return item;
      if (this.end !== null) throw this.end;
      o.signal?.throwIfAborted();
      await this.inbox.wait(o.signal);
    }
  }

  /** Iterates over the received envelopes until the client is closed. Throws the errors of `receive`, except ClosedError. */
  async *envelopes(o: { readonly signal?: AbortSignal } = {}): AsyncGenerator<Envelope, void, undefined> {
    try {
      for (;;) yield await this.receive(o);
    } catch (err) {
      if (!(err instanceof ClosedError) || err !== this.end) throw err;
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<Envelope, void, undefined> {
    return this.envelopes();
  }

  /** Changes the filter, and returns when it is in force. It stays in force across connections. */
  subscribe(filter: Filter): Promise<void> {
    const done = this.subscribed.then(() => this.change(filter));
    this.subscribed = done.catch(() => {});
    return done;
  }

  private async change(filter: Filter): Promise<void> {
    if (this.end !== null) throw this.end;
    const id = `filter-${newID()}`;
    const frame = stringify({ id, kind: "system.subscribe", payload: payloadOf(filter) });
    await new Promise<void>((resolve, reject) => {
      this.changing = {
        id,
        frame,
        filter,
        done: (err) => {
          this.changing = null;
          if (err !== null) return reject(err);
          this.filterNow = filter;
          resolve();
        },
      };
      this.connection.control(frame);
      if (this.held) this.unhold();
    });
  }

  /** Adds a handler, which gets each envelope when it arrives. The returned function removes it. */
  handle(f: Handler): () => void {
    this.handlers.add(f);
    if (this.held) this.unhold();
    return () => this.handlers.delete(f);
  }

  /** Calls a function when the client has ended, with the reason. The returned function removes it. */
  onEnd(f: (err: MeupError) => void): () => void {
    this.endings.add(f);
    return () => this.endings.delete(f);
  }

  /** Adds work that `close` waits for; with `last`, it begins when the other work has ended. */
  beforeClose(f: () => Promise<void>, last = false): () => void {
    const list = last ? this.lasts : this.closers;
    list.add(f);
    return () => list.delete(f);
  }

  /** Declares that the client serves tools; a connection without the declaration is replaced. */
  declareTools(): void {
    if (this.serves) return;
    this.serves = true;
    if (this.end === null) this.connection.resume();
  }

  /** Makes a pending attempt to connect immediately, or checks the connection. For events such as the return of the network. */
  wake(): void {
    this.connection.wake();
  }

  /** Tells the operator of the program something that is no error of a call. */
  warn(message: string): void {
    if (this.o.onWarning !== undefined) this.o.onWarning(message);
    else console.warn(`meup: ${oneLine(message)}`);
  }

  /** Reports a change that is no fault, if `run` runs this participant. */
  report(message: string): void {
    if (this.reports) this.warn(message);
  }

  /** Reports a fault that no promise reports. */
  fault(activity: string, err: unknown): void {
    if (this.o.onError !== undefined) this.o.onError(activity, err);
    else console.error(`meup: ${activity}:`, forLog(err));
  }

  /** Ends the work of the handlers, within 3 s, and leaves the space. Sends that are not acknowledged fail. */
  async close(): Promise<void> {
    this.readyToClose ??= this.finishWork();
    await this.readyToClose;
    this.finish(new ClosedError());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async finishWork(): Promise<void> {
    if (this.end !== null || this.closers.size === 0) return;
    let stop: () => void = () => {};
    const late = new Promise<void>((resolve) => (stop = realClock.after(CLOSING, resolve)));
    const work = Promise.allSettled([...this.closers].map((f) => f())).then(() => Promise.allSettled([...this.lasts].map((f) => f())));
    await Promise.race([work, late, this.closed]);
    stop();
  }

  /** Requests the reason for which the connection is rejected, which most runtimes do not report. */
  private async why(): Promise<Refusal | null> {
    try {
      await this.api.envelopes(this.o.space, { limit: 1, descending: true });
    } catch (err) {
      return err instanceof ApiError && err.status !== 0 && err.refusal.error !== "bad_answer" ? err.refusal : null;
    }
    return null;
  }

  private parameters(): readonly (readonly [string, string])[] {
    const list: (readonly [string, string])[] = [...parameters(this.filterNow)];
    if (this.o.echo === false) list.push(["echo", "false"]);
    if (this.serves && this.o.observe !== true) list.push(["serves", "tools"]);
    this.fresh = true;
    return list;
  }

  private connected(ready: boolean): void {
    if (ready) {
      if (!isExact(this.filterNow)) this.connection.control(stringify({ id: `filter-${newID()}`, kind: "system.subscribe", payload: payloadOf(this.filterNow) }));
      if (this.changing !== null) this.connection.control(this.changing.frame);
    }
    this.box.connected(ready);
  }

  private changed(s: ConnectionState): void {
    if (s.reason !== "") this.lastReason = s.reason;
    if (s.phase === "lost" && !this.away && this.end === null && (this.joined !== null || s.retryIn !== null)) {
      this.away = true; // one warning, however long it takes
      this.warn(`${this.joined === null ? `the connection to the gateway at ${this.address} is lost, trying again` : `waiting for the gateway at ${this.address}`}: ${withoutPeriod(s.reason)}`);
    }
    this.o.onState?.(s);
    if (s.phase === "refused" || s.phase === "kicked" || s.phase === "expired") this.finish(new ConnectionError(this.isUnknownToken(s.refusal) ? `the gateway at ${this.address} does not know this token (unauthorized): is it the participant's token of tokens.env?` : s.reason, s.code ?? 0, s.refusal ?? null));
  }

  private isUnknownToken(refusal: Refusal | undefined): boolean {
    return refusal?.error === "unauthorized" && !refusal.message.includes("expired");
  }

  private finish(err: MeupError): void {
    if (this.end !== null) return;
    this.end = err;
    if (err instanceof ClosedError) this.connection.close(); // otherwise it is closed
    this.gate.end();
    for (const [, w] of this.sends) w.reject(err);
    this.sends.clear();
    this.changing?.done(err);
    this.joined?.reject(err);
    for (const f of this.room.splice(0)) f();
    this.inbox.wake();
    for (const f of [...this.endings]) f(err);
    this.resolveClosed(err);
  }

  private gap(g: Gap): void {
    if (g.reset) {
      this.seen = 0;
      this.kept = 0;
      this.oldUntil = Infinity; // the welcome has the end
      this.head = 0;
    }
    if (this.o.onGap !== undefined) this.o.onGap(g);
    else this.inbox.force(new GapError(g.after, g.oldest, g.reset));
  }

  private receiveFrame(e: Envelope, size: number): void {
    if (e.from === GATEWAY && e.seq === undefined && this.control(e)) return;
    if (e.seq === undefined || e.seq > this.seen) {
      const old = this.isOld(e);
      if (e.seq !== undefined) this.seen = e.seq;
      this.pause(e, old);
      this.dispatch(e, { old, mine: e.from === this.you && this.mine.delete(e.id) });
    }
    this.box.receive(e);
    this.enqueue(e, size);
  }

  /** Reports whether an envelope was in the log that replaced another one, and was sent before the end of that. */
  private isOld(e: Envelope): boolean {
    if (e.seq === undefined) return false;
    if (e.seq > this.oldUntil) {
      if (e.ts > this.last) this.last = e.ts;
      return false;
    }
    return this.last === "" || e.ts <= this.last;
  }

  private dispatch(e: Envelope, a: Arrival): void {
    for (const f of [...this.handlers]) {
      try {
        f(e, a);
      } catch (err) {
        this.fault(`a handler of ${e.kind} failed`, err);
      }
    }
  }

  /** Handles a frame of the gateway; returns true if it is about this connection only. */
  private control(e: Envelope): boolean {
    switch (e.kind) {
      case "system.welcome":
        return this.welcomed(e);
      case "system.presence":
        this.presence(e);
        return false;
      case "system.subscribed":
        if (correlations(e)[0] === this.changing?.id) this.changing?.done(null);
        return true;
      case "system.ack":
        this.box.receive(e);
        return true;
      case "system.error":
        if (this.changing !== null && correlations(e)[0] === this.changing.id) this.changing.done(new ProtocolError(refusalOf(e)));
        else this.box.receive(e);
        return true;
    }
    return false;
  }

  private welcomed(e: Envelope): boolean {
    const begins = this.fresh;
    this.fresh = false;
    this.current = welcomeOf(e);
    if (this.oldUntil === Infinity) this.oldUntil = this.current.space.seq;
    if (this.joined !== null && begins) {
      this.seen = this.kept = this.connection.position;
      this.head = this.current.space.seq;
      this.defer();
    }
    this.box.open(this.you, this.o.space, this.limits.message_bytes);
    this.dispatch(e, { old: false, mine: false });
    if (this.away) this.warn(`the gateway at ${this.address} is reached${this.joined === null ? " again" : ""}`);
    this.away = false;
    this.joined?.resolve();
    return begins; // one of changed capabilities is delivered
  }

  /** Holds frames back until the code after `await connect()` has run, so that its handlers get all of them. */
  private defer(): void {
    this.early = [];
    setTimeout(() => {
      const list = this.early ?? [];
      this.early = null;
      for (const f of list) f();
    }, 0);
  }

  private presence(e: Envelope): void {
    const p = present(field(e.payload, "participant"));
    if (p === null) return;
    const others = this.current.participants.filter((x) => x.id !== p.id);
    this.current = { ...this.current, participants: field(e.payload, "event") === "join" ? [...others, p] : others };
  }

  private pause(e: Envelope, old: boolean): void {
    if (old || e.from === this.you || !recipients(e).includes(this.you)) return;
    if (e.kind === "participant.pause") this.gate.close(1000 * Math.max(0, num(field(e.payload, "timeout_seconds")) ?? 0));
    if (e.kind === "participant.resume") this.gate.open();
  }

  private enqueue(e: Envelope, size: number): void {
    if (e.seq === undefined) {
      if (!this.inbox.skipping && this.passes(e)) this.inbox.put(e, size);
      return;
    }
    if (e.seq <= this.kept || this.inbox.skipping) return;
    if (this.passes(e) && !this.inbox.put(e, size)) {
      this.inbox.skipping = true;
      this.hold();
      return;
    }
    this.kept = e.seq;
  }

  private passes(e: Envelope): boolean {
    return this.changing !== null || isExact(this.filterNow) || selects(this.filterNow, e, this.you, this.o.observe === true);
  }

  /** Leaves a connection that only serves a receiver who has not caught up. */
  private hold(): void {
    if (this.handlers.size > 0 || this.sends.size > 0 || this.changing !== null) return;
    this.held = true;
    this.connection.hold();
  }

  private unhold(): void {
    this.held = false;
    this.connection.resume(this.kept);
  }

  /** Requests the envelopes that did not fit. */
  private catchUp(): void {
    if (this.end !== null) return;
    this.inbox.skipping = false;
    this.held = false;
    this.connection.resume(this.kept);
  }

  private refused(id: ID, refusal: Refusal): void {
    this.settle(id, (w) => w.reject(refusal.error === "interrupted" ? new InterruptedError() : new ProtocolError(refusal)));
    this.box.withdraw(id);
  }

  private settle(id: ID, f: (w: Waiting) => void): void {
    const w = this.sends.get(id);
    if (w === undefined) return;
    this.sends.delete(id);
    f(w);
  }

  private note(id: ID): void {
    if (!this.echoes) return;
    this.mine.add(id);
    if (this.mine.size > MAX_MINE) this.mine.delete(this.mine.values().next().value as ID);
  }

  private async waitForRoom(signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        signal?.removeEventListener("abort", done);
        this.room = this.room.filter((f) => f !== done);
        resolve();
      };
      this.room.push(done);
      signal?.addEventListener("abort", done, { once: true });
    });
    signal?.throwIfAborted();
  }

  private makeRoom(): void {
    if (this.room.length > 0 && this.box.state.items.length < MAX_ITEMS) this.room.shift()?.();
  }
}

function refusalOf(e: Envelope): Refusal {
  return { ...e.payload, error: str(field(e.payload, "error")), message: str(field(e.payload, "message")) };
}

function welcomeOf(e: Envelope): Welcome {
  const you = obj(field(e.payload, "you"));
  const space = obj(field(e.payload, "space"));
  return {
    you: { id: str(field(you, "id")), capabilities: arr(field(you, "capabilities")) as readonly Capability[], limits: obj(field(you, "limits")) as Limits, connections: num(field(you, "connections")) ?? 0 },
    participants: arr(field(e.payload, "participants")).flatMap((x) => present(x) ?? []),
    space: { name: str(field(space, "name")), seq: num(field(space, "seq")) ?? 0, log: str(field(space, "log")) },
    clock: (Date.parse(e.ts) || Date.now()) - Date.now(),
  };
}

function present(v: unknown): Present | null {
  const p: Payload = obj(v);
  const id = str(field(p, "id"));
  if (id === "") return null;
  const capabilities = arr(field(p, "capabilities")).filter((c) => typeof c === "string" || isObject(c)) as readonly Capability[];
  return { id, capabilities, serves: strings(field(p, "serves")), description: str(field(p, "description")) };
}

function environment(): Readonly<Record<string, string | undefined>> {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
}

function origin(): string {
  const { location } = globalThis as { location?: { origin?: string } };
  if (location?.origin === undefined) throw new TypeError("no gateway: give the option url, or set MEUP_URL");
  return location.origin;
}
