/**
 * What goes over the wire, as TypeScript sees it: envelopes, the gateway's own
 * frames, and the turns that it serves over HTTP.
 *
 * Everything that others wrote is `unknown` until it was looked at. Nothing
 * here is trusted to have the shape that its kind suggests; see read.ts.
 */

/** An id of an envelope: 1 to 128 of `A-Z a-z 0-9 . _ : -`. */
export type ID = string;

/** Who takes part: a human, an agent, a tool, or `system:gateway`. */
export type ParticipantID = string;

/** A place in the tree of contexts: segments joined by slashes; "" is the main conversation. */
export type ContextPath = string;

/** Milliseconds since 1970, by the server's clock. */
export type Millis = number;

/** The gateway's own name in `from`. */
export const GATEWAY: ParticipantID = "system:gateway";

/** The dialect that this page speaks. */
export const PROTOCOL = "meup/v0.1";

/** The subprotocol of the WebSocket. */
export const SUBPROTOCOL = "meup.v0.1";

/** One thing said in a space, as the gateway delivers it. */
export interface Envelope {
  readonly protocol?: string;
  readonly id: ID;
  /** RFC 3339, UTC, microseconds: when it was admitted. */
  readonly ts: string;
  readonly from: ParticipantID;
  /** Absent or empty: to everybody. */
  readonly to?: readonly ParticipantID[];
  /** With a dot, such as `reasoning.start`. */
  readonly kind: string;
  /** What it answers or builds on, in the form in which it was sent. */
  readonly correlationId?: ID | readonly ID[];
  readonly context?: ContextPath;
  readonly payload: Payload;
  /** The position in the space's log. Absent for what the log does not keep. */
  readonly seq?: number;
}

/** A JSON object of somebody else's making. */
export type Payload = { readonly [key: string]: unknown };

/** An envelope to be sent: the gateway fills in the rest. */
export interface Draft {
  readonly kind: string;
  readonly to?: readonly ParticipantID[];
  readonly correlationId?: ID | readonly ID[];
  readonly context?: ContextPath;
  readonly payload: Payload;
}

/** A capability: a kind pattern, or an object with field patterns. */
export type Capability = string | CapabilityRule;

/** A capability with more than a kind. Patterns are any JSON. */
export interface CapabilityRule {
  readonly kind: string;
  readonly payload?: unknown;
  readonly to?: unknown;
  readonly context?: unknown;
  readonly deny?: boolean;
}

/** One's limits; one that is absent does not exist. */
export interface Limits {
  /** Envelopes per second. */
  readonly rate?: number;
  readonly burst?: number;
  readonly bytes_per_second?: number;
  readonly message_bytes?: number;
  readonly connections?: number;
  readonly open_contexts?: number;
  readonly context_depth?: number;
  readonly kinds?: readonly { readonly kind: string; readonly rate: number; readonly burst: number }[];
}

/** Who is connected. */
export interface Present {
  readonly id: ParticipantID;
  readonly capabilities: readonly Capability[];
}

/** The payload of `system.welcome`, the first frame of a connection. */
export interface Welcome {
  readonly you: Present & { readonly limits: Limits };
  readonly participants: readonly Present[];
  /** `seq`: the head of the log at that moment. */
  readonly space: { readonly name: string; readonly seq: number };
  readonly protocol: string;
}

/** The payload of `system.presence`. */
export interface Presence {
  readonly event: "join" | "leave";
  readonly participant: Present;
}

/**
 * A refusal: the payload of `system.error`, and the body of an HTTP error.
 * `error` is one of the protocol's codes or of the front door's, or a code of
 * this page's own (`offline`, `bad_answer`).
 */
export interface Refusal {
  readonly error: string;
  readonly message: string;
  readonly path?: string;
  readonly detail?: string;
  /** Bytes, or which limit. */
  readonly limit?: string | number;
  readonly retry_after_ms?: number;
  readonly attempted_kind?: string;
  readonly your_capabilities?: readonly Capability[];
  readonly oldest_seq?: number;
  /** Of proposal_settled: the participant that has decided. */
  readonly by?: ParticipantID;
}

/** Close codes of the WebSocket. */
export const Close = {
  Normal: 1000,
  GoingAway: 1001,
  Policy: 1008,
  TooBig: 1009,
  Internal: 1011,
  TokenExpired: 4001,
  Kicked: 4003,
  Idle: 4008,
} as const;

// Over HTTP.

/** A page of history. */
export interface EnvelopePage {
  readonly envelopes: readonly Envelope[];
  /** Where the next page begins: `since`, or `before` in descending order. */
  readonly next: number;
  readonly has_more: boolean;
}

/** One thread of a list. */
export interface Thread {
  readonly thread_id: ID;
  readonly session_id: string;
  readonly title: string;
  readonly started_at: string;
  readonly last_turn: number;
  readonly updated_at: string;
  readonly seq: number;
}

/** A page of threads, newest first; `next` is the `before` of the next page. */
export interface Threads {
  readonly threads: readonly Thread[];
  readonly next: number;
  readonly has_more: boolean;
}

/** A page of turns, oldest first. */
export interface History {
  readonly thread_id: ID;
  readonly session_id: string;
  readonly turns: readonly Turn[];
  readonly has_more: boolean;
}

/** The turn that an envelope belongs to. */
export interface TurnOf {
  readonly thread_id: ID;
  readonly session_id: string;
  readonly turn: Turn;
}

export type TurnState = "pending" | "processing" | "completed" | "failed" | "interrupted";

/** A question and what came of it. */
export interface Turn {
  readonly turn_number: number;
  readonly message_id: ID;
  readonly from: ParticipantID;
  readonly user_input: string;
  readonly response: string | null;
  /** Whose answer it is; absent while there is none. */
  readonly response_from?: ParticipantID;
  readonly state: TurnState;
  readonly started_at: string;
  readonly completed_at: string | null;
  readonly tool_calls: readonly ToolCall[];
  readonly reasoning?: Reasoning;
  readonly reasonings?: readonly Reasoning[];
  readonly responses?: readonly { readonly from: ParticipantID; readonly text: string }[];
  readonly truncated?: boolean;
}

/** A call in short. */
export interface ToolCall {
  readonly name: string;
  readonly has_result: boolean;
  readonly has_error: boolean;
  readonly agent?: ParticipantID;
}

/** What one agent reasoned in a turn. */
export interface Reasoning {
  readonly session_id: string;
  readonly thread_id: ID;
  readonly turn_number: number;
  readonly agent: ParticipantID;
  readonly started_at: string;
  readonly completed_at: string | null;
  readonly narrative?: string;
  readonly tool_decisions: readonly Decision[];
}

export type Outcome = "pending" | "success" | "error" | "rejected" | "fulfilled" | "withdrawn" | "expired";

/** One call of a tool and why it was made. */
export interface Decision {
  readonly tool_name: string;
  readonly rationale: string;
  /** Null when too long; `parameter_bytes` is there then. */
  readonly parameters: Payload | null;
  readonly outcome: Outcome;
  readonly parallel_group: number | null;
  readonly call_id: ID;
  readonly started_at: string;
  readonly duration_ms?: number;
  readonly result_bytes?: number;
  readonly parameter_bytes?: number;
  readonly context: ContextPath;
  readonly decided_by?: ParticipantID;
  /** Whose response ended the call, if not the agent's own. */
  readonly answered_by?: ParticipantID;
  /** The parameters with which a proposal was fulfilled, if they are others than those proposed. */
  readonly fulfilled_with?: unknown;
}

/** A node of the tree of contexts, as the gateway tells it. */
export interface ContextNode {
  readonly path: ContextPath;
  readonly opener: ParticipantID;
  readonly state: "reasoning" | "concluded" | "cancelled" | "abandoned";
  readonly implicit?: boolean;
  readonly started: string;
  readonly ended?: string;
  /** Seconds. */
  readonly elapsed: number;
  readonly answers?: readonly ID[];
  readonly message?: string;
  readonly seq: number;
  readonly counts: {
    readonly envelopes: number;
    readonly steps: number;
    readonly requests: number;
    readonly responses: number;
    readonly errors: number;
  };
  readonly children: readonly ContextNode[];
}

/** A space that one may enter. */
export interface SpaceInfo {
  readonly name: string;
  readonly seq: number;
}

/** What one is signed in for: GET and POST /api/session. */
export interface Session {
  /** Who one is, if that is the same in every space. */
  readonly participant?: ParticipantID;
  readonly spaces: readonly { readonly name: string; readonly participant: ParticipantID }[];
  /** Patterns of spaces that are made as they are joined. */
  readonly globs?: readonly string[];
}
