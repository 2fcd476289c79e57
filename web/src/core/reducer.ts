/**
 * The reducer for live and historical envelopes: it derives the rendered state
 * from the envelopes of the log in order of seq. Frames that are not in the log
 * (presence, stream data, rejections) are passed to `hint`.
 *
 * space.ts has the envelopes, and handles older pages, bounds and duplicates; a
 * reducer receives each envelope once, in order. It does not throw for any
 * envelope.
 */

import { closesContext } from "@sdk/proposal.js";
import { correlations } from "@sdk/read.js";
import type { SpaceState } from "./state.js";
import { parseTime } from "./time.js";
import { type Envelope, GATEWAY, type ID, type Millis, type ParticipantID } from "@sdk/types.js";
import { acceptNamed, respond } from "./reduce/answers.js";
import { rootOf, settle } from "./reduce/blocks.js";
import { aboutChat, say } from "./reduce/chat.js";
import { type Ctx, type Logged, answered } from "./reduce/context.js";
import { elicit, elicited, lapsed } from "./reduce/elicitations.js";
import { rate } from "./reduce/feedback.js";
import { Live } from "./reduce/live.js";
import { note } from "./reduce/notices.js";
import * as people from "./reduce/people.js";
import { appoint, decide, expireUntil, judge, lapse, propose, request, settledBy } from "./reduce/proposals.js";
import { question } from "./reduce/questions.js";
import { grant, revoke } from "./reduce/rights.js";
import { cancel, conclude, saidInside, start, think, within } from "./reduce/steps.js";
import { closeStream, growStream, openStream } from "./reduce/streams.js";
import { Tables } from "./reduce/tables.js";

export { Live } from "./reduce/live.js";
export { MAX_STEPS } from "./reduce/blocks.js";

export interface ReducerOptions {
  /** The state outside the log; a replay has its own. */
  readonly live?: Live;
  /** Set if the first envelope will be the first of the log. */
  readonly fromStart?: boolean;
}

export class Reducer {
  private readonly c: Ctx;
  private published: SpaceState | null = null;
  private hasOlder: boolean;
  private oldest = 0;

  constructor(options: ReducerOptions = {}, tables = new Tables()) {
    this.hasOlder = options.fromStart !== true;
    this.c = { t: tables, live: options.live ?? new Live(), fromStart: !this.hasOlder };
    if (this.c.live.roster !== null && tables.participants.size === 0) people.appear(this.c, this.c.live.roster.keys());
  }

  /** Applies the next envelope of the log; envelopes up to the last one are ignored. */
  apply(env: Envelope): boolean {
    return (env.seq ?? 0) > this.c.t.head && this.take(logged(env));
  }

  /** Applies a parsed envelope. */
  take(e: Logged): boolean {
    const { t } = this.c;
    if (e.seq <= t.head) return false;
    if (t.oldest === 0) t.oldest = e.seq;
    t.head = e.seq;
    t.version++;
    this.reduce(e);
    return true;
  }

  /** Handles a frame that is not in the log. */
  hint(env: Envelope): void {
    const { t } = this.c;
    t.version++;
    if (env.kind === "stream.data") growStream(this.c, env);
    if (env.from !== GATEWAY) return;
    if (env.kind === "system.welcome") people.welcome(this.c, env);
    else if (env.kind === "system.presence") people.presence(this.c, env);
    else if (env.kind === "system.error") people.refused(this.c, env);
  }

  private reduce(e: Logged): void {
    const { c } = this;
    if (e.env.kind === "feedback") { // about other envelopes, and no part of their reasoning
      if (e.env.from !== GATEWAY) people.hear(c, e);
      rate(c, e);
      this.place(e, "");
      return;
    }
    const { context } = e.env;
    const taken = question(c, e);
    if (context !== undefined) within(c, context, e, taken);
    if (e.env.from !== GATEWAY) people.hear(c, e);
    acceptNamed(c, e);
    const opened = dispatch(c, e, taken);
    if (closesContext(e.env.kind)) lapse(c, e);
    if (context !== undefined) settle(c, context);
    this.place(e, opened);
    note(c, e);
  }

  /** Records where an envelope belongs, for later correlations to it. */
  private place(e: Logged, opened: string): void {
    const { t } = this.c;
    const path = opened || (e.env.context ?? "");
    if (path !== "") {
      t.where.set(e.env.id, { path, message: t.blocks.get(rootOf(path))?.question ?? null });
    } else if (t.messages.has(e.env.id)) {
      t.where.set(e.env.id, { path: "", message: e.env.id });
    } else {
      const at = answered(t, e.references);
      if (at !== null) t.where.set(e.env.id, at);
    }
  }

  /** The current state. The same object until something changes. */
  get state(): SpaceState {
    const { t, live } = this.c;
    if (this.published?.version === t.version) return this.published;
    t.publish();
    this.published = {
      version: t.version,
      space: live.space,
      you: live.you,
      timeline: t.timeline,
      messages: t.messages,
      blocks: t.blocks,
      calls: t.calls,
      proposals: t.proposals,
      notices: t.notices,
      elicitations: t.elicitations,
      feedback: t.feedback,
      participants: t.participants,
      grants: t.grants,
      roots: t.roots,
      pending: t.pending,
      settled: live.settled,
      refusals: live.refusals,
      oldest: this.oldest || t.oldest,
      head: t.head,
      hasOlder: this.hasOlder,
      gap: live.gap,
    };
    return this.published;
  }

  /** The number of messages, without a publication. */
  get messages(): number {
    return this.c.t.messages.size;
  }

  /** Records that a proposal was decided, though the decision may not be visible. */
  settled(proposal: ID, by: ParticipantID): void {
    const { t, live } = this.c;
    t.version++;
    live.decided(proposal, by);
    settledBy(this.c, proposal, by);
  }

  /** Expires undecided proposals and unanswered questions, by the server's time. */
  expire(now: Millis): void {
    const expired = [expireUntil(this.c, now), lapsed(this.c, now)];
    if (expired.includes(true)) this.c.t.version++;
  }

  /** Sets the part of the log that is loaded without gaps. */
  bound(oldest: number, hasOlder: boolean): void {
    if (oldest === this.oldest && hasOlder === this.hasOlder) return;
    this.oldest = oldest;
    this.hasOlder = hasOlder;
    this.c.t.version++;
  }

  /** Marks the state as changed, after a change in Live. */
  touch(): void {
    this.c.t.version++;
  }

  /** Makes versions continue from those of an earlier reducer. */
  after(version: number): void {
    this.c.t.version = Math.max(this.c.t.version, version);
  }

  /** Returns an independent reducer with the same state, which both share. */
  fork(live = this.c.live): Reducer {
    return new Reducer({ live, fromStart: this.c.fromStart }, this.c.t.fork());
  }
}

/** Parses the fields of an envelope that all parts of the reducer use. */
export function logged(env: Envelope): Logged {
  return { env, seq: env.seq ?? 0, at: parseTime(env.ts), references: correlations(env) };
}

/** Passes an envelope to its handler. Returns the context that it opens, if any. */
function dispatch(c: Ctx, e: Logged, taken: ID): string {
  const { kind, context } = e.env;
  switch (kind) {
    case "chat":
      if (context === undefined) say(c, e, taken);
      else saidInside(c, e);
      break;
    case "chat.acknowledge":
    case "chat.cancel":
      aboutChat(c, e);
      break;
    case "reasoning.start":
      return start(c, e, taken);
    case "reasoning.conclusion":
      conclude(c, e);
      break;
    case "reasoning.cancel":
      cancel(c, e);
      break;
    case "mcp.request":
      people.listTools(c, e);
      elicit(c, e);
      request(c, e);
      break;
    case "mcp.proposal":
      propose(c, e);
      break;
    case "mcp.response":
      answer(c, e);
      break;
    case "mcp.reject":
    case "mcp.withdraw":
      decide(c, e);
      break;
    case "mcp.opinion":
      judge(c, e);
      break;
    case "reviewer.promote":
    case "reviewer.demote":
      appoint(c, e);
      break;
    case "stream.open":
      openStream(c, e);
      break;
    case "stream.close":
      closeStream(c, e);
      break;
    case "capability.grant":
      grant(c, e);
      break;
    case "capability.revoke":
      revoke(c, e);
      break;
    default:
      if (kind.startsWith("reasoning.")) think(c, e);
      else people.aboutPeople(c, e);
  }
  return "";
}

function answer(c: Ctx, e: Logged): void {
  people.offerTools(c, e);
  elicited(c, e);
  respond(c, e);
}

