/** Streamed text: rendered in the position of the complete message, which replaces it. */

import { field, str } from "@sdk/read.js";
import type { Block, Message, ThoughtStep } from "../state.js";
import { type Envelope, GATEWAY, type ID, type Millis } from "@sdk/types.js";
import { insertStep, replaceStep, review, settle } from "./blocks.js";
import { type Ctx, type Logged, answered } from "./context.js";
import type { Mut, Stream } from "./tables.js";

/** The reason of a stream.close that takes back the text: it is elsewhere, or not what it seemed to be. */
const WITHDRAWN = "withdrawn";

/** Handles stream.open. The gateway opens the streams that MEW clients request, and names the owner. */
export function openStream(c: Ctx, e: Logged): void {
  const id = str(field(e.env.payload, "stream_id")) || e.env.id;
  const path = e.env.context ?? "";
  if (c.t.streams.has(id)) return;
  const question = path === "" ? (answered(c.t, e.references)?.message ?? null) : null;
  const owner = (e.env.from === GATEWAY && str(field(e.env.payload, "owner"))) || e.env.from;
  c.t.streams.set(id, { id, owner, path, question, seq: e.seq, at: e.at, closed: false, merged: false });
  if (c.live.text(id) !== "") show(c, id);
}

/** Handles stream.data, which is not in the log. */
export function growStream(c: Ctx, e: Envelope): void {
  const id = str(field(e.payload, "stream_id"));
  const s = c.t.streams.get(id);
  if (s === undefined || s.owner !== e.from || s.closed || s.merged) return;
  if (c.live.streams(e.from)) review(c, e.from);
  if (c.live.grow(id, str(field(e.payload, "data")))) show(c, id);
}

/** Handles stream.close. The complete message may follow, unless the text is withdrawn. */
export function closeStream(c: Ctx, e: Logged): void {
  const id = str(field(e.env.payload, "stream_id"));
  const s = c.t.streams.get(id);
  if (s === undefined || s.closed || (s.owner !== e.env.from && e.env.from !== GATEWAY)) return;
  const withdrawn = field(e.env.payload, "reason") === WITHDRAWN;
  c.t.streams.set(id, { ...s, closed: true, merged: s.merged || withdrawn });
  if (s.merged) return;
  if (withdrawn) vanish(c, s);
  else if (c.live.text(id) !== "") show(c, id);
}

/** Where and when a streamed message began. */
export interface Grown {
  readonly key: string;
  readonly seq: number;
  readonly at: Millis;
}

/** Handles the complete message of a stream: drops the streamed text, and returns its key if both have the same position. */
export function merge(c: Ctx, e: Logged): Grown | null {
  const s = c.t.streams.get(str(field(e.env.payload, "stream_id")));
  if (s === undefined || s.owner !== e.env.from || s.merged) return null;
  c.t.streams.set(s.id, { ...s, merged: true });
  if (s.path === (e.env.context ?? "")) {
    c.live.settle(s.id);
    return { key: keyOf(s.id), seq: s.seq, at: s.at };
  }
  vanish(c, s);
  return null;
}

function keyOf(stream: ID): string {
  return "stream:" + stream;
}

/** Removes the streamed text: the complete message is in another place, or it was withdrawn. */
function vanish(c: Ctx, s: Stream): void {
  c.live.settle(s.id);
  if (s.path === "") {
    unsay(c, keyOf(s.id));
    return;
  }
  const b = c.t.edit(c.t.blocks, s.path);
  if (b !== undefined) replaceStep(c, b, keyOf(s.id), () => null);
}

/** Renders the text of a stream so far. */
function show(c: Ctx, id: ID): void {
  const s = c.t.streams.get(id) as Stream;
  if (s.path === "") {
    showMessage(c, s);
    return;
  }
  const b = c.t.edit(c.t.blocks, s.path);
  if (b === undefined) return;
  const step = growingStep(s, c.live.text(id), b.version);
  if (!replaceStep(c, b, step.key, () => step)) insertStep(c, b, step);
}

function growingStep(s: Stream, text: string, version: Block["version"]): ThoughtStep {
  return {
    type: "thought",
    key: keyOf(s.id),
    id: "",
    seq: s.seq,
    at: s.at,
    from: s.owner,
    kind: "thought",
    text,
    questions: [],
    confidence: null,
    severity: "",
    evidence: [],
    against: [],
    cited: [],
    tool: "",
    group: null,
    raw: false,
    redacted: [],
    growing: !s.closed,
    payload: {},
    version,
  };
}

/** Renders a streamed answer in the main conversation, which ends the reasoning. */
function showMessage(c: Ctx, s: Stream): void {
  const key = keyOf(s.id);
  const m = c.t.edit(c.t.messages, key);
  if (m !== undefined) {
    m.text = c.live.text(s.id);
    m.growing = !s.closed;
    return;
  }
  const question = s.question === null ? undefined : c.t.messages.get(s.question);
  c.t.add(c.t.messages, key, growingMessage(s, key, c.live.text(s.id), question));
  c.t.line({ type: "message", key, seq: s.seq, at: s.at });
  for (const path of question?.blocks ?? []) {
    const b = c.t.blocks.get(path);
    if (b?.opener !== s.owner || b.answer !== null) continue;
    (c.t.edit(c.t.blocks, path) as Mut<Block>).answer = key;
    const growing = c.t.edit(c.t.messages, key);
    if (growing !== undefined) growing.answers = c.t.push(growing.answers, path);
    settle(c, path);
  }
}

function growingMessage(s: Stream, key: ID, text: string, question: Message | undefined): Message {
  return {
    id: key,
    seq: s.seq,
    at: s.at,
    begunAt: s.at,
    from: s.owner,
    to: [],
    text,
    marks: null,
    format: "markdown",
    replyTo: s.question,
    references: s.question === null ? [] : [s.question],
    replies: [],
    thread: question?.thread ?? key,
    blocks: [],
    answers: [],
    growing: !s.closed,
    cancelled: null,
    acknowledged: [],
    redacted: [],
    version: 0,
  };
}

/** Removes a streamed message. Its blocks wait for the complete one, or for another. */
export function unsay(c: Ctx, key: ID): void {
  const m = c.t.messages.get(key);
  if (m === undefined) return;
  c.t.messages.delete(key);
  c.t.unline("message", key);
  const question = m.replyTo === null ? undefined : c.t.messages.get(m.replyTo);
  for (const path of question?.blocks ?? []) {
    const b = c.t.blocks.get(path);
    if (b?.answer !== key) continue;
    (c.t.edit(c.t.blocks, path) as Mut<Block>).answer = null;
    settle(c, path);
  }
}
