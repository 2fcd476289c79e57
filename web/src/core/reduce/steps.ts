/** Steps of a reasoning block: starts, thoughts, conclusions. */

import { arr, bool, count, field, obj, oneLine, recipients, share, str, strings, textOf } from "@sdk/read.js";
import { look } from "@sdk/json.js";
import { splitMarks } from "../marks.js";
import type { Block, Step, ThoughtStep } from "../state.js";
import type { ContextPath, ID, ParticipantID, Payload } from "@sdk/types.js";
import { acceptIn, acceptWithin } from "./answers.js";
import { attach, child, ensure, enter, insertStep, opens, replaceStep, rootOf, settle, take } from "./blocks.js";
import { type Ctx, type Logged, answered, closing } from "./context.js";
import { endBatch } from "./groups.js";
import { merge } from "./streams.js";
import type { Mut } from "./tables.js";

/** Handles reasoning.start, at top level or in another context. `taken` is the question that it is for without a correlation. */
export function start(c: Ctx, e: Logged, taken: ID): ContextPath {
  const outside = e.env.context ?? "";
  const path = child(outside, e.env.id);
  if (path === "") return "";
  const b = ensure(c, path, e);
  const p = e.env.payload;
  b.opened = true;
  b.references = e.references;
  b.message = textOf(p);
  const metadata = obj(field(p, "metadata"));
  b.metadata = metadata;
  b.approach = str(field(metadata, "approach"));
  b.cited = cited(p);
  b.asked = outside === "" ? "" : askedBy(e);
  b.lastSeq = e.seq;
  b.counts = { ...b.counts, envelopes: b.counts.envelopes + 1 };
  take(c, b, e.env.from);
  if (outside === "") belong(c, b, e, taken);
  else explain(c, b, outside, e);
  settle(c, path);
  return path;
}

/** The form of a participant's id. */
const PARTICIPANT = /^[\w.:@+|-]{1,128}$/;

/** The participant that a nested start asks to reason in its context; "": none. */
function askedBy(e: Logged): ParticipantID {
  const who = str(field(e.env.payload, "participant_id"));
  const to = recipients(e.env);
  return who !== e.env.from && PARTICIPANT.test(who) && (to.length === 0 || to.includes(who)) ? who : "";
}

/** Attaches an outermost block to the message that it answers, or records the id to wait for. */
function belong(c: Ctx, b: Mut<Block>, e: Logged, taken: ID): void {
  c.t.placed.set(b.path, true);
  const message = answered(c.t, e.references)?.message ?? taken;
  if (message !== "") {
    attach(c, b, message);
    return;
  }
  for (const id of e.references) c.t.awaiting.set(id, [...(c.t.awaiting.get(id) ?? []), b.path]);
}

/**
 * Places an envelope in a context. An outermost context without a start belongs
 * to the message that its first envelope correlates to, or else to the question
 * that this envelope accepts.
 */
export function within(c: Ctx, path: ContextPath, e: Logged, taken: ID): void {
  const b = enter(c, path, e);
  if (b.parent !== null) c.t.names.set(b.id, path);
  const root = rootOf(path);
  const outermost = c.t.placed.has(root) ? undefined : c.t.edit(c.t.blocks, root);
  if (outermost === undefined || (!opens(e.env.kind) && answered(c.t, e.references) === null)) return;
  belong(c, outermost, e, taken);
}

/** Makes the thought before a nested context its rationale and position. */
function explain(c: Ctx, b: Mut<Block>, outside: ContextPath, e: Logged): void {
  const around = c.t.edit(c.t.blocks, outside);
  if (around === undefined) return;
  const thought = around.steps.findLast(
    (s): s is ThoughtStep => s.type === "thought" && s.from === e.env.from && s.id !== "" && e.references.includes(s.id),
  );
  if (thought !== undefined) replaceStep(c, around, thought.key, () => null);
  replaceStep(c, around, b.path, () => null);
  insertStep(c, around, {
    type: "block",
    key: b.path,
    seq: thought?.seq ?? b.seq,
    at: b.startedAt,
    from: e.env.from,
    path: b.path,
    rationale: thought?.text ?? "",
    group: thought?.group ?? null,
    version: c.t.version,
  });
}

/** Handles thoughts and the richer kinds. Outside of contexts they are not rendered. */
export function think(c: Ctx, e: Logged): void {
  const b = inside(c, e);
  if (b === undefined) return;
  b.counts = { ...b.counts, thoughts: b.counts.thoughts + 1 };
  const step = readThought(e, c.t.version);
  if (step.type !== "other") {
    endBatch(c, b.path, e.env.from);
    acceptIn(c, e.env.from, b.path, step.type === "thought" && step.tool !== "" ? step.group : null);
  }
  const grown = merge(c, e);
  if (grown === null || !replaceStep(c, b, grown.key, (old) => ({ ...step, key: old.key, seq: old.seq }))) {
    insertStep(c, b, grown === null ? step : { ...step, key: grown.key, seq: grown.seq });
  }
}

/** Returns the block of an envelope, for changes. */
function inside(c: Ctx, e: Logged): Mut<Block> | undefined {
  return e.env.context === undefined ? undefined : c.t.edit(c.t.blocks, e.env.context);
}

const TYPES: Readonly<Record<string, ThoughtStep["type"]>> = {
  thought: "thought",
  hypothesis: "hypothesis",
  observation: "observation",
  question: "question",
};

function readThought(e: Logged, version: number): ThoughtStep {
  const p = e.env.payload;
  const kind = e.env.kind.slice("reasoning.".length);
  return {
    type: Object.hasOwn(TYPES, kind) ? (TYPES[kind] as ThoughtStep["type"]) : "other",
    key: e.env.id,
    id: e.env.id,
    seq: e.seq,
    at: e.at,
    from: e.env.from,
    kind,
    text: textOf(p),
    questions: items(field(p, "questions")),
    confidence: share(field(p, "confidence")),
    severity: str(field(p, "severity")),
    evidence: items(field(p, "evidence")),
    against: items(field(p, "evidence_against")),
    cited: cited(p),
    tool: str(field(p, "tool_name")),
    group: count(field(p, "parallel_group")),
    raw: bool(field(p, "raw")) === true,
    redacted: strings(field(p, "redacted"), 32),
    growing: false,
    payload: p,
    version,
  };
}

/** Returns the ids that a payload refers to. */
function cited(p: Payload): readonly ID[] {
  return strings(field(p, "references"), 64);
}

/** Returns the texts of an array; other values as short JSON. */
function items(v: unknown): readonly string[] {
  if (typeof v === "string") return v === "" ? [] : [v];
  return arr(v)
    .slice(0, 64)
    .map((x) => (typeof x === "string" ? x : textOf(obj(x)) || oneLine(look(x))));
}

/** Handles reasoning.conclusion: closes its context. The conclusion of a participant that was not asked is a step. */
export function conclude(c: Ctx, e: Logged): void {
  const b = inside(c, e);
  if (b?.conclusion !== null || b.cancelled !== null) return;
  if (b.asked !== "" && b.asked !== e.env.from) {
    insertStep(c, b, readThought(e, c.t.version));
    return;
  }
  b.conclusion = readConclusion(e, e.env.payload);
  acceptClosed(c, b);
}

/** Accepts offers because a context was closed. */
function acceptClosed(c: Ctx, b: Mut<Block>): void {
  acceptWithin(c, b.opener, b.path);
  if (b.asked !== "") acceptWithin(c, b.asked, b.path);
}

function readConclusion(e: Logged, p: Payload): Block["conclusion"] {
  return {
    id: e.env.id,
    seq: e.seq,
    by: e.env.from,
    at: e.at,
    text: textOf(p),
    decision: str(field(p, "decision")),
    recommendation: str(field(p, "recommendation")),
    confidence: share(field(p, "confidence")),
    keyFactors: items(field(p, "key_factors")),
    cited: cited(p),
    redacted: strings(field(p, "redacted"), 32),
  };
}

/** Handles reasoning.cancel: closes its context, or from outside the contexts whose start it names. */
export function cancel(c: Ctx, e: Logged): void {
  for (const path of e.env.context === undefined ? started(c, e.references) : [e.env.context]) {
    const b = c.t.edit(c.t.blocks, path);
    if (b?.conclusion === null && b.cancelled === null) {
      b.cancelled = closing(e);
      acceptClosed(c, b);
    }
    settle(c, path);
  }
}

/** Returns the contexts that envelopes have opened. */
function started(c: Ctx, ids: readonly ID[]): ContextPath[] {
  const paths = ids.map((id) => c.t.where.get(id)?.path ?? id);
  return paths.filter((path, i) => c.t.blocks.get(path)?.id === ids[i]);
}

/** Handles a chat inside a context. */
export function saidInside(c: Ctx, e: Logged): void {
  const b = inside(c, e);
  if (b === undefined) return;
  const format = field(e.env.payload, "format") === "markdown" ? "markdown" : "plain";
  const { marks, text } = splitMarks(textOf(e.env.payload));
  const step: Step = {
    type: "said",
    key: e.env.id,
    id: e.env.id,
    seq: e.seq,
    at: e.at,
    from: e.env.from,
    text,
    marks,
    format,
    version: c.t.version,
  };
  insertStep(c, b, step);
}
