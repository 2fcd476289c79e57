// Package telemetry shows operators what an agent does: spans for a collector,
// metrics for Prometheus, and one event in the log for each decision.
//
// Spans follow the GenAI semantic conventions of OpenTelemetry. Their tree is
//
//	invoke_agent {agent}      one intent, from message to outcome
//	├── plan {agent}          the phase that decides
//	│   └── chat {model}      a question to a model
//	└── execute_tool {tool}   a call that was made
//
// They are exported over OTLP/HTTP when OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT says where to, and cost nearly nothing
// otherwise. A collector that is slow or gone costs spans, which are counted,
// and never time: what it would have to wait for is dropped.
//
// What people and models write is not a part of any of it. Names and the texts
// of errors may still have a secret in them, so every string passes a masker,
// at the one place that each kind of output has to pass.
package telemetry
