// Package cluster exchanges the state that the gateways on one NATS share but
// do not log: who is connected where, and messages that are delivered live
// only.
//
// It uses core NATS, which delivers a message at most once. Therefore nothing
// depends on a single message: a roster has a version, every heartbeat contains
// it, and a gateway that has another version requests a snapshot.
//
//	meup.gw.GATEWAY.live.SPACE   a live message, unchanged
//	meup.gw.GATEWAY.beat         heartbeat, every 2 s, with the version of the rosters
//	meup.gw.GATEWAY.roster       who is connected in a space, on every change
//	meup.gw.GATEWAY.snapshot     all rosters, in parts
//	meup.gw.GATEWAY.hello        requests a snapshot from all, or from one
//	meup.gw.GATEWAY.bye          the gateway leaves
//
// # Local outages
//
// A gateway whose heartbeats are missing for 6 s is declared dead. But the
// cause may be local: a lost connection, a stopped process. Therefore a gateway
// also receives its own heartbeats, and checks the others only when one
// arrives. While its own heartbeats are missing, it declares no gateway dead;
// when they return, it sends a hello and gives the others time to answer.
//
// # Goroutines
//
// One goroutine, Peers.run, owns the protocol state, sends all messages and
// calls the callbacks. The goroutine of the nats.go subscription passes
// messages to it. Both end with Close.
package cluster
