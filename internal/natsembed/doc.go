// Package natsembed runs a NATS server with JetStream within the process, for
// operators who want a queue on disk without another program. Workers and
// clients of other processes can connect to it.
//
// Its file store syncs every acknowledged write to the disk; a NATS server
// syncs every two minutes by default. The server is not part of a cluster: its
// folder is the only copy.
package natsembed
