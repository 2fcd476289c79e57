/** Messages of the main conversation. */

import { field, recipients, strings, textOf } from "@sdk/read.js";
import { splitMarks } from "../marks.js";
import type { Block, Message } from "../state.js";
import type { ID, Millis } from "@sdk/types.js";
import { acceptBelow } from "./answers.js";
import { attach, rootOf, settle } from "./blocks.js";
import { type Ctx, type Logged, answered, closing, find } from "./context.js";
import { merge, unsay } from "./streams.js";
import type { Mut } from "./tables.js";

/** Handles a chat outside of contexts. `taken` is the question that it answers without a correlation. */
export function say(c: Ctx, e: Logged, taken: ID): void {
  const grown = merge(c, e);
  if (grown !== null) unsay(c, grown.key);
  const replyTo = taken || (answered(c.t, e.references)?.message ?? null);
  const question = replyTo === null ? undefined : c.t.edit(c.t.messages, replyTo);
  const m = c.t.add(c.t.messages, e.env.id, newMessage(e, question, grown?.at ?? e.at));
  c.t.line({ type: "message", key: m.id, seq: m.seq, at: m.at });
  if (question !== undefined) question.replies = c.t.push(question.replies, m.id);
  answer(c, m, question);
  if (replyTo !== null) acceptBelow(c, e.env.from, replyTo);
  adopt(c, m);
}

function newMessage(e: Logged, question: Message | undefined, begunAt: Millis): Message {
  const p = e.env.payload;
  const { marks, text } = splitMarks(textOf(p));
  return {
    id: e.env.id,
    seq: e.seq,
    at: e.at,
    begunAt,
    from: e.env.from,
    to: recipients(e.env),
    text,
    marks,
    format: field(p, "format") === "markdown" ? "markdown" : "plain",
    replyTo: question?.id ?? null,
    references: e.references,
    replies: [],
    thread: question?.thread ?? e.env.id,
    blocks: [],
    answers: [],
    growing: false,
    cancelled: null,
    acknowledged: [],
    redacted: strings(field(p, "redacted"), 32),
    version: 0,
  };
}

/** Marks the author's blocks below the question as answered, and its blocks whose question is not loaded. */
function answer(c: Ctx, m: Mut<Message>, question: Message | undefined): void {
  const paths = [...(question?.blocks ?? []), ...m.references.flatMap((id) => c.t.awaiting.get(id) ?? [])];
  for (const id of m.references) {
    const own = rootOf(find(c.t, id)?.path ?? "");
    if (own !== "" && c.t.blocks.get(own)?.question === null) paths.push(own); // it answers a block without a question
  }
  for (const path of new Set(paths)) {
    const b = c.t.blocks.get(path);
    if (b === undefined || b.depth > 0 || b.opener !== m.from || b.answer !== null) continue;
    (c.t.edit(c.t.blocks, path) as Mut<Block>).answer = m.id;
    m.answers = c.t.push(m.answers, path);
    settle(c, path);
  }
}

/** Attaches blocks that were opened for a message before the message was loaded. */
function adopt(c: Ctx, m: Message): void {
  const waiting = c.t.awaiting.get(m.id);
  if (waiting === undefined) return;
  c.t.awaiting.delete(m.id);
  for (const path of waiting) {
    const b = c.t.edit(c.t.blocks, path);
    if (b !== undefined) attach(c, b, m.id);
  }
}

/** Handles chat.acknowledge and chat.cancel of messages. */
export function aboutChat(c: Ctx, e: Logged): void {
  for (const id of e.references) {
    const m = c.t.edit(c.t.messages, id);
    if (m === undefined) continue;
    if (e.env.kind === "chat.cancel") m.cancelled ??= closing(e);
    else if (!m.acknowledged.includes(e.env.from)) m.acknowledged = c.t.push(m.acknowledged, e.env.from);
  }
}
