// Package api asks a gateway over HTTP: history, turns and their reasoning,
// contexts, participants, and what is new as server-sent events. It can send
// too. Who wants to be in a space uses package client.
//
//	c, err := api.New(api.Options{URL: "http://localhost:8080", Token: token})
//	h, err := c.History(ctx, "lab", thread, api.Page{Limit: 20})
//	for _, turn := range h.Turns { … }
//
// # Errors
//
// What the gateway refused is a [*StatusError], which wraps the
// [*protocol.Error] that it gave as the reason. Everything else is the
// network's, or an answer that cannot be read. A token is in no error.
//
// # Bounds
//
// An answer is held in memory as a whole, up to 64 MiB. A gateway's pages are
// smaller than that; a longer answer is an error.
package api
