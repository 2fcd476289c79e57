// Package render formats a conversation for a terminal: [View] lays it out for a
// screen of a size, [Plain] writes it as lines, each once.
//
// Text from the space is hostile until termsafe has sanitized it. No other path
// may write it to the terminal.
package tui
