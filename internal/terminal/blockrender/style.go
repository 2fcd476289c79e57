package blockrender

// Style holds escape sequences for parts of a text, and Reset, which ends all
// of them. The zero Style has no color.
type Style struct {
	Dim   string // frames, labels, secondary text
	Tool  string // names of tools
	Bad   string // errors and refusals
	Name  string // participants
	Reset string
}

// Colours is the usual style: gray frames, cyan tools.
func Colours() Style {
	return Style{Dim: "\x1b[90m", Tool: "\x1b[36m", Bad: "\x1b[31m", Name: "\x1b[1m", Reset: "\x1b[0m"}
}

// Paint wraps a text in one of the style's sequences.
func (s Style) Paint(sequence, text string) string {
	if sequence == "" || text == "" {
		return text
	}
	return sequence + text + s.Reset
}
