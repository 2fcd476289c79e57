/** A context of reasoning: thoughts, calls of tools, and a conclusion. */

import { type Answer, type AskOptions, ask } from "./ask.js";
import { type Surroundings, callTool } from "./call.js";
import { CanceledError, DiscoveryError, ProposalError, isRejected } from "./errors.js";
import { newID } from "./ids.js";
import type { Payloads } from "./payloads.js";
import { type ProposalOutcome, type ProposedCall, propose } from "./propose.js";
import { correlations } from "./read.js";
import type { Progress } from "./requests.js";
import type { Located, ToolResult } from "./tools.js";
import type { ContextPath, Envelope, ID, ParticipantID, Payload } from "./types.js";
import { publicMessage, setPublicMessage, withoutPeriod } from "./wording.js";

/** How a context is opened. */
export interface ReasonOptions {
  readonly message?: string;
  readonly metadata?: Payload;
  readonly references?: readonly ID[];
}

/** The fields of a step without its text. */
export type StepFields = Omit<Payloads["reasoning.thought"], "message">;

export interface CallOptions {
  /** The participant that runs the tool. Default: the one that the name has before a slash, if it is connected; this one if it serves the tool; or the only one that offers it. */
  readonly participant?: ParticipantID;
  /** Why the tool is called; it becomes a thought. Default: the latest thought explains the call. */
  readonly reason?: string;
  /** Calls that run together have the same number. */
  readonly parallelGroup?: number;
  /** Milliseconds for the response; 0: without end. Default: 30,000. */
  readonly timeout?: number;
  /** Proposes the call if this participant may not make it. Default: true. */
  readonly propose?: boolean;
  /** Milliseconds for a decision on the proposal. Default: 300,000. */
  readonly proposalTimeout?: number;
  readonly onProgress?: (p: Progress) => void;
}

const MAX_THOUGHT = 4_000;

export class Reasoning {
  /** The path of the context. */
  readonly context: ContextPath;
  /** The id of its reasoning.start. */
  readonly id: ID;
  private readonly controller = new AbortController();
  private state: "opening" | "open" | "closed" = "opening";
  private closedBy = false; // by another participant
  private readonly children = new Set<Reasoning>();
  private latest: ID; // the thought that explains the next call; the start before the first one
  private readonly unlink: () => void;

  /** Use `reason`. */
  constructor(
    private readonly s: Surroundings,
    private readonly audience: readonly ParticipantID[],
    private readonly cause: ID | null,
    private readonly parent: { readonly context: ContextPath; readonly signal: AbortSignal } | null,
    private readonly onClose: () => void,
    /** The context of a part, which another agent has opened, and which the answer closes; "": a context of its own. */
    private readonly part: ContextPath = "",
  ) {
    this.id = part === "" ? newID() : part.slice(part.lastIndexOf("/") + 1);
    this.latest = this.id;
    this.context = part !== "" ? part : parent === null || parent.context === "" ? this.id : `${parent.context}/${this.id}`;
    const abort = (): void => this.controller.abort(parent?.signal.reason);
    if (parent?.signal.aborted === true) abort();
    parent?.signal.addEventListener("abort", abort, { once: true });
    this.unlink = () => parent?.signal.removeEventListener("abort", abort);
  }

  /** Aborted when the context is canceled, with a CanceledError as the reason. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Publishes reasoning.start. */
  async begin(o: ReasonOptions): Promise<void> {
    if (this.part !== "") {
      this.state = "open";
      return;
    }
    const above = this.context.slice(0, -this.id.length - 1);
    await this.s.client.publish(
      {
        id: this.id,
        kind: "reasoning.start",
        ...(this.audience.length > 0 && { to: this.audience }),
        ...(above !== "" && { context: above }),
        ...(this.cause !== null && { correlationId: this.cause }),
        payload: { ...o },
      },
      { signal: this.signal, certain: true },
    );
    if (this.state === "opening") this.state = "open";
  }

  /** Shares a thought, which explains the next calls. Returns its id. */
  async thought(message: string, fields: StepFields = {}): Promise<ID> {
    return (this.latest = await this.step("reasoning.thought", { ...fields, message: message.slice(0, MAX_THOUGHT) }));
  }

  observation(message: string, fields: Omit<Payloads["reasoning.observation"], "message"> = {}): Promise<ID> {
    return this.step("reasoning.observation", { ...fields, message });
  }

  hypothesis(hypothesis: string, fields: Omit<Payloads["reasoning.hypothesis"], "hypothesis"> = {}): Promise<ID> {
    return this.step("reasoning.hypothesis", { ...fields, hypothesis });
  }

  question(message: string, fields: Omit<Payloads["reasoning.question"], "message"> = {}): Promise<ID> {
    return this.step("reasoning.question", { ...fields, message });
  }

  /** Publishes an envelope of any kind in the context, for the participants of the question. */
  async step(kind: string, payload: Payload, correlationId?: ID): Promise<ID> {
    const { id } = await this.s.client.publish(this.inside(kind, payload, correlationId), { signal: this.signal });
    return id;
  }

  /**
   * Calls a tool. The reason is shared as a thought; without it, the latest
   * thought explains the call. If this participant may not make the call, it is
   * proposed to the others.
   * Throws ToolError, RpcError, TimeoutError, ProposalError or DiscoveryError if
   * there is no result, and the CanceledError of the signal.
   */
  async callTool(name: string, args: Payload = {}, o: CallOptions = {}): Promise<ToolResult> {
    this.signal.throwIfAborted();
    const { participant, reason, parallelGroup, ...rest } = o;
    const at = participant === undefined ? await this.resolve(name) : { participant, tool: name };
    const thought = reason === undefined
      ? this.latest
      : await this.step("reasoning.thought", { message: reason.slice(0, MAX_THOUGHT), tool_name: at.tool, ...(parallelGroup !== undefined && { parallel_group: parallelGroup }) });
    return callTool(this.s, at, args, { ...rest, context: this.context, correlationId: thought, audience: this.audience, signal: this.signal, waitForResume: true });
  }

  /** Proposes a call, and waits for its outcome. */
  propose(call: ProposedCall, o: { readonly timeout?: number; readonly callTimeout?: number; readonly correlationId?: ID } = {}): Promise<ProposalOutcome> {
    return propose(this.s.client, this.s.requests, call, { correlationId: this.latest, ...o, context: this.context, to: this.audience, signal: this.signal });
  }

  /**
   * Asks another agent, and waits for its answer. It reasons in a nested context, as a part of this
   * question, which everybody sees who sees the question; the latest thought explains it. Its answer is
   * no chat, and no question to this participant. When this context is canceled, the other one stops. An
   * agent that is asked may ask a further one, as deep as contexts may be nested; one that is in this
   * chain already declines. Throws the CanceledError of the signal.
   */
  ask(participant: ParticipantID, text: string, o: AskOptions = {}): Promise<Answer> {
    return ask(this.s.client, participant, text, { ...o, context: this.context, correlationId: this.latest, audience: this.audience, signal: this.signal });
  }

  /** Reasons about a part in a nested context, like `reason` of a question. */
  async reason<T>(f: (r: Reasoning) => Promise<T> | T, o: ReasonOptions = {}): Promise<T> {
    return within(await this.start(o), f);
  }

  /** Opens a nested context. End it with `conclude` or `cancel`, or with `await using`. */
  async start(o: ReasonOptions = {}): Promise<Reasoning> {
    this.signal.throwIfAborted();
    const child = new Reasoning(this.s, this.audience, null, { context: this.context, signal: this.signal }, () => this.children.delete(child));
    this.children.add(child);
    await child.begin(o);
    if (!child.signal.aborted) return child;
    await child.cancel(publicReason(child.signal.reason));
    throw child.signal.reason;
  }

  /** Closes the context with a conclusion. That of a part is the answer; this one is not sent. */
  async conclude(conclusion: string | Payloads["reasoning.conclusion"] = {}): Promise<void> {
    if (this.state !== "open") return;
    const payload: Payload = typeof conclusion === "string" ? { message: conclusion.slice(0, MAX_THOUGHT) } : conclusion;
    this.signal.throwIfAborted();
    if (this.part === "") await this.s.client.publish(this.inside("reasoning.conclusion", payload), { signal: this.signal, certain: true });
    this.end();
  }

  /** Closes the context without a conclusion, and aborts the work in it. */
  async cancel(reason: string): Promise<void> {
    if (this.state !== "open") return;
    if (!this.signal.aborted) this.controller.abort(this.parent?.signal.reason ?? new CanceledError("canceled", this.s.client.you, reason));
    this.end();
    for (const c of [...this.children]) await c.cancel(reason);
    if (!this.closedBy && this.part === "") await this.s.client.publish(this.inside("reasoning.cancel", { reason: reason.slice(0, 500) })).catch((err: unknown) => this.s.client.fault("a context was not closed", err));
  }

  /** Closes a context that is still open, without a conclusion. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.cancel(this.signal.aborted ? String((this.signal.reason as Error).message) : "ended without a conclusion");
  }

  /** Reports whether the context is open. */
  get isOpen(): boolean {
    return this.state === "open";
  }

  /** Aborts the contexts that an envelope closes. Returns whether this one, or one around it, is closed. */
  closes(e: Envelope): boolean {
    const named = e.context === undefined ? correlations(e).includes(this.id) : this.context === e.context || this.context.startsWith(`${e.context}/`);
    if (named && this.state !== "closed" && !this.signal.aborted) {
      this.closedBy = e.context === undefined || e.context === this.context;
      const reason = typeof e.payload["reason"] === "string" ? e.payload["reason"] : "";
      this.controller.abort(new CanceledError("canceled", e.from, reason.slice(0, 500)));
    }
    for (const c of this.children) c.closes(e);
    return named;
  }

  private end(): void {
    this.state = "closed";
    this.unlink();
    this.onClose();
  }

  /** Returns an envelope within the context. By its correlation it belongs to the asker's thread, and the calls that it explains are visible to the asker. */
  private inside(kind: string, payload: Payload, correlationId = this.id): { readonly kind: string; readonly payload: Payload; readonly context: ContextPath; readonly correlationId: ID } {
    return { kind, context: this.context, payload, correlationId, ...(this.audience.length > 0 && { to: this.audience }) };
  }

  /** Returns the participant that runs a tool; for a private question one of its participants, because the arguments may disclose it. */
  private async resolve(name: string): Promise<Located> {
    try {
      return await this.s.directory.resolve(name, (tool) => this.s.host()?.has(tool) === true, this.audience.length > 0 ? this.audience : undefined, this.signal);
    } catch (err) {
      if (!(err instanceof DiscoveryError) || this.audience.length === 0) throw err;
      throw setPublicMessage(new DiscoveryError(`${err.message}; the question is private, so name another one with the option participant`), publicMessage(err));
    }
  }
}

/** Runs a function in a context, and closes the context: with a conclusion, or with the reason of a failure. */
export async function within<T>(r: Reasoning, f: (r: Reasoning) => Promise<T> | T): Promise<T> {
  try {
    const value = await f(r);
    r.signal.throwIfAborted();
    await r.conclude("Done.");
    return value;
  } catch (err) {
    await r.cancel(publicReason(err));
    throw err;
  }
}

/** Returns the text about an error that other participants may read. Messages of unknown errors may have secrets. */
export function publicReason(err: unknown): string {
  if (publicMessage(err) !== "") return publicMessage(err);
  if (isRejected(err)) return `the gateway rejected it (${err.code}: ${withoutPeriod(err.refusal.message)})`;
  if (err instanceof CanceledError || err instanceof ProposalError) return err.message;
  if (err instanceof Error && err.name === "TimeoutError") return "it took too long";
  return "internal error; see the log of the agent";
}
