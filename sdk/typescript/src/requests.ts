/** Requests to other participants, and their responses. */

import type { Client } from "./client.js";
import { realClock } from "./clock.js";
import { CanceledError, MeupError, RpcError, TimeoutError } from "./errors.js";
import { newID } from "./ids.js";
import { correlations, field, isObject, num, obj, recipients, str } from "./read.js";
import type { ContextPath, Envelope, ID, ParticipantID, Payload } from "./types.js";
import { setPublicMessage } from "./wording.js";

/** A report about a request in progress. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A question that the host of a tool asks about a call in progress (MCP's elicitation/create). */
export interface Elicitation {
  /** The participant that runs the tool. */
  readonly host: ParticipantID;
  /** The id of the call. */
  readonly call: ID;
  readonly message: string;
  /** The JSON schema of the form; absent if a page is to be opened. */
  readonly schema?: Payload;
  /** The page to open. */
  readonly url?: string;
  /** The question as MCP defines it. */
  readonly params: Payload;
  /** Aborted when the call ends, the host no longer needs the answer, or the time for it is over: the host says how long it waits, otherwise 10 minutes. */
  readonly signal: AbortSignal;
}

/** Returns the content of the form, `{}` to accept a page, or null to decline. If it throws, the question is canceled. */
export type ElicitationHandler = (question: Elicitation) => Promise<Payload | null> | Payload | null;

export const ELICITATION = "elicitation/create";
/** The bound of questions of a host about one call. */
const MAX_ELICITATIONS = 20;
/** Milliseconds for the answer to a question that does not name its end, and at most for any. */
const ELICITATION_TIMEOUT = 600_000;
const MAX_ELICITATION_TIMEOUT = 86_400_000;

export interface RequestOptions {
  readonly context?: ContextPath;
  readonly correlationId?: ID | readonly ID[];
  /** Milliseconds until a TimeoutError; 0: none. Default: 30,000. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (p: Progress) => void;
  /** Called when the request is in the log. */
  readonly onAdmitted?: (id: ID) => void;
  /** Waits for the end of a pause of this participant, instead of a rejection. */
  readonly waitForResume?: boolean;
}

/** How long a participant may be disconnected before a request to it, or a call of participant/tool, fails, in milliseconds. */
export const AWAY = 2_000;

interface Call {
  readonly to: readonly ParticipantID[];
  readonly resolve: (e: Envelope) => void;
  readonly fail: (err: Error) => void;
  readonly onProgress: ((p: Progress) => void) | undefined;
  stopAway: () => void;
  /** Stops the time limit, until the returned function begins it anew. */
  readonly hold: () => () => void;
  /** The questions of the host that are being answered. */
  readonly questions: Map<ID, AbortController>;
  elicited: number;
}

/** A response that is waited for. */
export interface Expected {
  readonly response: Promise<Envelope>;
  /** Aborted when no response is waited for any more, with the reason. */
  readonly signal: AbortSignal;
  /** Ends the wait. */
  readonly drop: () => void;
}

export class Requests {
  private readonly calls = new Map<ID, Call>();
  private stop: () => void = () => {};
  /** Answers questions of hosts about calls; null: the hosts are told that no participant answers. */
  onElicitation: ElicitationHandler | null = null;

  constructor(private readonly client: Client) {}

  /** Sends a request, and returns the result of the first response of one of the addressees. */
  async request(to: ParticipantID | readonly ParticipantID[], method: string, params: Payload | undefined, o: RequestOptions = {}): Promise<unknown> {
    const list = typeof to === "string" ? [to] : to;
    if (list.length === 0) throw new TypeError("a request names the participants whose response counts");
    const id = newID();
    const wait = this.expect(id, list, o);
    const meta = o.onProgress === undefined ? params : { ...params, _meta: { ...obj(params?.["_meta"]), progressToken: id } };
    const request = {
      id,
      kind: "mcp.request" as const,
      to: list,
      ...(o.context !== undefined && { context: o.context }),
      payload: { jsonrpc: "2.0", id, method, ...(meta !== undefined && { params: meta }) },
      ...(o.correlationId !== undefined && { correlationId: o.correlationId }),
    };
    try {
      const signal = { signal: wait.signal };
      await (o.waitForResume === true ? this.client.publish(request, signal) : this.client.send(request, signal));
      o.onAdmitted?.(id);
      return resultOf(await wait.response);
    } catch (err) {
      if (wait.signal.aborted) this.cancel(id, list, o.context);
      throw err;
    } finally {
      wait.drop();
    }
  }

  /** Waits for the response to a request, of this participant or of another one. */
  expect(id: ID, to: readonly ParticipantID[], o: Pick<RequestOptions, "timeout" | "signal" | "onProgress"> = {}): Expected {
    const { timeout = 30_000 } = o;
    const ended = new AbortController();
    let resolve: (e: Envelope) => void = () => {};
    const response = new Promise<Envelope>((yes, no) => {
      resolve = yes;
      ended.signal.addEventListener("abort", () => no(ended.signal.reason), { once: true });
    });
    response.catch(() => {}); // the caller may still be sending
    const fail = (err: unknown): void => ended.abort(err);
    const aborted = (): void => fail(o.signal?.reason);
    if (o.signal?.aborted === true) aborted();
    o.signal?.addEventListener("abort", aborted, { once: true });
    const limit = (): (() => void) => (timeout > 0 ? realClock.after(timeout, () => fail(late(timeout, this.absence(to)))) : () => {});
    let stopTimer = limit();
    let held = 0;
    const hold = (): (() => void) => {
      held++;
      stopTimer();
      return () => {
        if (--held === 0 && this.calls.get(id) === call) stopTimer = limit();
      };
    };
    if (this.calls.size === 0) this.listen();
    const call: Call = { to, resolve, fail, onProgress: o.onProgress, stopAway: () => {}, hold, questions: new Map(), elicited: 0 };
    this.calls.set(id, call);
    const drop = (): void => {
      for (const question of call.questions.values()) question.abort(new CanceledError("canceled", this.client.you));
      stopTimer();
      call.stopAway();
      o.signal?.removeEventListener("abort", aborted);
      if (this.calls.delete(id) && this.calls.size === 0) this.stop();
    };
    return { response, signal: ended.signal, drop };
  }

  private absence(to: readonly ParticipantID[]): string {
    const isAway = to.length === 1 && !this.client.participants.some((p) => p.id === to[0]);
    return isAway ? ` (${to[0]} is not connected)` : "";
  }

  private listen(): void {
    const unhandle = this.client.handle((e, a) => this.handle(e, a.old));
    const unwatch = this.client.onEnd((err) => {
      for (const c of [...this.calls.values()]) c.fail(err);
    });
    this.stop = () => {
      unhandle();
      unwatch();
    };
  }

  private handle(e: Envelope, old: boolean): void {
    switch (e.kind) {
      case "mcp.response":
        for (const id of correlations(e)) {
          const c = this.calls.get(id);
          if (c?.to.includes(e.from) === true) return c.resolve(e);
        }
        return;
      case "mcp.request":
        if (!recipients(e).includes(this.client.you)) return;
        if (!old) this.elicited(e);
        return this.progress(e);
      case "system.presence":
      case "system.welcome":
        for (const c of this.calls.values()) this.away(c, e);
    }
  }

  private progress(e: Envelope): void {
    if (str(field(e.payload, "method")) !== "notifications/progress") return;
    const params = obj(field(e.payload, "params"));
    const c = this.calls.get(str(field(params, "progressToken")));
    const progress = num(field(params, "progress"));
    if (c?.onProgress === undefined || progress === null || !c.to.includes(e.from)) return;
    const total = num(field(params, "total"));
    const message = str(field(params, "message"));
    c.onProgress({ progress, ...(total !== null && { total }), ...(message !== "" && { message }) });
  }

  /**
   * Answers a question of a host about a call in progress, or drops one that the host withdraws. Questions
   * about other calls are left alone: another process of this participant may have made the call.
   */
  private elicited(e: Envelope): void {
    const method = str(field(e.payload, "method"));
    for (const about of correlations(e)) {
      if (method === "notifications/cancelled") for (const c of this.calls.values()) if (c.to.includes(e.from)) c.questions.get(about)?.abort(new CanceledError("canceled", e.from));
      const c = this.calls.get(about);
      if (method !== ELICITATION || c?.to.includes(e.from) !== true) continue;
      if (this.onElicitation === null) this.decline(e, -32601, "this participant answers no questions of tool servers");
      else if (c.elicited === MAX_ELICITATIONS) this.decline(e, -32000, "too many questions about one call");
      else void this.elicit(e, about, c, this.onElicitation);
      return;
    }
  }

  private respond(e: Envelope, answer: { readonly result: Payload } | { readonly error: { readonly code: number; readonly message: string } }): Promise<unknown> {
    return this.client.send({ kind: "mcp.response", to: [e.from], correlationId: e.id, ...(e.context !== undefined && { context: e.context }), payload: { jsonrpc: "2.0", id: (field(e.payload, "id") ?? e.id) as string, ...answer } });
  }

  private decline(e: Envelope, code: number, message: string): void {
    this.respond(e, { error: { code, message } }).catch((err) => this.client.fault(`a response to ${e.from} was not sent`, err));
  }

  /** Answers a question. A handler that ignores its signal does not hold the time limit of the call. */
  private async elicit(e: Envelope, call: ID, c: Call, handler: ElicitationHandler): Promise<void> {
    const params = obj(field(e.payload, "params"));
    const schema = field(params, "requestedSchema");
    const url = str(field(params, "url"));
    const stop = new AbortController();
    const { signal } = stop;
    const ended = new Promise<never>((_, no) => signal.addEventListener("abort", () => no(signal.reason), { once: true }));
    const stopTimer = realClock.after(this.patience(params), () => stop.abort(new TimeoutError("no answer in time")));
    const goOn = c.hold();
    c.elicited++;
    c.questions.set(e.id, stop);
    try {
      const answer = async (): Promise<Payload | null> => handler({ host: e.from, call, message: str(field(params, "message")), ...(isObject(schema) && { schema }), ...(url !== "" && { url }), params, signal });
      const content = await Promise.race([answer(), ended]);
      await this.respond(e, { result: isObject(content) ? { action: "accept", content } : { action: "decline" } });
    } catch (err) {
      if (signal.aborted && !(signal.reason instanceof TimeoutError)) return;
      this.client.fault(`the question ${e.id} of ${e.from} is canceled: its handler failed or took too long, or the answer cannot be sent`, err);
      await this.respond(e, { result: { action: "cancel" } }).catch((err) => this.client.fault(`a response to ${e.from} was not sent`, err));
    } finally {
      stopTimer();
      c.questions.delete(e.id);
      goOn();
    }
  }

  /** Returns how long the answer to a question is waited for, in milliseconds: until the time at which the host stops waiting, if it names one. */
  private patience(params: Payload): number {
    const left = Date.parse(str(field(obj(field(params, "_meta")), "meup/expires_at"))) - Date.now() - this.client.welcome.clock;
    return Number.isNaN(left) ? ELICITATION_TIMEOUT : Math.min(left, MAX_ELICITATION_TIMEOUT);
  }

  /** Fails a call some time after its only addressee has left. */
  private away(c: Call, e: Envelope): void {
    const [who = "", ...others] = c.to;
    if (others.length > 0 || who === this.client.you) return;
    const here = (): boolean => this.client.participants.some((p) => p.id === who);
    if (here()) {
      c.stopAway();
      c.stopAway = () => {};
      return;
    }
    if (e.kind !== "system.presence" || str(field(obj(field(e.payload, "participant")), "id")) !== who) return;
    c.stopAway();
    c.stopAway = realClock.after(AWAY, () => {
      if (!here()) c.fail(setPublicMessage(new MeupError(`${who} left the space`), `${who} left the space`));
    });
  }

  /** Notifies the addressees that the response is no longer waited for. */
  private cancel(id: ID, to: readonly ParticipantID[], context: ContextPath | undefined): void {
    const params = { requestId: id, reason: "the result is no longer needed" };
    this.client
      .send({ kind: "mcp.request", to, correlationId: id, ...(context !== undefined && { context }), payload: { jsonrpc: "2.0", method: "notifications/cancelled", params } })
      .catch(() => {}); // the addressee has left, or this participant may not send it
  }
}

function late(timeout: number, absence: string): TimeoutError {
  return setPublicMessage(new TimeoutError(`no response within ${timeout} ms${absence}`), `no answer within ${timeout / 1000}s${absence}`);
}

/** Returns the result in a response. Throws RpcError. */
export function resultOf(e: Envelope): unknown {
  const fault = field(e.payload, "error");
  if (!isObject(fault)) return field(e.payload, "result");
  throw new RpcError(num(field(fault, "code")) ?? 0, str(field(fault, "message")) || "the request failed", field(fault, "data"));
}
