// Command bench loads a gateway over WebSockets and says what it does with it:
// fan-out, agents who all talk, many spaces, latency, idle connections, a
// reader that stops, and the replay of a long log.
//
//	go run ./bench                            # all scenarios, three rounds
//	go run ./bench -quick -only fanout        # a first impression
//	go run ./bench -write bench/README.md     # and put the table there
//
// Every scenario is also run against a bare broadcaster of some hundred lines
// (this program, started again), which does nothing but pass frames on: no
// identity, no checks, no log. Figures of one machine mean little on another;
// the ratio of the two does travel. The client is the same for both. It is one
// thread around epoll that looks at no more of a frame than a scenario asks
// for, since it shares the machine with what is measured.
//
// Whatever is sent is counted at every receiver: a run that lost or doubled an
// envelope has no figure but fails.
package main
