// Package argument matches the arguments of tool calls by what they mean: shell
// commands, paths and URLs.
//
// A path or a URL has three results. An allowing rule needs [Yes]: it is certain that
// the argument means what the rule says. A deny rule needs only that it is not [No].
// A text that cannot be read is [Maybe], so it passes no allowing rule and no deny
// rule. A command is read in two ways instead: [Shell.Allows] and [Shell.Denies].
//
// Nothing here reads a file system: symbolic links are invisible.
package argument

// Verdict is the result of a match.
type Verdict uint8

// The verdicts, in their order: the weakest of several is their minimum.
const (
	No Verdict = iota
	Maybe
	Yes
)

// Place says what relative paths are relative to. "" is unknown: then a relative
// path is compared with relative paths only.
type Place struct {
	Root string // of the paths of a rule
	Dir  string // of the path of an argument
	// Real has, by the text of a path in an argument, the path without symbolic links, as far
	// as the host of the tool reports it. A rule then matches both.
	Real map[string]string
}

// Error is an error in the value of a matcher.
type Error struct {
	Pointer string // JSON pointer inside the value; "" is all of it
	Err     error
}

// Error returns the pointer and the message.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Err.Error()
	}
	return e.Pointer + ": " + e.Err.Error()
}

// Unwrap returns the error without the place.
func (e *Error) Unwrap() error { return e.Err }
