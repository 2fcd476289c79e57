/** Calls of tools: of other participants, own ones, and ones that are proposed because they are not allowed. */

import type { Client } from "./client.js";
import { MeupError, ProposalError, RpcError, TimeoutError, ToolError, isRejected } from "./errors.js";
import type { ToolHost } from "./host.js";
import { propose } from "./propose.js";
import type { RequestOptions, Requests } from "./requests.js";
import { type Directory, type Located, type ToolResult, toolResult } from "./tools.js";
import type { ParticipantID, Payload } from "./types.js";
import { publicMessage, setPublicMessage, withoutPeriod } from "./wording.js";

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
export async function callTool(s: Surroundings, at: Located, args: Payload, o: LocatedCallOptions): Promise<ToolResult> {
  try {
    return await resultOf(s, at, args, o);
  } catch (err) {
    throw describe(s.client.you, at, err);
  }
}

/** Gives an error the sentence for the participants of a question: which tool failed, and how. */
function describe(you: ParticipantID, { participant, tool }: Located, err: unknown): unknown {
  if (!(err instanceof MeupError)) return err;
  const name = `the tool ${tool}${participant === you ? "" : ` of ${participant}`}`;
  if (isRejected(err, "capability_violation")) return setPublicMessage(err, `${name} was not called: it is not allowed`);
  if (err instanceof ProposalError) {
    const how = { rejected: withoutPeriod(err.message), expired: "no participant decided in time", withdrawn: "the proposal was withdrawn" }[err.outcome];
    return setPublicMessage(err, `${name} was not called: ${how}`);
  }
  const failed = err instanceof ToolError || err instanceof RpcError || err instanceof TimeoutError || publicMessage(err) !== "";
  return failed ? setPublicMessage(err, `${name} failed: ${withoutPeriod((publicMessage(err) || err.message).trim().slice(0, 300))}`) : err;
}

async function resultOf(s: Surroundings, { participant, tool }: Located, args: Payload, o: LocatedCallOptions): Promise<ToolResult> {
  const { audience, propose: proposes = true, proposalTimeout, ...request } = o;
  const host = participant === s.client.you ? s.host() : null;
  let rejection: unknown;
  try {
    if (host !== null) return await host.callOwn(tool, args, { ...request, audience });
    return toolResult(await s.requests.request(participant, "tools/call", { name: tool, arguments: args }, request));
  } catch (err) {
    // The gateway knows the schema of the tool; the host would have answered this.
    if (isRejected(err, "invalid_payload") && err.refusal.path?.startsWith("/payload/params/arguments")) throw new RpcError(-32602, err.refusal.message, err.refusal);
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
