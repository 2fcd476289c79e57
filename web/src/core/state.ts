/**
 * The shape of what the page shows: everything that the reducer (reducer.ts)
 * makes of the envelopes of a space.
 *
 * How to see what has changed. Every entity (a Message, a Block, a Proposal,
 * …) is a value that never changes: a new one with the same key takes its
 * place, so `===` tells whether there is anything to draw. `version` grows
 * with each of them, for those who would rather compare numbers. The arrays
 * of a SpaceState are replaced when anything in them is. The maps are views
 * of what is there now: one map for the life of a space, whose values are such
 * entities; `SpaceState.version` says whether to look again.
 */

import type {
  Capability,
  ContextPath,
  ID,
  Limits,
  Millis,
  Outcome,
  ParticipantID,
  Payload,
  Refusal,
} from "./types.js";

/** What has a version: grows whenever the entity is another one. */
export interface Versioned {
  readonly version: number;
}

/** A chat of the main conversation. */
export interface Message extends Versioned {
  readonly id: ID;
  readonly seq: number;
  readonly at: Millis;
  /** When its author began to say it: earlier than `at` if it grew. */
  readonly begunAt: Millis;
  readonly from: ParticipantID;
  /** Those whom it is addressed to; empty: everybody. */
  readonly to: readonly ParticipantID[];
  readonly text: string;
  readonly format: "plain" | "markdown";
  /** The message that it answers, directly or through what was reasoned about that one; null if there is none, or it is not loaded. */
  readonly replyTo: ID | null;
  /** What it correlates to. */
  readonly references: readonly ID[];
  /** Messages that answer it, in order. */
  readonly replies: readonly ID[];
  /** The message that began its thread: itself, if it answers none. */
  readonly thread: ID;
  /** Outermost reasoning blocks that answer it, in order of their beginning: draw them below it. */
  readonly blocks: readonly ContextPath[];
  /** Blocks of its author that this message is the answer of. */
  readonly answers: readonly ContextPath[];
  /** It is being said right now, under the id of its stream; the whole takes its place under an id of its own. */
  readonly growing: boolean;
  /** Called off by somebody. */
  readonly cancelled: Closing | null;
  /** Who has acknowledged it. */
  readonly acknowledged: readonly ParticipantID[];
  /** Names of the rules that have masked something in it. */
  readonly redacted: readonly string[];
}

/** Who ended something, when and why. */
export interface Closing {
  readonly by: ParticipantID;
  readonly at: Millis;
  readonly reason: string;
}

/**
 * How far a reasoning block has come.
 *
 *   idle        known, but nobody has reasoned in it: a parent of what was seen
 *   reasoning   open, and something may come
 *   collapsed   the thinking is over: the answer has begun, or it is concluded and the answer is to come
 *   complete    closed and, where it answers a question, answered
 *   stopped     its opener is gone, or what it was part of has ended without it
 *   cancelled   closed by a reasoning.cancel
 */
export type BlockStatus = "idle" | "reasoning" | "collapsed" | "complete" | "stopped" | "cancelled";

/** A context: a line of reasoning of one agent. */
export interface Block extends Versioned {
  readonly path: ContextPath;
  /** The last segment: the id of its reasoning.start. */
  readonly id: ID;
  readonly parent: ContextPath | null;
  /** 0: outermost. */
  readonly depth: number;
  /** Whose reasoning it is; "" while nobody has reasoned in it. */
  readonly opener: ParticipantID;
  /** Its reasoning.start was seen. */
  readonly opened: boolean;
  /** Nobody opened it: it was written into as it was. False while older envelopes could still hold the start. */
  readonly implicit: boolean;
  readonly status: BlockStatus;
  /** The message that it answers, if it is loaded; null: draw it by itself, by its `seq`. */
  readonly question: ID | null;
  /** What its start correlates to. */
  readonly references: readonly ID[];
  /** Its opener's answer to the question. */
  readonly answer: ID | null;
  /** What the start says. */
  readonly message: string;
  readonly approach: string;
  readonly metadata: Payload | null;
  /** Of the start, or of the first envelope in it. */
  readonly seq: number;
  readonly lastSeq: number;
  readonly startedAt: Millis;
  readonly lastAt: Millis;
  /** When the thinking ended; null while it goes on. For stopped ones, the last that was heard. */
  readonly endedAt: Millis | null;
  /** Seconds from start to end, rounded up, never 0; null while it goes on, and when the start was not seen. */
  readonly thoughtSeconds: number | null;
  /** What to draw, in order; rationales are part of their calls. */
  readonly steps: readonly Step[];
  /** Older steps that are no longer held. */
  readonly droppedSteps: number;
  /** Contexts directly within, in order. Each has a step of type "block" here, too. */
  readonly children: readonly ContextPath[];
  readonly conclusion: Conclusion | null;
  readonly cancelled: Closing | null;
  /** Everybody who wrote into it, its opener first. */
  readonly authors: readonly ParticipantID[];
  readonly counts: BlockCounts;
}

/** Counts of a block itself, not of those within it. */
export interface BlockCounts {
  readonly envelopes: number;
  readonly thoughts: number;
  readonly calls: number;
  readonly pending: number;
  readonly errors: number;
}

/** The end of a block, by reasoning.conclusion. */
export interface Conclusion {
  readonly id: ID;
  readonly seq: number;
  readonly by: ParticipantID;
  readonly at: Millis;
  readonly text: string;
  readonly decision: string;
  readonly recommendation: string;
  readonly confidence: number | null;
  readonly keyFactors: readonly string[];
  readonly redacted: readonly string[];
}

export type Step = ThoughtStep | CallStep | NestedStep | SaidStep;

interface StepBase extends Versioned {
  /** Stays the same while a thought grows and when it is whole, and when a rationale becomes a call. */
  readonly key: string;
  /** Its place: of the rationale for a call, of the stream's beginning for a thought that grew. */
  readonly seq: number;
  readonly at: Millis;
  readonly from: ParticipantID;
}

/** A thought, or one of the richer kinds. */
export interface ThoughtStep extends StepBase {
  readonly type: "thought" | "hypothesis" | "observation" | "question" | "other";
  /** "" while only the stream is open. */
  readonly id: ID;
  /** Without the "reasoning." */
  readonly kind: string;
  readonly text: string;
  readonly questions: readonly string[];
  readonly confidence: number | null;
  readonly severity: string;
  readonly evidence: readonly string[];
  /** The tool that it announces a call of. */
  readonly tool: string;
  readonly group: number | null;
  /** A model's own thinking, not meant for others' eyes at first. */
  readonly raw: boolean;
  readonly redacted: readonly string[];
  /** More is coming. */
  readonly growing: boolean;
  /** All of it, for those who want to see what else was said. */
  readonly payload: Payload;
}

/** A call of a tool, with the reason for it. */
export interface CallStep extends StepBase {
  readonly type: "call";
  readonly call: Call;
}

/** A context within. */
export interface NestedStep extends StepBase {
  readonly type: "block";
  readonly path: ContextPath;
  /** Why this part is looked into by itself; "" when nothing says so. */
  readonly rationale: string;
  readonly group: number | null;
}

/** A chat inside the context. */
export interface SaidStep extends StepBase {
  readonly type: "said";
  readonly id: ID;
  readonly text: string;
  readonly format: "plain" | "markdown";
}

/** A call of a tool: a request, or a proposal and what came of it. */
export interface Call {
  /** Of the request, or of the proposal. */
  readonly id: ID;
  readonly seq: number;
  readonly from: ParticipantID;
  readonly to: readonly ParticipantID[];
  readonly context: ContextPath;
  readonly method: string;
  /** The tool's name for tools/call, otherwise the method. */
  readonly tool: string;
  /** The arguments, or for other methods the parameters. */
  readonly args: unknown;
  /** Why it is made; "" when nothing says so. */
  readonly rationale: string;
  /** The thought that says so. */
  readonly rationaleId: ID;
  readonly proposed: boolean;
  readonly outcome: Outcome;
  /** It was made and did not work, whatever the outcome's name is. */
  readonly failed: boolean;
  readonly startedAt: Millis;
  readonly endedAt: Millis | null;
  readonly durationMs: number | null;
  /** Calls of one agent in a block with the same number ran together. */
  readonly group: number | null;
  /** `result` or `error` of the response as it came; undefined before. */
  readonly result: unknown;
  /** The result in one short line. */
  readonly summary: string;
  readonly responseId: ID;
  /** Whose response ended the call; "" for the agent's own. */
  readonly answeredBy: ParticipantID;
  /** Who fulfilled the proposal, or rejected it or a request. */
  readonly decidedBy: ParticipantID;
  /** Why it was rejected or withdrawn. */
  readonly reason: string;
}

/** `settled`: somebody has decided it in a way that is not visible here. */
export type ProposalStatus = "pending" | "approved" | "rejected" | "withdrawn" | "expired" | "settled";

/** A call that somebody may not make and asks others to make. */
export interface Proposal extends Versioned {
  readonly id: ID;
  readonly seq: number;
  readonly at: Millis;
  readonly from: ParticipantID;
  readonly to: readonly ParticipantID[];
  readonly context: ContextPath;
  readonly method: string;
  readonly tool: string;
  readonly args: unknown;
  /** As proposed, to be sent on. */
  readonly params: unknown;
  /** Whose tool it is, if the proposal says so; "" otherwise. */
  readonly owner: ParticipantID;
  readonly rationale: string;
  readonly status: ProposalStatus;
  /** It expired with its context: a decision may follow, or was not visible here. */
  readonly lapsed: boolean;
  /** Who approved, rejected or withdrew it. */
  readonly decidedBy: ParticipantID;
  readonly decidedAt: Millis | null;
  /** The word that was given for rejecting or withdrawing it. */
  readonly reason: string;
  /** What more was said about it. */
  readonly explanation: string;
  /** The request that fulfils it. */
  readonly request: ID;
  /** The arguments that were approved, if they are others than those proposed; undefined otherwise. */
  readonly approvedArgs: unknown;
  /** Approved, and the result is there. */
  readonly done: boolean;
  /** Approved and done, but it did not work. */
  readonly failed: boolean;
  readonly result: unknown;
  readonly summary: string;
}

export interface Participant extends Versioned {
  readonly id: ParticipantID;
  readonly capabilities: readonly Capability[];
  /** Connected now. */
  readonly present: boolean;
  /** Has opened a context, or has a capability for reasoning in so many words. */
  readonly agent: boolean;
  readonly paused: boolean;
  /** When a pause ends by itself, by the server's clock; null: it does not. */
  readonly pausedUntil: Millis | null;
  readonly kicked: boolean;
  /** Seen in the log at all. */
  readonly lastAt: Millis | null;
  readonly envelopes: number;
  /** `status` of the last participant.status. */
  readonly status: string;
  /** What it offers, by what it answered to tools/list. */
  readonly tools: readonly Tool[];
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: unknown;
  /** By the server's own word; null when it says nothing. */
  readonly readOnly: boolean | null;
  readonly destructive: boolean | null;
}

/** Rights that somebody gave to somebody. */
export interface Grant extends Versioned {
  readonly id: ID;
  readonly seq: number;
  readonly at: Millis;
  readonly by: ParticipantID;
  readonly recipient: ParticipantID;
  readonly capabilities: readonly Capability[];
  readonly reason: string;
  /** Null: it does not end by itself. */
  readonly expiresAt: Millis | null;
  /** Grants to the granter that may have carried it: revoking one may end it. */
  readonly via: readonly ID[];
  /** Grants by the recipient that may have been derived from it. */
  readonly derived: readonly ID[];
  readonly revoked: Closing | null;
  /** Some of its capabilities were taken back by name. */
  readonly narrowed: boolean;
}

/** Something in the main conversation that nobody said: a grant, a kick, a pause. */
export interface Notice {
  readonly id: ID;
  readonly seq: number;
  readonly at: Millis;
  readonly from: ParticipantID;
  readonly kind: string;
  readonly envelope: ID;
  /** A sentence. */
  readonly text: string;
}

/** A line of the main conversation. `key` is stable; sort by `seq` is done. */
export type TimelineItem =
  | { readonly type: "message"; readonly key: ID; readonly seq: number; readonly at: Millis }
  | { readonly type: "block"; readonly key: ContextPath; readonly seq: number; readonly at: Millis }
  | { readonly type: "proposal"; readonly key: ID; readonly seq: number; readonly at: Millis }
  | { readonly type: "call"; readonly key: ID; readonly seq: number; readonly at: Millis }
  | { readonly type: "notice"; readonly key: ID; readonly seq: number; readonly at: Millis };

/** A refusal that no message of one's own is shown with, or any that came. */
export interface RefusalNote {
  readonly about: ID;
  readonly at: Millis;
  readonly refusal: Refusal;
}

/** Everything there is to draw of a space. */
export interface SpaceState extends Versioned {
  readonly space: string;
  /** Null before the first welcome. */
  readonly you: { readonly id: ParticipantID; readonly capabilities: readonly Capability[]; readonly limits: Limits } | null;
  /** By seq. Messages, blocks without a loaded question, proposals and calls outside contexts, notices. */
  readonly timeline: readonly TimelineItem[];
  readonly messages: ReadonlyMap<ID, Message>;
  readonly blocks: ReadonlyMap<ContextPath, Block>;
  /** Calls of the main conversation; those of contexts are in their steps. */
  readonly calls: ReadonlyMap<ID, CallStep>;
  readonly proposals: ReadonlyMap<ID, Proposal>;
  readonly notices: ReadonlyMap<ID, Notice>;
  readonly participants: ReadonlyMap<ParticipantID, Participant>;
  readonly grants: ReadonlyMap<ID, Grant>;
  /** Outermost contexts, in order of their beginning. */
  readonly roots: readonly ContextPath[];
  /** Proposals that nobody has decided, oldest first; the length is for the badge. */
  readonly pending: readonly ID[];
  /** The youngest refusals, at most 50. */
  /** Proposals that refusals of one's own decisions show as decided, and who decided them. */
  readonly settled: ReadonlyMap<ID, ParticipantID>;
  readonly refusals: readonly RefusalNote[];
  /** Of what is loaded without holes: from `oldest` to `head`. 0: nothing. */
  readonly oldest: number;
  readonly head: number;
  /** There may be more before `oldest`. */
  readonly hasOlder: boolean;
  /** The log has lost something between what is loaded: said once, in words. */
  readonly gap: string;
}
