/**
 * The connection of the page to a space, which stays until it is closed or
 * thrown out: a lost one is opened again and goes on where it was.
 *
 * Promised: every envelope of the log that one may see, once, in the order of
 * its seq, across any number of connections. What has no seq (presence,
 * stream.data, answers to what one sent) comes as long as one is connected.
 *
 * The browser sends its cookie along, so no token is ever seen here.
 */

import { type Clock, backoff } from "./clock.js";
import { parse, stringify } from "./json.js";
import { count, envelope, field, obj, str } from "./read.js";
import { refusal as inWords } from "./sentences.js";
import { Close, type Draft, type Envelope, GATEWAY, type Refusal, SUBPROTOCOL } from "./types.js";

/** What is needed of a WebSocket. */
export interface Socket {
  onopen: ((e: never) => void) | null;
  onmessage: ((e: { readonly data: unknown }) => void) | null;
  onclose: ((e: { readonly code: number; readonly reason: string }) => void) | null;
  onerror: ((e: never) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

export type ConnectionPhase = "connecting" | "catching up" | "live" | "lost" | "refused" | "kicked" | "expired" | "closed";

export interface ConnectionState {
  readonly phase: ConnectionPhase;
  /** Why it is lost, refused, kicked or expired, in words; "" otherwise. */
  readonly reason: string;
  /** Milliseconds from the moment this was said until the next attempt; null: there is none. */
  readonly retryIn: number | null;
  /** Attempts in a row that came to nothing. */
  readonly attempt: number;
}

/** The log no longer has everything that should have come next. */
export interface Gap {
  readonly after: number;
  /** The oldest that is kept; 0 if unknown. */
  readonly oldest: number;
  /** The space has another log now, which counts from the beginning. */
  readonly reset: boolean;
}

export interface ConnectionOptions {
  /** Where the gateway is, such as `wss://host`, without a path. */
  readonly base: string;
  readonly space: string;
  /** Go on behind this seq; 0 is from the beginning, absent from now on. */
  readonly since?: number;
  /** Look only; nothing can be sent. */
  readonly observe?: boolean;
  readonly clock: Clock;
  /** `new WebSocket`, or a test's own. */
  readonly open: (url: string, protocols: readonly string[]) => Socket;
  /** Asks over HTTP why there is no connection, which a browser does not tell. Null: nothing speaks against one. */
  readonly why: () => Promise<Refusal | null>;
  readonly onFrame: (e: Envelope) => void;
  readonly onState: (s: ConnectionState) => void;
  /** Called before the first frame behind the gap. */
  readonly onGap: (g: Gap) => void;
  /** The connection is open, or is not any more: what was sent and not answered is unknown. */
  readonly onReady: (ready: boolean) => void;
}

/** Milliseconds. */
const CONNECT = 10_000; // until the welcome
const SOON = 200; // after an error, the close
const STEADY = 10_000; // then the next loss begins the backoff anew
const QUIET = 250; // without a frame: caught up, whatever the head is
const SILENCE = 45_000; // without a frame: is anybody there?
const ANSWER = 10_000; // to that

/** How the ids of our own questions to the gateway begin. */
const PROBE = "probe-";

/** How often a gateway may say that its log ends before what was received, until that is believed. */
const MAX_BEHIND = 3;

export class Connection {
  private readonly o: ConnectionOptions;
  private socket: Socket | null = null;
  private welcomed = false;
  /** Who the gateway says one is; "" before it has said so. */
  private you = "";
  private welcomedAt = 0;
  private cursor: number;
  private known: boolean;
  /** The id of the log that the cursor belongs to; "" if it is not known. */
  private log = "";
  /** The gap to another log was reported, and the gateway reports it too. */
  private moved = false;
  private target = 0;
  private behind = 0;
  private attempt = 0;
  private probes = 0;
  private phase: ConnectionPhase = "closed";
  private stopTimer: () => void = () => {};
  private stopQuiet: () => void = () => {};

  constructor(options: ConnectionOptions) {
    this.o = options;
    this.cursor = options.since ?? 0;
    this.known = options.since !== undefined;
  }

  /** The seq of the last envelope that came. */
  get position(): number {
    return this.cursor;
  }

  /** Whether what is sent now goes out. */
  get ready(): boolean {
    return this.welcomed && this.o.observe !== true;
  }

  /** Connects, at once. Called while connected, or after the end, it does nothing. */
  start(): void {
    if (this.phase !== "closed" || this.socket !== null) return;
    this.dial();
  }

  /** Leaves for good. */
  close(): void {
    this.end("closed", "");
    this.drop(Close.Normal);
  }

  /**
   * Something has happened that may have changed the network: the page came to
   * the front, the machine woke up. A waiting attempt is made now; a connection
   * has to show that it is alive.
   */
  wake(): void {
    if (this.phase === "lost") this.dial();
    else if (this.welcomed) this.probe();
  }

  /** Sends a frame; false if there is no connection for it. */
  transmit(frame: string): boolean {
    if (!this.ready || this.socket === null) return false;
    this.socket.send(frame);
    return true;
  }

  private dial(): void {
    this.stop();
    this.say("connecting", "", null);
    let socket: Socket;
    try {
      socket = this.o.open(this.url(), [SUBPROTOCOL]);
    } catch (err) {
      this.end("refused", `The connection could not be opened: ${String(err)}`);
      return;
    }
    this.socket = socket;
    socket.onmessage = (m) => {
      if (socket === this.socket) this.frame(m.data);
    };
    socket.onclose = (e) => {
      if (socket === this.socket) this.lost(e.code, e.reason);
    };
    socket.onerror = () => {
      this.o.clock.after(SOON, () => {
        if (socket === this.socket) this.lost(1006, ""); // not every WebSocket says that it is closed behind an error
      });
    };
    this.stopTimer = this.o.clock.after(CONNECT, () => {
      this.drop(4000);
      void this.ask();
    });
  }

  private url(): string {
    const q = new URLSearchParams({ space: this.o.space });
    if (this.o.observe === true) q.set("observe", "true");
    else q.set("ack", "true");
    if (this.known) {
      q.set("since", String(this.cursor));
      if (this.log !== "") q.set("log", this.log);
    }
    return `${this.o.base}/ws?${q.toString()}`;
  }

  private frame(data: unknown): void {
    const env = read(data);
    if (env === null) return;
    if (!this.welcomed && !this.welcome(env)) return;
    this.listen();
    if (env.from === GATEWAY && this.isOurs(env)) return;
    if (env.seq !== undefined) {
      if (env.seq <= this.cursor) return;
      this.cursor = env.seq;
    }
    this.o.onFrame(env);
    if (this.phase === "catching up" && this.cursor >= this.target) this.caughtUp();
  }

  /** Whether a frame of the gateway is about the connection alone. */
  private isOurs(env: Envelope): boolean {
    if (env.kind === "system.subscribed") return true;
    if (env.kind !== "system.error") return false;
    if (env.payload["error"] === "cursor_expired") this.expired(env);
    return typeof env.correlationId === "string" && env.correlationId.startsWith(PROBE);
  }

  /** Takes the first frame; false if the connection is of no use. */
  private welcome(env: Envelope): boolean {
    if (env.kind !== "system.welcome" || env.from !== GATEWAY) {
      this.hangUp("The gateway sent no identity.");
      return false;
    }
    const you = str(field(obj(env.payload["you"]), "id"));
    if (this.you !== "" && you !== this.you) {
      // What waits to be said is not said in somebody else's name.
      this.drop(Close.Normal);
      this.end("refused", `${you} has signed in with this browser. Reload the page to continue as ${you}.`);
      return false;
    }
    this.you = you;
    const space = obj(env.payload["space"]);
    const head = count(field(space, "seq")) ?? 0;
    const log = str(field(space, "log"));
    this.moved = this.known && this.log !== "" && log !== "" && log !== this.log;
    if (this.moved) {
      this.o.onGap({ after: this.cursor, oldest: 0, reset: true });
      this.cursor = 0;
    } else if (this.known && head < this.cursor) return this.fallenBehind(head, log);
    this.log = log;
    this.behind = 0;
    if (!this.known) this.cursor = head;
    this.known = true;
    this.target = head;
    this.welcomed = true;
    this.welcomedAt = this.o.clock.now();
    this.say("catching up", "", null);
    this.o.onReady(true);
    return true;
  }

  /** One gateway of several can be behind for a moment; a log without an id that stays behind was lost. */
  private fallenBehind(head: number, log: string): boolean {
    if ((this.log === "" || log === "") && ++this.behind >= MAX_BEHIND) {
      this.o.onGap({ after: this.cursor, oldest: 0, reset: true });
      this.cursor = 0;
      this.behind = 0;
    }
    this.hangUp(`The gateway's log ends at ${head}, before messages already received.`);
    return false;
  }

  private expired(env: Envelope): void {
    const reported = this.moved;
    this.moved = false;
    if (reported) return;
    this.o.onGap({ after: this.cursor, oldest: count(env.payload["oldest_seq"]) ?? 0, reset: false });
  }

  private caughtUp(): void {
    this.say("live", "", null);
  }

  /** Something was heard. */
  private listen(): void {
    this.stop();
    if (this.o.clock.now() - this.welcomedAt > STEADY) this.attempt = 0;
    this.stopTimer = this.o.clock.after(SILENCE, () => this.probe());
    if (this.phase !== "catching up") return;
    this.stopQuiet = this.o.clock.after(QUIET, () => {
      if (this.phase === "catching up") this.caughtUp();
    });
  }

  /** Asks for what changes nothing, to hear whether anybody is there. */
  private probe(): void {
    this.stopTimer();
    const draft: Draft = { kind: "system.subscribe", payload: {} };
    this.socket?.send(stringify({ id: PROBE + String(++this.probes), ...draft }));
    this.stopTimer = this.o.clock.after(ANSWER, () => this.hangUp("The gateway stopped responding."));
  }

  /** Gives a connection up from this side. */
  private hangUp(reason: string): void {
    this.drop(4000);
    this.retry(reason, 0);
  }

  private drop(code: number): void {
    const socket = this.socket;
    this.socket = null;
    this.unready();
    try {
      socket?.close(code);
    } catch {
      // it was not open
    }
  }

  private unready(): void {
    this.stop();
    if (!this.welcomed) return;
    this.welcomed = false;
    this.o.onReady(false);
  }

  private lost(code: number, reason: string): void {
    const was = this.welcomed;
    this.socket = null;
    this.unready();
    const said = reason === "" ? "" : ` ${reason}`;
    switch (code) {
      case Close.TokenExpired:
        return this.end("expired", `Your session has ended.${said}`);
      case Close.Kicked:
        return this.end("kicked", `You were removed from this space.${said}`);
      case Close.Policy:
        return this.end("refused", `The gateway closed the connection: too many rejected messages.${said}`);
      case Close.GoingAway:
        return this.retry(`The gateway is shutting down.${said}`, 0);
      case Close.TooBig:
        return this.retry(`A message was too large.${said}`, 0);
    }
    if (was) this.retry(`The connection was lost.${said}`, 0);
    else void this.ask();
  }

  /** Finds out why there was no welcome. */
  private async ask(): Promise<void> {
    const mine = ++this.probes;
    this.phase = "lost";
    let refused: Refusal | null;
    try {
      refused = await this.o.why();
    } catch {
      refused = null;
    }
    if (mine !== this.probes || this.phase !== "lost" || this.socket !== null) return;
    if (refused === null) return this.retry("The gateway is unreachable.", 0);
    const words = inWords(refused);
    switch (refused.error) {
      case "unauthorized":
        return this.end("expired", words);
      case "kicked":
        return this.end("kicked", words);
      case "forbidden":
      case "not_found":
      case "bad_request":
      case "method_not_allowed":
        return this.end("refused", words);
      default:
        return this.retry(words, refused.retry_after_ms ?? 0);
    }
  }

  private retry(reason: string, atLeast: number): void {
    this.attempt++;
    const wait = Math.max(atLeast, backoff(this.attempt, this.o.clock.random()));
    this.say("lost", reason, wait);
    this.stopTimer = this.o.clock.after(wait, () => this.dial());
  }

  private end(phase: ConnectionPhase, reason: string): void {
    this.probes++;
    this.stop();
    this.say(phase, reason, null);
  }

  private stop(): void {
    this.stopTimer();
    this.stopQuiet();
  }

  private say(phase: ConnectionPhase, reason: string, retryIn: number | null): void {
    this.phase = phase;
    this.o.onState({ phase, reason, retryIn, attempt: this.attempt });
  }
}

/** An envelope out of a frame; null for what is none. */
export function read(data: unknown): Envelope | null {
  try {
    return envelope(parse(str(data)));
  } catch {
    return null;
  }
}
