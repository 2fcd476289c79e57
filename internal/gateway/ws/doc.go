// Package ws connects WebSockets to spaces: upgrade, read loop, write loop,
// close.
//
// A connection has two goroutines. The reader decodes what one read of the
// socket brought and publishes it together; the writer takes from its member's
// cursor whatever is there and writes it in one go. The library under it
// (coder/websocket) keeps the handshake, reading, and the close handshake; its
// one write per message is bypassed, since whole frames are made once for all
// receivers and a system call costs more than everything else together.
package ws
