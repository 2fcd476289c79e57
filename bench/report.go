//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report holds all results, in the form of the JSON file.
type report struct {
	Date    string  `json:"date"`
	Machine string  `json:"machine"`
	Go      string  `json:"go"`
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds"`
	Results []entry `json:"results"`
}

// entry is one scenario: the medians, and the runs that they are computed from.
type entry struct {
	Scenario string `json:"scenario"`
	Title    string `json:"title"`
	What     string `json:"what"`
	// By the names of the servers.
	Medians map[string]figures   `json:"medians"`
	Runs    map[string][]figures `json:"runs"`

	columns []column
}

func newReport(o *options) *report {
	return &report{
		Date: time.Now().UTC().Format("2006-01-02"), Machine: machine(), Go: runtime.Version(),
		Rounds: o.rounds, Seconds: o.seconds.Seconds(),
	}
}

func (r *report) add(sc scenario, runs map[string][]figures) {
	all := make(map[string]figures)
	for name, list := range runs {
		all[name] = medians(list)
	}
	r.Results = append(r.Results, entry{sc.name, sc.title, sc.what, all, runs, sc.columns})
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

// markdown returns the report as a table.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %s, Linux. Medians of %d rounds of %g s.\n\n", r.Date, r.Machine, r.Go, r.Rounds, r.Seconds)
	b.WriteString("| load | figure | gateway | bare | ratio | NATS core | centrifuge |\n|---|---|---:|---:|---:|---:|---:|\n")
	for _, e := range r.Results {
		load := "**" + e.Title + "**: " + e.What
		for _, c := range e.columns {
			gateway, bare := e.Medians[gatewayName][c.key], e.Medians[bareName][c.key]
			ratio := "–"
			if bare > 0 && gateway > 0 {
				ratio = strconv.FormatFloat(gateway/bare, 'g', 2, 64)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", load, c.title, c.text(e.Medians[gatewayName]),
				c.text(e.Medians[bareName]), ratio, c.text(e.Medians[natsName]), c.text(e.Medians[centrifugeName]))
			load = ""
		}
	}
	return b.String()
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
	tableBegin = "<!-- results: written by go run ./bench -write bench/README.md -->\n"
	tableEnd   = "<!-- end of results -->\n"
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
