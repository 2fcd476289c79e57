/** Questions to other agents: a part of the reasoning that another participant takes. */

import type { Client } from "./client.js";
import { realClock } from "./clock.js";
import { isRejected } from "./errors.js";
import { newID } from "./ids.js";
import { correlations, field, str, textOf } from "./read.js";
import { AWAY } from "./requests.js";
import type { ContextPath, Envelope, ID, ParticipantID } from "./types.js";

export interface AskOptions {
  /** Milliseconds for the answer; 0: without end. Default: 120,000. */
  readonly timeout?: number;
  /** Gets the texts of the other agent's steps: thoughts, observations, hypotheses and questions. */
  readonly onThought?: (text: string) => void;
}

/** The outcome of a question to another agent. */
export interface Answer {
  /** The answer, or why there is none. */
  readonly text: string;
  /**
   * `gave_up`: the other agent declined or failed, or is not connected. `rejected`: it was not asked, by the gateway, at
   * the greatest depth, or since it is this participant. `cancelled`: another participant canceled it.
   */
  readonly outcome: "answered" | "gave_up" | "rejected" | "cancelled" | "timeout";
  /** The envelope that ended it: a reasoning.conclusion or a reasoning.cancel. */
  readonly envelope?: Envelope;
}

/** Where a question is asked. */
export interface Asking extends AskOptions {
  readonly context: ContextPath;
  /** Explains the question. */
  readonly correlationId: ID;
  /** The participants of a private question; empty: all. */
  readonly audience: readonly ParticipantID[];
  readonly signal: AbortSignal;
}

const STEPS = ["reasoning.thought", "reasoning.observation", "reasoning.hypothesis", "reasoning.question"];

/** Asks a participant to reason in a nested context, and waits until that is closed. Throws the reason of the signal, or of the end of the client. */
export async function ask(client: Client, who: ParticipantID, text: string, o: Asking): Promise<Answer> {
  const depth = client.limits.context_depth ?? 0;
  if (who === client.you) return { text: "an agent cannot ask itself", outcome: "rejected" };
  if (depth > 0 && o.context.split("/").length >= depth) return { text: `the question is asked at depth ${depth} already, the most that the space allows`, outcome: "rejected" };
  const { timeout = 120_000 } = o;
  const id = newID();
  const context = `${o.context}/${id}`;
  const to = o.audience.length === 0 || o.audience.includes(who) ? o.audience : [...o.audience, who];
  const audience = to.length > 0 && { to };

  let settle: (answer: Answer) => void = () => {};
  let fail: (err: unknown) => void = () => {};
  const ended = new Promise<Answer>((yes, no) => ([settle, fail] = [yes, no]));
  ended.catch(() => {}); // the start may still be on its way
  let open = false; // the part is to be canceled
  const cancel = (reason: string): void => {
    if (!open) return;
    open = false;
    client.publish({ kind: "reasoning.cancel", ...audience, context, correlationId: id, payload: { reason: reason.slice(0, 500) } }).catch((err: unknown) => client.fault("a question to another agent was not canceled", err));
  };
  let stopAway: (() => void) | null = null;
  const watch = (absence: string): void => {
    if (client.participants.some((p) => p.id === who)) {
      stopAway?.();
      stopAway = null;
    } else stopAway ??= realClock.after(AWAY, () => settle({ text: `${who} ${absence}`, outcome: "gave_up" }));
  };
  const unhandle = client.handle((e, a) => {
    if (a.old) return;
    if (open && (e.kind === "system.presence" || e.kind === "system.welcome")) watch("left the space");
    else if (e.kind === "reasoning.cancel" && (e.context === context || (e.context === undefined && correlations(e).includes(id)))) {
      const reason = str(field(e.payload, "reason")).slice(0, 500) || "no reason given";
      settle({ text: `${e.from === who ? "declined" : "cancelled"} by ${e.from}: ${reason}`, outcome: e.from === who ? "gave_up" : "cancelled", envelope: e });
    } else if (e.context === context && e.from === who) step(e);
  });
  const step = (e: Envelope): void => {
    if (e.kind === "reasoning.conclusion") {
      const answer = textOf(e.payload) || str(field(e.payload, "decision")) || str(field(e.payload, "recommendation"));
      settle(answer === "" ? { text: `${who} closed the part without a conclusion`, outcome: "gave_up", envelope: e } : { text: answer, outcome: "answered", envelope: e });
    } else if (STEPS.includes(e.kind) && textOf(e.payload) !== "") {
      try {
        o.onThought?.(textOf(e.payload));
      } catch (err) {
        fail(err);
      }
    }
  };
  const aborted = (): void => {
    cancel("no longer needed");
    fail(o.signal.reason);
  };
  o.signal.addEventListener("abort", aborted, { once: true });
  const unwatch = client.onEnd(fail);
  let stopTimer = (): void => {};
  try {
    o.signal.throwIfAborted();
    const payload = { message: text, participant_id: who, metadata: { approach: "delegated" } };
    await client.publish({ id, kind: "reasoning.start", ...audience, context: o.context, correlationId: o.correlationId, payload }, { signal: o.signal, certain: true });
    open = true;
    watch("is not connected");
    if (timeout > 0) stopTimer = realClock.after(timeout, () => settle({ text: `no conclusion of ${who} within ${timeout / 1000} s`, outcome: "timeout" }));
    o.signal.throwIfAborted();
    const answer = await ended;
    if (answer.envelope !== undefined) open = false;
    cancel(answer.text);
    return answer;
  } catch (err) {
    cancel("no longer needed");
    if (!open && isRejected(err) && !o.signal.aborted) return { text: `not asked: ${err.message}`, outcome: "rejected" };
    throw err;
  } finally {
    o.signal.removeEventListener("abort", aborted);
    unhandle();
    unwatch();
    stopTimer();
    (stopAway as (() => void) | null)?.();
  }
}
