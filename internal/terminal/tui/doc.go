// Package tui is the interactive terminal client: a conversation above, a
// prompt below, and the reasoning of agents while it is in progress.
//
// A session connects a conversation.Model with a space: it passes received
// envelopes and typed text to the model as events, and performs its effects.
// Two front ends show the model: the screen, on Bubble Tea, and plain lines for
// screen readers, dumb terminals and pipes.
//
//	client ─ Received ─┐                    ┌─ blocks ─► tui.view ─► screen.go
//	api ──── results ──┼─► Model.Apply ─────┤
//	keys ─── Typed ────┘        │           └─ news ───► tui.plain ─► plain.go
//	                            └─ effects ─► session ─► client, api
//
// The view lays the model out for a screen of a size; plain writes it as lines, each
// once. Text from the space is hostile until termsafe has sanitized it, and no other
// path may write it to the terminal.
//
// # Goroutines
//
//	receive   one; receives envelopes from the client             ends with the session's context
//	pump      one; passes events and ticks to the front end       ends with the session's context
//	effects   one for each: a message and maxRequests other       end with their call
//	          sends, maxReads and maxTurnReads reads
//
// Run waits for all of them. It cannot wait for two goroutines of libraries:
// the key reader if a key arrives during shutdown, and the reader of a pipe.
package tui
