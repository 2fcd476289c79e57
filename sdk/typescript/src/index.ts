/// <reference lib="esnext.disposable" preserve="true" />
/** The TypeScript SDK of MEUP. `connect` joins a space. */

export { type AnswerMode } from "./addressing.js";
export { type Agent, type QuestionHandler, type QuestionOptions } from "./agent.js";
export { Api, ApiError, type ApiOptions, type EnvelopeQuery, type SearchQuery } from "./api.js";
export { type Answer, type AskOptions } from "./ask.js";
export { type CatchUp, type EarlierCall } from "./backlog.js";
export { type Arrival, type ClientOptions, type DraftOf, type Handler, type Receipt, type Welcome } from "./client.js";
export { type ConnectionPhase, type ConnectionState, type Gap } from "./connection.js";
export * from "./errors.js";
export { type Filter } from "./filter.js";
export { RpcCode, type ServeOptions, type ServedTool, type ToolCall, type ToolHandler } from "./host.js";
export { newID } from "./ids.js";
export { ExactNumber, parse, stringify } from "./json.js";
export { Participant, type ToolCallOptions, connect } from "./participant.js";
export * from "./payloads.js";
export { type Settled, fulfills, proposed, settles } from "./proposal.js";
export { type ProposalOutcome, type ProposeOptions, type ProposedCall } from "./propose.js";
export { type Question, type ReplyOptions } from "./question.js";
export { type CallOptions, type ReasonOptions, type Reasoning, type StepFields } from "./reasoning.js";
export { type Elicitation, type ElicitationHandler, type Progress, type RequestOptions } from "./requests.js";
export { run } from "./run.js";
export { type WebSocketClass } from "./socket.js";
export { type ThreadEvent, type ThreadEventType, type ThreadOptions, threadEvents } from "./thread.js";
export { type OfferedTool, type Tool, ToolResult } from "./tools.js";
export * from "./types.js";
