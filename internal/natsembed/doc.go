// Package natsembed runs a NATS server with JetStream within the process, for
// operators who want a queue on disk and no further program. Workers and
// clients of other processes can connect to it.
//
// What its file store has acknowledged is synced to the disk: every write, not
// every two minutes as a NATS server does by default. It is a server alone, no
// part of a cluster: its folder is the only copy.
package natsembed
