// Package client is a participant of a space, in Go.
//
// [Dial] joins and returns after the gateway's welcome. From then on the
// [Client] stays in the space until it is closed or thrown out: a lost
// connection is opened again and goes on where it was.
//
//	c, err := client.Dial(ctx, client.Options{URL: "ws://localhost:8080/ws", Space: "lab", Token: token})
//	receipt, err := c.Send(ctx, client.Chat("hello"))
//	for env, err := range c.All(ctx) { … }
//
// # What is promised
//
// Received: every envelope of the log that this participant may see, once and
// in the order of its Seq, across any number of connections. Presence and
// stream.data have no Seq; they are delivered while there is room for them. A
// connection that is opened again begins with a welcome, which has none either
// and is delivered before what the connection brings.
//
// Sent: an envelope whose [Client.Send] returned without an error is durable
// in the log. A lost connection does not lose or double it: it is sent again
// under the same id, which the gateway recognises. Envelopes stand in the log
// in the order in which they were given to the client, unless the gateway
// refused one for the moment (rate_limited, unavailable) while later ones were
// on their way; whoever cannot bear that waits for each receipt.
//
// # A slow receiver
//
// Received envelopes wait in a bounded buffer. When it is full the client
// stops reading, which the gateway does not mind: a connection is a cursor
// over a log, not a queue. But acknowledgements and responses come over the
// same socket, so that a program which sends from within its receive loop
// would wait for something that stands behind the envelopes it has not read
// yet. Hence: while somebody waits for an answer the client reads on, looks
// for answers alone, and throws the envelopes away that find no room. Once the
// buffer is empty it connects again behind the last envelope that was kept.
// Nothing is lost, memory is bounded, and nobody waits for himself. The price
// is a new connection for every full buffer in such a program. One that never
// receives sets Options.Discard.
//
// # Goroutines
//
//	supervise  one; owns the connection and the cursor, reads      ends with Close
//	write      one a connection; takes from the outbox             ends with its connection
//	tend       one a connection; pings, closes                     ends with its connection
package client
