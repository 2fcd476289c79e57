package main

import (
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/protocol"
)

// filterFlags are the keys of a filter.
type filterFlags struct {
	contexts, exclude []string
	kinds, from       []string
	main              bool
	depth             int
	conclusions       bool
	observe           bool
}

func (f *filterFlags) register(fl *pflag.FlagSet) {
	fl.StringSliceVar(&f.contexts, "context", nil, "only this context and those inside it; may be repeated")
	fl.StringSliceVar(&f.exclude, "exclude-context", nil, "not this context and those inside it; may be repeated")
	fl.StringSliceVar(&f.kinds, "kinds", nil, "only these kinds, such as chat,reasoning/*")
	fl.StringSliceVar(&f.from, "from", nil, "only what these participants say")
	fl.BoolVar(&f.main, "main", false, "only the main conversation")
	fl.IntVar(&f.depth, "depth", -1, "how many segments of context below the main conversation, or below --context")
	fl.BoolVar(&f.conclusions, "conclusions-only", false, "of contexts only their start and their conclusion")
	fl.BoolVar(&f.observe, "observe", false, "only watch: the filter also holds for calls, proposals and what is addressed to you")
}

// filter builds the filter from the flags and validates it.
func (f *filterFlags) filter(fl *pflag.FlagSet) (protocol.Filter, *protocol.Matcher, error) {
	out := protocol.Filter{
		Contexts: f.contexts, ExcludeContexts: f.exclude, Kinds: f.kinds, ConclusionsOnly: f.conclusions,
	}
	if f.main {
		out.Contexts = append(out.Contexts, "")
	}
	for _, id := range f.from {
		out.From = append(out.From, protocol.ParticipantID(id))
	}
	if fl.Changed("depth") {
		out.Depth = &f.depth
	}
	m, refused := out.Compile()
	if refused != nil {
		return out, nil, program.Usagef("%s: %s", flagOf(refused.Path), refused.Detail)
	}
	return out, m, nil
}

// flagOf returns the flag for a field of the filter.
func flagOf(path string) string {
	name, ok := map[string]string{
		"/payload/contexts": "--context", "/payload/exclude_contexts": "--exclude-context", "/payload/kinds": "--kinds",
		"/payload/from": "--from", "/payload/depth": "--depth",
	}[path]
	if !ok {
		return "filter"
	}
	return name
}

// historyFilter applies a filter to envelopes from history, by the same rules as the
// gateway for delivery (section 6).
type historyFilter struct {
	matcher *protocol.Matcher
	observe bool
	you     protocol.ParticipantID
}

func (s *historyFilter) passes(e *protocol.Envelope) bool {
	return s.matcher.Match(e) || !s.observe && (e.Kind.IsWork() || e.AddressedTo(s.you))
}
