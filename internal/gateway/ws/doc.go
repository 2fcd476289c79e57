// Package ws connects WebSockets to spaces: upgrade, read loop, write loop,
// close.
//
// A connection has two goroutines. The reader decodes the frames of one read
// from the socket and publishes them together. The writer takes all available
// entries from its member's cursor and writes them with one call. The
// underlying library (coder/websocket) does the handshake, reading, and the
// close handshake. Its one write per message is bypassed: a frame is encoded
// once for all receivers, and system calls would dominate the cost.
package ws
