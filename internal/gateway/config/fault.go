package config

import (
	"fmt"
	"slices"
	"strings"
)

// Severity is the severity of a fault: only errors prevent the start.
type Severity uint8

// The severities.
const (
	Error   Severity = iota // serve rejects the file
	Warning                 // valid, and probably not intended
)

// Fault is one error or warning about a configuration. It never contains a
// token or the content of a file of secrets.
type Fault struct {
	Source   string // the name of the file, or of a file of rules; or the environment variable
	Line     int    // from 1; 0: no line
	Column   int    // in characters, from 1
	Severity Severity
	Message  string // the problem and the remedy, lower case, no full stop
}

// String returns the fault in the format of compilers, which editors can parse:
// "meup.yaml:12:9: unknown key …".
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

// HasErrors reports whether one of the faults is an error.
func HasErrors(faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return f.Severity == Error })
}

// place is the position of a value in the file; zero if the file does not have
// the value.
type place struct{ line, column int }

// isSet reports whether the file has the value.
func (p place) isSet() bool { return p.line > 0 }

func (p *place) setPlace(at place) { *p = at }

// report collects the faults of one file.
type report struct {
	source string
	others []string // files of rules, in the order of the configuration
	faults []Fault

	// broken contains the places of mappings with an invalid key or value. A
	// key that is missing there may be misspelled, which has been reported; it
	// is not reported again. mistakes counts the values that could not be
	// decoded.
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

// maxFaults bounds the report about one file. A file that is not a
// configuration may have one fault per line.
const maxFaults = 200

// sorted returns the faults in the order of the file, followed by the faults of
// other files. It removes duplicates, which arise from values with several
// aliases.
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
	// If an omitted fault is an error, the last line must be an error too.
	rest := Fault{Source: r.source, Message: fmt.Sprintf("%d more faults", len(all)-maxFaults)}
	if !HasErrors(all[maxFaults:]) {
		rest.Severity = Warning
	}
	return append(slices.Clip(all[:maxFaults]), rest)
}

// rank returns the sort position of a source.
func (r *report) rank(source string) int { return 1 + slices.Index(r.others, source) }
