/** A participant: a client that asks, answers, calls tools and serves them. */

import { type Agent, QuestionAgent, type QuestionHandler, QuestionOptions } from "./agent.js";
import { type Surroundings, callTool } from "./call.js";
import { QUESTION_NEEDS, TOOL_NEEDS, missing } from "./capabilities.js";
import { Client, ClientOptions } from "./client.js";
import { type ServeOptions, type ServedTool, ToolHost, RpcCode, rpcID } from "./host.js";
import { type ProposalOutcome, type ProposeOptions, type ProposedCall, approve, propose, reject } from "./propose.js";
import { field, recipients, str } from "./read.js";
import { ELICITATION, type ElicitationHandler, type RequestOptions, Requests } from "./requests.js";
import { Directory, type OfferedTool, type ToolResult } from "./tools.js";
import type { Envelope, ParticipantID, Payload } from "./types.js";

export interface ToolCallOptions extends RequestOptions {
  /** The participant that runs the tool. */
  readonly participant?: ParticipantID;
  /** Proposes the call if this participant may not make it. Default: true. */
  readonly propose?: boolean;
  /** Milliseconds for a decision on the proposal. Default: 300,000. */
  readonly proposalTimeout?: number;
}

export class Participant extends Client {
  private readonly requests = new Requests(this);
  private readonly directory = new Directory(this, this.requests);
  private readonly parts: Surroundings = { client: this, requests: this.requests, directory: this.directory, host: () => this.host };
  private host: ToolHost | null = null;
  private agent: QuestionAgent | null = null;
  private controlled = false;

  /**
   * Sends an MCP request to participants, and returns the result of the first
   * response of one of them. Throws RpcError, TimeoutError, or ProtocolError if
   * the gateway rejects the request. When it gives up, it sends
   * notifications/cancelled.
   */
  request(to: ParticipantID | readonly ParticipantID[], method: string, params?: Payload, o: RequestOptions = {}): Promise<unknown> {
    return this.requests.request(to, method, params, o);
  }

  /** Returns the tools that connected participants declare, or those of some participants. */
  tools(o: { readonly participants?: readonly ParticipantID[]; readonly signal?: AbortSignal } = {}): Promise<readonly OfferedTool[]> {
    return this.directory.all(o);
  }

  /**
   * Calls a tool: of the named participant, by the option or by a name of the
   * form participant/tool if that one is connected; of this participant, if it
   * serves the tool; or of the only participant that offers it. If this
   * participant may not make the call, it is proposed to the others. Throws
   * ToolError if the result is an error, RpcError, TimeoutError, DiscoveryError,
   * ProtocolError or ProposalError.
   */
  async callTool(name: string, args: Payload = {}, o: ToolCallOptions = {}): Promise<ToolResult> {
    const { participant, ...rest } = o;
    const serves = (tool: string): boolean => this.host?.has(tool) === true;
    const at = participant === undefined ? await this.directory.resolve(name, serves, undefined, o.signal) : { participant, tool: name };
    return callTool(this.parts, at, args, { ...rest, audience: [] });
  }

  /** Serves tools to the other participants. Further calls add tools. */
  serveTools(tools: Readonly<Record<string, ServedTool>>, o: ServeOptions = {}): void {
    const host = this.host ?? new ToolHost(this, o);
    host.add(tools);
    if (this.host !== null) return;
    this.host = host;
    this.warnMissing(TOOL_NEEDS);
    this.handleControl();
    host.start();
  }

  /** Proposes a call of a tool that this participant may not make, and waits for the outcome. */
  propose(call: ProposedCall, o: ProposeOptions = {}): Promise<ProposalOutcome> {
    return propose(this, this.requests, call, o);
  }

  /** Approves a proposal of another participant: makes the proposed call. Returns its result. */
  approve(proposal: Envelope, o: { readonly participant?: ParticipantID; readonly timeout?: number; readonly signal?: AbortSignal } = {}): Promise<ToolResult> {
    return approve(this, this.requests, proposal, o);
  }

  /** Rejects a proposal of another participant. */
  reject(proposal: Envelope, reason?: string): Promise<void> {
    return reject(this, proposal, reason);
  }

  /** Answers questions, as an agent. At most one agent runs at a time. */
  onQuestion(handler: QuestionHandler, o: QuestionOptions = {}): Agent {
    if (this.agent !== null) throw new TypeError("an agent answers already: stop it first");
    checkOptions("onQuestion", o, QUESTION_OPTIONS, ["connect", CLIENT_OPTIONS]);
    const agent = new QuestionAgent(this.parts, handler, o);
    this.agent = agent;
    this.warnMissing(QUESTION_NEEDS);
    this.handleControl();
    return {
      stop: async () => {
        if (this.agent === agent) this.agent = null;
        await agent.stop();
      },
    };
  }

  /**
   * Answers questions of hosts about calls of this participant (MCP's elicitation/create). The time limit of the
   * call does not pass meanwhile. Without a handler, or with null, the host is told at once that no participant answers.
   */
  onElicitation(handler: ElicitationHandler | null): void {
    this.requests.onElicitation = handler;
  }

  /** The number of questions that the handler is answering. */
  get openQuestions(): number {
    return this.agent?.open ?? 0;
  }

  private warnMissing(needs: typeof TOOL_NEEDS): void {
    for (const message of missing(this.capabilities, needs)) this.warn(message);
  }

  /** Handles what every agent and every host of tools supports. */
  private handleControl(): void {
    if (this.controlled) return;
    this.controlled = true;
    this.handle((e, a) => {
      if (a.old || e.from === this.you || !recipients(e).includes(this.you)) return;
      const quietly = (work: Promise<unknown>): void => void work.catch((err: unknown) => this.fault(`a reply to ${e.kind} was not sent`, err));
      switch (e.kind) {
        case "participant.request-status":
          return quietly(this.publish({ kind: "participant.status", to: [e.from], correlationId: e.id, payload: { status: "idle", paused: this.paused, ...this.host?.status, ...this.agent?.status } }));
        case "participant.shutdown":
          return void this.close();
        case "mcp.request":
          if (this.host === null) this.decline(e, quietly);
      }
    });
  }

  /** Responds to a request, which this participant does not serve: it saves the sender a timeout. */
  private decline(e: Envelope, quietly: (work: Promise<unknown>) => void): void {
    const method = str(field(e.payload, "method"));
    if (method === "" || method === ELICITATION || method.startsWith("notifications/")) return; // Requests answers questions about calls
    const answer = method === "ping" ? { result: {} } : { error: { code: RpcCode.NoSuchMethod, message: "this participant offers no tools" } };
    quietly(
      this.send({
        kind: "mcp.response",
        to: [e.from],
        correlationId: e.id,
        ...(e.context !== undefined && { context: e.context }),
        payload: { jsonrpc: "2.0", id: rpcID(e) as string, ...answer },
      }),
    );
  }
}

const CLIENT_OPTIONS = new ClientOptions();
const QUESTION_OPTIONS = new QuestionOptions();

/** Throws for an option that a function does not have, and names the other function if that has it. */
function checkOptions(name: string, given: object, has: object, [other, others]: readonly [string, object]): void {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(has, key));
  if (unknown === undefined) return;
  throw new TypeError(`${name} has no option ${unknown}${Object.hasOwn(others, unknown) ? `: it is one of ${other}` : ""}`);
}

/**
 * Joins a space, and returns after the gateway's welcome. The options have
 * defaults from the environment: MEUP_URL, MEUP_TOKEN and MEUP_SPACE. Throws
 * ConnectionError if the gateway rejects the connection, or is not reached in
 * time.
 */
export async function connect(options: ClientOptions = {}): Promise<Participant> {
  checkOptions("connect", options, CLIENT_OPTIONS, ["onQuestion", QUESTION_OPTIONS]);
  const participant = new Participant(options);
  await participant.join();
  return participant;
}
