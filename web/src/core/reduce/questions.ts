/**
 * The question that a chat answers, or that a context is opened for, if no
 * correlation names it. MEW clients acknowledge a chat and correlate nothing
 * else to it. The gateway has the same rules (internal/exchange), and the same
 * test cases in internal/turns/testdata.
 */

import { recipients } from "@sdk/read.js";
import { type ContextPath, GATEWAY, type ID, type ParticipantID } from "@sdk/types.js";
import { opens, rootOf } from "./blocks.js";
import type { Ctx, Logged } from "./context.js";

/** Maximum number of open questions of one participant; the oldest are dropped. */
const MAX_TASKS = 8;

/** A question to one participant. */
export interface Task {
  readonly question: ID;
  readonly asker: ParticipantID;
  /** The outermost context that was opened for it; "": none. */
  readonly context: ContextPath;
}

/**
 * Handles the next envelope. For a chat it returns the question that the chat
 * answers. For an envelope that opens an outermost context, it returns the
 * question that the sender accepts with it. "" means none.
 */
export function question(c: Ctx, e: Logged): ID {
  const { kind, context, from, id } = e.env;
  if (from === GATEWAY) return "";
  if (kind === "chat" && context === undefined) return addChat(c, e);
  if (kind === "chat.acknowledge") acknowledge(c, e);
  else if (context !== undefined && opens(kind)) return open(c, e, rootOf(context));
  else if (kind === "reasoning.start") return open(c, e, id);
  return "";
}

function addChat(c: Ctx, e: Logged): ID {
  const { from, id } = e.env;
  const to = recipients(e.env);
  let found = "";
  let isAnswer = false;
  for (const ref of e.references) {
    isAnswer ||= isQuestion(c, ref, from);
    const done = answerNamed(c, from, ref);
    found ||= done;
  }
  if (e.references.length === 0) found = answerUnnamed(c, from, to);
  c.t.lastQuestion = "";
  if (isAnswer || found !== "") {
    c.t.answers.set(id, true);
    return found;
  }
  if (to.length === 0) c.t.lastQuestion = id;
  for (const who of to) if (who !== from) put(c.t.asked, who, add(c.t.asked.get(who), { question: id, asker: from, context: "" }));
  return "";
}

/** Reports whether an id is that of a question of another participant. */
function isQuestion(c: Ctx, id: ID, from: ParticipantID): boolean {
  const m = c.t.messages.get(id);
  return m !== undefined && m.from !== from && !c.t.answers.has(id);
}

function acknowledge(c: Ctx, e: Logged): void {
  for (const id of e.references) if (isQuestion(c, id, e.env.from)) take(c, e.env.from, id, "");
}

/**
 * Handles the start of an outermost context. Its opener accepts the chat that
 * it correlates to, or without a correlation its next question.
 */
function open(c: Ctx, e: Logged, name: ContextPath): ID {
  if (c.t.opened.has(name)) return "";
  c.t.opened.set(name, true);
  const { from, kind, context } = e.env;
  const named = e.references.find((id) => (c.t.messages.get(id)?.from ?? from) !== from);
  if (named !== undefined) return take(c, from, named, name);
  if (e.references.length > 0) return "";
  const next = (c.t.taken.get(from) ?? []).findLast((k) => k.context === "") ?? c.t.asked.get(from)?.at(-1);
  if (next !== undefined) return take(c, from, next.question, name);
  // a start within its own new context is from a client that names contexts and correlates only its answer to them
  const last = c.t.lastQuestion;
  if (kind !== "reasoning.start" || context === undefined || (c.t.messages.get(last)?.from ?? from) === from) return "";
  return take(c, from, last, name);
}

/** Makes a question the current one of its asker and a participant. */
function take(c: Ctx, who: ParticipantID, id: ID, context: ContextPath): ID {
  if (c.t.lastQuestion === id) c.t.lastQuestion = "";
  const taken = c.t.taken.get(who) ?? [];
  const before = taken.find((k) => k.question === id)?.context ?? "";
  put(c.t.asked, who, (c.t.asked.get(who) ?? []).filter((k) => k.question !== id));
  put(c.t.taken, who, add(taken, { question: id, asker: c.t.messages.get(id)?.from ?? "", context: context || before }));
  return id;
}

/** Removes and returns the question that a chat correlates to, by its id or by the name of its context. */
function answerNamed(c: Ctx, who: ParticipantID, id: ID): ID {
  const isChat = c.t.messages.has(id);
  const named = (k: Task): boolean => k.question === id || (!isChat && k.context === id);
  const taken = c.t.taken.get(who) ?? [];
  const found = taken.find(named)?.question ?? "";
  put(c.t.taken, who, taken.filter((k) => !named(k)));
  put(c.t.asked, who, (c.t.asked.get(who) ?? []).filter((k) => !named(k)));
  return found;
}

/**
 * Removes the question that a chat without a correlation answers: the last one
 * of its addressees, or the only one if the chat is to all.
 */
function answerUnnamed(c: Ctx, who: ParticipantID, to: readonly ParticipantID[]): ID {
  const taken = c.t.taken.get(who) ?? [];
  const found = taken.findLast((k) => to.includes(k.asker) || (to.length === 0 && taken.length === 1));
  if (found === undefined) return "";
  put(c.t.taken, who, taken.filter((k) => k !== found));
  return found.question;
}

/** Returns the list with a task replacing that of the same asker. */
function add(list: readonly Task[] | undefined, task: Task): readonly Task[] {
  return [...(list ?? []).filter((k) => k.asker !== task.asker).slice(1 - MAX_TASKS), task];
}

function put(map: Map<ParticipantID, readonly Task[]>, who: ParticipantID, list: readonly Task[]): void {
  if (list.length > 0) map.set(who, list);
  else map.delete(who);
}
