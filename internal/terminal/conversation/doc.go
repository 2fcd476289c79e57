// Package conversation is the state that the terminal client shows: messages,
// reasoning, proposals and participants of a space, and the commands of the
// person who takes part in it.
//
// A [Model] is a fold over events. It has no access to a terminal or a network
// and returns effects, values that describe work to do; the results of effects
// are events, too. It shows its state as blocks, from which package tui makes
// lines. Text from the space is kept unmodified: tui sanitizes it.
package conversation
