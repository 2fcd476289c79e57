/** The errors of the SDK. Each is a MeupError, so that `instanceof` selects them. */

import type { ErrorCode } from "./payloads.js";
import { plain } from "./refusal.js";
import type { ID, ParticipantID, Refusal } from "./types.js";

/** The base of all errors of this package. */
export class MeupError extends Error {
  override readonly name: string = "MeupError";
}

/** The gateway rejected an envelope or a request; section 5 of the protocol. */
export class ProtocolError extends MeupError {
  override readonly name = "ProtocolError";
  /** Such as `capability_violation`. */
  readonly code: ErrorCode;

  /** `refusal` has the fields of the code, such as `retry_after_ms` or `by`. */
  constructor(readonly refusal: Refusal) {
    super(`${plain(refusal)} (${refusal.error})`);
    this.code = refusal.error as ErrorCode;
  }
}

/** Reports whether an error is a rejection with one of the codes; without codes, any rejection. */
export function isRejected(err: unknown, ...codes: readonly ErrorCode[]): err is ProtocolError {
  return err instanceof ProtocolError && (codes.length === 0 || codes.includes(err.code));
}

/** The connection could not be opened, or the gateway ended it permanently: kicked, token expired, policy violated. */
export class ConnectionError extends MeupError {
  override readonly name = "ConnectionError";

  constructor(
    message: string,
    /** The close code of the WebSocket; 0 if it was rejected before it was open. */
    readonly closeCode: number,
    /** The answer of the gateway, if it rejected the connection. */
    readonly refusal: Refusal | null = null,
  ) {
    super(message);
  }
}

/** The client was closed with `close`. */
export class ClosedError extends MeupError {
  override readonly name = "ClosedError";

  constructor(message = "The client is closed.") {
    super(message);
  }
}

/** The connection was lost after an envelope that is not stored (stream.data), so that it cannot be sent again safely. */
export class InterruptedError extends MeupError {
  override readonly name = "InterruptedError";

  constructor() {
    super("The connection was lost.");
  }
}

/** The log lacks envelopes that were not received. The next call continues after them. */
export class GapError extends MeupError {
  override readonly name = "GapError";

  constructor(
    /** The seq of the last envelope before the gap. */
    readonly after: number,
    /** The oldest stored seq; 0 if unknown. */
    readonly oldest: number,
    /** The space has another log now, which starts at the beginning. */
    readonly reset: boolean,
  ) {
    super(reset ? "The log of the space was replaced; it is read from its beginning." : `Envelopes after ${after} are no longer stored; delivery continues with ${oldest}.`);
  }
}

/** The error in an mcp.response. */
export class RpcError extends MeupError {
  override readonly name = "RpcError";

  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

/** A tool returned a result that is an error (`isError`). */
export class ToolError extends MeupError {
  override readonly name = "ToolError";

  constructor(
    message: string,
    /** The result as the tool returned it. */
    readonly result: unknown,
  ) {
    super(message);
  }
}

/** No response within the time. */
export class TimeoutError extends MeupError {
  override readonly name = "TimeoutError";
}

/** No such tool, or several participants offer it. */
export class DiscoveryError extends MeupError {
  override readonly name = "DiscoveryError";
}

/** The reason of the AbortSignal of a question or a context that was ended from outside. */
export class CanceledError extends MeupError {
  override readonly name = "CanceledError";

  constructor(
    readonly kind: "canceled" | "withdrawn" | "paused" | "superseded" | "restarted" | "shutdown",
    /** The participant that ended it; "" if it was this program. */
    readonly by: ParticipantID,
    readonly reason = "",
  ) {
    super(
      {
        superseded: "another process of this agent continues it",
        restarted: "the agent was restarted",
        shutdown: "the agent is shutting down",
        canceled: `canceled by ${by}`,
        withdrawn: `withdrawn by ${by}`,
        paused: `paused by ${by}`,
      }[kind] + (reason === "" ? "" : `: ${reason}`),
    );
  }
}

/** A proposal was not fulfilled. */
export class ProposalError extends MeupError {
  override readonly name = "ProposalError";

  constructor(
    readonly proposal: ID,
    readonly outcome: "rejected" | "withdrawn" | "expired",
    /** The participant that decided; "" if none did. */
    readonly by: ParticipantID,
    readonly reason: string,
  ) {
    super(outcome + (by === "" ? "" : ` by ${by}`) + (reason === "" ? "" : `: ${reason}`));
  }
}
