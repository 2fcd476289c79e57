/** A question: a chat that this agent is to answer, or a part that another agent asks it to take. */

import type { Answer, AskOptions } from "./ask.js";
import type { Surroundings } from "./call.js";
import { chatText } from "./addressing.js";
import type { EarlierCall } from "./backlog.js";
import { CanceledError, ClosedError, ProtocolError } from "./errors.js";
import { within as isWithin } from "./filter.js";
import { Reasoning, type ReasonOptions, within } from "./reasoning.js";
import { AnswerStream } from "./stream.js";
import { correlations, field, recipients, str } from "./read.js";
import type { ContextPath, Envelope, ID, ParticipantID, Payload } from "./types.js";

/** Milliseconds for the echo of an own envelope that is in the log. */
const ECHO = 30_000;
const MAX_ANSWER = 60_000;

export interface ReplyOptions {
  /** Default: markdown. */
  readonly format?: "plain" | "markdown";
  /** Further fields of the payload. */
  readonly payload?: Payload;
}

export class Question {
  readonly id: ID;
  /** The text as it was sent: a mention of the agent is part of it. */
  readonly text: string;
  readonly from: ParticipantID;
  /** The participants of a private question except this one; empty for a question to all. All envelopes about it go to them. */
  readonly private: readonly ParticipantID[];
  /** The context of a part, which the answer closes; "": the question is a chat. */
  readonly part: ContextPath;
  /** Another participant has closed the part. */
  closed = false;
  /** The number of replies so far. */
  replies = 0;
  private readonly controller = new AbortController();
  private readonly contexts = new Set<Reasoning>();
  private win: () => void = () => {};
  private won = false;
  private readonly first: Promise<void>;

  constructor(
    private readonly s: Surroundings,
    /** The chat, or the reasoning.start of a part. */
    readonly envelope: Envelope,
    /** Tool calls of attempts by earlier processes, oldest first. */
    readonly earlier: readonly EarlierCall[] = [],
  ) {
    this.id = envelope.id;
    this.text = chatText(envelope);
    this.from = envelope.from;
    const to = recipients(envelope);
    this.private = to.length === 0 ? [] : [...new Set([envelope.from, ...to])].filter((id) => id !== s.client.you);
    this.part = envelope.kind === "reasoning.start" ? `${envelope.context}/${envelope.id}` : "";
    this.first = new Promise((resolve) => (this.win = resolve));
  }

  /** Aborted with a CanceledError when the question is withdrawn, its context is canceled, or the agent ends. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /**
   * Reasons in a context: opens it, runs the function, and closes it, with the
   * conclusion that the function gives (`conclude`) or with "Done.". If the
   * function fails, the context is canceled.
   */
  async reason<T>(f: (r: Reasoning) => Promise<T> | T, o: ReasonOptions = {}): Promise<T> {
    return within(await this.start(o), f);
  }

  /**
   * Opens a context. End it with `conclude` or `cancel`, or with `await using`.
   * Of several processes of this participant, the one whose start is the first
   * in the log goes on; the others get a CanceledError.
   */
  async start(o: ReasonOptions = {}): Promise<Reasoning> {
    this.signal.throwIfAborted();
    const r = new Reasoning(this.s, this.private, this.id, { context: "", signal: this.signal }, () => this.contexts.delete(r), this.part);
    this.contexts.add(r);
    const references = this.earlier.map((c) => c.request);
    await r.begin({ message: `Looking into: ${this.text.slice(0, 200)}`, metadata: { approach: "program" }, ...(references.length > 0 && { references }), ...o });
    try {
      await this.awaitFirst();
      return r;
    } catch (err) {
      await r.cancel(err instanceof CanceledError ? "another process of this agent began first" : String(err));
      throw err;
    }
  }

  /**
   * Sends an answer while it is generated, as a stream, and returns the answer: the value for the handler
   * to return. Chunks are sent about ten times a second, of at most 64 KiB of the text. If the iterator
   * throws, or the question is canceled, the stream is withdrawn. The conclusion of a part is not streamed.
   */
  async streamAnswer(deltas: AsyncIterable<string> | Iterable<string>): Promise<Payload> {
    const stream = new AnswerStream(this.s.client, this.id, this.private);
    let message = "";
    const withdraw = (): void => void stream.end(true);
    this.signal.addEventListener("abort", withdraw, { once: true });
    try {
      for await (const delta of deltas) {
        this.signal.throwIfAborted();
        message += delta;
        if (this.part === "") stream.add(delta);
      }
      this.signal.throwIfAborted();
    } catch (err) {
      await stream.end(true);
      throw err;
    } finally {
      this.signal.removeEventListener("abort", withdraw);
    }
    const id = await stream.end();
    return { message, ...(id !== "" && { stream_id: id }) };
  }

  /** Asks another agent, in the open context of the question, or in one for this alone; see `ask` of the context. */
  ask(participant: ParticipantID, text: string, o: AskOptions = {}): Promise<Answer> {
    const inside = [...this.contexts].findLast((r) => r.isOpen);
    return inside === undefined ? this.reason((r) => r.ask(participant, text, o)) : inside.ask(participant, text, o);
  }

  /** Sends an answer: a chat that correlates to the question, to its participants. The one answer to a part is its conclusion. */
  async reply(message: string, o: ReplyOptions = {}): Promise<ID> {
    const n = this.replies++;
    const id = n === 0 ? derived("answer", this.id) : undefined; // a second process repeats the id: one answer
    if (this.part !== "" && n > 0) throw new TypeError("a part has one answer");
    const draft = this.part !== "" ? this.inPart("reasoning.conclusion", { ...o.payload, message: message.slice(0, MAX_ANSWER) }) : {
      kind: "chat" as const,
      correlationId: this.id,
      ...(this.private.length > 0 && { to: this.private }),
      payload: { format: o.format ?? "markdown", ...o.payload, message: message.slice(0, MAX_ANSWER) } as const,
    };
    try {
      return (await this.s.client.publish({ ...draft, ...(id !== undefined && { id }) })).id;
    } catch (err) {
      if (!(err instanceof ProtocolError) || err.code !== "duplicate_id") throw err;
      return (await this.s.client.publish(draft)).id; // another participant has used the id
    }
  }

  /** Returns an envelope in the context of a part. */
  private inPart<K extends string>(kind: K, payload: Payload) {
    return { kind, context: this.part, correlationId: this.id, ...(this.private.length > 0 && { to: this.private }), payload };
  }

  /** Closes a part without a conclusion. */
  async decline(reason: string): Promise<void> {
    await this.s.client.publish(this.inPart("reasoning.cancel", { reason: reason.slice(0, 500) }));
  }

  /** Ends the work on the question. */
  abort(err: CanceledError | ClosedError): void {
    this.controller.abort(err);
  }

  /** Handles an own reasoning.start for the question, or claim of a part: the first one decides. Returns whether another process was the first. */
  started(mine: boolean): boolean {
    if (this.won) return false;
    if (!mine) {
      this.abort(new CanceledError("superseded", ""));
      return true;
    }
    this.won = true;
    this.win();
    return false;
  }

  /** Handles a reasoning.cancel. If it closes an outermost context, or that of a part or one around it, the work on the question ends. */
  closedBy(e: Envelope): void {
    if (this.part !== "" && (e.context === undefined ? correlations(e).includes(this.id) : isWithin(this.part, e.context))) {
      this.closed ||= e.context === undefined || e.context === this.part; // otherwise a context around it
      this.abort(new CanceledError("canceled", e.from, str(field(e.payload, "reason")).slice(0, 500)));
      return;
    }
    for (const r of this.contexts) {
      const outer = e.context === undefined || e.context === r.context;
      if (r.closes(e) && outer && r.signal.aborted) this.abort(r.signal.reason as CanceledError);
    }
  }

  /** Closes contexts that are still open. */
  async close(reason: string): Promise<void> {
    await Promise.all([...this.contexts].map((r) => r.cancel(reason)));
  }

  /** The paths of the open contexts. */
  get paths(): readonly string[] {
    return [...this.contexts].map((r) => r.context);
  }

  /** Waits until the own start, or the claim of a part, is known to be the first one of this participant. */
  async awaitFirst(): Promise<void> {
    if (this.won) return;
    let stop: () => void = () => {};
    const ended = new Promise<never>((_, reject) => {
      const abort = (): void => reject(this.signal.reason);
      if (this.signal.aborted) abort();
      this.signal.addEventListener("abort", abort, { once: true });
      stop = () => this.signal.removeEventListener("abort", abort);
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ECHO))); // the echo does not come: no one to wait for
    try {
      await Promise.race([this.first, ended, late]);
    } finally {
      clearTimeout(timer);
      stop();
    }
  }
}

/** Returns an id that two processes derive from the same one; undefined if it is too long. */
export function derived(prefix: string, id: ID): ID | undefined {
  return id.length <= 110 ? `${prefix}:${id}` : undefined;
}
