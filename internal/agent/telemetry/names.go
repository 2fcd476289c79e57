package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Operation is the operation of a span, as named by the conventions.
type Operation string

// Values of Operation.
const (
	InvokeAgent Operation = "invoke_agent"
	Plan        Operation = "plan"
	Chat        Operation = "chat"
	ExecuteTool Operation = "execute_tool"
)

// Attributes of the GenAI conventions. They are defined here because the
// conventions still change.
const (
	OperationName = attribute.Key("gen_ai.operation.name")
	ProviderName  = attribute.Key("gen_ai.provider.name")

	AgentID        = attribute.Key("gen_ai.agent.id")
	AgentName      = attribute.Key("gen_ai.agent.name")
	ConversationID = attribute.Key("gen_ai.conversation.id") // the space

	RequestModel     = attribute.Key("gen_ai.request.model")
	RequestMaxTokens = attribute.Key("gen_ai.request.max_tokens")

	ResponseID      = attribute.Key("gen_ai.response.id")
	ResponseModel   = attribute.Key("gen_ai.response.model")
	FinishReasons   = attribute.Key("gen_ai.response.finish_reasons")
	InputTokens     = attribute.Key("gen_ai.usage.input_tokens")
	OutputTokens    = attribute.Key("gen_ai.usage.output_tokens")
	CachedTokens    = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	ReasoningTokens = attribute.Key("gen_ai.usage.reasoning.output_tokens")

	ToolName   = attribute.Key("gen_ai.tool.name")
	ToolCallID = attribute.Key("gen_ai.tool.call.id")

	ErrorType = attribute.Key("error.type")
)

// Attributes outside the conventions.
const (
	SessionID       = attribute.Key("meup.session.id")
	Intent          = attribute.Key("meup.intent")
	DecisionSource  = attribute.Key("meup.decision.source")
	DecisionOutcome = attribute.Key("meup.decision.outcome")
	DecisionTools   = attribute.Key("meup.decision.tools")
	DecisionSeconds = attribute.Key("meup.decision.duration")
	ErrorMessage    = attribute.Key("error.message")
)

// kind returns the span kind that the conventions define for the operation:
// only a request to a model leaves the process.
func (o Operation) kind() trace.SpanKind {
	if o == Chat {
		return trace.SpanKindClient
	}
	return trace.SpanKindInternal
}

// subject returns the attribute for the name in a span's title.
func (o Operation) subject() (attribute.Key, bool) {
	switch o {
	case InvokeAgent, Plan:
		return AgentName, true
	case Chat:
		return RequestModel, true
	case ExecuteTool:
		return ToolName, true
	default:
		return "", false
	}
}
