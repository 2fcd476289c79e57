//go:build linux

package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// report holds all results.
type report struct {
	date    string
	machine string
	load    string // the load average at the beginning
	rounds  int
	seconds float64
	results []entry
}

// entry is one scenario: the medians, and the runs that they are computed from.
type entry struct {
	scenario
	// By the names of the servers.
	medians map[string]figures
	runs    map[string][]figures
}

func newReport(o *options) *report {
	return &report{
		date: time.Now().UTC().Format("2006-01-02"), machine: machine(), load: loadAverage(),
		rounds: o.rounds, seconds: o.seconds.Seconds(),
	}
}

func (r *report) add(sc scenario, runs map[string][]figures) {
	all := make(map[string]figures)
	for name, list := range runs {
		all[name] = medians(list)
	}
	r.results = append(r.results, entry{sc, all, runs})
}

// medians returns the median of each figure.
func medians(runs []figures) figures {
	out := make(figures)
	for key := range runs[0] {
		var values []float64
		for _, f := range runs {
			values = append(values, f[key])
		}
		slices.Sort(values)
		out[key] = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	return out
}

// markdown returns the table, then the other scenarios.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %s, Linux, nats-server %s. Medians of %d rounds of %g s; the load average was %s before.\n",
		r.date, r.machine, runtime.Version(), server.VERSION, r.rounds, r.seconds, r.load)
	if slices.ContainsFunc(r.results, func(e entry) bool { return e.row }) {
		b.WriteString("\n| deliveries/s · server CPU µs for each | bare | JetStream | JetStream, core subscribers | gateway | gateway : JetStream |\n|---|---:|---:|---:|---:|---:|\n")
	}
	for _, e := range r.results {
		if !e.row {
			continue
		}
		fmt.Fprintf(&b, "| %s |", e.title)
		for _, name := range []string{bareName, jetStreamName, jetStreamCoreName, gatewayName} {
			fmt.Fprintf(&b, " %s |", e.cell(e.medians[name]))
		}
		fmt.Fprintf(&b, " %s |\n", e.ratio())
	}
	b.WriteString(r.foot())
	if slices.ContainsFunc(r.results, func(e entry) bool { return !e.row }) {
		b.WriteString("\n| load | figure | gateway | bare |\n|---|---|---:|---:|\n")
	}
	for _, e := range r.results {
		load := "**" + e.title + "**: " + e.what
		for _, c := range e.columns {
			if !e.row {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", load, c.title, c.text(e.medians[gatewayName]), c.text(e.medians[bareName]))
			}
			load = ""
		}
	}
	return b.String()
}

// cell returns the figures of a server in a row of the table.
func (e *entry) cell(f figures) string {
	var parts []string
	for _, c := range e.columns {
		parts = append(parts, c.short(f))
	}
	return strings.Join(parts, " · ")
}

// ratio compares the first figure of the gateway with that of JetStream: above 1, the gateway is better.
func (e *entry) ratio() string {
	a, b := e.medians[gatewayName][e.columns[0].key], e.medians[jetStreamName][e.columns[0].key]
	if e.less {
		a, b = b, a
	}
	if a == 0 || b == 0 {
		return "–"
	}
	return strconv.FormatFloat(a/b, 'f', 2, 64)
}

// spread returns how far the first figure of a server was apart in the rounds, in percent
// of the median.
func (e *entry) spread(name string) float64 {
	key := e.columns[0].key
	byFigure := func(a, b figures) int { return cmp.Compare(a[key], b[key]) }
	least, most := slices.MinFunc(e.runs[name], byFigure), slices.MaxFunc(e.runs[name], byFigure)
	return 100 * (most[key] - least[key]) / e.medians[name][key]
}

// foot returns what is said under the table: the limit of the latency, and the spread.
func (r *report) foot() string {
	var b strings.Builder
	var spreads []float64
	for _, e := range r.results {
		if !e.row {
			continue
		}
		for name := range e.runs {
			spreads = append(spreads, e.spread(name))
		}
		sync, ok := medians(slices.Concat(slices.Collect(maps.Values(e.runs))...))["sync"] // the server does not matter
		if !ok {
			continue
		}
		limit := sync + e.medians[bareName]["p50"]
		fmt.Fprintf(&b, "\nBare + sync: an `fdatasync` of 400 appended bytes on the disk of the logs, 100 times a second, takes %.2f ms (p50). With the %.2f ms of the bare broadcaster, "+
			"%.2f ms is the limit of a delivery that waits for its sync. The gateway's p50 is %.2f times that, JetStream's %.2f times.\n",
			sync, e.medians[bareName]["p50"], limit, e.medians[gatewayName]["p50"]/limit, e.medians[jetStreamName]["p50"]/limit)
	}
	if len(spreads) > 0 && r.rounds > 1 {
		slices.Sort(spreads)
		fmt.Fprintf(&b, "\nThe rounds of a figure were %.0f %% apart in the median, and %.0f %% at most.\n", spreads[len(spreads)/2], spreads[len(spreads)-1])
	}
	return b.String()
}

// short formats a figure with three digits or fewer.
func (c column) short(f figures) string {
	v, ok := f[c.key]
	switch {
	case !ok:
		return "–"
	case v >= 999_500:
		return strconv.FormatFloat(v/1e6, 'f', 2, 64) + " M"
	case v >= 1000:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + " k"
	}
	return strconv.FormatFloat(v, 'f', c.digits, 64)
}

// text formats a figure with thin spaces between groups of thousands.
func (c column) text(f figures) string {
	v, ok := f[c.key]
	if !ok {
		return "–"
	}
	s := strconv.FormatFloat(v, 'f', c.digits, 64)
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		return whole + "." + rest
	}
	return whole
}

// text formats the figures of one run as a line.
func (sc scenario) text(f figures) string {
	var parts []string
	for _, c := range sc.columns {
		parts = append(parts, c.text(f)+" "+c.title)
	}
	return strings.Join(parts, ", ")
}

// The marks around the table in a Markdown file.
const (
	tableBegin = "<!-- written by make bench-load -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

func (r *report) writeMarkdown(file string) error {
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	before, rest, ok := strings.Cut(string(data), tableBegin)
	_, behind, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return fmt.Errorf("write the table: %s has no lines %q and %q", file, tableBegin, tableEnd)
	}
	return os.WriteFile(file, []byte(before+tableBegin+"\n"+r.markdown()+"\n"+tableEnd+behind), 0o644) //nolint:gosec // results are public
}

// machine names the processor and the number of cores.
func machine() string {
	name := runtime.GOARCH
	data, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(data)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d × %s", runtime.NumCPU(), name)
}

// loadAverage returns that of the last minute.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}
