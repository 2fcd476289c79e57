/**
 * The rendered state, which the reducer (reducer.ts) derives from the envelopes
 * of a space.
 *
 * Change detection: every entity (a Message, a Block, a Proposal, …) is
 * immutable; a change replaces it with a new one under the same key, so `===`
 * detects changes. `version` increases with each change. The arrays of a
 * SpaceState are replaced when an item changes. The maps are live views: one
 * map for the lifetime of a space; `SpaceState.version` shows whether one has
 * changed.
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
} from "@sdk/types.js";
import type { Marks } from "./marks.js";

/** A versioned entity: the version increases with each replacement. */
export interface Versioned {
  readonly version: number;
}

/** A chat in the main conversation. */
export interface Message extends Versioned {
  readonly id: ID;
  readonly seq: number;
  readonly at: Millis;
  /** When it began: earlier than `at` if it was streamed. */
  readonly begunAt: Millis;
  readonly from: ParticipantID;
  /** The addressees; empty: all. */
  readonly to: readonly ParticipantID[];
  /** Without its marks. */
  readonly text: string;
  /** The reasoning that its author wrote into it; null: none. */
  readonly marks: Marks | null;
  readonly format: "plain" | "markdown";
  /** The message that it answers, directly or through reasoning about that message; null if there is none or it is not loaded. */
  readonly replyTo: ID | null;
  /** The ids that it correlates to. */
  readonly references: readonly ID[];
  /** Messages that answer it, in order. */
  readonly replies: readonly ID[];
  /** The first message of its thread: itself, if it answers none. */
  readonly thread: ID;
  /** Outermost reasoning blocks that answer it, in order of their start; rendered below it. */
  readonly blocks: readonly ContextPath[];
  /** Blocks of its author that it completes as their answer. */
  readonly answers: readonly ContextPath[];
  /** Set while it is streamed, under the id of the stream; the complete message replaces it under its own id. */
  readonly growing: boolean;
  /** Set if it was canceled. */
  readonly cancelled: Closing | null;
  /** Participants that have acknowledged it. */
  readonly acknowledged: readonly ParticipantID[];
  /** Names of the rules that masked a text in it. */
  readonly redacted: readonly string[];
}

/** The author, time and reason of an end. */
export interface Closing {
  readonly id: ID;
  readonly by: ParticipantID;
  readonly at: Millis;
  readonly reason: string;
}

/**
 * The status of a reasoning block.
 *
 *   idle        known only as a parent of other contexts
 *   reasoning   open
 *   collapsed   the reasoning is over: the answer has begun, or the block is concluded and the answer is pending
 *   complete    closed and, if it answers a question, answered
 *   stopped     its opener is gone, or an outer context has ended
 *   cancelled   closed by a reasoning.cancel
 */
export type BlockStatus = "idle" | "reasoning" | "collapsed" | "complete" | "stopped" | "cancelled";

/** A context: the reasoning of one agent. */
export interface Block extends Versioned {
  readonly path: ContextPath;
  /** The last segment: the id of its reasoning.start. */
  readonly id: ID;
  readonly parent: ContextPath | null;
  /** 0: outermost. */
  readonly depth: number;
  /** The reasoning participant; "" while unknown. */
  readonly opener: ParticipantID;
  /** The participant that the opener asks to reason in it; "": none. Of conclusions, only its own counts. */
  readonly asked: ParticipantID;
  /** Set if its reasoning.start was seen. */
  readonly opened: boolean;
  /** Set if it has no reasoning.start. False while the start may be in older envelopes. */
  readonly implicit: boolean;
  readonly status: BlockStatus;
  /** The message that it answers, if it is loaded; null: it is rendered separately, by `seq`. */
  readonly question: ID | null;
  /** The ids that its start correlates to. */
  readonly references: readonly ID[];
  /** Its opener's answer to the question. */
  readonly answer: ID | null;
  /** The message of the start. */
  readonly message: string;
  readonly approach: string;
  readonly metadata: Payload | null;
  /** The ids in the `references` of its start. */
  readonly cited: readonly ID[];
  /** Of the start, or of the first envelope in it. */
  readonly seq: number;
  readonly lastSeq: number;
  readonly startedAt: Millis;
  readonly lastAt: Millis;
  /** End of the reasoning; null while it continues. For stopped blocks, the last known time. */
  readonly endedAt: Millis | null;
  /** Seconds from start to end, rounded up, at least 1; null while it continues, and if the start was not seen. */
  readonly thoughtSeconds: number | null;
  /** The rendered steps, in order; rationales are part of their calls. */
  readonly steps: readonly Step[];
  /** Number of older steps that were dropped. */
  readonly droppedSteps: number;
  /** Contexts directly below it, in order. Each also has a step of type "block". */
  readonly children: readonly ContextPath[];
  readonly conclusion: Conclusion | null;
  readonly cancelled: Closing | null;
  /** All participants that wrote into it, its opener first. */
  readonly authors: readonly ParticipantID[];
  readonly counts: BlockCounts;
}

/** The participant that reasons in a block: the one that its opener asked, or else its opener. */
export function reasoner(b: Block): ParticipantID {
  return b.asked === "" ? b.opener : b.asked;
}

/** Counts of a block without the blocks in it. */
export interface BlockCounts {
  readonly envelopes: number;
  readonly thoughts: number;
  readonly calls: number;
  readonly pending: number;
  readonly errors: number;
}

/** The end of a block by reasoning.conclusion. */
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
  readonly cited: readonly ID[];
  readonly redacted: readonly string[];
}

export type Step = ThoughtStep | CallStep | NestedStep | SaidStep;

interface StepBase extends Versioned {
  /** Unchanged while a thought is streamed and completed, and when a rationale becomes a call. */
  readonly key: string;
  /** The position: of the rationale for a call, of the start of the stream for a streamed thought. */
  readonly seq: number;
  readonly at: Millis;
  readonly from: ParticipantID;
}

/** A thought, or one of the richer kinds. */
export interface ThoughtStep extends StepBase {
  readonly type: "thought" | "hypothesis" | "observation" | "question" | "other";
  /** "" while only the stream exists. */
  readonly id: ID;
  /** Without the prefix "reasoning." */
  readonly kind: string;
  readonly text: string;
  readonly questions: readonly string[];
  readonly confidence: number | null;
  readonly severity: string;
  readonly evidence: readonly string[];
  /** The evidence against a hypothesis. */
  readonly against: readonly string[];
  /** The ids in `references`. */
  readonly cited: readonly ID[];
  /** The tool whose call it announces. */
  readonly tool: string;
  readonly group: number | null;
  /** Set for a model's own reasoning text. */
  readonly raw: boolean;
  readonly redacted: readonly string[];
  /** Set while it is streamed. */
  readonly growing: boolean;
  /** The complete payload. */
  readonly payload: Payload;
}

/** A tool call with its rationale. */
export interface CallStep extends StepBase {
  readonly type: "call";
  readonly call: Call;
}

/** A nested context. */
export interface NestedStep extends StepBase {
  readonly type: "block";
  readonly path: ContextPath;
  /** The reason for the nested context; "" if none is given. */
  readonly rationale: string;
  readonly group: number | null;
}

/** A chat in the context. */
export interface SaidStep extends StepBase {
  readonly type: "said";
  readonly id: ID;
  /** Without its marks. */
  readonly text: string;
  readonly marks: Marks | null;
  readonly format: "plain" | "markdown";
}

/** A tool call: a request, or a proposal with its outcome. */
export interface Call {
  /** The id of the request or of the proposal. */
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
  /** The reason for the call; "" if none is given. */
  readonly rationale: string;
  /** The thought with the rationale. */
  readonly rationaleId: ID;
  readonly proposed: boolean;
  readonly outcome: Outcome;
  /** Set if the call failed, whatever its outcome is called. */
  readonly failed: boolean;
  readonly startedAt: Millis;
  readonly endedAt: Millis | null;
  readonly durationMs: number | null;
  /** Calls of one agent in a block with the same number ran in parallel. */
  readonly group: number | null;
  /** `result` or `error` of the response, unchanged; undefined before it. */
  readonly result: unknown;
  /** The result in a few words; "" before it, or if there is nothing to count. */
  readonly summary: string;
  readonly responseId: ID;
  /** The participant whose response ended the call; "" if it is the agent. */
  readonly answeredBy: ParticipantID;
  /** The participant that fulfilled the proposal, or rejected it or a request. */
  readonly decidedBy: ParticipantID;
  /** The reason for the rejection or withdrawal. */
  readonly reason: string;
}

/** `settled`: it was decided in a way that is not visible here. */
export type ProposalStatus = "pending" | "approved" | "rejected" | "withdrawn" | "expired" | "settled";

/** A call that a participant proposes for others to make. */
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
  /** The proposed parameters, to be sent unchanged. */
  readonly params: unknown;
  /** The host of the tool, if the proposal names it; "" otherwise. */
  readonly owner: ParticipantID;
  readonly rationale: string;
  /** From this time on it can no longer be approved; null: no such time. */
  readonly expiresAt: Millis | null;
  readonly status: ProposalStatus;
  /** It expired with its context or at `expiresAt`: a decision may follow, or was not visible here. */
  readonly lapsed: boolean;
  /** The participant that approved, rejected or withdrew it. */
  readonly decidedBy: ParticipantID;
  readonly decidedAt: Millis | null;
  /** The reason code of the rejection or withdrawal. */
  readonly reason: string;
  /** The explanation of the decision. */
  readonly explanation: string;
  /** The request that fulfills it. */
  readonly request: ID;
  /** The envelope that decided: that request, a rejection or a withdrawal. */
  readonly decision: ID;
  /** What participants said of it before it was decided, one of each, in order. */
  readonly opinions: readonly Opinion[];
  /** Who said that the decision of a reviewer on it was wrong; null: nobody. */
  readonly undone: Closing | null;
  /** The approved arguments, if they differ from the proposed ones; undefined otherwise. */
  readonly approvedArgs: unknown;
  /** Approved, with a result. */
  readonly done: boolean;
  /** Approved, but the call failed. */
  readonly failed: boolean;
  readonly result: unknown;
  readonly summary: string;
}

/** What a participant said of a proposal. */
export interface Opinion {
  readonly id: ID;
  readonly from: ParticipantID;
  readonly at: Millis;
  readonly verdict: "approve" | "reject" | "abstain";
  /** The grounds. */
  readonly reason: string;
}

/** A question of a tool server that waits for an answer, which its host has passed on. */
export interface Elicitation extends Versioned {
  readonly id: ID;
  /** The JSON-RPC id. */
  readonly rpc: unknown;
  readonly seq: number;
  readonly at: Millis;
  /** The host of the tool. */
  readonly from: ParticipantID;
  /** The participant that is asked. */
  readonly to: ParticipantID;
  readonly context: ContextPath;
  /** The calls that it is about. */
  readonly calls: readonly ID[];
  readonly params: unknown;
  /** When the host stops waiting; null: unknown. */
  readonly expiresAt: Millis | null;
}

/** What participants think of one envelope. */
export interface Feedback extends Versioned {
  readonly about: ID;
  /** The feedback that counts, one of each participant, in order; empty: all was taken back. */
  readonly given: readonly Given[];
}

/** The feedback of one participant. */
export interface Given {
  readonly id: ID;
  readonly from: ParticipantID;
  readonly at: Millis;
  readonly value: "up" | "down";
  readonly note: string;
}

export interface Participant extends Versioned {
  readonly id: ParticipantID;
  /** As the gateway named them at `knownAt`. */
  readonly capabilities: readonly Capability[];
  /** 0: not at all. */
  readonly knownAt: Millis;
  /** What it does, from the gateway's configuration. */
  readonly description: string;
  /** Connected now. */
  readonly present: boolean;
  /** Set if it has opened a context, or has an explicit capability for reasoning. */
  readonly agent: boolean;
  /** Set if it has sent an opinion, or was promoted: its decisions may be those of a reviewer. */
  readonly reviewer: boolean;
  readonly paused: boolean;
  /** When the pause ends, by the server's clock; null: never. */
  readonly pausedUntil: Millis | null;
  readonly kicked: boolean;
  /** Time of its last envelope in the log. */
  readonly lastAt: Millis | null;
  readonly envelopes: number;
  /** `status` of the last participant.status. */
  readonly status: string;
  /** Its tools, from its responses to tools/list. */
  readonly tools: readonly Tool[];
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: unknown;
  /** As declared by the host; null if not declared. */
  readonly readOnly: boolean | null;
  readonly destructive: boolean | null;
}

/** Capabilities that a participant granted to another. */
export interface Grant extends Versioned {
  readonly id: ID;
  readonly seq: number;
  readonly at: Millis;
  readonly by: ParticipantID;
  readonly recipient: ParticipantID;
  readonly capabilities: readonly Capability[];
  readonly reason: string;
  /** Null: never. */
  readonly expiresAt: Millis | null;
  /** Grants to the granter that it may derive from: revoking one may end it. */
  readonly via: readonly ID[];
  /** Grants by the recipient that may derive from it. */
  readonly derived: readonly ID[];
  readonly revoked: Closing | null;
  /** Set if some of its capabilities were revoked separately. */
  readonly narrowed: boolean;
}

/** An event in the main conversation that is not a message: a grant, a kick, a pause. */
export interface Notice {
  readonly id: ID;
  readonly seq: number;
  readonly at: Millis;
  readonly from: ParticipantID;
  readonly kind: string;
  readonly envelope: ID;
  /** The text as a sentence. */
  readonly text: string;
  /** The capabilities that were granted or revoked, as far as they are known. */
  readonly rights: readonly Capability[];
}

/** An item of the main conversation. `key` is stable; the items are sorted by `seq`. */
export type TimelineItem =
  | { readonly type: "message"; readonly key: ID; readonly seq: number; readonly at: Millis }
  | { readonly type: "block"; readonly key: ContextPath; readonly seq: number; readonly at: Millis }
  | { readonly type: "proposal"; readonly key: ID; readonly seq: number; readonly at: Millis }
  | { readonly type: "call"; readonly key: ID; readonly seq: number; readonly at: Millis }
  | { readonly type: "notice"; readonly key: ID; readonly seq: number; readonly at: Millis };

/** A rejection that is not shown with an own message. */
export interface RefusalNote {
  readonly about: ID;
  readonly at: Millis;
  readonly refusal: Refusal;
}

/** The complete rendered state of a space. */
export interface SpaceState extends Versioned {
  readonly space: string;
  /** Null before the first welcome. */
  readonly you: { readonly id: ParticipantID; readonly capabilities: readonly Capability[]; readonly limits: Limits } | null;
  /** By seq: messages, blocks without a loaded question, proposals and calls outside contexts, notices. */
  readonly timeline: readonly TimelineItem[];
  readonly messages: ReadonlyMap<ID, Message>;
  readonly blocks: ReadonlyMap<ContextPath, Block>;
  /** Calls of the main conversation; those of contexts are in their steps. */
  readonly calls: ReadonlyMap<ID, CallStep>;
  readonly proposals: ReadonlyMap<ID, Proposal>;
  readonly notices: ReadonlyMap<ID, Notice>;
  /** Open questions of tool servers, to any participant, oldest first. */
  readonly elicitations: ReadonlyMap<ID, Elicitation>;
  /** By the envelope that it is about. */
  readonly feedback: ReadonlyMap<ID, Feedback>;
  readonly participants: ReadonlyMap<ParticipantID, Participant>;
  readonly grants: ReadonlyMap<ID, Grant>;
  /** Outermost contexts, in order of their start. */
  readonly roots: readonly ContextPath[];
  /** Undecided proposals, oldest first; the badge shows their number. */
  readonly pending: readonly ID[];
  /** Proposals that were decided by others, as rejections of own decisions show, with the deciding participant. */
  readonly settled: ReadonlyMap<ID, ParticipantID>;
  /** The newest rejections, at most 50. */
  readonly refusals: readonly RefusalNote[];
  /** The loaded part without gaps: from `oldest` to `head`. 0: nothing. */
  readonly oldest: number;
  readonly head: number;
  /** There may be envelopes before `oldest`. */
  readonly hasOlder: boolean;
  /** The log has lost envelopes within the loaded part; shown once. */
  readonly gap: string;
}
