package safety

// Action is what happens to a text in which something was found.
type Action string

// The actions. The last two leave the text as it is.
const (
	ActionMask     Action = "mask"     // replace what was found; also the zero value
	ActionSanitise Action = "sanitise" // the same, as a policy calls it
	ActionBlock    Action = "block"    // refuse the payload, or take out a text of reasoning
	ActionReview   Action = "review"   // admit it, and mark the payload
	ActionWarn     Action = "warn"     // admit it, and say so in the gateway's log
)

// changes reports whether a text does not stay as it is.
func (a Action) changes() bool { return a != ActionReview && a != ActionWarn }

// strictness orders actions: where findings overlap, the stricter one counts.
func (a Action) strictness() int {
	switch a {
	case ActionBlock:
		return 0
	case ActionReview:
		return 2
	case ActionWarn:
		return 3
	case ActionMask, ActionSanitise:
	}
	return 1
}

// Finding is a part of a text that a stage objects to.
type Finding struct {
	Rule       string // its name, made of a-z 0-9 and -
	Start, End int    // bytes of Text.Body, Start < End
	Action     Action
	// Put takes the place of what was found; "" is [redacted:RULE].
	Put string
}

// Text is what a stage inspects: valid UTF-8, without escapes.
type Text struct {
	// Key names the nearest member of an object that the text is the value
	// of, since {"password":"x"} says as much as "password: x". Empty for keys
	// themselves.
	Key []byte
	// Body is the text. Read-only, and gone when Inspect returns.
	Body []byte
	// Secret: the text is a parameter of a tool whose name says that it is
	// secret, whatever it looks like.
	Secret bool

	sight sight
}

// Stage is one step of the pipeline. Inspect appends what it finds to dst, in
// order and without overlap; a text in which everything found was replaced
// must come out clean in the end. It may be called concurrently.
type Stage interface {
	Name() string
	Inspect(dst []Finding, t Text) []Finding
}

// marker is what stands for what was masked.
func marker(rule string) string { return "[redacted:" + rule + "]" }

// put returns what takes the place of a finding.
func (f *Finding) put() string {
	if f.Put != "" {
		return f.Put
	}
	return marker(f.Rule)
}

// mask replaces what changes of the findings in text.
func mask(text []byte, found []Finding) []byte {
	out := make([]byte, 0, len(text)+32)
	last := 0
	for i := range found {
		if f := &found[i]; f.Action.changes() {
			out = append(out, text[last:f.Start]...)
			out = append(out, f.put()...)
			last = f.End
		}
	}
	return append(out, text[last:]...)
}
