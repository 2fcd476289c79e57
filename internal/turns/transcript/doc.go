// Package transcript exports threads and jobs for readers and for tracing systems: as
// Markdown, for an issue or a post-mortem, and as traces in the JSON Lines form
// of OTLP.
//
// # Markdown
//
// Texts of participants appear only in quote blocks and in fenced code; names
// appear as code. No text can leave its block: headings, HTML, fences and links
// of a participant do not become part of the document, so that no text can
// forge a turn. Syntax that a platform interprets (addresses, mentions,
// references to issues, emoji by name) is written as code. Line breaks and
// indentation are kept, and a fenced block within a text stays one.
//
// # Traces
//
// A turn is a trace. Its spans follow the GenAI semantic conventions:
//
//	turn, or job                 from the question to the end of the turn
//	└── invoke_agent {agent}     the reasoning of one agent
//	    ├── execute_tool {tool}  a decision for a tool
//	    └── invoke_agent {agent} a part for another agent, with its reasoning below
//
// In addition to the attributes of the conventions there are meup.turn.*,
// meup.tool.* (rationale, outcome, parallel_group and others), meup.part.*
// (question, outcome, conclusion and others) and the identifiers of the turn. They include texts of participants.
//
// The ids are hashes of the identifiers, so that every export of a turn has the
// same trace.
//
// This package does not mask secrets: the texts were masked when the turn was
// read ([turns.Options]).
package transcript
