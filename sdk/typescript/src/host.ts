/**
 * Serving tools: requests of other participants that are addressed to this
 * one. Each gets one response, in the context of the request.
 */

import type { Arrival, Client } from "./client.js";
import { allows } from "./capabilities.js";
import { realClock } from "./clock.js";
import { CanceledError, ClosedError, MeupError, RpcError, TimeoutError } from "./errors.js";
import { newID } from "./ids.js";
import { correlations, field, isObject, num, obj, recipients, str } from "./read.js";
import { ELICITATION } from "./requests.js";
import { type Tool, ToolResult, toolResult } from "./tools.js";
import type { ContextPath, Envelope, ID, ParticipantID, Payload } from "./types.js";

/** Codes of the JSON-RPC errors of participants. */
export const RpcCode = { NoSuchMethod: -32601, InvalidParams: -32602, Failed: -32000, Timeout: -32001, Canceled: -32002 } as const;

/** A call, as the handler of a tool gets it with the arguments. */
export interface ToolCall {
  readonly name: string;
  /** The participant that calls. */
  readonly from: ParticipantID;
  /** The request. */
  readonly envelope: Envelope;
  /** Aborted when the call is canceled, or the client is closed. */
  readonly signal: AbortSignal;
  /** Reports the progress, if the caller asked for it. */
  readonly progress: (progress: number, total?: number, message?: string) => void;
}

/**
 * The value is the result: a text, the result of MCP (an object with
 * `content`), or any other value, which becomes `structuredContent`. A thrown
 * RpcError is the error of the response; any other error becomes a result with
 * `isError` and the message of the error.
 */
export type ToolHandler = (args: Payload, call: ToolCall) => unknown;

export interface ServedTool extends Omit<Tool, "name"> {
  readonly handler: ToolHandler;
}

export interface ServeOptions {
  /** Calls carried out at the same time, and waiting ones. Default: 16, 64. */
  readonly parallel?: number;
  readonly waiting?: number;
  /**
   * Requests without a response from before the start, not older than this, are
   * answered. One that an earlier process may have carried out gets an error,
   * unless its tool has `annotations.readOnlyHint`; the others are carried out.
   * Milliseconds; 0: none. Default: 60,000.
   */
  readonly missed?: number;
}

interface Running {
  readonly from: ParticipantID;
  readonly rpcID: unknown;
  readonly stop: AbortController;
  begun: boolean;
}

export class ToolHost {
  private readonly tools = new Map<string, ServedTool>();
  private readonly running = new Map<ID, Running>();
  private readonly ended = new Set<Promise<void>>();
  private queue: (() => void)[] = [];
  private free: number;
  private readonly places: number;
  private closing = false;
  private started: Promise<void> = Promise.resolve(); // ends with the mark of the start
  private through = 0; // no request after it is accepted, at the end

  constructor(
    private readonly client: Client,
    private readonly o: ServeOptions,
  ) {
    this.free = o.parallel ?? 16;
    this.places = this.free + (o.waiting ?? 64);
  }

  /** Adds tools; one with the same name is replaced. */
  add(tools: Readonly<Record<string, ServedTool>>): void {
    for (const [name, t] of Object.entries(tools)) {
      if (typeof t.handler !== "function") throw new TypeError(`the tool ${name} has no handler`);
      this.tools.set(name, t);
    }
  }

  has(name: string): boolean {
    return this.tools.has(name);
  }

  /** Begins to respond. */
  start(): void {
    const until = this.client.handled;
    const { joinedAt } = this.client;
    this.client.handle((e, a) => this.handle(e, a));
    this.client.beforeClose(() => this.end());
    this.client.beforeClose(() => this.mark({ status: "stopped", through: this.through }), true);
    this.client.declareTools();
    this.started = this.mark({ status: "started" });
    const age = this.o.missed ?? 60_000;
    if (age > 0) this.missed(joinedAt, until, age).catch((err: unknown) => this.client.fault("requests from before the start are not answered: the log cannot be read", err));
  }

  /**
   * Writes a mark to the log: the start precedes the first call, the end follows
   * the last envelope. The next process tells by them which requests none has
   * received (ADR 0041).
   */
  private async mark(payload: Payload): Promise<void> {
    if (!allows(this.client.capabilities, "participant.status")) return;
    const sending = this.client.send({ kind: "participant.status", to: [this.client.you], payload });
    await sending.catch((err: unknown) => {
      if (!(err instanceof ClosedError)) this.client.fault("a mark was not written: calls that are missed may not be made at the next start", err);
    });
  }

  /** Returns the seq up to which an earlier process may have received requests. */
  private async handledThrough(joinedAt: number): Promise<number> {
    if (!allows(this.client.capabilities, "participant.status")) return joinedAt; // no earlier process could mark its start
    const page = await this.client.api.envelopes(this.client.space, { from: [this.client.you], descending: true, limit: 1, before: joinedAt + 1 });
    const [e] = page.envelopes;
    if (e === undefined) return page.has_more ? joinedAt : 0;
    return e.kind === "participant.status" && field(e.payload, "status") === "stopped" ? (num(field(e.payload, "through")) ?? joinedAt) : joinedAt;
  }

  /** Calls an own tool, with a request and a response in the log. The audience sees the response; empty: all. */
  async callOwn(name: string, args: Payload, o: { readonly context?: ContextPath; readonly correlationId?: ID | readonly ID[]; readonly audience: readonly ParticipantID[]; readonly timeout?: number; readonly signal?: AbortSignal; readonly onAdmitted?: (id: ID) => void }): Promise<ToolResult> {
    const id = newID();
    const { timeout = 30_000 } = o;
    const late = new AbortController();
    const signal = o.signal === undefined ? late.signal : AbortSignal.any([o.signal, late.signal]);
    const where = o.context !== undefined && { context: o.context };
    await this.client.publish(
      {
        id,
        kind: "mcp.request",
        to: [this.client.you], // no other host carries it out
        ...where,
        ...(o.correlationId !== undefined && { correlationId: o.correlationId }),
        payload: { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } },
      },
      { signal, certain: true }, // it needs a response
    );
    o.onAdmitted?.(id);
    const request: Envelope = { id, ts: "", from: this.client.you, kind: "mcp.request", payload: {}, ...where };
    const stopTimer = timeout > 0 ? realClock.after(timeout, () => late.abort(new TimeoutError(`no result within ${timeout} ms`))) : () => {};
    const answer = await this.carryOut(name, args, request, signal).finally(stopTimer);
    await this.respond({ ...request, from: "" }, id, answer, o.audience);
    signal.throwIfAborted();
    if ("error" in answer) throw new RpcError(answer.error.code, answer.error.message, answer.error.data);
    return toolResult(answer.result);
  }

  get status(): Payload {
    const begun = [...this.running.values()].filter((r) => r.begun).length;
    return { status: this.running.size > 0 ? "working" : "idle", calls: begun, waiting: this.running.size - begun };
  }

  private handle(e: Envelope, a: Arrival): void {
    if (this.closing || a.old || e.kind !== "mcp.request" || e.from === this.client.you || !recipients(e).includes(this.client.you)) return;
    this.admit(e);
  }

  private admit(e: Envelope): void {
    const method = str(field(e.payload, "method"));
    if (method === "notifications/cancelled") return this.canceled(e);
    if (method === "" || method === ELICITATION || method.startsWith("notifications/")) return; // Requests answers questions about calls
    const id = rpcID(e);
    const params = obj(field(e.payload, "params"));
    switch (method) {
      case "ping":
        return this.reply(e, id, { result: {} });
      case "initialize":
        return this.reply(e, id, { result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: this.client.you, version: "0" } } });
      case "tools/list":
        return this.reply(e, id, { result: { tools: [...this.tools].map(([name, { handler: _, ...t }]) => ({ name, inputSchema: { type: "object" }, ...t })) } });
      case "tools/call":
        return this.accept(e, id, str(field(params, "name")), field(params, "arguments") ?? {}, obj(field(params, "_meta")));
    }
    this.reply(e, id, fault(RpcCode.NoSuchMethod, `Method not found: ${method.slice(0, 200)}`));
  }

  private accept(e: Envelope, id: unknown, name: string, args: unknown, meta: Payload): void {
    if (this.running.has(e.id)) return;
    const tool = this.tools.get(name);
    if (tool === undefined) return this.reply(e, id, fault(RpcCode.InvalidParams, `Unknown tool: ${name.slice(0, 200)}`));
    if (!isObject(args)) return this.reply(e, id, fault(RpcCode.InvalidParams, "Invalid params: arguments must be an object"));
    const required = field(tool.inputSchema ?? {}, "required");
    const lacks = (Array.isArray(required) ? required : []).find((key) => typeof key === "string" && !Object.hasOwn(args, key));
    if (lacks !== undefined) return this.reply(e, id, fault(RpcCode.InvalidParams, `Invalid params: the argument ${String(lacks)} is missing`));
    const ofCaller = [...this.running.values()].filter((r) => r.from === e.from).length;
    if (this.running.size >= this.places || ofCaller >= Math.max(1, Math.floor(this.places / 4))) {
      return this.reply(e, id, fault(RpcCode.Failed, "busy: too many calls are in progress or waiting; retry later", "busy"));
    }
    const running: Running = { from: e.from, rpcID: id, stop: new AbortController(), begun: false };
    this.running.set(e.id, running);
    this.track(this.run(e, id, name, args, meta, running));
  }

  private async run(e: Envelope, id: unknown, name: string, args: Payload, meta: Payload, r: Running): Promise<void> {
    try {
      let answer: Answer;
      try {
        await this.turn(r.stop.signal);
        try {
          await this.started;
          await this.client.gate.wait(r.stop.signal);
          r.begun = true;
          answer = await this.carryOut(name, args, e, r.stop.signal, field(meta, "progressToken"));
        } finally {
          this.next();
        }
      } catch (err) {
        answer = faultOf(err);
      }
      await this.respond(e, id, answer, [e.from]);
    } finally {
      this.running.delete(e.id);
    }
  }

  private async carryOut(name: string, args: Payload, e: Envelope, signal: AbortSignal, token?: unknown): Promise<Answer> {
    const tool = this.tools.get(name);
    if (tool === undefined) return fault(RpcCode.InvalidParams, `Unknown tool: ${name.slice(0, 200)}`);
    const progress = this.progressOf(e, token);
    let abort: () => void = () => {};
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason);
      if (signal.aborted) abort();
      signal.addEventListener("abort", abort, { once: true });
    });
    try {
      const work = (async () => tool.handler(args, { name, from: e.from, envelope: e, signal, progress }))();
      return { result: resultFrom(await Promise.race([work, aborted])) };
    } catch (err) {
      if (signal.aborted || err instanceof RpcError) return faultOf(err);
      return { result: { content: [{ type: "text", text: err instanceof Error ? err.message : String(err) }], isError: true } };
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Returns the function that reports progress. While one report is on its way, only the newest one waits. */
  private progressOf(e: Envelope, token: unknown): ToolCall["progress"] {
    if (typeof token !== "string" && typeof token !== "number") return () => {};
    let latest: Payload | null = null;
    let sending = false;
    const send = async (): Promise<void> => {
      sending = true;
      for (; latest !== null; ) {
        const params = latest;
        latest = null;
        await this.client
          .send({ kind: "mcp.request", to: [e.from], correlationId: e.id, ...(e.context !== undefined && { context: e.context }), payload: { jsonrpc: "2.0", method: "notifications/progress", params } })
          .catch(() => {}); // the caller has left, or this participant may not send it
      }
      sending = false;
    };
    return (progress, total, message) => {
      latest = { progressToken: token, progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) };
      if (!sending) void send();
    };
  }

  private reply(e: Envelope, id: unknown, answer: Answer): void {
    this.track(this.respond(e, id, answer, [e.from]));
  }

  /** Sends the only response of a request. Its id is derived from the request, so that two processes send one. */
  private async respond(e: Envelope, id: unknown, answer: Answer, to: readonly ParticipantID[]): Promise<void> {
    const own = e.from === "";
    const response = (a: Answer): Promise<unknown> =>
      this.client.send({
        ...(e.id.length <= 110 && { id: `response:${e.id}` }),
        kind: "mcp.response",
        ...(to.length > 0 && { to }),
        ...(e.context !== undefined && { context: e.context }),
        correlationId: e.id,
        payload: { jsonrpc: "2.0", id: id as string, ...a },
      });
    try {
      await response(answer);
    } catch (err) {
      if (err instanceof MeupError && !own) {
        const code = field(obj((err as { refusal?: Payload }).refusal), "error");
        if (code === "message_too_large" || code === "invalid_json" || code === "invalid_payload") {
          const why = code === "message_too_large" ? (["the result is too large", "too_large"] as const) : (["the result is not valid in an envelope", "unusable"] as const);
          await response(fault(RpcCode.Failed, why[0], why[1])).catch(() => {});
        }
      }
      this.client.fault(`a response to ${e.from === "" ? "an own request" : e.from} was not sent`, err);
    }
  }

  /** Cancels the calls that a notification names, by the id of the envelope or the JSON-RPC id. */
  private canceled(e: Envelope): void {
    const named = field(obj(field(e.payload, "params")), "requestId");
    const reason = new CanceledError("canceled", e.from, str(field(obj(field(e.payload, "params")), "reason")));
    const byEnvelope = this.running.get(str(named));
    if (byEnvelope?.from === e.from) return byEnvelope.stop.abort(reason);
    for (const r of this.running.values()) if (r.from === e.from && r.rpcID === named) r.stop.abort(reason);
  }

  private async turn(signal: AbortSignal): Promise<void> {
    if (this.free > 0) {
      this.free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener("abort", abort);
        resolve();
      };
      const abort = (): void => {
        this.queue = this.queue.filter((f) => f !== begin);
        reject(signal.reason);
      };
      this.queue.push(begin);
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  private next(): void {
    const begin = this.queue.shift();
    if (begin === undefined) this.free++;
    else begin();
  }

  private track(work: Promise<void>): void {
    const done: Promise<void> = work.finally(() => this.ended.delete(done));
    this.ended.add(done);
  }

  private async end(): Promise<void> {
    this.closing = true;
    this.through = this.client.handled;
    for (const r of this.running.values()) r.stop.abort(new CanceledError("shutdown", ""));
    await Promise.allSettled([...this.ended]);
  }

  /** Answers requests from before the start; see ServeOptions.missed. */
  private async missed(joinedAt: number, until: number, age: number): Promise<void> {
    const { api, you } = this.client;
    const through = await this.handledThrough(joinedAt);
    const oldest = Date.now() - age;
    const requests: Envelope[] = [];
    const settled = new Set<ID>();
    const withdrawn: Envelope[] = [];
    let before = until + 1;
    for (let pages = 0; pages < 5 && before > 1; pages++) {
      const page = await api.envelopes(this.client.space, { kinds: ["mcp.request", "mcp.response"], descending: true, before, limit: 500 });
      for (const e of page.envelopes) {
        if (e.kind === "mcp.response") {
          if (e.from === you) for (const id of correlations(e)) settled.add(id);
        } else if (str(field(e.payload, "method")) === "notifications/cancelled") withdrawn.push(e);
        else if (e.kind === "mcp.request" && e.from !== you && recipients(e).includes(you) && Date.parse(e.ts) >= oldest) requests.push(e);
      }
      before = page.next;
      if (!page.has_more || page.envelopes.some((e) => Date.parse(e.ts) < oldest)) break;
    }
    for (const e of requests.sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0))) {
      if (settled.has(e.id) || this.closing) continue;
      const isWithdrawn = withdrawn.some((w) => {
        const named = field(obj(field(w.payload, "params")), "requestId");
        return w.from === e.from && (w.seq ?? 0) > (e.seq ?? 0) && (named === e.id || named === rpcID(e) || correlations(w).includes(e.id));
      });
      if (isWithdrawn) {
        this.reply(e, rpcID(e), faultOf(new CanceledError("canceled", e.from)));
        continue;
      }
      const tool = this.tools.get(str(field(obj(field(e.payload, "params")), "name")));
      const repeats = (e.seq ?? 0) > through || field(e.payload, "method") !== "tools/call" || tool === undefined || field(tool.annotations ?? {}, "readOnlyHint") === true;
      if (repeats) this.admit(e);
      else this.reply(e, rpcID(e), fault(RpcCode.Failed, "the program was restarted after this request was sent; the call may have been made or not", "restarted"));
    }
  }
}

type Fault = {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
};

type Answer = { readonly result: unknown } | { readonly error: Fault };

function fault(code: number, message: string, reason?: string): Answer {
  return { error: { code, message, ...(reason !== undefined && { data: { reason } }) } };
}

function faultOf(err: unknown): Answer {
  if (err instanceof RpcError) return { error: { code: err.code, message: err.message, ...(err.data !== undefined && { data: err.data }) } };
  if (err instanceof CanceledError) {
    return err.kind === "shutdown" ? fault(RpcCode.Failed, "the program is shutting down", "shutdown") : fault(RpcCode.Canceled, "canceled by the requester", "cancelled");
  }
  if (err instanceof TimeoutError) return fault(RpcCode.Timeout, err.message, "timeout");
  return fault(RpcCode.Failed, "the tool could not be called", "failed");
}

/** Returns a value as the result of tools/call. */
function resultFrom(v: unknown): Payload {
  if (v instanceof ToolResult) return v.raw;
  if (isObject(v) && Array.isArray(v["content"])) return v;
  if (typeof v === "string") return { content: [{ type: "text", text: v }] };
  const text = v === undefined ? "" : (JSON.stringify(v) ?? "");
  return { content: [{ type: "text", text }], ...(isObject(v) && { structuredContent: v }) };
}

/** Returns the JSON-RPC id of a request, or that of the envelope: clients of MEW send none. */
export function rpcID(e: Envelope): unknown {
  return field(e.payload, "id") ?? e.id;
}
