package config

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says whether a fault stops the gateway.
type Severity uint8

// The severities.
const (
	Error   Severity = iota // serve refuses the file
	Warning                 // valid, and probably not what was meant
)

// Fault is one thing that is wrong with a configuration. It never holds a
// token or the content of a file of secrets.
type Fault struct {
	Source   string // the file as it was named (a file of rules among them), or the environment variable
	Line     int    // 1 is the first; 0: the fault has no line
	Column   int    // in characters; 1 is the first
	Severity Severity
	Message  string // what is wrong and what to do, lower case, no full stop
}

// String returns the fault as compilers print theirs, so that editors find
// the place: "meup.yaml:12:9: unknown key …".
func (f Fault) String() string {
	place := f.Source
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", f.Source, f.Line, f.Column)
	}
	if f.Severity == Warning {
		return place + ": warning: " + f.Message
	}
	return place + ": " + f.Message
}

// HasErrors reports whether one of the faults is more than a warning.
func HasErrors(faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return f.Severity == Error })
}

// place is where a value stands in the file; the zero place belongs to what
// the file does not say.
type place struct{ line, column int }

// isSet reports whether the file has the value.
func (p place) isSet() bool { return p.line > 0 }

func (p *place) setPlace(at place) { *p = at }

// report collects the faults of one file.
type report struct {
	source string
	others []string // files of rules, in the order of the configuration
	faults []Fault

	// What is missing from a mapping that could not be read as a whole may
	// stand there under a wrong name or with a wrong type, which has been
	// reported; so nothing is said about it. broken are the places of such
	// mappings, and mistakes counts what the decoder could not read.
	broken   map[place]bool
	mistakes int
}

func (r *report) errorf(at place, format string, args ...any) {
	r.add(at, Error, format, args)
}

func (r *report) warnf(at place, format string, args ...any) {
	r.add(at, Warning, format, args)
}

func (r *report) add(at place, s Severity, format string, args []any) {
	r.faults = append(r.faults, Fault{r.source, at.line, at.column, s, fmt.Sprintf(format, args...)})
}

// maxFaults bounds what is reported of one file: nobody reads more, and a file
// that is not a configuration at all has one fault a line.
const maxFaults = 200

// sorted returns the faults in the order of the file, those of files that it
// names behind its own; each once: a value that is reached through two aliases
// is wrong in one place.
func (r *report) sorted() []Fault {
	slices.SortStableFunc(r.faults, func(a, b Fault) int {
		if a.Source != b.Source {
			return r.rank(a.Source) - r.rank(b.Source)
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		if a.Column != b.Column {
			return a.Column - b.Column
		}
		return strings.Compare(a.Message, b.Message)
	})
	all := slices.Compact(r.faults)
	if len(all) <= maxFaults {
		return all
	}
	// An error among those left out must still stop the gateway, and a
	// closing line without a place can say it for all of them.
	rest := Fault{Source: r.source, Message: fmt.Sprintf("%d more faults", len(all)-maxFaults)}
	if !HasErrors(all[maxFaults:]) {
		rest.Severity = Warning
	}
	return append(slices.Clip(all[:maxFaults]), rest)
}

// rank is where the faults of a source stand among the others.
func (r *report) rank(source string) int { return 1 + slices.Index(r.others, source) }
