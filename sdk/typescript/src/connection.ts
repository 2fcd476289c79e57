/**
 * The connection to a space. It reconnects and resumes until it is closed or
 * rejected.
 *
 * Guarantee: every visible envelope of the log, once, in order of seq, across
 * connections. Frames without a seq (presence, stream.data, responses) arrive
 * only while connected.
 */

import { type Clock, backoff } from "./clock.js";
import { parse, stringify } from "./json.js";
import { count, envelope, field, obj, str } from "./read.js";
import { plain } from "./refusal.js";
import { Close, type Draft, type Envelope, GATEWAY, type Payload, type Refusal, SUBPROTOCOL } from "./types.js";

/** The required part of WebSocket. */
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
  /** The reason for a lost, rejected or ended connection; "" otherwise. */
  readonly reason: string;
  /** Milliseconds from this notification until the next attempt; null: none. */
  readonly retryIn: number | null;
  /** Consecutive failed attempts. */
  readonly attempt: number;
  /** The close code, if the gateway closed the connection. */
  readonly code?: number;
  /** The answer of the gateway, if it rejected the connection. */
  readonly refusal?: Refusal;
}

/** The log no longer has the next envelopes. */
export interface Gap {
  readonly after: number;
  /** The oldest stored seq; 0 if unknown. */
  readonly oldest: number;
  /** The space has another log now, which starts at the beginning. */
  readonly reset: boolean;
}

export interface ConnectionOptions {
  /** URL of the gateway without a path, such as `wss://host`. */
  readonly base: string;
  readonly space: string;
  /** Resume after this seq; 0: from the beginning; absent: new envelopes only. */
  readonly since?: number;
  /** The id of the log that `since` belongs to. */
  readonly log?: string;
  /** Read-only. */
  readonly observe?: boolean;
  /** The token; absent in a page, whose browser sends a cookie. */
  readonly token?: string;
  /** Further parameters of the connection, read for each attempt. */
  readonly parameters?: () => readonly (readonly [name: string, value: string])[];
  /** The filter in force, which probes repeat; absent: none. */
  readonly filter?: () => Payload;
  /** Keeps fields that the protocol does not define. */
  readonly keepUnknown?: boolean;
  /** Writes a rejection as text. */
  readonly words?: (r: Refusal) => string;
  /** Bounds of the delay between attempts, in milliseconds. Default: 250, 15,000. */
  readonly backoff?: { readonly min: number; readonly max: number };
  readonly clock: Clock;
  /** `new WebSocket`, or a test's own. */
  readonly open: (url: string, protocols: readonly string[]) => Socket;
  /** Requests the reason for a rejected connection over HTTP, which a browser does not provide. Null: none. */
  readonly why: () => Promise<Refusal | null>;
  /** The size is that of the frame in characters. */
  readonly onFrame: (e: Envelope, size: number) => void;
  readonly onState: (s: ConnectionState) => void;
  /** Called before the first frame after the gap. */
  readonly onGap: (g: Gap) => void;
  /** Called when the connection opens or is lost; the outcome of unanswered envelopes is unknown then. */
  readonly onReady: (ready: boolean) => void;
}

/** Milliseconds. */
const CONNECT = 10_000; // until the welcome
const SOON = 200; // after an error, until the close event
const STEADY = 10_000; // after this, the next loss restarts the backoff
const QUIET = 250; // without a frame: caught up with any head
const SILENCE = 45_000; // without a frame: send a probe
const ANSWER = 10_000; // for the response to a probe

/** Prefix of the ids of probes. */
const PROBE = "probe-";

/** How often a gateway may report a log end before the received position until the log counts as replaced. */
const MAX_BEHIND = 3;

export class Connection {
  private readonly o: ConnectionOptions;
  private socket: Socket | null = null;
  private welcomed = false;
  /** The own id in the welcome; "" before it. */
  private you = "";
  private welcomedAt = 0;
  private cursor: number;
  private known: boolean;
  /** The id of the cursor's log; "" if unknown. */
  private log = "";
  /** Set if a gap to another log was reported, since the gateway reports it too. */
  private moved = false;
  private target = 0;
  private behind = 0;
  private attempt = 0;
  private probes = 0;
  private phase: ConnectionPhase = "closed";
  private ended = false;
  private stopTimer: () => void = () => {};
  private stopQuiet: () => void = () => {};

  constructor(options: ConnectionOptions) {
    this.o = options;
    this.cursor = options.since ?? 0;
    this.known = options.since !== undefined;
    this.log = options.log ?? "";
  }

  /** The seq of the last received envelope. */
  get position(): number {
    return this.cursor;
  }

  /** The id of the log of the last welcome; "" before it. */
  get logID(): string {
    return this.log;
  }

  /** Reports whether envelopes can be sent now. */
  get ready(): boolean {
    return this.welcomed && this.o.observe !== true;
  }

  /** Connects immediately. It has no effect while connected or after close. */
  start(): void {
    if (this.phase !== "closed" || this.socket !== null) return;
    this.dial();
  }

  /** Closes the connection permanently. */
  close(): void {
    this.end("closed", "");
    this.drop(Close.Normal);
  }

  /** Closes the connection until `resume`. */
  hold(): void {
    this.drop(Close.Normal);
    this.probes++; // no answer of an earlier attempt counts
    this.stop();
    this.say("lost", "The receiver is slow.", null);
  }

  /** Connects again immediately, after an earlier position if one is given. */
  resume(after = this.cursor): void {
    if (this.ended) return;
    this.cursor = Math.min(after, this.cursor);
    this.drop(Close.Normal);
    this.dial();
  }

  /** Sends a frame that an observer may send too; returns false without a connection. */
  control(frame: string): boolean {
    if (!this.welcomed || this.socket === null) return false;
    this.socket.send(frame);
    return true;
  }

  /**
   * Handles events that may have changed the network, such as the page becoming
   * visible or the machine waking up. It makes a pending attempt immediately,
   * and probes an open connection.
   */
  wake(): void {
    if (this.phase === "lost") this.dial();
    else if (this.welcomed) this.probe();
  }

  /** Sends a frame; returns false without a connection. */
  transmit(frame: string): boolean {
    return this.ready && this.control(frame);
  }

  private dial(): void {
    this.stop();
    this.say("connecting", "", null);
    let socket: Socket;
    try {
      socket = this.o.open(this.url(), protocols(this.o.token));
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
        if (socket === this.socket) this.lost(1006, ""); // not every WebSocket reports its close after an error
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
    for (const [name, value] of this.o.parameters?.() ?? []) q.append(name, value);
    return `${this.o.base}/ws?${q.toString()}`;
  }

  private frame(data: unknown): void {
    const env = read(data, this.o.keepUnknown);
    if (env === null) return;
    if (!this.welcomed && !this.welcome(env)) return;
    this.listen();
    if (env.from === GATEWAY && this.isOurs(env)) return;
    if (env.seq !== undefined) {
      if (env.seq <= this.cursor) return;
      this.cursor = env.seq;
    }
    this.o.onFrame(env, str(data).length);
    if (this.phase === "catching up" && this.cursor >= this.target) this.caughtUp();
  }

  /** Reports whether a frame of the gateway is only about this connection. */
  private isOurs(env: Envelope): boolean {
    if (env.kind !== "system.subscribed" && env.kind !== "system.error") return false;
    if (env.payload["error"] === "cursor_expired") this.expired(env);
    return typeof env.correlationId === "string" && env.correlationId.startsWith(PROBE);
  }

  /** Handles the first frame; returns false if the connection is unusable. */
  private welcome(env: Envelope): boolean {
    if (env.kind !== "system.welcome" || env.from !== GATEWAY) {
      this.hangUp("The gateway sent no identity.");
      return false;
    }
    const you = str(field(obj(env.payload["you"]), "id"));
    if (this.you !== "" && you !== this.you) {
      // queued envelopes are not sent as another participant
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

  /**
   * Handles a log end before the received position. One gateway of several can
   * lag for a moment; a log without an id that keeps lagging was lost.
   */
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

  /** Restarts the idle timer after a frame. */
  private listen(): void {
    this.stop();
    if (this.o.clock.now() - this.welcomedAt > STEADY) this.attempt = 0;
    this.stopTimer = this.o.clock.after(SILENCE, () => this.probe());
    if (this.phase !== "catching up") return;
    this.stopQuiet = this.o.clock.after(QUIET, () => {
      if (this.phase === "catching up") this.caughtUp();
    });
  }

  /** Sends a request without effect, to check that the gateway responds. */
  private probe(): void {
    this.stopTimer();
    const draft: Draft = { kind: "system.subscribe", payload: this.o.filter?.() ?? {} };
    this.socket?.send(stringify({ id: PROBE + String(++this.probes), ...draft }));
    this.stopTimer = this.o.clock.after(ANSWER, () => this.hangUp("The gateway stopped responding."));
  }

  /** Closes the connection from this side. */
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
        return this.end("expired", `Your session has ended.${said}`, { code });
      case Close.Kicked:
        return this.end("kicked", `You were removed from this space.${said}`, { code });
      case Close.Policy:
        return this.end("refused", `The gateway closed the connection: too many rejected messages.${said}`, { code });
      case Close.GoingAway:
        return this.retry(`The gateway is shutting down.${said}`, 0);
      case Close.TooBig:
        return this.retry(`A message was too large.${said}`, 0);
    }
    if (was) this.retry(`The connection was lost.${said}`, 0);
    else void this.ask();
  }

  /** Requests the reason for the missing welcome. */
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
    const words = (this.o.words ?? plain)(refused);
    const why = { refusal: refused };
    switch (refused.error) {
      case "unauthorized":
        return this.end("expired", words, why);
      case "kicked":
        return this.end("kicked", words, why);
      case "forbidden":
      case "not_found":
      case "bad_request":
      case "method_not_allowed":
        return this.end("refused", words, why);
      default:
        return this.retry(words, refused.retry_after_ms ?? 0);
    }
  }

  private retry(reason: string, atLeast: number): void {
    this.attempt++;
    const wait = Math.max(atLeast, backoff(this.attempt, this.o.clock.random(), this.o.backoff?.min, this.o.backoff?.max));
    this.say("lost", reason, wait);
    this.stopTimer = this.o.clock.after(wait, () => this.dial());
  }

  private end(phase: ConnectionPhase, reason: string, why: Partial<ConnectionState> = {}): void {
    this.ended = true;
    this.probes++;
    this.stop();
    this.say(phase, reason, null, why);
  }

  private stop(): void {
    this.stopTimer();
    this.stopQuiet();
  }

  private say(phase: ConnectionPhase, reason: string, retryIn: number | null, why: Partial<ConnectionState> = {}): void {
    this.phase = phase;
    this.o.onState({ phase, reason, retryIn, attempt: this.attempt, ...why });
  }
}

/** Decodes a frame; null if it is not an envelope. */
export function read(data: unknown, keepUnknown = false): Envelope | null {
  try {
    return envelope(parse(str(data)), keepUnknown);
  } catch {
    return null;
  }
}

/** Returns the subprotocols of a connection, which carry the token: no interface of WebSocket sets a header. */
function protocols(token: string | undefined): readonly string[] {
  if (token === undefined || token === "") return [SUBPROTOCOL];
  const bytes = Array.from(new TextEncoder().encode(token), (b) => String.fromCharCode(b)).join("");
  return [SUBPROTOCOL, `bearer.${btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`];
}
