// Package api is a client of the HTTP API of a gateway: history, turns and
// their reasoning, contexts and participants. It can also send. To receive new
// envelopes, use package client.
//
//	c, err := api.New(api.Options{URL: "http://localhost:8080", Token: token})
//	h, err := c.History(ctx, "lab", thread, api.Page{Limit: 20})
//	for _, turn := range h.Turns { … }
//
// # Errors
//
// If the gateway rejects a request, the error is a [*StatusError], which wraps
// the [*protocol.Error] that the gateway returned. All other errors are network
// errors or invalid responses. No error contains a token.
//
// # Bounds
//
// A response is held in memory as a whole, up to 64 MiB. A gateway's pages are
// smaller than that; a longer response is an error.
package api
