/**
 * The reducer's state as tables of entities, which are immutable once
 * published.
 *
 * Copy on write, once per publication: `edit` and `own` return a copy of a
 * published value, and the same copy until the next publication. So an envelope
 * costs as much as it changes, and a fork shares everything.
 */

import type {
  Block,
  CallStep,
  Elicitation,
  Feedback,
  Grant,
  Message,
  Notice,
  Participant,
  Proposal,
  TimelineItem,
  Versioned,
} from "../state.js";
import type { ContextPath, ID, ParticipantID } from "@sdk/types.js";
import type { Logged } from "./context.js";
import type { Task } from "./questions.js";

export type Mut<T> = { -readonly [K in keyof T]: T[K] };

/** Where an envelope belongs. */
export interface Where {
  /** The message itself, or the one that its block answers; null: not loaded. */
  readonly message: ID | null;
  /** The context of the envelope, or the one that it opens; "" is the main conversation. */
  readonly path: ContextPath;
}

/** An open or closed stream. Live has its text. */
export interface Stream {
  readonly id: ID;
  readonly owner: ParticipantID;
  readonly path: ContextPath;
  readonly question: ID | null;
  readonly seq: number;
  readonly at: number;
  readonly closed: boolean;
  /** Set if the complete message has arrived, or the text was withdrawn: it is not shown. */
  readonly merged: boolean;
}

/** The batch that the next call of one agent in a context joins. */
export interface Strand {
  /** Its first call. */
  readonly lead: ID;
  readonly group: number | null;
}

/** Assigned batch numbers, by agent and outermost context. */
export interface Numbering {
  readonly used: readonly number[];
  /** Declared numbers, and the assigned ones. */
  readonly given: readonly (readonly [number, number])[];
}

export class Tables {
  readonly messages = new Map<ID, Message>();
  readonly blocks = new Map<ContextPath, Block>();
  /** Calls in the main conversation. */
  readonly calls = new Map<ID, CallStep>();
  readonly proposals = new Map<ID, Proposal>();
  readonly notices = new Map<ID, Notice>();
  readonly elicitations = new Map<ID, Elicitation>();
  readonly feedback = new Map<ID, Feedback>();
  /** Requests without a response, which their recipients may ask about. */
  readonly askable = new Map<ID, { readonly id: ID; readonly from: ParticipantID; readonly to: readonly ParticipantID[]; readonly questions: number }>();
  readonly participants = new Map<ParticipantID, Participant>();
  readonly grants = new Map<ID, Grant>();

  readonly where = new Map<ID, Where>();
  /** Requests, proposals and fulfilling requests → the context and the call. */
  readonly callAt = new Map<ID, { readonly path: ContextPath; readonly call: ID }>();
  /** Pending tools/list requests. */
  readonly listings = new Map<ID, { readonly from: ParticipantID; readonly to: readonly ParticipantID[]; readonly more: boolean }>();
  /** Answers that their asker has not accepted, by id. */
  readonly offers = new Map<ID, { readonly call: ID; readonly answer: Logged }>();
  /** Calls with such answers, by caller. */
  readonly offered = new Map<ParticipantID, readonly ID[]>();
  readonly streams = new Map<ID, Stream>();
  readonly strands = new Map<string, Strand>();
  readonly numberings = new Map<string, Numbering>();
  /** Open or stopped blocks, by opener. */
  readonly unfinished = new Map<ParticipantID, readonly ContextPath[]>();
  /** Blocks whose question is not loaded, by the question's id. */
  readonly awaiting = new Map<ID, readonly ContextPath[]>();
  /** Nested contexts by name; the one that was written to last. */
  readonly names = new Map<ID, ContextPath>();
  /** Outermost contexts that are known to belong to a question, or to none. */
  readonly placed = new Map<ContextPath, true>();
  /** Outermost contexts that were opened, with or without a start. */
  readonly opened = new Map<ContextPath, true>();
  /** Chats outside of contexts that answer a question and ask none. */
  readonly answers = new Map<ID, true>();
  /** Accepted and received questions of participants, oldest first, one per asker. */
  readonly taken = new Map<ParticipantID, readonly Task[]>();
  readonly asked = new Map<ParticipantID, readonly Task[]>();
  /** Highest seq of a participant's envelopes. */
  readonly heard = new Map<ParticipantID, number>();

  timeline: readonly TimelineItem[] = [];
  roots: readonly ContextPath[] = [];
  pending: readonly ID[] = [];
  /** The last chat, if it is a question to all that no participant has accepted. */
  lastQuestion: ID = "";
  oldest = 0;
  head = 0;
  version = 0;

  private fresh = new Set<object>();

  /** Returns the entity for changes, or undefined if there is none with this key. */
  edit<K, V extends Versioned & object>(map: Map<K, V>, key: K): Mut<V> | undefined {
    const now = map.get(key);
    if (now === undefined) return undefined;
    const copy = (this.fresh.has(now) ? now : { ...now }) as Mut<V>;
    copy.version = ++this.version;
    if (copy !== now) {
      map.set(key, copy);
      this.fresh.add(copy);
    }
    return copy;
  }

  /** Adds an entity and sets its version. */
  add<K, V extends Versioned & object>(map: Map<K, V>, key: K, value: V): Mut<V> {
    const v = value as Mut<V>;
    v.version = ++this.version;
    map.set(key, v);
    this.fresh.add(v);
    return v;
  }

  /** Returns the array for changes. */
  own<T>(list: readonly T[]): T[] {
    if (this.fresh.has(list)) return list as T[];
    const copy = list.slice();
    this.fresh.add(copy);
    return copy;
  }

  /** Returns the array with another item. */
  push<T>(list: readonly T[], item: T): readonly T[] {
    const own = this.own(list);
    own.push(item);
    return own;
  }

  /** Publishes the state: existing entities are no longer changed in place. */
  publish(): void {
    if (this.fresh.size > 0) this.fresh = new Set();
  }

  /** Adds an item to the main conversation, by seq. */
  line(item: TimelineItem): void {
    const list = this.own(this.timeline);
    let i = list.length;
    while (i > 0 && (list[i - 1] as TimelineItem).seq > item.seq) i--;
    list.splice(i, 0, item);
    this.timeline = list;
    this.version++;
  }

  /** Removes an item from the main conversation. */
  unline(type: TimelineItem["type"], key: string): void {
    const i = this.timeline.findLastIndex((x) => x.type === type && x.key === key);
    if (i < 0) return;
    const list = this.own(this.timeline);
    list.splice(i, 1);
    this.timeline = list;
    this.version++;
  }

  /** Records whether a proposal is undecided. */
  wait(id: ID, waits: boolean): void {
    if (waits) this.pending = this.push(this.pending, id);
    else if (this.pending.includes(id)) this.pending = this.pending.filter((x) => x !== id);
  }

  /** A copy that shares every entity with this one. */
  fork(): Tables {
    this.publish();
    const t = new Tables();
    for (const name of MAPS) {
      const from: Map<unknown, unknown> = this[name];
      const to: Map<unknown, unknown> = t[name];
      for (const [k, v] of from) to.set(k, v);
    }
    t.timeline = this.timeline;
    t.roots = this.roots;
    t.pending = this.pending;
    t.lastQuestion = this.lastQuestion;
    t.oldest = this.oldest;
    t.head = this.head;
    t.version = this.version;
    return t;
  }
}

const MAPS = [
  "messages",
  "blocks",
  "calls",
  "proposals",
  "notices",
  "elicitations",
  "feedback",
  "askable",
  "participants",
  "grants",
  "where",
  "callAt",
  "listings",
  "offers",
  "offered",
  "streams",
  "strands",
  "numberings",
  "unfinished",
  "awaiting",
  "names",
  "placed",
  "opened",
  "answers",
  "taken",
  "asked",
  "heard",
] as const satisfies readonly (keyof Tables)[];
