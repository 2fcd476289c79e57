/** Proposed calls: this participant may not make them, and another one may. */

import type { Client } from "./client.js";
import { realClock } from "./clock.js";
import { isRejected } from "./errors.js";
import { newID } from "./ids.js";
import { type Settled, proposed, settles, withoutMeta } from "./proposal.js";
import { field, str } from "./read.js";
import { type Requests, resultOf } from "./requests.js";
import { type ToolResult, toolResult } from "./tools.js";
import type { ContextPath, Envelope, ID, ParticipantID, Payload } from "./types.js";

/** A call of a tool. */
export interface ProposedCall {
  /** The tool. */
  readonly name: string;
  readonly arguments?: Payload;
  /** The participant that runs the tool; without it, the one who decides chooses. */
  readonly participant?: ParticipantID;
}

/** A proposal with a longer timeout, in milliseconds, has no expires_at. */
const MAX_TIMEOUT = 1e12;

export interface ProposeOptions {
  readonly context?: ContextPath;
  readonly correlationId?: ID | readonly ID[];
  /** The participants that see the proposal; absent: all. */
  readonly to?: readonly ParticipantID[];
  /** Milliseconds for a decision, after which the proposal is withdrawn; 0: without end. Default: 300,000. */
  readonly timeout?: number;
  /** Milliseconds for the response after an approval; 0: without end. Default: 30,000. */
  readonly callTimeout?: number;
  readonly signal?: AbortSignal;
  /** Called when the proposal is in the log. */
  readonly onAdmitted?: (id: ID) => void;
}

/** How a proposal ended. */
export type ProposalOutcome =
  | {
      readonly outcome: "fulfilled";
      readonly proposal: ID;
      /** The participant that made the call. */
      readonly by: ParticipantID;
      /** Its request. */
      readonly request: Envelope;
      readonly result: ToolResult;
    }
  | {
      readonly outcome: "rejected" | "withdrawn" | "expired";
      readonly proposal: ID;
      /** The participant that decided; "" if none did. */
      readonly by: ParticipantID;
      readonly reason: string;
    };

/**
 * Proposes a call, and waits for its outcome. Throws RpcError or ToolError if
 * the call was made and failed, TimeoutError if it got no response, and
 * ProtocolError if the gateway rejects the proposal. If the signal ends it, the
 * proposal is withdrawn.
 */
export async function propose(client: Client, requests: Requests, call: ProposedCall, o: ProposeOptions = {}): Promise<ProposalOutcome> {
  const { timeout = 300_000 } = o;
  await client.gate.wait(o.signal); // a pause does not count
  const begun = realClock.now();
  const id = newID();
  const where = {
    ...(o.context !== undefined && { context: o.context }),
    ...(o.to !== undefined && o.to.length > 0 && { to: o.to }),
  };
  const draft = {
    id,
    kind: "mcp.proposal" as const,
    ...where,
    ...(o.correlationId !== undefined && { correlationId: o.correlationId }),
    payload: {
      method: "tools/call",
      params: { name: call.name, arguments: call.arguments ?? {} },
      ...(call.participant !== undefined && { participant_id: call.participant }),
      ...(timeout > 0 && timeout < MAX_TIMEOUT && { expires_at: new Date(Date.now() + client.welcome.clock + timeout).toISOString() }),
    },
  };
  let sent = false;
  const p = proposed({ ...draft, ts: "", from: client.you });
  let settle: (x: { readonly how: Settled; readonly e: Envelope; readonly response: ReturnType<Requests["expect"]> | null }) => void = () => {};
  let fail: (err: unknown) => void = () => {};
  const settled = new Promise<Parameters<typeof settle>[0]>((yes, no) => ([settle, fail] = [yes, no]));
  settled.catch(() => {}); // the proposal may still be on its way
  const stop = client.handle((e, a) => {
    const how = a.old ? "pending" : settles(p, e);
    if (how === "pending") return;
    stop();
    sent = false; // there is nothing to withdraw
    // a response can be the next envelope
    settle({ how, e, response: how === "fulfilled" ? requests.expect(e.id, e.to ?? [], { timeout: o.callTimeout ?? 30_000, ...(o.signal !== undefined && { signal: o.signal }) }) : null });
  });
  const aborted = (): void => {
    fail(o.signal?.reason);
    if (sent) withdraw("no_longer_needed").catch(() => {}); // before its context is closed; it may not be in the log
  };
  o.signal?.addEventListener("abort", aborted, { once: true });
  const unwatch = client.onEnd(fail);
  let stopTimer: () => void = () => {};
  const withdraw = async (reason: string): Promise<void> => {
    await client.publish({ kind: "mcp.withdraw", ...where, correlationId: id, payload: { reason } }).catch((err: unknown) => {
      if (!isRejected(err, "proposal_settled")) throw err;
    });
  };
  try {
    o.signal?.throwIfAborted();
    sent = true;
    await client.publish(draft, o.signal === undefined ? {} : { signal: o.signal });
    o.onAdmitted?.(id);
    if (timeout > 0) stopTimer = realClock.after(Math.max(0, begun + timeout - realClock.now()), () => void withdraw("timeout").catch(fail));
    const { how, e, response } = await settled;
    if (response !== null) {
      try {
        return { outcome: "fulfilled", proposal: id, by: e.from, request: e, result: toolResult(resultOf(await response.response)) };
      } finally {
        response.drop();
      }
    }
    return { outcome: how as "rejected", proposal: id, by: how === "expired" && e.from === client.you ? "" : e.from, reason: str(field(e.payload, "reason")) };
  } finally {
    stop();
    unwatch();
    stopTimer();
    o.signal?.removeEventListener("abort", aborted);
  }
}

/** Makes a proposed call: exactly it, without the metadata of the proposer, addressed to the participant that runs the tool. Returns the result. */
export async function approve(client: Client, requests: Requests, proposal: Envelope, o: { readonly participant?: ParticipantID; readonly timeout?: number; readonly signal?: AbortSignal } = {}): Promise<ToolResult> {
  const p = proposed(proposal);
  const host = o.participant ?? p.owner;
  if (host === "") throw new TypeError("the proposal does not name the participant that runs the tool: give the option participant");
  const id = newID();
  const wait = requests.expect(id, [host], { ...(o.timeout !== undefined && { timeout: o.timeout }), ...(o.signal !== undefined && { signal: o.signal }) });
  const edited = p.owner !== "" && p.owner !== host;
  try {
    await client.send(
      {
        id,
        kind: "mcp.request",
        to: [host],
        ...(proposal.context !== undefined && { context: proposal.context }),
        correlationId: proposal.id,
        payload: { jsonrpc: "2.0", id, method: p.method, ...(p.params !== undefined && { params: withoutMeta(p.params) as Payload }), ...(edited && { edited }) },
      },
      { signal: wait.signal },
    );
    return toolResult(resultOf(await wait.response));
  } finally {
    wait.drop();
  }
}

/** Rejects a proposal, visible to all that can see it. */
export async function reject(client: Client, proposal: Envelope, reason = "disagree"): Promise<void> {
  const to = proposal.to ?? [];
  await client.send({
    kind: "mcp.reject",
    ...(to.length > 0 && { to: [...new Set([proposal.from, ...to])] }),
    ...(proposal.context !== undefined && { context: proposal.context }),
    correlationId: proposal.id,
    payload: { reason },
  });
}
