// Package attack runs attacks on a real gateway process and measures their
// effect on other participants. It has only tests.
//
// Each attack has the rights and limits of its participant, or no token at all.
// While it runs, an honest participant in the same space measures the latency
// of its acknowledgments, and the gateway's memory, descriptors and CPU time
// are read from the operating system.
package attack
