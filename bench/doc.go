// Command bench loads a gateway over WebSockets and measures it, beside two other servers
// that are this program, started again: a bare broadcaster of about a hundred lines, which
// only forwards frames, and a NATS server with JetStream that syncs each message.
//
//	go run ./bench                               # the table, five rounds
//	go run ./bench -write docs/benchmarks.md     # and put it there: make bench-load
//	go run ./bench -quick -only fanout10         # a first impression
//	go run ./bench -only log1m -rounds 1         # a scenario that is no row of the table
//	go run ./bench -only agents10 -profile .     # with a CPU profile of the gateway
//	go run ./bench -curves docs/images           # pictures of the costs at growing sizes
//
// The other scenarios are fanout10000, replay, stopped, stopped10m (14 minutes with -time 4s
// -rounds 1), cluster, configured, dormant (12 minutes a round), search1m, log10k, log1m and
// log10m. They run if -only names them, with the gateway and, where it can, the bare
// broadcaster.
//
// Figures of one machine mean little on another; the ratio of two servers is comparable.
// The client is the same for all. It is one thread around epoll that reads no more of a
// frame than a scenario needs, since it shares the machine with the server.
//
// The loops are closed: a frame is in flight until its sender has received its own copy
// and, of JetStream, the acknowledgment. The slowest receiver is at most 2,048 frames
// behind. Every frame that is sent is counted at every receiver: a run that loses or
// repeats one fails and has no figures.
package main
