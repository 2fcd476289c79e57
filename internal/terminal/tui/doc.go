// Package tui is the interactive terminal client: a conversation above, a
// prompt below, and the reasoning of agents while it is in progress.
//
// Everything that happens is an event, and the model is a fold over events: it
// has no access to a terminal or a network and returns effects, values that
// describe work to do. A session performs effects and returns their results as
// events. Two front ends show the model: the screen, on Bubble Tea, and plain
// lines for screen readers, dumb terminals and pipes.
//
//	client ─ received ─┐                     ┌─ blocks ─► screen (view.go, screen.go)
//	api ──── results ──┼─► model.apply ──────┤
//	keys ─── typed ────┘        │            └─ news ───► plain lines (plain.go)
//	                            └─ effects ─► session ─► client, api
//
// Text from the space is hostile until termsafe.Text or termsafe.Line has
// sanitized it. No other path may write it to the terminal.
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
