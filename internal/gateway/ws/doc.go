// Package ws connects WebSockets to spaces: upgrade, reading, writing, close.
//
// A connection has one goroutine, the reader, which decodes the frames of one read
// from the socket and publishes them together. What the member is to receive is written by a few
// goroutines for all connections, which take the available entries from its
// cursor and write them with one call. The
// underlying library (coder/websocket) does the handshake, reading, and the
// close handshake. Its one write per message is bypassed: a frame is encoded
// once for all receivers, and system calls would dominate the cost.
package ws
