/**
 * The conversations of a space. A message that answers none begins one, and its id
 * is the conversation's; the gateway has the same rule (internal/turns).
 */

import { isObject, oneLine, str } from "@sdk/read.js";
import { type Message, type SpaceState, reasoner } from "./state.js";
import { parseTime } from "./time.js";
import type { ContextPath, ID, Millis, ParticipantID } from "@sdk/types.js";
import { neutral } from "./unicode.js";

/** A conversation in the list. */
export interface Thread {
  readonly id: ID;
  /** The first sentence of its first message. */
  readonly title: string;
  /** The author of its first message; "" if that is not loaded. */
  readonly from: ParticipantID;
  /** The participant that waits for a decision, or else the one that answered or reasons; "" for none. */
  readonly answeredBy: ParticipantID;
  readonly lastAt: Millis;
  readonly lastSeq: number;
  /** Messages of others after the last visit. */
  readonly unread: number;
  /** Undecided proposals of others. */
  readonly waiting: number;
  /** An agent reasons in it. */
  readonly running: boolean;
}

/** Up to where the user has read: the whole space, and single conversations beyond that. */
export interface Reads {
  readonly all: number;
  readonly threads: ReadonlyMap<ID, number>;
}

const MAX_TITLE = 90;
/** The first sentence is looked for in this many characters. */
const MAX_READ = 1000;

/** Returns the conversations whose first message is loaded, the last active one first. */
export function threads(s: SpaceState, reads: Reads): readonly Thread[] {
  const you = s.you?.id ?? "";
  const waiting = waits(s, you);
  const out = new Map<ID, { -readonly [K in keyof Thread]: Thread[K] }>();
  for (const m of s.messages.values()) {
    let t = out.get(m.thread);
    if (t === undefined) {
      if (!begins(s, m)) continue;
      t = { id: m.id, title: titleOfMessage(m), from: m.from, answeredBy: "", lastAt: m.at, lastSeq: m.seq, unread: 0, waiting: waiting.get(m.id)?.length ?? 0, running: false };
      out.set(m.id, t);
    }
    if (m.replyTo !== null && m.from !== t.from) t.answeredBy = m.from;
    if (m.seq > t.lastSeq) [t.lastAt, t.lastSeq] = [m.at, m.seq];
    if (m.from !== you && !m.growing && m.seq > Math.max(reads.all, reads.threads.get(m.thread) ?? 0)) t.unread++;
    for (const path of m.blocks) {
      const b = s.blocks.get(path);
      if (b === undefined) continue;
      if (m.from === t.from) t.answeredBy = reasoner(b) || t.answeredBy;
      t.running ||= b.status === "reasoning";
      if (b.lastSeq > t.lastSeq) [t.lastAt, t.lastSeq] = [b.lastAt, b.lastSeq];
    }
  }
  for (const t of out.values()) t.answeredBy = waiting.get(t.id)?.[0] ?? t.answeredBy;
  return [...out.values()].sort((a, b) => b.lastSeq - a.lastSeq);
}

/** Reports whether a message begins a conversation. One that answers an older message may belong to another. */
function begins(s: SpaceState, m: Message): boolean {
  return m.thread === m.id && (m.references.length === 0 || !s.hasOlder);
}

/** Returns the authors of undecided proposals, except the user, by the conversation that they were made in. */
function waits(s: SpaceState, you: ParticipantID): ReadonlyMap<ID, readonly ParticipantID[]> {
  const out = new Map<ID, ParticipantID[]>();
  for (const id of s.pending) {
    const p = s.proposals.get(id);
    if (p === undefined || p.from === you) continue;
    const thread = threadOf(s, p.context);
    if (thread !== "") out.set(thread, [...(out.get(thread) ?? []), p.from]);
  }
  return out;
}

/** Returns the conversation that a context belongs to; "" for none. */
export function threadOf(s: SpaceState, context: string): ID {
  const question = s.blocks.get(context.split("/")[0] ?? "")?.question ?? null;
  return question === null ? "" : (s.messages.get(question)?.thread ?? "");
}

/** Returns the conversation that a message, a context or an envelope of either is in; "" for none. */
export function threadAt(s: SpaceState, place: string): ID {
  return s.messages.get(place)?.thread ?? threadOf(s, place);
}

/** Returns the turn of a context: its question, or else the outermost context. */
export function turnOf(s: SpaceState, path: ContextPath): ID | ContextPath {
  const root = path.split("/")[0] ?? "";
  return s.blocks.get(root)?.question ?? root;
}

const titles = new WeakMap<Message, string>();

/** The title that a message gives to its conversation. The list is made anew for each change of the state. */
function titleOfMessage(m: Message): string {
  const title = titles.get(m) ?? titleOf(m.text);
  titles.set(m, title);
  return title;
}

/** The first sentence of a message, without the marks of Markdown. */
export function titleOf(text: string): string {
  const line = neutral(text.slice(0, MAX_READ)).split("\n").map(unmarked).find((x) => x !== "") ?? "";
  return oneLine(/^.*?[.!?…](?=\s)/u.exec(line)?.[0] ?? line, MAX_TITLE);
}

/** The beginning of a message as one line, of a Markdown one without its marks. */
export function excerpt(m: Message, most: number): string {
  const text = neutral(m.text.slice(0, MAX_READ));
  return oneLine(m.format === "markdown" ? text.split("\n").map(unmarked).join(" ") : text, most);
}

/** A line of Markdown as plain text; "" for the fence of code. */
function unmarked(line: string): string {
  if (/^\s*(?:```|~~~)/u.test(line)) return "";
  return line
    .replace(/^\s*(?:(?:#{1,6}|[-*+>]|\d{1,9}[.)])\s+)*(?:\[[ x]\]\s+)?/u, "")
    .replace(/!?\[([^[\]]*)\]\([^)\s]*\)/gu, "$1")
    .replace(/`+|\*\*|~~|(?<![\p{L}\p{N}])[*_]+(?=\S)|(?<=\S)[*_]+(?![\p{L}\p{N}])/gu, "")
    .trim();
}

/** Returns the newest message of a conversation, which the next one continues. */
export function lastMessage(s: SpaceState, thread: ID): ID | null {
  let last: Message | null = null;
  for (const m of s.messages.values()) if (m.thread === thread && !m.growing && (last === null || m.seq > last.seq)) last = m;
  return last?.id ?? null;
}

/** Returns the newest complete message of another participant. */
export function lastOfOthers(s: SpaceState): Message | null {
  for (let i = s.timeline.length - 1; i >= 0; i--) {
    const item = s.timeline[i];
    const m = item?.type === "message" ? s.messages.get(item.key) : undefined;
    if (m !== undefined && m.from !== s.you?.id && !m.growing) return m;
  }
  return null;
}

/** A page of the gateway's list of conversations. */
export interface ThreadPage {
  readonly threads: readonly Thread[];
  readonly next: number;
  readonly hasMore: boolean;
}

/** Parses a page of `GET …/threads`. */
export function threadPage(v: unknown): ThreadPage {
  const page = isObject(v) ? v : {};
  const list = Array.isArray(page["threads"]) ? page["threads"] : [];
  const read = list.flatMap((x): Thread[] => {
    if (!isObject(x) || typeof x["thread_id"] !== "string") return [];
    const lastAt = parseTime(str(x["updated_at"]));
    return [{ id: x["thread_id"], title: titleOf(str(x["title"])), from: "", answeredBy: "", lastAt, lastSeq: Number(x["seq"]) || 0, unread: 0, waiting: 0, running: false }];
  });
  return { threads: read, next: Number(page["next"]) || 0, hasMore: page["has_more"] === true };
}
