// Package telemetry reports an agent's activity to operators: spans to a
// collector, metrics to Prometheus, and one log event for each decision.
//
// Spans follow the GenAI semantic conventions of OpenTelemetry. Their tree is
//
//	invoke_agent {agent}      one intent, from message to outcome
//	├── plan {agent}          the phase that decides
//	│   └── chat {model}      a request to a model
//	└── execute_tool {tool}   a call that was made
//
// They are exported over OTLP/HTTP if OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, and cost nearly nothing otherwise.
// A slow or missing collector causes no delay: the spans are dropped, and spans
// of failed exports are counted.
//
// The telemetry contains no text of participants or models. Names and error
// texts may still contain a secret, so every string is masked, in one place for
// each kind of output.
package telemetry
