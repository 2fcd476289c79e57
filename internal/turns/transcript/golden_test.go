package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

var update = flag.Bool("update", false, "write down what the transcripts are now")

// log is the log of a space; the Seq of an entry is its index.
type log []protocol.Envelope

// Range implements turns.Reader.
func (l log) Range(_ context.Context, first, last protocol.Seq) iter.Seq2[turns.Entry, error] {
	return func(yield func(turns.Entry, error) bool) {
		for i := range l {
			if seq := l[i].Seq; seq >= first && seq <= last && !yield(turns.Entry{Envelope: &l[i]}, nil) {
				return
			}
		}
	}
}

// tracker returns a tracker of the whole log.
func (l log) tracker() *turns.Tracker {
	p := turns.NewTracker(turns.Options{Space: "lab", Reader: l})
	for i := range l {
		p.Apply(context.Background(), turns.Entry{Envelope: &l[i]})
	}
	return p
}

// readLog parses a log with one envelope per line, one second apart, or with
// the number of seconds in the member "after".
func readLog(t testing.TB, text []byte) log {
	t.Helper()
	var l log
	at := nine.Time
	for line := range bytes.Lines(text) {
		env, err := protocol.DecodeDelivered(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var said struct{ After *float64 }
		if err := json.Unmarshal(line, &said); err != nil {
			t.Fatal(err)
		}
		pause := time.Second
		if said.After != nil {
			pause = time.Duration(*said.After * float64(time.Second))
		}
		at = at.Add(pause)
		env.Seq, env.TS = protocol.Seq(len(l)+1), at
		if env.ID == "" {
			env.ID = protocol.ID("e" + env.Seq.String())
		}
		l = append(l, env)
	}
	return l
}

// TestGolden writes the thread q1 of each log and compares it to its golden
// files. Each log file starts with a description.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no logs")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var p *turns.Tracker
	for i := range archive.Files {
		f := &archive.Files[i]
		var got string
		switch f.Name {
		case "log":
			p = readLog(t, f.Data).tracker()
			continue
		case "markdown":
			got = thread(t, p, Markdown)
			checkForm(t, got)
		case "traces":
			got = thread(t, p, Traces)
		}
		if *update {
			f.Data = []byte(got)
		}
		if got != string(f.Data) {
			t.Errorf("%s: got\n%s\nwant\n%s", f.Name, got, f.Data)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

type writer func(io.Writer, Head, iter.Seq2[*api.Turn, error]) error

// thread returns the thread q1, written by a function.
func thread(t testing.TB, p *turns.Tracker, write writer) string {
	t.Helper()
	var b strings.Builder
	h := Head{Space: "lab", ThreadID: "q1", SessionID: turns.SessionID("lab", "q1"), Exported: nine.Add(time.Hour)}
	if err := write(&b, h, p.All(t.Context(), "q1", turns.Viewer{})); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// checkForm checks that the outline matches the turns, for any texts.
func checkForm(t *testing.T, document string) {
	t.Helper()
	folded := 0
	for _, line := range parse(t, document).outline {
		switch {
		case strings.HasPrefix(line, "html <details>\n<summary>"):
			folded++
		case line == "html </details>":
			folded--
		case strings.HasPrefix(line, "html"):
			t.Errorf("HTML that nobody wrote: %s", line)
		case strings.HasPrefix(line, "h1 Thread CODE"), strings.HasPrefix(line, "h2 Turn "), strings.HasPrefix(line, "item "),
			strings.HasPrefix(line, "p "), line == "quote", line == "code json":
		default:
			t.Errorf("a block of a kind that there is not: %s", line)
		}
		if folded < 0 || folded > 1 {
			t.Fatalf("folded blocks do not close one another: %s", document)
		}
	}
}
