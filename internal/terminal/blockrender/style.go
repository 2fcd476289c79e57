package blockrender

// Style is how parts of a text are set off: sequences that switch something on,
// and Reset, which switches everything off. The zero Style has no colour.
type Style struct {
	Dim   string // frames, labels, what is secondary
	Tool  string // names of tools
	Bad   string // errors and refusals
	Name  string // participants
	Reset string
}

// Colours is the usual style: gray frames, cyan tools.
func Colours() Style {
	return Style{Dim: "\x1b[90m", Tool: "\x1b[36m", Bad: "\x1b[31m", Name: "\x1b[1m", Reset: "\x1b[0m"}
}

// Paint sets a text off with one of the style's own sequences.
func (s Style) Paint(sequence, text string) string {
	if sequence == "" || text == "" {
		return text
	}
	return sequence + text + s.Reset
}
