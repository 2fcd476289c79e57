// Package client implements a participant of a space.
//
// [Dial] joins a space and returns after the gateway's welcome. The [Client]
// then stays in the space until it is closed or kicked: it replaces a lost
// connection and resumes at the same position.
//
//	c, err := client.Dial(ctx, client.Options{URL: "http://localhost:8080", Space: "lab", Token: token})
//	receipt, err := c.Send(ctx, client.Chat("hello"))
//	for env, err := range c.All(ctx) { … }
//
// # Guarantees
//
// Received: every envelope of the log that is visible to this participant, once
// and in the order of its Seq, across any number of connections. Presence and
// stream.data have no Seq; they are dropped when the buffer is full. A new
// connection begins with a welcome, which has no Seq either and is delivered
// before the envelopes of that connection.
//
// Sent: an envelope for which [Client.Send] returned without an error is
// durable in the log. A lost connection neither loses nor duplicates it: the
// client sends it again with the same id, which the gateway recognizes. The log
// has the envelopes in the order in which the client sent them, unless the
// gateway temporarily rejected one (rate_limited, unavailable, outcome_unknown)
// while later ones were in flight. To rule that out, wait for each receipt.
//
// # Slow receivers
//
// Received envelopes wait in a bounded buffer. When it is full, the client
// stops reading. That does not burden the gateway: a connection is a cursor
// over a log, not a queue. But acknowledgements and responses use the same
// socket, so a program that sends from within its receive loop would wait for a
// frame that follows envelopes it has not received yet. Therefore, while a
// caller waits for an answer, the client continues to read, processes answers,
// and drops envelopes that do not fit into the buffer. When the buffer is
// empty, it reconnects after the last envelope that it kept. No envelope is
// lost, memory is bounded, and there is no deadlock. The cost is one reconnect
// per full buffer in such a program. A program that never receives sets
// Options.Discard.
//
// # Goroutines
//
//	supervise  one; owns the connection and the cursor, reads      ends with Close
//	write      one per connection; sends from the outbox           ends with its connection
//	keepalive  one per connection; pings, closes                   ends with its connection
package client
