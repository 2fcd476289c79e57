// Command bench loads a gateway over WebSockets and measures it: fan-out,
// agents that all send, many spaces, latency, idle connections, a reader that
// stops, and the replay of a long log.
//
//	go run ./bench                            # all scenarios, three rounds
//	go run ./bench -quick -only fanout        # a first impression
//	go run ./bench -write bench/README.md     # and put the table there
//
// Every scenario is also run against a bare broadcaster of about a hundred
// lines (this program, started again), which only forwards frames: no identity,
// no checks, no log. Figures of one machine mean little on another; the ratio
// of the two is comparable. The client is the same for both. It is one thread
// around epoll that reads no more of a frame than a scenario needs, since it
// shares the machine with the server.
//
// Every envelope that is sent is counted at every receiver: a run that lost or
// duplicated an envelope fails and has no figures.
package main
