/**
 * The trace of a turn: its steps as spans of time, with model, tokens and cost where an
 * agent reported them. A step without a known duration is a point in time: no duration is
 * invented.
 */

import { correlations, field, isObject, obj, oneLine, str } from "@sdk/read.js";
import { ExactNumber } from "@sdk/json.js";
import { type Block, type Call, type CallStep, type SpaceState, type Step, reasoner } from "./state.js";
import { turnOf } from "./threads.js";
import { axisMarks, parseTime } from "./time.js";
import type { ContextPath, Envelope, ID, Millis, ParticipantID, Payload } from "@sdk/types.js";
import { neutral } from "./unicode.js";
import { waitOf } from "./waiting.js";

/** What a model needed; null where it was not reported. */
export interface Usage {
  readonly model: string;
  readonly input: number | null;
  readonly output: number | null;
  /** Input and output together. */
  readonly tokens: number | null;
  readonly cost: number | null;
  readonly currency: string;
  /** Answers without a count: the other numbers are lower bounds. */
  readonly uncounted: number;
}

/** A step of a turn. */
export interface Span {
  readonly key: string;
  readonly type: "context" | "thought" | "call" | "message";
  readonly depth: number;
  readonly label: string;
  /** The argument of a call that distinguishes it from others of the same tool; "" for none. */
  readonly argument: string;
  /** Its whole text; for a call, the reason. */
  readonly text: string;
  /** The conclusion of a context, or the reason of its cancellation; "" for none. */
  readonly conclusion: string;
  readonly call: Call | null;
  /** Its envelopes, by what they are to it. */
  readonly envelopes: readonly (readonly [name: string, id: ID])[];
  readonly from: ParticipantID;
  readonly start: Millis;
  /** Equal to `start`: a point in time. */
  readonly end: Millis;
  /** Until when it waited for a decision, from `start`; equal to `start`: it did not. */
  readonly waitedUntil: Millis;
  readonly state: "running" | "done" | "failed" | "ended";
  readonly usage: Usage;
  /** The place in the conversation. */
  readonly place: ID | ContextPath;
}

export interface Trace {
  /** The question, or the context if it answers none. */
  readonly id: ID | ContextPath;
  readonly title: string;
  readonly start: Millis;
  readonly end: Millis;
  readonly spans: readonly Span[];
  readonly calls: number;
  readonly failed: number;
  /** Time of waiting for decisions. */
  readonly waited: Millis;
  /** The sum of what was reported. */
  readonly usage: Usage;
}

const NONE: Usage = { model: "", input: null, output: null, tokens: null, cost: null, currency: "", uncounted: 0 };

/** Maximum number of spans. */
const MAX_SPANS = 2000;
/** Maximum number of arguments that are compared. */
const MAX_ARGUMENTS = 8;

/** Returns the ids of the turns with reasoning, the newest first. */
export function turnsOf(s: SpaceState, most = 100): readonly { readonly id: string; readonly title: string; readonly at: Millis }[] {
  const out = new Map<string, { readonly id: string; readonly title: string; readonly at: Millis }>();
  for (let i = s.roots.length - 1; i >= 0 && out.size < most; i--) {
    const b = s.blocks.get(s.roots[i] as string);
    if (b === undefined || b.status === "idle") continue;
    const id = turnOf(s, b.path);
    if (!out.has(id)) out.set(id, { id, title: titleOf(s, id), at: b.startedAt });
  }
  return [...out.values()];
}

function titleOf(s: SpaceState, id: string): string {
  const b = s.blocks.get(id);
  return label(s.messages.get(id)?.text || b?.message || "", b?.opener ?? id, 100);
}

/** Returns a text on one line, without characters that hide or reorder text; `otherwise` if nothing is left. */
function label(text: string, otherwise: string, most = 120): string {
  return oneLine(neutral(text.slice(0, 8 * most)), most) || otherwise;
}

/** Returns the trace of a turn; null if it has no reasoning. `find` returns loaded envelopes, `now` is the server's time. */
export function trace(s: SpaceState, id: ID | ContextPath, now: Millis, find: (id: ID) => Envelope | undefined): Trace | null {
  const question = s.messages.get(id);
  const roots = (question?.blocks ?? [id]).flatMap((path) => s.blocks.get(path) ?? []);
  if (roots.length === 0) return null;
  const found: Span[] = [];
  for (const b of roots) addBlock(s, b, 0, now, find, found);
  for (const reply of question?.replies ?? []) {
    const m = s.messages.get(reply);
    if (m !== undefined && m.answers.length > 0) found.push({ ...point("message", m.id, 0, "Answer", m.from, m.begunAt, m.at, m.id), text: m.text, envelopes: named(["Message", m.id]) });
  }
  const spans = compared(found);
  const start = Math.min(question?.at ?? Number.POSITIVE_INFINITY, ...spans.map((x) => x.start));
  const calls = spans.filter((x) => x.type === "call");
  return {
    id,
    title: titleOf(s, id),
    start,
    end: Math.max(start + 1, ...spans.map((x) => x.end)),
    spans,
    calls: calls.length,
    failed: calls.filter((x) => x.state === "failed").length,
    waited: roots.reduce((sum, b) => sum + waitOf(s, b, now).ms, 0),
    usage: spans.map((x) => x.usage).reduce(sum, NONE),
  };
}

/** Adds a context and its steps. If its start reports times (an export after the fact), those count, and in its steps too. */
function addBlock(s: SpaceState, b: Block, depth: number, now: Millis, find: (id: ID) => Envelope | undefined, out: Span[]): void {
  if (out.length >= MAX_SPANS) return;
  const running = b.status === "reasoning";
  const [start, until] = timeOf(b.metadata ?? {}, b.startedAt);
  const reported = until > start;
  const end = b.endedAt ?? (running ? Math.max(now, b.lastAt) : b.lastAt);
  const closed = find((b.conclusion ?? b.cancelled)?.id ?? "");
  const used = closed?.context === b.path ? usageOf(obj(field(closed.payload, "metadata"))) : NONE; // a cancellation from outside may close several
  out.push({
    ...point("context", b.path, depth, label(b.message, "Reasoning"), reasoner(b), start, reported ? until : Math.max(start, end), b.path),
    text: b.message,
    conclusion: b.conclusion?.text ?? b.cancelled?.reason ?? "",
    envelopes: named(["Start", b.opened ? b.id : ""], ["Conclusion", b.conclusion?.id ?? ""], ["Cancellation", b.cancelled?.id ?? ""]),
    state: running ? "running" : b.status === "complete" || b.status === "collapsed" ? "done" : "ended",
    usage: sum(usageOf(b.metadata ?? {}), used),
  });
  for (const step of b.steps) {
    if (out.length >= MAX_SPANS) return;
    const inner = step.type === "block" ? s.blocks.get(step.path) : undefined;
    if (inner !== undefined) addBlock(s, inner, depth + 1, now, find, out);
    else if (step.type === "call") out.push(callSpan(s, b, step, depth + 1, now, find, reported));
    else if (step.type !== "block") out.push(thoughtSpan(step, depth + 1, reported));
  }
}

function thoughtSpan(step: Exclude<Step, CallStep | { type: "block" }>, depth: number, reported: boolean): Span {
  if (step.type === "said") return { ...point("message", step.key, depth, label(step.text, "Message"), step.from, step.at, step.at, step.key), text: step.text, envelopes: named(["Message", step.id]) };
  const metadata = obj(field(step.payload, "metadata"));
  const [start, end] = reported ? timeOf(metadata, step.at) : [step.at, step.at];
  const text = step.text || step.questions.join("\n");
  return {
    ...point("thought", step.key, depth, label(text, oneLine(step.kind)), step.from, start, end, step.id || step.key),
    text,
    envelopes: named(["Thought", step.id]),
    usage: usageOf(metadata),
  };
}

function callSpan(s: SpaceState, b: Block, step: CallStep, depth: number, now: Millis, find: (id: ID) => Envelope | undefined, reported: boolean): Span {
  const c = step.call;
  const open = c.outcome === "pending" && b.status === "reasoning";
  const end = c.endedAt ?? (open ? Math.max(now, c.startedAt) : c.startedAt);
  const waits = c.proposed && c.decidedBy === "" && open;
  const proposal = s.proposals.get(c.id);
  const decided = c.proposed ? (proposal?.decidedAt ?? c.endedAt) : c.startedAt;
  const why = find(c.rationaleId) ?? correlations(find(c.id) ?? NO_ENVELOPE).map(find).find((x) => x !== undefined);
  const metadata = obj(field(why?.payload ?? {}, "metadata"));
  const [start, until] = reported ? timeOf(metadata, c.startedAt) : [0, 0];
  const [from, to] = start === until ? [c.startedAt, end] : [start, until];
  const span = point("call", step.key, depth, label(c.tool, "(no name)"), c.from, from, to, step.key);
  return {
    ...span,
    text: c.rationale,
    call: c,
    envelopes: named(["Reason", c.rationaleId], [c.proposed ? "Proposal" : "Request", c.id], ["Request", proposal?.request ?? ""], ["Response", c.responseId]),
    waitedUntil: waits ? span.end : Math.min(Math.max(span.start, decided ?? span.start), span.end),
    state: open ? "running" : c.failed || c.outcome === "error" ? "failed" : c.outcome === "success" || c.outcome === "fulfilled" ? "done" : "ended",
    usage: usageOf(metadata),
  };
}

const NO_ENVELOPE: Envelope = { id: "", ts: "", from: "", kind: "", payload: {} };

function point(type: Span["type"], key: string, depth: number, label: string, from: ParticipantID, start: Millis, end: Millis, place: string): Span {
  return { key, type, depth, label, argument: "", text: "", conclusion: "", call: null, envelopes: [], from, start, end, waitedUntil: start, state: "done", usage: NONE, place };
}

function named(...all: readonly (readonly [name: string, id: ID])[]): Span["envelopes"] {
  return all.filter(([, id]) => id !== "");
}

/**
 * Sets what depends on other calls: the argument, the first one that differs between the calls of
 * a tool, or else the first one; and the usage of a thought, which only the first of its calls has.
 */
function compared(spans: readonly Span[]): readonly Span[] {
  const tools = new Map<string, Map<string, string>[]>();
  const given = new Map<Span, Map<string, string>>();
  for (const x of spans) {
    if (x.call === null) continue;
    const args = new Map(Object.entries(obj(x.call.args)).slice(0, MAX_ARGUMENTS).map(([k, v]) => [k, brief(v)]));
    given.set(x, args);
    tools.set(x.label, tools.get(x.label) ?? []);
    tools.get(x.label)?.push(args);
  }
  const differing = new Map([...tools].map(([tool, all]) => [tool, [...(all[0]?.keys() ?? [])].find((k) => all.some((args) => args.get(k) !== all[0]?.get(k)))]));
  const reasons = new Set<ID>();
  return spans.map((x) => {
    const args = given.get(x);
    if (args === undefined) return x;
    const reason = x.call?.rationaleId ?? "";
    const again = reason !== "" && reasons.has(reason);
    reasons.add(reason);
    return { ...x, argument: args.get(differing.get(x.label) ?? "") || [...args.values()].find((v) => v !== "") || "", usage: again ? NONE : x.usage };
  });
}

/** Returns a text, a number or the beginning of a list on one line; "" for any other value. */
function brief(v: unknown): string {
  if (Array.isArray(v)) return v.slice(0, 3).map((x) => (Array.isArray(x) ? "" : brief(x))).filter((x) => x !== "").join(", ");
  return typeof v === "string" ? label(v, "", 80) : typeof v === "number" || typeof v === "boolean" || v instanceof ExactNumber ? String(v) : "";
}

/** A time axis on which times of waiting are folded. */
export interface Scale {
  /** The length with folded times. */
  readonly length: Millis;
  /** The folded times, and where they are on the axis. */
  readonly folds: readonly { readonly from: Millis; readonly to: Millis; readonly at: Millis; readonly length: Millis }[];
  /** Returns where a time is on the axis. */
  at(time: Millis): Millis;
  /** Returns the marks of an axis of this length. They count the time without the folded times. */
  marks(length: Millis): readonly (readonly [at: Millis, label: string])[];
}

/** Maximum number of folds, the longest ones. */
const MAX_FOLDS = 20;
/** The share of all folds in the time that is not folded. */
const FOLDED = 0.15;

/** Returns the time axis of a trace; with `fold`, long times in which everything waits for a decision are folded. */
export function scale(t: Trace, fold: boolean): Scale {
  const idle = fold ? idleTimes(t.spans) : [];
  const rest = t.end - t.start - idle.reduce((ms, [from, to]) => ms + to - from, 0);
  const short = Math.max(1, (rest * FOLDED) / Math.max(1, idle.length));
  const longest = idle.filter(([from, to]) => to - from > 2 * short).sort((a, b) => b[1] - b[0] - (a[1] - a[0]));
  let saved = 0;
  const folds = longest.slice(0, MAX_FOLDS).sort((a, b) => a[0] - b[0]).map(([from, to]) => {
    const at = from - t.start - saved;
    saved += to - from - short;
    return { from, to, at, length: short };
  });
  return {
    length: t.end - t.start - saved,
    folds,
    at: (time) => folds.reduce((x, f) => x - Math.min(1, Math.max(0, (time - f.from) / (f.to - f.from))) * (f.to - f.from - f.length), time - t.start),
    marks: (length) => axisMarks(length - folds.length * short).map(([mark, label]) => [folds.reduce((x, f) => (x > f.at ? x + f.length : x), mark), label]),
  };
}

/** Returns the times in which something waits for a decision and nothing else happens, in order. */
function idleTimes(spans: readonly Span[]): readonly (readonly [Millis, Millis])[] {
  const waits: [Millis, Millis][] = [];
  const busy: [Millis, Millis][] = [];
  const waiting: boolean[] = []; // by depth: of the spans after this one
  for (const x of [...spans].reverse()) {
    const below = waiting[x.depth + 1] === true;
    waiting.length = Math.min(waiting.length, x.depth + 1);
    const waited = x.waitedUntil > x.start;
    if (waited) waits.push([x.start, x.waitedUntil]);
    if (!below && (!waited || x.end > x.waitedUntil)) busy.push([x.waitedUntil, x.end]); // a context in which something waits does nothing else itself
    waiting[x.depth] = waiting[x.depth] === true || waited || below;
  }
  busy.sort((a, b) => a[0] - b[0]);
  const out: (readonly [Millis, Millis])[] = [];
  let covered = Number.NEGATIVE_INFINITY;
  for (const [from, to] of waits.sort((a, b) => a[0] - b[0])) {
    let at = Math.max(from, covered);
    for (const [begin, end] of busy) {
      if (end < at || begin >= to) continue;
      if (begin > at) out.push([at, begin]);
      at = Math.max(at, end);
    }
    if (to > at) out.push([at, to]);
    covered = Math.max(covered, to);
  }
  return out;
}

/** Returns the reported time of a step; without one, a point. */
function timeOf(metadata: Payload, at: Millis): readonly [Millis, Millis] {
  const start = parseTime(str(field(metadata, "started_at")));
  const end = parseTime(str(field(metadata, "ended_at")));
  return start > 0 && end >= start ? [start, end] : [at, at];
}

/** Parses the usage in the metadata of an envelope. */
export function usageOf(metadata: Payload): Usage {
  const usage = field(metadata, "usage");
  const from = isObject(usage) ? usage : {};
  const input = amount(field(from, "input_tokens"));
  const output = amount(field(from, "output_tokens"));
  const both = input === null && output === null ? amount(field(metadata, "tokens")) : (input ?? 0) + (output ?? 0);
  return {
    model: label(str(field(metadata, "model")), "", 60),
    input,
    output,
    tokens: both,
    cost: amount(field(metadata, "cost")) ?? amount(field(metadata, "cost_usd")),
    currency: label(str(field(metadata, "currency")), "USD", 8),
    uncounted: amount(field(metadata, "uncounted")) ?? 0,
  };
}

function amount(v: unknown): number | null {
  return typeof v === "number" && Number.isFinite(v) && v >= 0 ? v : null;
}

/** Adds what two steps needed. Costs in different currencies are not added: the first one stays. */
function sum(a: Usage, b: Usage): Usage {
  const add = (x: number | null, y: number | null): number | null => (x === null ? y : y === null ? x : x + y);
  const sameMoney = a.cost === null || b.cost === null || a.currency === b.currency;
  const models = [...new Set([...a.model.split(", "), ...b.model.split(", ")])].filter((x) => x !== "");
  return {
    model: models.slice(0, 4).join(", "),
    input: add(a.input, b.input),
    output: add(a.output, b.output),
    tokens: add(a.tokens, b.tokens),
    cost: sameMoney ? add(a.cost, b.cost) : a.cost,
    currency: a.cost === null ? b.currency : a.currency,
    uncounted: a.uncounted + b.uncounted,
  };
}
