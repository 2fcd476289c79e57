package turns

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

var rewrite = flag.Bool("update", false, "write down what the conversations give now")

// TestConversations runs the conversations of testdata. The file "log" has an
// envelope a line: those of the log, in order, a second apart unless "after"
// says another number of seconds. The others are questions, with the expected
// answer as their contents:
//
//	history THREAD as WHO             all turns
//	history THREAD as WHO without P   the same, while P is not connected
//	turn N of THREAD as WHO
//	threads as WHO
//	jobs as WHO
//	job ID as WHO
//	session ID [LIMIT BEFORE] as WHO
//	events as WHO                     all of them, a line each, by seq
//
// Everything is asked three times: as it went by, when the contents have been
// forgotten, and of a projection that was made anew.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { converse(t, file) })
	}
}

func converse(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	log := new(memoryLog)
	p := NewTracker(Options{Space: "lab", Reader: log})
	var events []Event
	for i := range archive.Files {
		f := &archive.Files[i]
		if f.Name == "log" {
			log.readLines(t, string(f.Data))
			events = apply(p, log.entries)
			continue
		}
		got := answerTo(t, p, events, f.Name)
		if *rewrite {
			f.Data = []byte(got)
		}
		if got != string(f.Data) {
			t.Errorf("%s: got\n%s\nwant\n%s", f.Name, got, f.Data)
		}
		p.forget()
		if again := answerTo(t, p, events, f.Name); again != got {
			t.Errorf("%s: read from the log it is\n%s\nand was\n%s", f.Name, again, got)
		}
		anew := NewTracker(Options{Space: "lab", Reader: log})
		eventsAnew := apply(anew, log.entries)
		if again := answerTo(t, anew, eventsAnew, f.Name); again != got {
			t.Errorf("%s: after a restart it is\n%s\nand was\n%s", f.Name, again, got)
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// said is a line of a log.
type said struct {
	ID      protocol.ID              `json:"id"`
	From    protocol.ParticipantID   `json:"from"`
	To      []protocol.ParticipantID `json:"to"`
	Kind    protocol.Kind            `json:"kind"`
	Answers json.RawMessage          `json:"correlationId"`
	Context protocol.ContextPath     `json:"context"`
	Payload json.RawMessage          `json:"payload"`
	After   float64                  `json:"after"`
}

func (l *memoryLog) readLines(t *testing.T, text string) {
	t.Helper()
	now := began
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s := said{After: 1}
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("log line %d: %v", n+1, err)
		}
		now = now.Add(time.Duration(s.After * float64(time.Second)))
		env := protocol.Envelope{ID: s.ID, From: s.From, To: s.To, Kind: s.Kind, Context: s.Context, Payload: s.Payload, TS: now}
		if len(s.Answers) > 0 && json.Unmarshal(s.Answers, &env.Correlation.IDs) != nil {
			var id protocol.ID
			if err := json.Unmarshal(s.Answers, &id); err != nil {
				t.Fatalf("log line %d: %v", n+1, err)
			}
			env.Correlation = protocol.CorrelateTo(id)
		}
		l.add(env)
	}
}

func answerTo(t *testing.T, p *Tracker, events []Event, question string) string {
	t.Helper()
	words := strings.Fields(question)
	at := slices.Index(words, "as")
	if at < 0 {
		t.Fatalf("who asks? %s", question)
	}
	v := as(protocol.ParticipantID(words[at+1]))
	if len(words) > at+3 && words[at+2] == "without" {
		v.Present = func(p protocol.ParticipantID) bool { return string(p) != words[at+3] }
	}
	switch words[0] {
	case "history":
		h, err := p.History(t.Context(), protocol.ID(words[1]), 0, 0, v)
		if err != nil {
			return orError(t, nil, err)
		}
		return marshal(t, plain(t, h))
	case "turn":
		var n int
		if _, err := fmt.Sscan(words[1], &n); err != nil {
			t.Fatal(err)
		}
		info, err := p.Turn(t.Context(), protocol.ID(words[3]), n, v)
		return orError(t, info.Turn, err)
	case "threads":
		list, _ := p.Threads(0, 0, v)
		return marshal(t, list)
	case "session":
		var limit int
		var before protocol.Seq
		if at > 2 {
			if _, err := fmt.Sscan(strings.Join(words[2:at], " "), &limit, &before); err != nil {
				t.Fatal(err)
			}
		}
		h, err := p.Session(t.Context(), words[1], limit, before, v)
		if err != nil {
			return orError(t, nil, err)
		}
		return marshal(t, plain(t, h))
	case "jobs":
		list, _ := p.Jobs(0, 0, v)
		return marshal(t, list)
	case "job":
		h, err := p.Job(t.Context(), protocol.ID(words[1]), v)
		if err != nil {
			return orError(t, nil, err)
		}
		return marshal(t, plain(t, h))
	case "events":
		return told(t, p, events, v)
	}
	t.Fatalf("what is %q?", question)
	return ""
}

// plain returns a page in the types of clients, and checks that its bytes over
// HTTP are those of these types, with a cached encoding too.
func plain(t *testing.T, h *History) *api.History {
	t.Helper()
	p := &api.History{ThreadID: h.ThreadID, JobID: h.JobID, SessionID: h.SessionID, Turns: []api.Turn{}, HasMore: h.HasMore, Next: h.Next}
	for _, turn := range h.Turns {
		p.Turns = append(p.Turns, turn.Turn)
	}
	want, err := reduce.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := h.JSON(); err != nil || string(got) != string(want) {
			t.Errorf("written as\n%s\nand not as\n%s\n%v", got, want, err)
		}
	}
	return p
}

func orError(t *testing.T, v any, err error) string {
	t.Helper()
	if errors.Is(err, ErrUnknown) {
		return err.Error() + "\n"
	}
	if err != nil {
		t.Fatal(err)
	}
	return marshal(t, v)
}
