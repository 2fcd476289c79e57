// Package transcript writes threads down for people and for tracing systems:
// as Markdown, for an issue or a post-mortem, and as traces in the JSON Lines
// form of OTLP.
//
// # Markdown
//
// What participants have said stands in quote blocks and in fenced code, and
// nowhere else; names stand in code. No text can leave its block: no heading,
// no HTML, no fence and no link of a participant's becomes one of the
// document, so nobody can forge a turn. What a platform would act upon
// (addresses, mentions, references to issues, emoji by name) is written as
// code. Line breaks and indentation are kept, and a fenced block within a text
// remains one.
//
// # Traces
//
// A turn is a trace. Its spans follow the GenAI semantic conventions:
//
//	turn                         from the question to the end of the turn
//	└── invoke_agent {agent}     what one agent reasoned
//	    └── execute_tool {tool}  a decision for a tool
//
// Beside the attributes of the conventions there are meup.turn.*, meup.tool.*
// (rationale, outcome, parallel_group and others) and what names the turn. What
// participants have said is in them.
//
// The ids are hashes of what the spans are about, so that the same turn has
// the same trace whoever exports it, and however often.
//
// Secrets are not looked for here: what is written was masked when the turn
// was read ([turns.Options]).
package transcript
