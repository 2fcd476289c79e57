//go:build linux

package main

import (
	"cmp"
	"encoding/json"
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

// report holds all results, in the form of the JSON file.
type report struct {
	Date    string  `json:"date"`
	Machine string  `json:"machine"`
	Load    string  `json:"load"` // the load average at the beginning
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds"`
	Results []entry `json:"results"`
}

// entry is one scenario: the medians, and the runs that they are computed from.
type entry struct {
	Scenario string `json:"scenario"`
	// By the names of the servers.
	Medians map[string]figures   `json:"medians"`
	Runs    map[string][]figures `json:"runs"`

	scenario
}

func newReport(o *options) *report {
	return &report{
		Date: time.Now().UTC().Format("2006-01-02"), Machine: machine(), Load: loadAverage(),
		Rounds: o.rounds, Seconds: o.seconds.Seconds(),
	}
}

func (r *report) add(sc scenario, runs map[string][]figures) {
	all := make(map[string]figures)
	for name, list := range runs {
		all[name] = medians(list)
	}
	r.Results = append(r.Results, entry{sc.name, all, runs, sc})
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
		r.Date, r.Machine, runtime.Version(), server.VERSION, r.Rounds, r.Seconds, r.Load)
	if slices.ContainsFunc(r.Results, func(e entry) bool { return e.row }) {
		b.WriteString("\n| deliveries/s · server CPU µs for each | bare | JetStream | JetStream, core subscribers | gateway | gateway : JetStream |\n|---|---:|---:|---:|---:|---:|\n")
	}
	for _, e := range r.Results {
		if !e.row {
			continue
		}
		fmt.Fprintf(&b, "| %s |", e.title)
		for _, name := range []string{bareName, jetStreamName, jetStreamCoreName, gatewayName} {
			fmt.Fprintf(&b, " %s |", e.cell(e.Medians[name]))
		}
		fmt.Fprintf(&b, " %s |\n", e.ratio(gatewayName, jetStreamName))
	}
	b.WriteString(r.foot())
	if slices.ContainsFunc(r.Results, func(e entry) bool { return !e.row }) {
		b.WriteString("\n| load | figure | gateway | bare |\n|---|---|---:|---:|\n")
	}
	for _, e := range r.Results {
		load := "**" + e.title + "**: " + e.what
		for _, c := range e.columns {
			if !e.row {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", load, c.title, c.text(e.Medians[gatewayName]), c.text(e.Medians[bareName]))
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

// ratio compares the first figure of two servers: above 1, the first server is better.
func (e *entry) ratio(one, other string) string {
	a, b := e.Medians[one][e.columns[0].key], e.Medians[other][e.columns[0].key]
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
	least, most := slices.MinFunc(e.Runs[name], byFigure), slices.MaxFunc(e.Runs[name], byFigure)
	return 100 * (most[key] - least[key]) / e.Medians[name][key]
}

// foot returns what is said under the table: the limit of the latency, and the spread.
func (r *report) foot() string {
	var b strings.Builder
	var spreads []float64
	for _, e := range r.Results {
		if !e.row {
			continue
		}
		for name := range e.Runs {
			spreads = append(spreads, e.spread(name))
		}
		sync, ok := medians(slices.Concat(slices.Collect(maps.Values(e.Runs))...))["sync"] // the server does not matter
		if !ok {
			continue
		}
		limit := sync + e.Medians[bareName]["p50"]
		fmt.Fprintf(&b, "\nBare + sync: an `fdatasync` of 400 appended bytes on the disk of the logs, 100 times a second, takes %.2f ms (p50). With the %.2f ms of the bare broadcaster, "+
			"%.2f ms is the limit of a delivery that waits for its sync. The gateway's p50 is %.2f times that, JetStream's %.2f times.\n",
			sync, e.Medians[bareName]["p50"], limit, e.Medians[gatewayName]["p50"]/limit, e.Medians[jetStreamName]["p50"]/limit)
	}
	if len(spreads) > 0 && r.Rounds > 1 {
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

func (r *report) writeJSON(file string) error {
	if file == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644) //nolint:gosec // results are public
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
