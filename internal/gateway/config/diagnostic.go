package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity is the severity of a diagnostic. Only errors prevent the start.
type Severity uint8

// The severities.
const (
	Error   Severity = iota // serve rejects the file
	Warning                 // valid, and probably not intended
)

// Diagnostic is one error or warning about a configuration. It never contains a
// token or the content of a file of secrets.
type Diagnostic struct {
	Source   string // the name of the file, or of a file of rules; or the environment variable
	Line     int    // from 1; 0: no line
	Column   int    // in characters, from 1
	Severity Severity
	Message  string // the problem and the remedy, lower case, no full stop
	// Mistake is set for a warning about a capability that nothing can match. A gateway
	// starts with it, since it allows nothing by mistake.
	Mistake bool
}

// String returns the diagnostic in the format of compilers, which editors can parse:
// "meup.yaml:12:9: unknown key …".
func (f Diagnostic) String() string {
	place := f.Source
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", f.Source, f.Line, f.Column)
	}
	if f.Severity == Warning {
		return place + ": warning: " + f.Message
	}
	return place + ": " + f.Message
}

// HasErrors reports whether one of the diagnostics is an error.
func HasErrors(faults []Diagnostic) bool {
	return slices.ContainsFunc(faults, func(f Diagnostic) bool { return f.Severity == Error })
}

// place is the position of a value in the file; zero if the file does not have
// it.
type place struct{ line, column int }

// report collects the diagnostics of one file.
type report struct {
	source      string
	others      []string // files of rules, in the order of the configuration
	diagnostics []Diagnostic
}

// errorf reports an error at a value; nil: without a place.
func (r *report) errorf(at *node, format string, args ...any) {
	r.add(at, Error, fmt.Sprintf(format, args...))
}

func (r *report) warnf(at *node, format string, args ...any) {
	r.add(at, Warning, fmt.Sprintf(format, args...))
}

func (r *report) add(at *node, s Severity, message string) {
	var p place
	if at != nil {
		p = at.place
	}
	r.diagnostics = append(r.diagnostics, Diagnostic{Source: r.source, Line: p.line, Column: p.column, Severity: s, Message: message})
}

// maxDiagnostics bounds the report about one file. A file that is not a
// configuration may have one diagnostic per line.
const maxDiagnostics = 200

// sorted returns the diagnostics in the order of the file, followed by the diagnostics of
// other files. It removes duplicates, which arise from values with several
// aliases.
func (r *report) sorted() []Diagnostic {
	slices.SortStableFunc(r.diagnostics, func(a, b Diagnostic) int {
		return cmp.Or(r.rank(a.Source)-r.rank(b.Source), a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Message, b.Message))
	})
	all := slices.Compact(r.diagnostics)
	if len(all) <= maxDiagnostics {
		return all
	}
	// If an omitted diagnostic is an error or a mistake, the last line must be one too.
	rest := Diagnostic{Source: r.source, Message: fmt.Sprintf("%d more faults", len(all)-maxDiagnostics)}
	if !HasErrors(all[maxDiagnostics:]) {
		rest.Severity = Warning
		rest.Mistake = slices.ContainsFunc(all[maxDiagnostics:], func(f Diagnostic) bool { return f.Mistake })
	}
	return append(slices.Clip(all[:maxDiagnostics]), rest)
}

// rank returns the sort position of a source.
func (r *report) rank(source string) int { return 1 + slices.Index(r.others, source) }
