package page

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

var write = flag.String("write", "", "Markdown file whose table is replaced by the results")

// better is the direction in which a figure improves.
type better bool

const (
	less better = true
	more better = false
)

// figure is one line of the table: the best of all runs.
type figure struct {
	name, unit     string
	page, bare     float64
	hasPage, isSet bool
}

var figures []*figure

func figureOf(name, unit string) *figure {
	for _, f := range figures {
		if f.name == name {
			return f
		}
	}
	f := &figure{name: name, unit: unit}
	figures = append(figures, f)
	return f
}

// note records a figure of the page.
func note(b *testing.B, name, unit string, which better, v float64) {
	b.Helper()
	f := figureOf(name, unit)
	if !f.hasPage || (v < f.page) == bool(which) {
		f.page, f.hasPage = v, true
	}
	b.Logf("%s: %.1f %s", name, v, unit)
}

// noteBare records a figure of the bare page.
func noteBare(b *testing.B, name, unit string, which better, v float64) {
	b.Helper()
	f := figureOf(name, unit)
	if !f.isSet || (v < f.bare) == bool(which) {
		f.bare, f.isSet = v, true
	}
	b.Logf("bare, %s: %.1f %s", name, v, unit)
}

func TestMain(m *testing.M) {
	flag.Parse()
	before := load()
	code := m.Run()
	if code == 0 && len(figures) > 0 {
		text := table(before)
		fmt.Print(text)
		if err := put(*write, text); err != nil {
			fmt.Fprintln(os.Stderr, "write the results:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// table returns the results as Markdown.
func table(before string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %s, Linux. The best of several runs; the machine's load was %s before and %s behind it.\n\n", time.Now().UTC().Format("2006-01-02"), machine(), runtime.Version(), before, load())
	b.WriteString("| figure | page | bare page |\n|---|---:|---:|\n")
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.name, value(f.page, f.unit, f.hasPage), value(f.bare, f.unit, f.isSet))
	}
	return b.String()
}

func value(v float64, unit string, there bool) string {
	if !there {
		return "–"
	}
	digits := 0
	if v != 0 && v < 100 {
		digits = 1
	}
	return strings.TrimSpace(fmt.Sprintf("%.*f %s", digits, v, unit))
}

// The marks around the table in the file.
const (
	tableBegin = "<!-- results: written by the benchmarks with -write -->\n"
	tableEnd   = "<!-- end of results -->\n"
)

// put writes the table into a file; "" is no file.
func put(file, text string) error {
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, found := strings.Cut(string(data), tableBegin)
	_, tail, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		return fmt.Errorf("%s has no place for them", file)
	}
	return os.WriteFile(file, []byte(head+tableBegin+"\n"+text+"\n"+tableEnd+tail), 0o644)
}

// load returns the load average of the last minute.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}

func machine() string {
	name := runtime.GOARCH
	data, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(data)) {
			if key, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(v)
				break
			}
		}
	}
	return fmt.Sprintf("%d × %s", runtime.NumCPU(), name)
}
