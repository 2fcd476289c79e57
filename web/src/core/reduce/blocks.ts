/** Reasoning blocks: creation, ownership and status. Their contents are in steps.ts and calls.ts. */

import { contextPath } from "@sdk/read.js";
import { secondsBetween, startKnown } from "../time.js";
import type { Block, BlockCounts, BlockStatus, Step } from "../state.js";
import type { ContextPath, ID, ParticipantID } from "@sdk/types.js";
import { type Ctx, type Logged, ended } from "./context.js";
import type { Mut } from "./tables.js";

/** Maximum number of steps in a block; the oldest are dropped, a hundred at a time. */
export const MAX_STEPS = 1000;
const SLACK = 100;

const NO_COUNTS: BlockCounts = { envelopes: 0, thoughts: 0, calls: 0, pending: 0, errors: 0 };

/** The path of a context within another. */
export function child(path: ContextPath, id: ID): ContextPath {
  return contextPath(path === "" ? id : path + "/" + id);
}

export function parentOf(path: ContextPath): ContextPath | null {
  const i = path.lastIndexOf("/");
  return i < 0 ? null : path.slice(0, i);
}

export function rootOf(path: ContextPath): ContextPath {
  const i = path.indexOf("/");
  return i < 0 ? path : path.slice(0, i);
}

/** Returns the block of a path. It creates the block and its parents if they do not exist. */
export function ensure(c: Ctx, path: ContextPath, e: Logged): Mut<Block> {
  const there = c.t.edit(c.t.blocks, path);
  if (there !== undefined) return there;
  const parent = parentOf(path);
  const around = parent === null ? null : ensure(c, parent, e);
  const b = c.t.add(c.t.blocks, path, newBlock(path, parent, around, e));
  if (around === null) {
    c.t.roots = c.t.push(c.t.roots, path);
    c.t.line({ type: "block", key: path, seq: e.seq, at: e.at });
  } else {
    around.children = c.t.push(around.children, path);
    insertStep(c, around, { type: "block", key: path, seq: e.seq, at: e.at, from: "", path, rationale: "", group: null, version: b.version });
  }
  return b;
}

function newBlock(path: ContextPath, parent: ContextPath | null, around: Block | null, e: Logged): Block {
  return {
    path,
    id: path.slice(path.lastIndexOf("/") + 1),
    parent,
    depth: around === null ? 0 : around.depth + 1,
    opener: "",
    asked: "",
    opened: false,
    implicit: false,
    status: "idle",
    question: null,
    references: [],
    answer: null,
    message: "",
    approach: "",
    cited: [],
    metadata: null,
    seq: e.seq,
    lastSeq: e.seq,
    startedAt: e.at,
    lastAt: e.at,
    endedAt: null,
    thoughtSeconds: null,
    steps: [],
    droppedSteps: 0,
    children: [],
    conclusion: null,
    cancelled: null,
    authors: [],
    counts: NO_COUNTS,
    version: 0,
  };
}

/** Counts an envelope in a context. */
export function enter(c: Ctx, path: ContextPath, e: Logged): Mut<Block> {
  const b = ensure(c, path, e);
  b.lastSeq = e.seq;
  b.lastAt = Math.max(b.lastAt, e.at);
  b.counts = { ...b.counts, envelopes: b.counts.envelopes + 1 };
  if (!b.authors.includes(e.env.from)) b.authors = c.t.push(b.authors, e.env.from);
  if (b.opener === "" && opens(e.env.kind)) take(c, b, e.env.from);
  return b;
}

/** Reports whether an envelope of this kind makes its sender the opener of a context without a start. */
export function opens(kind: string): boolean {
  if (kind === "mcp.request" || kind === "mcp.proposal") return true;
  return kind.startsWith("reasoning.") && kind !== "reasoning.cancel";
}

/** Sets the opener of a block. */
export function take(c: Ctx, b: Mut<Block>, who: ParticipantID): void {
  const before = b.opener;
  if (before === who) return;
  b.opener = who;
  b.authors = [who, ...b.authors.filter((x) => x !== who)];
  if (before !== "") dropFrom(c, before, b.path);
  c.t.unfinished.set(who, [...(c.t.unfinished.get(who) ?? []), b.path]);
}

function dropFrom(c: Ctx, who: ParticipantID, path: ContextPath): void {
  const left = (c.t.unfinished.get(who) ?? []).filter((x) => x !== path);
  if (left.length > 0) c.t.unfinished.set(who, left);
  else c.t.unfinished.delete(who);
}

/** Attaches an outermost block to the message that it answers. */
export function attach(c: Ctx, b: Mut<Block>, message: ID): void {
  const m = b.question === null ? c.t.edit(c.t.messages, message) : undefined;
  if (m === undefined) return;
  b.question = message;
  m.blocks = c.t.push(m.blocks, b.path);
  c.t.unline("block", b.path);
  for (const path of m.blocks) if (path !== b.path) settle(c, path); // its opener may have opened another context for it
}

/** Inserts a step by seq, nearly always at the end. */
export function insertStep(c: Ctx, b: Mut<Block>, step: Step): void {
  const steps = c.t.own(b.steps);
  let i = steps.length;
  while (i > 0 && (steps[i - 1] as Step).seq > step.seq) i--;
  steps.splice(i, 0, step);
  if (steps.length > MAX_STEPS + SLACK) b.droppedSteps += steps.splice(0, steps.length - MAX_STEPS).length;
  b.steps = steps;
}

/** Replaces the step with a key; returns false if there is none. */
export function replaceStep(c: Ctx, b: Mut<Block>, key: string, make: (old: Step) => Step | null): boolean {
  const i = b.steps.findLastIndex((s) => s.key === key);
  if (i < 0) return false;
  const steps = c.t.own(b.steps);
  const step = make(steps[i] as Step);
  if (step === null) steps.splice(i, 1);
  else steps[i] = step;
  b.steps = steps;
  return true;
}

/** Computes the status of a block and of the blocks in it. */
export function settle(c: Ctx, path: ContextPath): void {
  const b = c.t.blocks.get(path);
  if (b === undefined) return;
  const status = statusOf(c, b);
  const implicit = !b.opened && b.opener !== "" && c.fromStart;
  const endedAt = endOf(c, b, status);
  if (status === b.status && endedAt === b.endedAt && implicit === b.implicit) return;
  const changed = c.t.edit(c.t.blocks, path) as Mut<Block>;
  changed.status = status;
  changed.implicit = implicit;
  changed.endedAt = endedAt;
  changed.thoughtSeconds = endedAt !== null && startKnown(changed) ? secondsBetween(b.startedAt, endedAt) : null;
  if (status === "complete" || status === "cancelled") dropFrom(c, b.opener, path);
  for (const inner of b.children) settle(c, inner);
}

function statusOf(c: Ctx, b: Block): BlockStatus {
  if (b.cancelled !== null) return "cancelled";
  const closed = b.conclusion !== null;
  const answered = b.answer !== null;
  if (b.opener === "" && !closed) return "idle";
  if (closed && (answered || b.references.length === 0 || b.depth > 0)) return "complete";
  if (closed || answered) return "collapsed";
  if (closedAround(c, b)) return "complete";
  return left(c, b) ? "stopped" : "reasoning";
}

/** Reports whether the opener has concluded an outer context, which closes the open ones in it. */
function closedAround(c: Ctx, b: Block): boolean {
  for (let path = b.parent; path !== null; path = parentOf(path)) {
    const around = c.t.blocks.get(path);
    if (around?.opener === b.opener && around.conclusion !== null) return true;
  }
  return false;
}

/** Reports whether an open block is abandoned. */
function left(c: Ctx, b: Block): boolean {
  if (c.live.gone(b.opener, c.t.heard.get(b.opener) ?? 0)) return true;
  const around = b.parent === null ? undefined : c.t.blocks.get(b.parent);
  if (around !== undefined && ended(around.status) && (around.status !== "stopped" || around.opener === b.opener)) return true;
  return around?.conclusion != null || begunAnew(c, b);
}

/** Reports whether the opener has opened another context for the same question. */
function begunAnew(c: Ctx, b: Block): boolean {
  const all = b.question === null ? [] : (c.t.messages.get(b.question)?.blocks ?? []);
  return all.slice(all.indexOf(b.path) + 1).some((path) => c.t.blocks.get(path)?.opener === b.opener);
}

/** Returns when the reasoning ended: at the answer or at the conclusion, whichever was first. */
function endOf(c: Ctx, b: Block, status: BlockStatus): number | null {
  if (status === "idle" || status === "reasoning") return null;
  const closedAt = (b.cancelled ?? b.conclusion)?.at ?? Infinity;
  const answeredAt = b.answer === null ? Infinity : (c.t.messages.get(b.answer)?.begunAt ?? Infinity);
  const end = Math.min(closedAt, answeredAt);
  if (end !== Infinity) return end;
  return b.endedAt !== null && status !== "stopped" ? b.endedAt : b.lastAt;
}

/** Computes the status of a participant's unfinished blocks again, after it joined, left or sent something. */
export function review(c: Ctx, who: ParticipantID): void {
  for (const path of c.t.unfinished.get(who) ?? []) settle(c, path);
}
