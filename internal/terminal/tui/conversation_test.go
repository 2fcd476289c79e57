package tui

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write what the conversations look like anew")

// stage is a model with its own clock.
type stage struct {
	t     *testing.T
	model *model
	clock time.Time
	plain strings.Builder
	lines plain
	done  strings.Builder // effects
	ids   int
}

func newStage(t *testing.T, colour bool) *stage {
	s := &stage{t: t, clock: time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)}
	w := protocol.Welcome{
		You:   protocol.You{ID: "alice", Capabilities: []json.RawMessage{[]byte(`"*"`)}},
		Space: protocol.SpaceInfo{Name: "lab", Seq: 10},
		Participants: []protocol.Participant{
			{ID: "guide", Capabilities: []json.RawMessage{[]byte(`"chat"`), []byte(`"reasoning/*"`)}}, {ID: "bob"},
		},
	}
	s.model = newModel(w, Options{
		NoColor: !colour, Now: func() time.Time { return s.clock },
		NewID: func() protocol.ID { s.ids++; return protocol.ID(fmt.Sprintf("own-%d", s.ids)) },
	})
	s.lines = plain{model: s.model, out: &s.plain}
	return s
}

// play executes the lines of a script:
//
//	> TEXT                 the person enters it; \n is a line break
//	{…}                    an envelope arrives
//	ack ID                 an envelope of this participant is acknowledged
//	refuse ID CODE TEXT    … or refused
//	turn ID {…}            the result of reading a turn
//	turns {…}              … or the history of a thread
//	link waiting           the connection is lost; connected: it is restored
//	after 3s               time passes
//	open                   all reasoning blocks are opened
func (s *stage) play(script string) {
	s.t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
		s.step(line)
		for _, e := range s.model.takeEffects() {
			fmt.Fprintln(&s.done, describeEffect(e))
		}
		s.lines.printNews()
	}
}

func (s *stage) step(line string) {
	s.t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "", strings.HasPrefix(line, "#"):
	case word == ">":
		s.model.apply(typed{strings.ReplaceAll(rest, `\n`, "\n")})
	case strings.HasPrefix(line, "{"):
		env, err := protocol.DecodeDelivered([]byte(line))
		if err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		if env.TS.IsZero() {
			env.TS = s.clock
		}
		s.model.apply(received{env})
	case word == "ack":
		s.model.apply(answered{protocol.ID(rest), nil})
	case word == "refuse":
		f := strings.SplitN(rest, " ", 3)
		s.model.apply(answered{protocol.ID(f[0]), &protocol.Error{Code: protocol.Code(f[1]), Message: f[2]}})
	case word == "turn":
		id, text, _ := strings.Cut(rest, " ")
		var turn api.TurnOf
		s.parse(text, &turn)
		s.model.apply(turnRead{asked: readTurn{envelope: protocol.ID(id), agent: "guide", show: true}, turn: &turn})
	case word == "turns":
		var e historyRead
		var turns []api.Turn
		which, text, _ := strings.Cut(rest, " ")
		e.asked.thread = "own-1"
		switch which {
		case "latest":
		case "all":
			e.asked.which = all
		default:
			e.asked.which = one
			if _, err := fmt.Sscan(which, &e.asked.number); err != nil {
				s.t.Fatal(err)
			}
		}
		s.parse(text, &turns)
		e.turns = turns
		s.model.apply(e)
	case word == "link":
		s.model.apply(linked{client.State{Phase: client.Phase(rest), Err: errors.New("cut")}})
	case word == "after":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		s.clock = s.clock.Add(d)
		s.model.apply(ticked{})
	case word == "open":
		s.model.toggleAll()
	default:
		s.t.Fatalf("what is %q?", line)
	}
}

func (s *stage) parse(text string, into any) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
}

func describeEffect(e effect) string {
	switch e := e.(type) {
	case send:
		text, _ := e.env.MarshalJSON()
		return "send " + string(text)
	case readTurn:
		return fmt.Sprintf("read the turn of %s, show %t", e.envelope, e.show)
	case readHistory:
		return fmt.Sprintf("read turns of %s: %d, number %d", e.thread, e.which, e.number)
	}
	return fmt.Sprintf("%T%+v", e, e)
}

func (s *stage) draw(v *view, cells int) {
	for _, block := range s.model.shown() {
		v.lines(s.model, block, cells)
	}
	v.status(s.model, 3, cells)
	var p prompt
	p.resize(cells, 3)
	p.set("日本語 and more")
	p.view(&v.theme)
}

// screenOf returns the whole conversation at a width, with its status.
func (s *stage) screenOf(cells int, colour bool) string {
	v := newView(colour)
	var b strings.Builder
	for _, block := range s.model.shown() {
		for _, line := range v.lines(s.model, block, cells) {
			if width(line) > cells {
				s.t.Errorf("%d cells of %d: %q", width(line), cells, line)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	b.WriteString(v.status(s.model, 0, cells) + "\n")
	return strings.ReplaceAll(b.String(), "\x1b", "␛")
}

// TestConversations plays every file of testdata/conversations and compares the
// result with the file: screens of 80 and 40 columns, in color, plain lines,
// and the effects.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/conversations/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script := string(a.Files[0].Data)
			s, c := newStage(t, false), newStage(t, true)
			s.play(script)
			c.play(script)
			for cells := range 12 { // no width causes a panic
				s.draw(newView(false), cells)
			}
			got := map[string]string{
				"80": s.screenOf(80, false), "40": s.screenOf(40, false), "colour": c.screenOf(80, true),
				"plain": s.plain.String(), "done": s.done.String(),
			}
			if *rewrite {
				a.Files = a.Files[:1]
				for _, name := range []string{"80", "40", "colour", "plain", "done"} {
					a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got[name])})
				}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, f := range a.Files[1:] {
				if got[f.Name] != string(f.Data) {
					t.Errorf("%s is otherwise:\n%s\nwanted:\n%s", f.Name, got[f.Name], f.Data)
				}
			}
			if len(a.Files) != 6 {
				t.Errorf("%d sections", len(a.Files))
			}
		})
	}
}
