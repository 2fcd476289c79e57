/**
 * The wire types: envelopes, the gateway's own frames, and turns over HTTP.
 *
 * Content from other participants is `unknown` until it is checked; its kind
 * does not guarantee a shape; see read.ts.
 */

/** An id of an envelope: 1 to 128 of `A-Z a-z 0-9 . _ : -`. */
export type ID = string;

/** A participant: a human, an agent, a tool, or `system:gateway`. */
export type ParticipantID = string;

/** A path in the tree of contexts: segments joined by slashes; "" is the main conversation. */
export type ContextPath = string;

/** Milliseconds since 1970, by the server's clock. */
export type Millis = number;

/** The gateway's id in `from`. */
export const GATEWAY: ParticipantID = "system:gateway";

/** The subprotocol of the WebSocket. */
export const SUBPROTOCOL = "meup.v0.1";

/** An envelope as the gateway delivers it. Fields that the protocol does not define are kept beside these. */
export interface Envelope {
  readonly protocol?: string;
  readonly id: ID;
  /** Time of admission: RFC 3339, UTC, microseconds. */
  readonly ts: string;
  readonly from: ParticipantID;
  /** Absent or empty: to all. */
  readonly to?: readonly ParticipantID[];
  /** With a dot, such as `reasoning.start`. */
  readonly kind: string;
  /** The envelopes that it answers or continues, in the form in which it was sent. */
  readonly correlationId?: ID | readonly ID[];
  readonly context?: ContextPath;
  readonly payload: Payload;
  /** The position in the space's log. Absent for envelopes that are not stored. */
  readonly seq?: number;
}

/** A JSON object of another participant. */
export type Payload = { readonly [key: string]: unknown };

/** An envelope to be sent; the gateway adds the rest. */
export interface Draft {
  readonly kind: string;
  readonly to?: readonly ParticipantID[];
  readonly correlationId?: ID | readonly ID[];
  readonly context?: ContextPath;
  readonly payload: Payload;
}

/** A capability: a kind pattern, or an object with field patterns. */
export type Capability = string | CapabilityRule;

/** A capability with more than a kind. Patterns can be any JSON. */
export interface CapabilityRule {
  readonly kind: string;
  readonly payload?: unknown;
  readonly to?: unknown;
  readonly context?: unknown;
  /** "require" or "respect". */
  readonly claims?: unknown;
  readonly deny?: boolean;
}

/** The own limits; an absent one does not apply. */
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

/** A connected participant. */
export interface Present {
  readonly id: ParticipantID;
  readonly capabilities: readonly Capability[];
  /** "tools": it declared that it answers tools/list and tools/call. */
  readonly serves?: readonly string[];
  /** What it does, from the gateway's configuration. */
  readonly description?: string;
}

/**
 * A rejection: the payload of `system.error`, and the body of an HTTP error.
 * `error` is a code of the protocol, of the HTTP API, or of this page
 * (`offline`, `bad_answer`).
 */
export interface Refusal {
  readonly error: string;
  readonly message: string;
  readonly path?: string;
  readonly detail?: string;
  /** A number of bytes, or the name of a limit. */
  readonly limit?: string | number;
  readonly retry_after_ms?: number;
  readonly attempted_kind?: string;
  readonly your_capabilities?: readonly Capability[];
  readonly oldest_seq?: number;
  /** Of proposal_settled: the participant that decided. */
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
  /** The start of the next page: `since`, or `before` in descending order. */
  readonly next: number;
  readonly has_more: boolean;
}

/** An envelope that a search selects. */
export interface SearchHit {
  readonly seq: number;
  readonly id: ID;
  readonly ts: string;
  readonly from: ParticipantID;
  readonly kind: string;
  readonly context: ContextPath;
  /** The text around the first match: plain texts. */
  readonly parts: readonly { readonly text: string; readonly match: boolean }[];
  /** The text goes on before or after the parts. */
  readonly cut: boolean;
}

/** A page of search results, the best first. */
export interface SearchPage {
  readonly hits: readonly SearchHit[];
  /** The cursor of the next page; "": there is none. */
  readonly next: string;
  /** There may be other results: a bound was reached, or the index lacks envelopes. */
  readonly partial: boolean;
  /** The index lacks the newest envelopes. */
  readonly behind: boolean;
}

/** A thread in a list. */
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

/** The turn of an envelope. */
export interface TurnOf {
  readonly thread_id: ID;
  readonly session_id: string;
  readonly turn: Turn;
}

export type TurnState = "pending" | "processing" | "completed" | "failed" | "interrupted";

/** A question and its outcome. */
export interface Turn {
  readonly turn_number: number;
  readonly message_id: ID;
  readonly from: ParticipantID;
  readonly user_input: string;
  readonly response: string | null;
  /** The author of the answer; absent without one. */
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

/** A summary of a call. */
export interface ToolCall {
  readonly name: string;
  readonly has_result: boolean;
  readonly has_error: boolean;
  readonly agent?: ParticipantID;
}

/** The reasoning of one agent in a turn. */
export interface Reasoning {
  readonly session_id: string;
  readonly thread_id: ID;
  readonly turn_number: number;
  readonly agent: ParticipantID;
  readonly started_at: string;
  readonly completed_at: string | null;
  readonly narrative?: string;
  readonly tool_decisions: readonly Decision[];
  readonly parts?: readonly Part[];
  /** The agent that asked this one to take a part. */
  readonly asked_by?: ParticipantID;
  /** What models used, as the agent reports it; cached_tokens are of the input, reasoning_tokens of the output. With uncounted answers, all are lower bounds. */
  readonly usage?: {
    readonly tokens?: number;
    readonly input_tokens?: number;
    readonly output_tokens?: number;
    readonly cached_tokens?: number;
    readonly reasoning_tokens?: number;
    readonly uncounted?: number;
    readonly cost?: number;
    readonly currency?: string;
  };
}

/** A part that an agent asked another participant to take. */
export interface Part {
  readonly id: ID;
  readonly participant: ParticipantID;
  readonly question: string;
  readonly rationale?: string;
  readonly outcome: "pending" | "concluded" | "declined" | "cancelled";
  readonly parallel_group: number | null;
  readonly conclusion?: string;
  readonly reason?: string;
  /** The envelope that ended it. */
  readonly end_id?: ID;
  readonly ended_by?: ParticipantID;
  readonly context: ContextPath;
}

export type Outcome = "pending" | "success" | "error" | "rejected" | "fulfilled" | "withdrawn" | "expired";

/** A tool call and its rationale. */
export interface Decision {
  readonly tool_name: string;
  readonly rationale: string;
  /** Null if too long; then `parameter_bytes` is set. */
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
  /** The participant whose response ended the call, if it is not the agent. */
  readonly answered_by?: ParticipantID;
  /** The parameters of the fulfilled proposal, if they differ from the proposed ones. */
  readonly fulfilled_with?: unknown;
}

/** A node of the tree of contexts, as the gateway returns it. */
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

/** A space that the user may join. */
export interface SpaceInfo {
  readonly name: string;
  readonly seq: number;
}

/** The session: GET and POST /api/session. */
export interface Session {
  /** The user's id, if it is the same in all spaces. */
  readonly participant?: ParticipantID;
  readonly spaces: readonly { readonly name: string; readonly participant: ParticipantID }[];
  /** Patterns of spaces that are created when they are joined. */
  readonly globs?: readonly string[];
}
