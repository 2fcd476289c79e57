package otlpreceiver

// field is a meaning that attributes of several conventions have.
type field int

// The fields.
const (
	operation field = iota
	vercelOperation
	openInferenceKind
	traceloopKind
	requestType
	agentName
	entityName // of Traceloop: the name of an agent, or of a tool
	model
	provider
	inputTokens
	outputTokens
	toolName
	toolArguments
	toolResult
	input
	output
	session
	errorType
	errorMessage
)

// name is the field of an attribute. Of several attributes of a field, the one with the
// lowest rank counts.
type name struct {
	field field
	rank  int
}

// names are the attributes that are read. The conventions still change, so each field
// has the names of all that are in use: the GenAI conventions of OpenTelemetry, current
// and older, OpenInference (Arize), OpenLLMetry (Traceloop) and the AI SDK (Vercel).
var names = table(map[field][]string{
	operation:         {"gen_ai.operation.name"},
	vercelOperation:   {"ai.operationId"},
	openInferenceKind: {"openinference.span.kind"},
	traceloopKind:     {"traceloop.span.kind"},
	requestType:       {"llm.request.type"},

	agentName:  {"gen_ai.agent.name", "agent.name", "ai.telemetry.functionId", "graph.node.id"},
	entityName: {"traceloop.entity.name"},
	model:      {"gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.response.model", "ai.model.id", "embedding.model_name", "llm.request.model"},
	provider:   {"gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"},

	inputTokens:  {"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.inputTokens", "ai.usage.promptTokens", "llm.usage.prompt_tokens"},
	outputTokens: {"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion", "ai.usage.outputTokens", "ai.usage.completionTokens", "llm.usage.completion_tokens"},

	toolName:      {"gen_ai.tool.name", "tool.name", "tool_call.function.name", "ai.toolCall.name"},
	toolArguments: {"gen_ai.tool.call.arguments", "tool_call.function.arguments", "ai.toolCall.args", "tool.parameters"},
	toolResult:    {"gen_ai.tool.call.result", "ai.toolCall.result", "tool.result"},

	input: {
		"gen_ai.input.messages", "gen_ai.prompt", "input.value", "traceloop.entity.input", "ai.prompt", "ai.prompt.messages",
	},
	output: {
		"gen_ai.output.messages", "gen_ai.completion", "output.value", "traceloop.entity.output", "ai.response.text", "ai.response.object",
		"ai.response.toolCalls",
	},
	session: {"gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id", "ai.telemetry.metadata.sessionId"},

	errorType:    {"error.type", "exception.type"},
	errorMessage: {"exception.message", "error.message"},
})

func table(fields map[field][]string) map[string]name {
	all := make(map[string]name)
	for f, list := range fields {
		for rank, key := range list {
			all[key] = name{f, rank}
		}
	}
	return all
}

// numbered are the attributes of single messages: a prefix, the number of the message, and
// a suffix of its text or its role. They count more than another attribute of the field
// with JSON, which is the whole request or answer in the form of some provider.
var numbered = []struct {
	prefix, text, role string
	field              field
}{
	{"llm.input_messages.", ".message.content", ".message.role", input},
	{"llm.output_messages.", ".message.content", ".message.role", output},
	{"gen_ai.prompt.", ".content", ".role", input},
	{"gen_ai.completion.", ".content", ".role", output},
}

// OpenInference numbers the parts of a message, too: between partPrefix and partSuffix.
const (
	partPrefix = ".message.contents."
	partSuffix = ".message_content.text"
)

// kind is what a span is about.
type kind int

// The kinds.
const (
	other kind = iota // not a GenAI span
	agent             // the work of an agent
	call              // a request to a model
	tool              // a call of a tool
	step              // another step: a chain, a retrieval, a guardrail
)

// kinds are the values of the attributes that name the kind of a span, by field.
var kinds = map[field]map[string]kind{
	operation: {
		"invoke_agent": agent, "create_agent": agent, "invoke_workflow": agent, "execute_tool": tool, "chat": call, "text_completion": call,
		"generate_content": call, "completion": call, "embeddings": call, "retrieval": step, "plan": step,
	},
	vercelOperation: {
		"ai.generateText": agent, "ai.streamText": agent, "ai.generateObject": agent, "ai.streamObject": agent, "ai.toolCall": tool,
		"ai.generateText.doGenerate": call, "ai.streamText.doStream": call, "ai.generateObject.doGenerate": call, "ai.streamObject.doStream": call,
		"ai.embed": step, "ai.embedMany": step, "ai.embed.doEmbed": call, "ai.embedMany.doEmbed": call,
	},
	openInferenceKind: {
		"AGENT": agent, "LLM": call, "EMBEDDING": call, "TOOL": tool, "CHAIN": step, "RETRIEVER": step, "RERANKER": step, "GUARDRAIL": step,
		"EVALUATOR": step, "PROMPT": step,
	},
	traceloopKind: {"workflow": agent, "agent": agent, "task": step, "tool": tool},
}

// kindOf returns the kind of a span. An unknown value of a known attribute is a step.
func kindOf(s *span) kind {
	for _, f := range []field{operation, vercelOperation, openInferenceKind, traceloopKind} {
		value, given := s.texts[f]
		if !given {
			continue
		}
		if k, known := kinds[f][value.text]; known {
			return k
		}
		return step
	}
	if s.get(requestType) != "" || s.get(model) != "" {
		return call
	}
	return other
}
