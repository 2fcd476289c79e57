// Package tui is the interactive terminal client: a conversation above, a
// prompt below, and what agents think while they do.
//
// Everything that happens is an event, and the model is a fold over them: it
// knows neither a terminal nor a network and answers with effects, values that
// say what is to be done. A session carries effects out and brings events back.
// Two faces show the model: the screen, on Bubble Tea, and plain lines for
// screen readers, dumb terminals and pipes.
//
//	client ─ received ─┐                     ┌─ blocks ─► screen (view.go, screen.go)
//	api ──── results ──┼─► model.apply ──────┤
//	keys ─── typed ────┘        │            └─ news ───► plain lines (plain.go)
//	                            └─ effects ─► session ─► client, api
//
// What comes from the space is hostile until Text or Line has seen it. Nothing
// else may put a stranger's words on the terminal.
//
// # Goroutines
//
//	receive   one; takes envelopes from the client                ends with the session's context
//	pump      one; hands events to the face, and the time          ends with the session's context
//	effects   one for each: a message and maxRequests other        end with their call
//	          sends, maxReads and maxTurnReads reads
//
// Run waits for all of them. Of the libraries' own it cannot wait for the reader
// of keys if one comes in the moment of leaving, nor for the reader of a pipe.
package tui
