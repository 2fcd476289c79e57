/**
 * The work that earlier processes of an agent left in the log, and the
 * questions that were asked while it was away. The rules are those of the
 * reference agent (internal/agent/intake).
 */

import type { Api } from "./api.js";
import { type Proposed, proposed, settles } from "./proposal.js";
import { correlations, field, isObject, obj, recipients, str } from "./read.js";
import type { ContextPath, Envelope, ID, ParticipantID, Payload } from "./types.js";

/**
 * Which old questions an agent answers. `auto`: those of the last hour that
 * were asked after its first envelope in the space. `all`: all (the newest 64).
 * `off`: none; unfinished work is not closed then. A question that another
 * participant began to answer first (an outermost `reasoning.start` or a chat that
 * correlates to it) is answered only if it names this agent in `to` or mentions it.
 */
export type CatchUp = "off" | "auto" | "all";

/** A tool call of an earlier attempt to answer a question. */
export interface EarlierCall {
  readonly request: ID;
  readonly participant: ParticipantID;
  readonly name: string;
  readonly arguments: unknown;
  /** The payload of the response; null: the outcome is unknown, the call may have taken effect or not. */
  readonly response: Payload | null;
}

/** An envelope that closes unfinished work. */
export interface Leftover {
  readonly kind: string;
  readonly to?: readonly ParticipantID[];
  readonly context?: ContextPath;
  readonly correlationId?: ID;
  readonly payload: Payload;
}

const RESTARTED = "the agent was restarted";
/** Bounds, as in the reference agent. */
const MAX_QUESTIONS = 64;
const MAX_AGE = 3_600_000;
const RECENT = 2_000;
const OWN = 1_000;
const SEARCH_PAGES = 5;
const PAGE = 1_000;
const MAX_CALLS = 1_024;
const MAX_REPORTED = 32;

export interface BacklogOptions {
  readonly api: Api;
  readonly space: string;
  readonly you: ParticipantID;
  readonly mode: "auto" | "all";
  /** Entries up to this seq are read. */
  readonly until: number;
  /** Called for each entry in order; reports whether it is a question. */
  readonly observe: (e: Envelope) => boolean;
  /** Reports whether a chat names this agent, in `to` or in its text. */
  readonly isNamed: (e: Envelope) => boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A question without an answer of the agent. */
interface OldChat {
  readonly e: Envelope;
  /** The agent had sent an envelope before it. */
  readonly spoken: boolean;
  /** Another participant began to answer it, or answered it, before this one began. */
  taken: boolean;
}

export class Backlog {
  private spoken = false;
  private chats: OldChat[] = [];
  private readonly contexts = new Map<ContextPath, Envelope>();
  private readonly requests = new Map<ID, { readonly e: Envelope; readonly to: readonly ParticipantID[] }>();
  private readonly proposals = new Map<ID, { readonly e: Envelope; readonly p: Proposed }>();
  private readonly begun = new Set<ID>();
  private readonly done = new Set<ID>();
  private readonly attempts = new Map<ID, readonly ID[]>();
  /** Attempts with an end that is not of a later process. */
  private readonly ended = new Set<ID>();
  private readonly sent = new Map<ID, EarlierCall & { readonly root: ID }>();
  private observe: (e: Envelope) => boolean;

  private constructor(private readonly o: BacklogOptions) {
    this.observe = o.observe;
  }

  /** Reads the entries that are needed: with `auto` a bounded number. */
  static async read(o: BacklogOptions): Promise<Backlog> {
    const b = new Backlog(o);
    if (o.mode === "all") {
      await b.entries(0, o.until);
      return b;
    }
    const last = await b.lastOwn();
    const { list, since } = await b.newest(RECENT, o.until);
    const missing = OWN - list.filter((e) => (e.seq ?? 0) <= last).length;
    const own = last > 0 && since > 0 && missing > 0 ? (await b.newest(missing, Math.min(last, since))).list : [];
    for (const e of [...own, ...list]) b.note(e);
    return b;
  }

  /** Reads up to a later seq; the entries add no questions. */
  async readOn(from: number, until: number): Promise<void> {
    this.observe = () => false;
    if (until > from) await this.entries(from, until);
  }

  /** The old questions to answer, oldest first. */
  get questions(): readonly Envelope[] {
    const oldest = this.o.now - MAX_AGE;
    const wanted = ({ e, spoken }: OldChat): boolean => this.o.mode === "all" || ((spoken || this.begun.has(e.id)) && Date.parse(e.ts) > oldest);
    return this.chats.flatMap((c) => (wanted(c) && !c.taken ? [c.e] : []));
  }

  /** Reports whether a question is answered or withdrawn. */
  settled(question: ID): boolean {
    return this.done.has(question);
  }

  /** The number of attempts to answer a question that had no end when their process ended. */
  interrupted(question: ID): number {
    return [...this.attempts].filter(([root, about]) => about.includes(question) && !this.ended.has(root)).length;
  }

  /** The tool calls of earlier attempts to answer a question. */
  calls(question: ID): readonly EarlierCall[] {
    const roots = [...this.attempts].flatMap(([root, about]) => (about.includes(question) ? [root] : []));
    return [...this.sent.values()].filter((c) => roots.includes(c.root)).slice(-MAX_REPORTED);
  }

  /** The envelopes that close unfinished work, of one question or of all: responses, withdrawals, contexts from the innermost. */
  leftovers(question?: ID): readonly Leftover[] {
    const mine = (context: ContextPath | undefined): boolean => question === undefined || this.attempts.get((context ?? "").split("/")[0] as ID)?.includes(question) === true;
    const out: (Leftover & { readonly seq: number })[] = [];
    const place = (e: Envelope, to: readonly ParticipantID[]): object => ({ ...(to.length > 0 && { to }), ...(e.context !== undefined && { context: e.context }) });
    for (const { e, to } of this.requests.values()) {
      if (!mine(e.context)) continue;
      const payload = { jsonrpc: "2.0", id: field(e.payload, "id") ?? e.id, error: { code: -32000, message: "restarted: whether the call took effect is not known", data: { reason: "restarted" } } };
      out.push({ kind: "mcp.response", ...place(e, to), correlationId: e.id, payload, seq: e.seq ?? 0 });
    }
    for (const { e } of this.proposals.values()) {
      if (mine(e.context)) out.push({ kind: "mcp.withdraw", ...place(e, recipients(e)), correlationId: e.id, payload: { reason: "no_longer_needed" }, seq: e.seq ?? 0 });
    }
    out.sort((a, b) => a.seq - b.seq);
    const ends = [...this.contexts].filter(([path]) => mine(path)).sort(([, a], [, b]) => (b.seq ?? 0) - (a.seq ?? 0));
    for (const [context, e] of ends) {
      const to = recipients(e);
      out.push({ kind: "reasoning.cancel", context, ...(to.length > 0 && { to, correlationId: e.id }), payload: { reason: RESTARTED }, seq: 0 });
    }
    return out.map(({ seq: _, ...rest }) => rest);
  }

  private async lastOwn(): Promise<number> {
    let before = this.o.until + 1;
    for (let i = 0; i < SEARCH_PAGES && before > 1; i++) {
      const page = await this.o.api.envelopes(this.o.space, { from: [this.o.you], descending: true, limit: 1, before });
      const [e] = page.envelopes;
      if (e !== undefined) return e.seq ?? 0;
      if (!page.has_more) return 0;
      before = page.next;
    }
    return 0;
  }

  /** Returns the newest n entries up to a seq, and the `since` that excludes older ones. Positions have gaps, so entries are counted. */
  private async newest(n: number, until: number): Promise<{ readonly list: readonly Envelope[]; readonly since: number }> {
    let list: readonly Envelope[] = [];
    let before = until + 1;
    for (let i = 0; i < SEARCH_PAGES && before > 1 && list.length < n; i++) {
      const page = await this.o.api.envelopes(this.o.space, { descending: true, before, limit: Math.min(n - list.length, PAGE) });
      list = [...page.envelopes, ...list];
      before = page.has_more ? page.next : 1;
    }
    return { list, since: before - 1 };
  }

  private async entries(since: number, until: number): Promise<void> {
    for (let from = since; from < until; ) {
      const page = await this.o.api.envelopes(this.o.space, { since: from, before: until + 1, limit: PAGE });
      for (const e of page.envelopes) this.note(e);
      if (!page.has_more) return;
      from = page.next;
    }
  }

  private note(e: Envelope): void {
    const isQuestion = this.observe(e);
    if (e.from === this.o.you) {
      this.spoken = true;
      this.noteOwn(e);
    }
    switch (e.kind) {
      case "reasoning.start":
        this.noteTaken(e);
        this.notePart(e);
        break;
      case "chat":
        this.noteTaken(e);
        if (isQuestion) this.chats = [...this.chats, { e, spoken: this.spoken, taken: false }].slice(-MAX_QUESTIONS);
        break;
      case "chat.cancel":
        this.settle(correlations(e));
        break;
      case "reasoning.conclusion":
        this.contexts.delete(e.context ?? "");
        this.ended.add(e.context ?? "");
        break;
      case "reasoning.cancel":
        if (e.from !== this.o.you || str(field(e.payload, "reason")) !== RESTARTED) for (const id of [e.context ?? "", ...correlations(e)]) this.ended.add(id);
        for (const [path, start] of this.contexts) if (path === e.context || (e.context === undefined && correlations(e).includes(start.id))) this.contexts.delete(path);
        break;
    }
    this.noteCall(e);
  }

  private noteOwn(e: Envelope): void {
    switch (e.kind) {
      case "chat":
        this.settle(correlations(e).filter((id) => !this.saidToAnother(e, id)));
        break;
      case "reasoning.start":
        this.contexts.set(e.context === undefined ? e.id : `${e.context}/${e.id}`, e);
        if (e.context === undefined) this.attempts.set(e.id, correlations(e));
        for (const id of correlations(e)) this.begun.add(id);
        break;
      case "mcp.proposal":
        this.proposals.set(e.id, { e, p: proposed(e) });
        break;
      case "mcp.request":
        this.noteSent(e, e.context);
        if (recipients(e).includes(this.o.you) && isCall(e)) this.requests.set(e.id, { e, to: recipients(this.contexts.get(e.context ?? "") ?? { ...e, to: [] }) });
    }
  }

  /** Records the questions that another participant begins to answer, or answers. One that names this agent, and one that it had begun before, stay its own. */
  private noteTaken(by: Envelope): void {
    if (by.from === this.o.you || by.context !== undefined) return;
    const about = correlations(by);
    for (const c of this.chats) if (about.includes(c.e.id) && c.e.from !== by.from && !this.begun.has(c.e.id) && !this.o.isNamed(c.e)) c.taken = true;
  }

  /** Records a context in which another agent asked this one to reason. */
  private notePart(e: Envelope): void {
    const { you } = this.o;
    const to = recipients(e);
    if (e.from === you || e.context === undefined || field(e.payload, "participant_id") !== you || (to.length > 0 && !to.includes(you))) return;
    this.contexts.set(`${e.context}/${e.id}`, to.length > 0 ? { ...e, to: [e.from] } : e);
  }

  /** Records requests that make proposed calls, and removes the work that an envelope settles. */
  private noteCall(e: Envelope): void {
    for (const [id, { e: proposal, p }] of this.proposals) {
      const how = settles(p, e);
      if (how === "pending") continue;
      this.proposals.delete(id);
      if (how !== "fulfilled") continue;
      this.noteSent(e, proposal.context);
      if (recipients(e).includes(this.o.you)) this.requests.set(e.id, { e, to: [e.from] });
    }
    if (e.kind !== "mcp.response") return;
    for (const id of correlations(e)) {
      if (e.from === this.o.you) this.requests.delete(id);
      const call = this.sent.get(id);
      const error = obj(field(e.payload, "error"));
      const known = field(error, "code") !== -32002 && field(obj(field(error, "data")), "reason") !== "restarted";
      if (call !== undefined && e.from === call.participant && known) this.sent.set(id, { ...call, response: e.payload });
    }
  }

  private noteSent(e: Envelope, context: ContextPath | undefined): void {
    if (context === undefined || !isCall(e)) return;
    const params = obj(field(e.payload, "params"));
    this.sent.set(e.id, {
      root: context.split("/")[0] as ID,
      request: e.id,
      participant: recipients(e)[0] ?? e.from,
      name: str(field(params, "name")),
      arguments: field(params, "arguments"),
      response: null,
    });
    if (this.sent.size > MAX_CALLS) this.sent.delete(this.sent.keys().next().value as ID);
  }

  /** Reports whether a chat about a question does not reach the asker. */
  private saidToAnother(e: Envelope, question: ID): boolean {
    const to = recipients(e);
    return to.length > 0 && this.chats.some((c) => c.e.id === question && !to.includes(c.e.from));
  }

  private settle(ids: readonly ID[]): void {
    for (const id of ids) this.done.add(id);
    this.chats = this.chats.filter(({ e }) => !ids.includes(e.id));
  }
}

function isCall(e: Envelope): boolean {
  return field(e.payload, "method") === "tools/call" && isObject(field(e.payload, "params"));
}
