/** Calls of tools: of other participants, own ones, and ones that are proposed because they are not allowed. */

import type { Client } from "./client.js";
import { ProposalError, isRejected } from "./errors.js";
import type { ToolHost } from "./host.js";
import { propose } from "./propose.js";
import type { RequestOptions, Requests } from "./requests.js";
import { type Directory, type Located, type ToolResult, toolResult } from "./tools.js";
import type { ParticipantID, Payload } from "./types.js";

/** The parts of a participant that calls use. */
export interface Surroundings {
  readonly client: Client;
  readonly requests: Requests;
  readonly directory: Directory;
  readonly host: () => ToolHost | null;
}

export interface LocatedCallOptions extends RequestOptions {
  /** The participants that see the proposal and the response of an own tool; empty: all. */
  readonly audience: readonly ParticipantID[];
  readonly propose?: boolean;
  readonly proposalTimeout?: number;
}

/**
 * Calls a tool of a participant. If this participant may not make the call, it is
 * proposed; if it may not propose it either, the rejection of the call is thrown.
 * Throws ToolError, RpcError, TimeoutError, ProtocolError, ProposalError, or the
 * reason of the signal.
 */
export async function callTool(s: Surroundings, { participant, tool }: Located, args: Payload, o: LocatedCallOptions): Promise<ToolResult> {
  const { audience, propose: proposes = true, proposalTimeout, ...request } = o;
  const host = participant === s.client.you ? s.host() : null;
  let rejection: unknown;
  try {
    if (host !== null) return await host.callOwn(tool, args, { ...request, audience });
    return toolResult(await s.requests.request(participant, "tools/call", { name: tool, arguments: args }, request));
  } catch (err) {
    if (!proposes || !isRejected(err, "capability_violation")) throw err;
    rejection = err;
  }
  const { timeout, onProgress: _, ...where } = request;
  const limits = { ...(proposalTimeout !== undefined && { timeout: proposalTimeout }), ...(timeout !== undefined && { callTimeout: timeout }) };
  const done = await propose(s.client, s.requests, { name: tool, arguments: args, participant }, { ...where, ...limits, to: audience }).catch((err: unknown) => {
    throw isRejected(err, "capability_violation") ? rejection : err;
  });
  if (done.outcome === "fulfilled") return done.result;
  throw new ProposalError(done.proposal, done.outcome, done.by, done.reason);
}
