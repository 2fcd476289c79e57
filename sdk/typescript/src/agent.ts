/** Answering questions. The rules are those of the reference agent (docs/agent.md). */

import type { Surroundings } from "./call.js";
import { type AnswerMode, Classifier, MODES } from "./addressing.js";
import { Backlog, type CatchUp, type EarlierCall } from "./backlog.js";
import type { Arrival } from "./client.js";
import { ApiError } from "./api.js";
import { allows } from "./capabilities.js";
import { backoff, realClock } from "./clock.js";
import { CanceledError, ClosedError, type MeupError, isRejected } from "./errors.js";
import { within } from "./filter.js";
import { newID } from "./ids.js";
import { Question, derived } from "./question.js";
import { publicReason } from "./reasoning.js";
import { correlations, field, recipients, str } from "./read.js";
import type { Envelope, ID, Payload } from "./types.js";
import { withoutPeriod } from "./wording.js";

/**
 * Answers a question. A text is the answer, in Markdown; an object is the
 * payload of the answer; nothing sends none. If it throws, the asker gets a
 * chat with the reason, as far as it is not internal.
 */
export type QuestionHandler = (q: Question) => Promise<string | Payload | void> | string | Payload | void;

/** A class, so that its names are known to the check of options. Give an object. */
export class QuestionOptions {
  /** Which chats are questions. Default: auto. */
  readonly answer?: AnswerMode;
  /** A name for mentions, in addition to the participant's id. */
  readonly name?: string;
  /** Which old questions are answered. Default: auto. */
  readonly catchUp?: CatchUp;
  /** Questions that are answered at the same time, and waiting ones. Default: 4, 32. */
  readonly parallel?: number;
  readonly waiting?: number;
  /** Bound of a chain of answers of agents that follow one another. Default: 4. */
  readonly maxHops?: number;
  /** `abort` also ends the work on questions when this participant is paused; `wait` goes on after the pause. Default: wait. */
  readonly onPause?: "wait" | "abort";
  /** Milliseconds between two checks whether another process that took a question still works on it. Default: 15,000. */
  readonly watchInterval?: number;
}

/** A running agent. */
export interface Agent {
  /** Takes no more questions, ends the work on the current ones, and closes their contexts. */
  stop(): Promise<void>;
}

/** Bounds: envelopes that wait for the log to be read; watched questions; milliseconds for the reply of another process; rounds of closing; attempts to read the log; attempts to answer a question that end with their process. */
const MAX_QUEUED = 10_000;
const MAX_WATCHED = 256;
const PROBE = 10_000;
const ROUNDS = 3;
const ATTEMPTS = 5;
const MAX_INTERRUPTED = 3;

const GIVEN_UP = "this agent ended three times while it worked on the question, and does not try again. Ask once more if something else was the cause";

interface Running {
  readonly q: Question;
  readonly done: Promise<void>;
}

/** Returns the words for the time since a moment, in seconds. */
const since = (moment: number): string => `${((performance.now() - moment) / 1000).toFixed(1)} s`;

export class QuestionAgent implements Agent {
  private readonly classifier: Classifier;
  private readonly questions = new Map<ID, Running>();
  private readonly watched = new Map<ID, () => void>();
  private readonly probes = new Map<ID, () => void>();
  private queue: (() => void)[] = [];
  private readonly begun = new Map<Question, number>(); // when the handler was called
  private free: number;
  private readonly places: number;
  private readonly until: number; // older questions are those of the backlog
  private readonly since: number; // envelopes after it arrive at receive
  private early: [Envelope, Arrival][] | null = [];
  private stopped = false;
  private twin = false; // another process was warned of
  private readonly unhandle: () => void;
  private readonly unclose: () => void;

  constructor(
    private readonly s: Surroundings,
    private readonly handler: QuestionHandler,
    private readonly o: QuestionOptions,
  ) {
    const { client } = s;
    if (o.answer !== undefined && !MODES.includes(o.answer)) throw new TypeError(`answer is one of ${MODES.join(", ")}, not ${String(o.answer)}`);
    if (!client.echoes) throw new TypeError("an agent needs its own envelopes: connect without echo: false and observe");
    this.classifier = new Classifier(client.you, o.name ?? "", o.answer ?? "auto", o.maxHops ?? 4);
    this.free = o.parallel ?? 4;
    this.places = this.free + (o.waiting ?? 32);
    this.until = client.joinedAt;
    this.since = client.handled;
    this.unhandle = client.handle((e, a) => this.receive(e, a));
    this.unclose = client.beforeClose(() => this.stop("shutdown"));
    void client.closed.then((err) => this.abortAll(err));
    void this.begin();
  }

  async stop(cause: "shutdown" | "restarted" = "shutdown"): Promise<void> {
    this.stopped = true;
    this.unhandle();
    this.abortAll(new CanceledError(cause, ""));
    await Promise.allSettled([...this.questions.values()].map((r) => r.done));
    this.unclose();
  }

  private abortAll(err: MeupError): void {
    for (const { q } of this.questions.values()) q.abort(err as ClosedError);
    for (const f of this.watched.values()) f();
  }

  /** Reads the log, and then handles the envelopes that have arrived in the meantime. */
  private async begin(): Promise<void> {
    const { client } = this.s;
    let backlog: Backlog | null = null;
    try {
      await this.again(() => this.readEarly());
      if (this.o.catchUp !== "off") backlog = await this.again(() => this.read(this.until, (e) => this.observe(e) && this.classifier.isQuestion(e)));
    } catch (err) {
      if (!this.stopped) client.fault("old questions are not answered: the log cannot be read", err);
    }
    this.flushEarly();
    if (backlog === null || this.stopped) return;
    await this.closeAttempts(backlog, this.until);
    const isLast = (e: Envelope): boolean => backlog.interrupted(e.id) === MAX_INTERRUPTED - 1;
    for (const e of backlog.questions) if (!isLast(e)) this.resume(e, backlog);
    for (const e of backlog.questions) {
      if (!isLast(e)) continue;
      this.resume(e, backlog);
      await this.questions.get(e.id)?.done; // one after another: only one of them may end this process
    }
  }

  /** Answers a question of the log, or gives it up if it may end each process that works on it. */
  private resume(e: Envelope, work: Backlog): void {
    if (work.settled(e.id) || this.stopped) return;
    if (work.interrupted(e.id) < MAX_INTERRUPTED) return this.take(e, work.calls(e.id), true);
    this.s.client.warn(`question ${e.id} of ${e.from} is given up: the process ended during each of ${MAX_INTERRUPTED} attempts to answer it`);
    this.quietly(new Question(this.s, e).reply(`I have stopped looking into this: ${GIVEN_UP}.`));
  }

  /** Reads the log again after a failure that may pass. */
  private async again<T>(f: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await f();
      } catch (err) {
        if (attempt === ATTEMPTS || this.stopped || !(err instanceof ApiError) || !err.passing) throw err;
        await new Promise<void>((resolve) => realClock.after(backoff(attempt, Math.random()), resolve));
      }
    }
  }

  /** Reads the envelopes between joining and the start of the agent, which are not old. */
  private async readEarly(): Promise<void> {
    const { client } = this.s;
    const list: [Envelope, Arrival][] = [];
    for (let from = this.until; from < this.since; ) {
      const page = await client.api.envelopes(client.space, { since: from, before: this.since + 1, limit: 1000 });
      for (const e of page.envelopes) list.push([e, { old: false, mine: false }]);
      from = page.has_more ? page.next : this.since;
    }
    this.early?.unshift(...list);
  }

  private flushEarly(): void {
    const list = this.early ?? [];
    this.early = null;
    for (const [e, a] of list) this.process(e, a);
  }

  private read(until: number, observe: (e: Envelope) => boolean): Promise<Backlog> {
    const { client } = this.s;
    return Backlog.read({ api: client.api, space: client.space, you: client.you, mode: this.o.catchUp === "all" ? "all" : "auto", until, observe, isNamed: (e) => this.classifier.isNamed(e), now: Date.now() });
  }

  /** Closes what earlier attempts left open. A proposal may be approved before it is withdrawn, so the log is read again. */
  private async closeAttempts(work: Backlog, until: number, question?: ID): Promise<void> {
    const { client } = this.s;
    const sent = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const rest = work.leftovers(question).filter((x) => !sent.has(`${x.kind} ${x.correlationId ?? ""} ${x.context ?? ""}`));
      if (rest.length === 0) return;
      for (const x of rest) {
        sent.add(`${x.kind} ${x.correlationId ?? ""} ${x.context ?? ""}`);
        await client.publish(x).catch((err: unknown) => client.fault("unfinished work is left open", err));
      }
      const head = await this.head();
      await work.readOn(until, head);
      until = head;
    }
  }

  private async head(): Promise<number> {
    const page = await this.s.client.api.envelopes(this.s.client.space, { descending: true, limit: 1 });
    return page.envelopes[0]?.seq ?? 0;
  }

  private observe(e: Envelope): boolean {
    this.classifier.participants = this.s.client.participants;
    this.classifier.observe(e);
    return e.kind === "chat";
  }

  private receive(e: Envelope, a: Arrival): void {
    if (this.early === null) return this.process(e, a);
    this.early.push([e, a]);
    if (this.early.length >= MAX_QUEUED) this.flushEarly();
  }

  private process(e: Envelope, a: Arrival): void {
    const { you } = this.s.client;
    if (e.seq !== undefined && e.seq <= Math.min(this.until, this.s.client.joinedAt) && !a.old) return; // the backlog has it
    this.observe(e);
    this.settleWatched(e);
    if (a.old || this.stopped) return;
    const own = e.from === you && !a.mine;
    switch (e.kind) {
      case "reasoning.start":
        if (e.from === you) for (const id of correlations(e)) this.started(id, a.mine, false);
        else this.admitPart(e);
        return;
      case "chat":
        if (own && str(field(e.payload, "reason")) === "no_longer_needed") for (const id of correlations(e)) this.questions.get(id)?.q.abort(new CanceledError("superseded", you));
        else if (this.classifier.isQuestion(e)) this.admit(e);
        return;
      case "chat.cancel":
        if (!a.mine) for (const id of correlations(e)) this.questions.get(id)?.q.abort(new CanceledError(own ? "superseded" : "withdrawn", e.from, str(field(e.payload, "reason"))));
        return;
      case "reasoning.cancel":
        if (!a.mine) {
          for (const { q } of this.questions.values()) {
            if (own && [q.part, ...q.paths].includes(e.context ?? "-")) q.abort(new CanceledError("superseded", you));
            q.closedBy(e);
          }
        }
        return;
      case "mcp.withdraw":
        if (own) for (const { q } of this.questions.values()) if (q.paths.includes(e.context ?? "")) queueMicrotask(() => q.abort(new CanceledError("superseded", you))); // after the proposal has ended
        return;
      case "participant.status":
        if (e.from === you && field(e.payload, "status") === "taken") this.started(str(field(e.payload, "question")), a.mine, true);
        else if (own) this.probed(e);
        return;
      case "participant.pause":
        if (this.o.onPause === "abort" && this.isForUs(e)) for (const { q } of this.questions.values()) q.abort(new CanceledError("paused", e.from, str(field(e.payload, "reason"))));
        return;
      case "participant.restart":
        if (this.isForUs(e)) for (const { q } of this.questions.values()) q.abort(new CanceledError("restarted", e.from));
    }
  }

  /** Handles an own reasoning.start about a question, or the claim of a part. */
  private started(id: ID, mine: boolean, claims: boolean): void {
    const q = this.questions.get(id)?.q;
    if (q === undefined || (q.part !== "") !== claims || !q.started(mine) || this.twin) return;
    this.twin = true;
    this.s.client.warn("another process of this participant answers questions too: the one that begins first answers");
  }

  private isForUs(e: Envelope): boolean {
    return e.from !== this.s.client.you && recipients(e).includes(this.s.client.you);
  }

  private admit(e: Envelope): void {
    if (this.questions.has(e.id)) return;
    const ofAsker = [...this.questions.values()].filter((r) => r.q.from === e.from).length;
    if (this.questions.size >= this.places || ofAsker >= Math.max(1, Math.floor(this.places / 4))) {
      this.s.client.warn(`question ${e.id} of ${e.from} refused: too many are waiting`);
      const refusal = derived("busy", e.id);
      const q = new Question(this.s, e);
      if (q.part !== "") return void this.quietly(q.decline("too many questions are waiting"));
      this.quietly(
        this.s.client.publish({
          ...(refusal !== undefined && { id: refusal }),
          kind: "chat",
          correlationId: e.id,
          ...(q.private.length > 0 && { to: q.private }),
          payload: { message: "I have too many questions before me. Please ask again in a moment." },
        }),
      );
      return;
    }
    this.take(e, [], false);
  }

  /** Answers a question when a place is free. An old one is not bounded: it was counted when it was read. */
  private take(e: Envelope, earlier: readonly EarlierCall[], old: boolean): void {
    if (old && this.questions.has(e.id)) return;
    const q = new Question(this.s, e, earlier);
    const done = this.answer(q).finally(() => {
      this.questions.delete(e.id);
      const why: unknown = q.signal.reason;
      if (q.signal.aborted && why instanceof CanceledError && why.kind === "superseded" && q.part === "" && this.o.catchUp !== "off") void this.watch(e);
    });
    this.questions.set(e.id, { q, done });
  }

  private async answer(q: Question): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      q.signal.addEventListener("abort", () => resolve(Promise.resolve().then(() => q.close(publicReason(q.signal.reason)))), { once: true }); // after the other listeners, which withdraw proposals
    });
    let err: unknown;
    try {
      await this.turn(q.signal);
      if (q.part !== "") await this.claim(q);
      this.begun.set(q, performance.now());
      this.s.client.report(`question ${q.id} of ${q.from} begins`);
      const work = (async () => this.handler(q))();
      work.then(() => this.next(), () => this.next()); // a handler that ignores the signal keeps its place
      const value = await Promise.race([work, closed.then(() => undefined)]);
      q.signal.throwIfAborted();
      await this.finish(q, value);
      return;
    } catch (e) {
      err = q.signal.aborted ? q.signal.reason : e;
    }
    if (q.signal.aborted) await closed;
    else await q.close(publicReason(err));
    await this.giveUp(q, err);
  }

  private async finish(q: Question, value: string | Payload | void): Promise<void> {
    const began = this.begun.get(q) ?? 0;
    if (typeof value === "string") await q.reply(value);
    else if (value !== undefined && value !== null) await q.reply(str(field(value, "message")), { payload: value });
    await q.close("ended without a conclusion");
    if (q.part !== "" && q.replies === 0) await q.decline("ended without a conclusion");
    this.begun.delete(q);
    this.s.client.report(`question ${q.id} of ${q.from}: ${q.replies > 0 ? `answered in ${since(began)}` : `not answered after ${since(began)}: the handler has sent no answer`}`);
  }

  /** Sends a chat with the reason, if the asker expects an answer. */
  private async giveUp(q: Question, err: unknown): Promise<void> {
    const began = this.begun.get(q);
    this.begun.delete(q);
    const how = `question ${q.id} of ${q.from}: not answered after ${since(began ?? performance.now())}`;
    if (!(err instanceof CanceledError || err instanceof ClosedError)) this.s.client.fault(how, err);
    else if (began !== undefined) this.s.client.report(`${how}: ${withoutPeriod(err.message)}`);
    if (q.part !== "") {
      if (q.replies === 0 && !q.closed && !(err instanceof ClosedError) && !(err instanceof CanceledError && err.kind === "superseded")) await this.quietly(q.decline(publicReason(err)));
      return;
    }
    if (err instanceof ClosedError || (err instanceof CanceledError && ["withdrawn", "superseded", "shutdown"].includes(err.kind))) return;
    await this.quietly(q.reply(`I have stopped looking into this: ${publicReason(err)}.`));
  }

  private async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
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

  /** Starts to reason about a part of another agent's question, or declines it. */
  private admitPart(e: Envelope): void {
    const { you } = this.s.client;
    if (e.context === undefined || field(e.payload, "participant_id") !== you) return;
    if (recipients(e).length > 0 && !recipients(e).includes(you)) return;
    const { context } = e;
    const q = new Question(this.s, e);
    if ([...this.questions.values()].some((r) => r.q.paths.some((path) => within(context, path)))) void this.quietly(q.decline("this is a part of my own reasoning"));
    else if (q.text.trim() === "") void this.quietly(q.decline("there is no question"));
    else if (!this.classifier.allowsPart(e.from)) void this.quietly(q.decline("too many parts in a row without a message of a person"));
    else this.admit(e);
  }

  /** Waits until this process is the first of the participant that takes a part. */
  private async claim(q: Question): Promise<void> {
    const { client } = this.s;
    if (!allows(client.capabilities, "participant.status")) return; // nothing is known of other processes
    try {
      await client.publish({ kind: "participant.status", to: [client.you], payload: { status: "taken", question: q.id } }, { signal: q.signal });
    } catch (err) {
      if (isRejected(err)) return;
      throw err;
    }
    await q.awaitFirst();
  }

  /** Answers another process that asks whether this one works on a question, and notes such answers. */
  private probed(e: Envelope): void {
    for (const id of correlations(e)) this.probes.get(id)?.();
    const question = str(field(e.payload, "question"));
    if (field(e.payload, "status") !== "waiting" || !this.questions.has(question)) return;
    this.quietly(this.s.client.publish({ kind: "participant.status", to: [this.s.client.you], correlationId: e.id, payload: this.status }));
  }

  /** The number of questions whose handler runs. */
  get open(): number {
    return this.begun.size;
  }

  /** The payload of participant.status. */
  get status(): Payload {
    const contexts = [...this.questions.values()].flatMap(({ q }) => q.paths);
    return { status: this.questions.size > 0 ? "reasoning" : "idle", contexts, paused: this.s.client.paused };
  }

  private settleWatched(e: Envelope): void {
    if (e.kind === "chat.cancel" || (e.kind === "chat" && e.from === this.s.client.you)) for (const id of correlations(e)) this.watched.get(id)?.();
  }

  /** Waits for the answer of another process to a question. If that process is gone, it takes the question over. */
  private async watch(e: Envelope): Promise<void> {
    const { client } = this.s;
    if (this.watched.size >= MAX_WATCHED || this.watched.has(e.id) || this.stopped) return;
    let settled = false;
    let wake: () => void = () => {};
    this.watched.set(e.id, () => {
      settled = true;
      wake();
    });
    try {
      for (;;) {
        await new Promise<void>((resolve) => {
          const stop = realClock.after(this.o.watchInterval ?? 15_000, resolve);
          wake = () => {
            stop();
            resolve();
          };
          if (settled) wake();
        });
        if (settled || this.stopped) return;
        if (await this.probe(e.id)) continue;
        if (settled || this.stopped) return;
        const head = await this.again(() => this.head());
        const work = await this.again(() => this.read(head, () => false));
        if (work.settled(e.id)) return;
        await this.closeAttempts(work, head, e.id);
        if (work.settled(e.id) || this.stopped) return;
        this.resume(e, work);
        return;
      }
    } catch (err) {
      client.fault("a question of another process is not taken over", err);
    } finally {
      this.watched.delete(e.id);
    }
  }

  /** Asks the other processes whether one works on a question. */
  private async probe(question: ID): Promise<boolean> {
    const id = newID();
    let stop: () => void = () => {};
    const reply = new Promise<boolean>((resolve) => {
      this.probes.set(id, () => resolve(true));
      stop = realClock.after(PROBE, () => resolve(false));
    });
    try {
      await this.s.client.publish({ id, kind: "participant.status", to: [this.s.client.you], payload: { status: "waiting", question } });
      return await reply;
    } catch {
      return true; // not allowed: nothing is known of the other process
    } finally {
      stop();
      this.probes.delete(id);
    }
  }

  private async quietly(work: Promise<unknown>): Promise<void> {
    await work.catch((err: unknown) => {
      if (!(err instanceof ClosedError)) this.s.client.fault("a reply was not sent", err);
    });
  }
}
