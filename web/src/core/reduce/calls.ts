/**
 * Tool calls: requests, proposals and their outcomes. The gateway derives turns
 * by the same rules, so that the page, the history over HTTP and the terminal
 * agree.
 */

import { field, obj, recipients, str } from "@sdk/read.js";
import type { Block, Call, CallStep, Step, ThoughtStep } from "../state.js";
import type { ContextPath, ID, Millis, Outcome } from "@sdk/types.js";
import { insertStep, replaceStep, settle } from "./blocks.js";
import type { Ctx, Logged } from "./context.js";
import { announced, endBatch, join } from "./groups.js";
import type { Mut } from "./tables.js";

/** A call with the reducer's own fields, which are not rendered. */
export interface Noted extends Call {
  /** The tool that the rationale names. */
  readonly names: string;
  /** Set if a thought numbered the call. */
  readonly numbered: boolean;
  /** The first call of its batch; "": it has none, or a thought numbered it. */
  readonly lead: ID;
  /** The number that thoughts gave to its batch. */
  readonly batch: number | null;
  /** Set if the asker did not correlate to the answer: another answer may replace it. */
  readonly assumed: boolean;
  /** Answers that may be accepted, the first of each participant. */
  readonly offers: readonly ID[];
  /** The request to be answered: its own, or the one that fulfills it. */
  readonly asked: { readonly id: ID; readonly from: string; readonly to: readonly string[] } | null;
}

const LOOK_BACK = 64;

/** Housekeeping methods, which are not rendered. */
const QUIET = /^(?:notifications\/|(?:tools|resources|prompts)\/.*list|initialize$|ping$|logging\/|completion\/)/;

export function quiet(method: string): boolean {
  return QUIET.test(method);
}

/** Adds a call. Returns its context, "" for the main conversation. */
export function begin(c: Ctx, e: Logged, proposed: boolean): ContextPath {
  const explained = thoughtOf(c, e);
  const path = e.env.context ?? explained?.path ?? "";
  const method = str(field(e.env.payload, "method"));
  const b = c.t.edit(c.t.blocks, path);
  if (!c.t.callAt.has(e.env.id)) {
    if (path === "" || b === undefined) beginOutside(c, e, method, proposed);
    else beginInside(c, e, b, method, proposed, explained?.thought ?? null);
  }
  if (path !== "") settle(c, path);
  return path;
}

function beginOutside(c: Ctx, e: Logged, method: string, proposed: boolean): void {
  const call = newCall(e, "", method, proposed);
  c.t.callAt.set(e.env.id, { path: "", call: e.env.id });
  const step: CallStep = { type: "call", key: e.env.id, seq: e.seq, at: e.at, from: e.env.from, call, version: 0 };
  c.t.add(c.t.calls, e.env.id, step);
  c.t.line({ type: proposed ? "proposal" : "call", key: e.env.id, seq: e.seq, at: e.at });
}

function beginInside(c: Ctx, e: Logged, b: Mut<Block>, method: string, proposed: boolean, explained: Step | null): void {
  const bare = newCall(e, b.path, method, proposed);
  const why = explained ?? before(b, e.env.from, bare.tool);
  const call = number(c, b, explain(bare, why), why);
  const claimed = why?.type === "thought";
  const step: CallStep = {
    type: "call",
    key: claimed ? why.key : e.env.id,
    seq: claimed ? why.seq : e.seq,
    at: e.at,
    from: e.env.from,
    call,
    version: c.t.version,
  };
  c.t.callAt.set(e.env.id, { path: b.path, call: e.env.id });
  if (!claimed || !replaceStep(c, b, why.key, () => step)) insertStep(c, b, step);
  b.counts = { ...b.counts, calls: b.counts.calls + 1, pending: b.counts.pending + 1 };
}

function newCall(e: Logged, context: ContextPath, method: string, proposed: boolean): Noted {
  const params = field(e.env.payload, "params");
  const isTool = method === "tools/call";
  const to = recipients(e.env);
  return {
    id: e.env.id,
    seq: e.seq,
    from: e.env.from,
    to,
    context,
    method,
    tool: isTool ? str(field(obj(params), "name")) : method,
    args: isTool ? field(obj(params), "arguments") : params,
    rationale: "",
    rationaleId: "",
    proposed,
    outcome: "pending",
    failed: false,
    startedAt: e.at,
    endedAt: null,
    durationMs: null,
    group: null,
    result: undefined,
    summary: "",
    responseId: "",
    answeredBy: "",
    decidedBy: "",
    reason: "",
    names: "",
    numbered: false,
    lead: "",
    batch: null,
    assumed: false,
    offers: [],
    asked: proposed ? null : { id: e.env.id, from: e.env.from, to },
  };
}

/** Returns the caller's own thought that a call correlates to, and its context. */
function thoughtOf(c: Ctx, e: Logged): { readonly path: ContextPath; readonly thought: Step } | null {
  for (const id of e.references) {
    const path = c.t.where.get(id)?.path ?? "";
    const thought = c.t.blocks.get(path)?.steps.findLast((s) => s.from === e.env.from && explains(s, id));
    if (thought !== undefined) return { path, thought };
  }
  return null;
}

function explains(s: Step, id: ID): boolean {
  if (s.type === "thought") return s.id === id && !s.raw;
  return s.type === "call" && s.call.rationaleId === id;
}

/** Returns the last thought of the caller that names this tool or no tool. */
function before(b: Block, from: string, tool: string): Step | null {
  const start = Math.max(0, b.steps.length - LOOK_BACK);
  for (let i = b.steps.length - 1; i >= start; i--) {
    const s = b.steps[i] as Step;
    if (s.from !== from) continue;
    if (s.type === "thought" && !s.raw && s.text !== "" && !s.growing && (s.tool === "" || s.tool === tool)) return s;
    if (s.type !== "call" || s.call.rationale === "") continue;
    const names = (s.call as Noted).names;
    if (names === "" || names === tool) return s;
  }
  return null;
}

function explain(call: Noted, why: Step | null): Noted {
  if (why?.type === "thought") {
    return { ...call, rationale: why.text, rationaleId: why.id, names: why.tool, batch: why.tool === "" ? null : why.group };
  }
  if (why?.type !== "call") return call;
  const { rationale, rationaleId, names, batch } = why.call as Noted;
  return { ...call, rationale, rationaleId, names, batch };
}

/** Assigns the number of its batch to a call. */
function number(c: Ctx, b: Mut<Block>, call: Noted, why: Step | null): Noted {
  const value = why?.type === "thought" ? why.group : why?.type === "call" && (why.call as Noted).numbered ? why.call.group : null;
  if (value !== null) {
    const group = why?.type === "call" ? value : announced(c, b.path, call.from, value);
    return { ...call, group, numbered: true };
  }
  const { group, lead, numbersLead } = join(c, b.path, call.from, call.id);
  if (numbersLead) change(c, b, lead, (old) => ({ ...old, group }));
  return { ...call, group, lead };
}

/** Replaces the call with an id. */
function change(c: Ctx, b: Mut<Block>, id: ID, make: (old: Noted) => Noted): void {
  const step = b.steps.findLast((s): s is CallStep => s.type === "call" && s.call.id === id);
  if (step !== undefined) replaceStep(c, b, step.key, () => ({ ...step, call: make(step.call as Noted), version: c.t.version }));
}

/** Returns the call for an id: of a request, of a proposal, or of the request that fulfills one. */
export function callOf(c: Ctx, id: ID): Noted | null {
  const at = c.t.callAt.get(id);
  if (at === undefined) return null;
  if (at.path === "") return (c.t.calls.get(at.call)?.call as Noted | undefined) ?? null;
  const step = c.t.blocks.get(at.path)?.steps.findLast((s) => s.type === "call" && s.call.id === at.call);
  return step?.type === "call" ? (step.call as Noted) : null;
}

/** Changes a call in its block or in the main conversation. */
export function edit(c: Ctx, call: Noted, make: (old: Noted) => Noted): void {
  if (call.context !== "") {
    const b = c.t.edit(c.t.blocks, call.context);
    if (b !== undefined) change(c, b, call.id, make);
    return;
  }
  const step = c.t.edit(c.t.calls, call.id);
  if (step !== undefined) step.call = make(step.call as Noted);
}

/** Ends a call; later envelopes do not change it, unless the end was assumed. */
export function end(c: Ctx, call: Noted, e: { readonly at: Millis }, outcome: Outcome, more: Partial<Noted>): void {
  const first = call.outcome === "pending";
  if (!first && !call.assumed) return;
  const bad = (more.failed === true ? 1 : 0) - (call.failed ? 1 : 0);
  edit(c, call, (old) => ({ ...old, assumed: false, offers: [], outcome, endedAt: e.at, durationMs: Math.max(0, e.at - old.startedAt), ...more }));
  if (call.context === "") return;
  if (first) endBatch(c, call.context, call.from, call.lead);
  const b = c.t.edit(c.t.blocks, call.context);
  if (b !== undefined) b.counts = { ...b.counts, pending: b.counts.pending - (first ? 1 : 0), errors: b.counts.errors + bad };
}

/** Returns the thoughts that are not the reason of a call. */
export function narrative(b: Block): readonly ThoughtStep[] {
  return b.steps.filter((s): s is ThoughtStep => s.type === "thought" && !s.raw && s.text !== "");
}
