// Package cluster is what several gateways on one NATS tell each other and do
// not log: who is connected where, and what is delivered live only.
//
// It uses core NATS, on which a message is delivered at most once. So nothing
// here depends on a single message: a roster has a version, every heartbeat
// names it, and who has another asks for all of it.
//
//	meup.gw.GATEWAY.live.SPACE   a live message, as it is
//	meup.gw.GATEWAY.beat         every 2 s: I am here, my rosters have this version
//	meup.gw.GATEWAY.roster       who is connected in a space, on every change
//	meup.gw.GATEWAY.snapshot     all rosters, in parts
//	meup.gw.GATEWAY.hello        send me yours; to all, or to one
//	meup.gw.GATEWAY.bye          I am gone
//
// # Whose outage is it?
//
// A gateway that is not heard for 6 s is taken for dead. But silence may be
// one's own: a lost connection, a stopped process. So a gateway listens to its
// own heartbeats too, and its clock for the others ticks with them alone: while
// it does not hear itself nobody dies, and when it does again, everybody gets
// time to answer its hello.
//
// # Goroutines
//
// One, Peers.run, owns everything that is sent and decided, and calls the
// callbacks. nats.go's goroutine of the subscription hands messages to it.
// Both end with Close.
package cluster
